package main

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
)

// BenchmarkStart measures the whole life of the process.
func BenchmarkStart(b *testing.B) {
	path, err := exec.LookPath("openagent")
	if err != nil {
		b.Fatal(err)
	}
	for name, args := range map[string][]string{"version": {"version"}, "no key": {"-p", "hi"}, "help": {"--help"}} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				cmd := exec.Command(path, args...)
				cmd.Env = []string{"HOME=/nonexistent"}
				if err := cmd.Run(); exitCode(err) != 0 && exitCode(err) != cli.ExitKey {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkFirstLine measures how long a host waits for the first line of a process that it drives: for
// the answer to initialize, which it writes with a prompt at the start.
func BenchmarkFirstLine(b *testing.B) {
	path, err := exec.LookPath("openagent")
	if err != nil {
		b.Fatal(err)
	}
	const lines = `{"type":"control_request","request_id":"r","request":{"subtype":"initialize","systemPrompt":[""]}}` + "\n" +
		`{"type":"user","message":{"role":"user","content":"hi"},"parent_tool_use_id":null,"session_id":""}` + "\n"
	home := b.TempDir()
	var cpu time.Duration
	for b.Loop() {
		cmd := exec.Command(path, "--output-format", "stream-json", "--verbose", "--input-format", "stream-json", "--provider", "demo")
		cmd.Dir, cmd.Env = home, []string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}
		in, err := cmd.StdinPipe()
		if err != nil {
			b.Fatal(err)
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			b.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			b.Fatal(err)
		}
		if _, err := io.WriteString(in, lines); err != nil {
			b.Fatal(err)
		}
		line, err := bufio.NewReader(out).ReadString('\n')
		b.StopTimer()
		if err != nil || !strings.Contains(line, `"control_response"`) {
			b.Fatalf("%v: %.200s", err, line)
		}
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
		cpu += cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
		b.StartTimer()
	}
	b.ReportMetric(float64(cpu.Microseconds())/1000/float64(b.N), "cpu-ms/op")
}
