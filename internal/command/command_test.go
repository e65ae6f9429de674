//go:build unix

package command

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestRun(t *testing.T) {
	dir := t.TempDir()
	out, err := Run(t.Context(), Command{Line: `pwd; echo "$K" "$HOME"; echo bad >&2`, Dir: dir, Env: []string{"K=v", "PATH=" + os.Getenv("PATH")}})
	real, _ := filepath.EvalSymlinks(dir)
	if got := strings.Fields(out.Text); err != nil || len(got) != 2 || got[0] != dir && got[0] != real || got[1] != "v" || out.Complaint != "bad\n" || out.More {
		t.Errorf("%+v, %v", out, err)
	}
	if out, err := Run(t.Context(), Command{Line: "echo some; exit 3"}); err == nil || err.Error() != "exit status 3" || out.Text != "some\n" {
		t.Errorf("%+v, %v", out, err)
	}
	if out, err := Run(t.Context(), Command{Line: "head -c 300000 /dev/zero; head -c 300000 /dev/zero >&2"}); err != nil || len(out.Text) != MaxOutput || len(out.Complaint) != MaxOutput || !out.More {
		t.Errorf("a flood: %d, %d, %v, %v", len(out.Text), len(out.Complaint), out.More, err)
	}
	if _, err := Run(t.Context(), Command{Line: "true", Dir: filepath.Join(dir, "none")}); err == nil {
		t.Error("a folder that is not there")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Run(ctx, Command{Line: "echo k"}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// started waits for the numbers of the processes that a line writes into a file, one
// a line.
func started(t *testing.T, file string, n int) []int {
	t.Helper()
	for {
		data, _ := os.ReadFile(file)
		if lines := strings.Fields(string(data)); len(lines) >= n {
			var pids []int
			for _, l := range lines {
				pid, err := strconv.Atoi(l)
				if err != nil {
					t.Fatal(err)
				}
				pids = append(pids, pid)
			}
			return pids
		}
		if t.Context().Err() != nil {
			t.Fatal("it never began")
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func alive(pid int) bool {
	if data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat"); err == nil {
		return !strings.Contains(string(data), ") Z ")
	}
	return syscall.Kill(pid, 0) == nil
}

// All that a command started ends with it: in its group, in sessions of their own,
// orphans.
func TestTree(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pids")
	line, n := `sleep 600 & echo $! >> "$F"; `, 2
	if runtime.GOOS == "linux" {
		line += `setsid sh -c 'echo $$ >> "$F"; exec sleep 600' & sh -c 'setsid sh -c "echo \$\$ >> \"\$F\"; exec sleep 600" & exit'; `
		n += 2
	}
	line += `echo $$ >> "$F"; sleep 600`
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() {
		_, err := Run(ctx, Command{Line: line, Env: append(os.Environ(), "F="+file)})
		done <- err
	}()
	pids := started(t, file, n)
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	for _, pid := range pids {
		for i := 0; alive(pid); i++ {
			if i == 400 {
				t.Errorf("process %d goes on", pid)
				_ = syscall.Kill(pid, syscall.SIGKILL)
				break
			}
			time.Sleep(5 * time.Millisecond)
		}
	}
}

// Background processes of a command continue, unless they keep the output open.
func TestBackground(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pids")
	run := func(line string) (Output, int, error) {
		_ = os.Remove(file)
		out, err := Run(t.Context(), Command{Line: line, Env: append(os.Environ(), "F="+file)})
		return out, started(t, file, 1)[0], err
	}
	out, pid, err := run(`sleep 600 > /dev/null 2>&1 & echo $! > "$F"; echo key`)
	if err != nil || out.Text != "key\n" || !alive(pid) {
		t.Errorf("%+v, %v", out, err)
	}
	_ = syscall.Kill(pid, syscall.SIGKILL)
	_, pid, err = run(`sleep 600 & echo $! > "$F"; echo key`)
	if err == nil || !strings.Contains(err.Error(), "keeps its output open") {
		t.Error(err)
	}
	for i := 0; alive(pid) && i < 400; i++ {
		time.Sleep(5 * time.Millisecond)
	}
	if alive(pid) {
		_ = syscall.Kill(pid, syscall.SIGKILL)
		t.Error("it goes on")
	}
}
