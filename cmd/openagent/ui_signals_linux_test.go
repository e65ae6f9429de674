package main

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/openagent-go/agent/cmd/openagent/internal/tui/term/termtest"
	"github.com/openagent-go/agent/llm/llmtest"
)

// A signal that ends the program gives the terminal back as it was, and keeps what was not sent.
func TestUIEndsBySignals(t *testing.T) {
	t.Parallel()
	path, err := exec.LookPath("openagent")
	if err != nil {
		t.Fatal(err)
	}
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGHUP} {
		if signal.Ignored(sig) {
			t.Logf("%v is not tested: it is ignored here, as below nohup", sig)
			continue
		}
		home := t.TempDir()
		control, tty := termtest.Open(t, 80, 24)
		settings := func() unix.Termios {
			s, err := unix.IoctlGetTermios(int(tty.Fd()), unix.TCGETS)
			if err != nil {
				t.Fatal(err)
			}
			return *s
		}
		before := settings()
		cmd := exec.Command(path)
		cmd.Dir = t.TempDir()
		cmd.Env = append(append(os.Environ(), uiEnv(home, llmtest.NewServer(t))...), "TERM=xterm-256color")
		cmd.Stdin, cmd.Stdout, cmd.Stderr = tty, tty, tty
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		output := make(chan string, 1000)
		go func() {
			b := make([]byte, 4096)
			for {
				n, err := control.Read(b)
				if output <- string(b[:n]); err != nil {
					return
				}
			}
		}()
		shown := ""
		sees := func(text string) {
			t.Helper()
			for timeout := time.After(20 * time.Second); !strings.Contains(shown, text); {
				select {
				case part := <-output:
					shown += part
				case <-timeout:
					t.Fatalf("%v: %q is not shown: %q", sig, text, shown)
				}
			}
		}
		sees("❯")
		if _, err := control.WriteString("a draft"); err != nil {
			t.Fatal(err)
		}
		sees("a draft")
		if raw := settings(); raw.Lflag&unix.ICANON != 0 {
			t.Error("the terminal is not in raw mode")
		}
		if err := cmd.Process.Signal(sig); err != nil {
			t.Fatal(err)
		}
		late := time.AfterFunc(time.Minute, func() { cmd.Process.Kill() })
		err := cmd.Wait()
		late.Stop()
		if code := cmd.ProcessState.ExitCode(); code != 143 {
			t.Errorf("%v: exit code %d, %v", sig, code, err)
		}
		for _, off := range []string{"\x1b[<u", "\x1b[>4m", "\x1b[?1004l", "\x1b[?2004l"} {
			sees(off)
		}
		if after := settings(); after != before {
			t.Errorf("%v: the terminal has %+v, had %+v", sig, after, before)
		}
		drafts, _ := filepath.Glob(filepath.Join(home, ".openagent", "terminal", "*", "draft-*.txt"))
		if len(drafts) != 1 {
			t.Errorf("%v: drafts %q", sig, drafts)
		}
		tty.Close()
	}
}

// kill -TSTP stops the program as Ctrl-Z does: the shell has a terminal in its usual state, and
// the program comes back as it was.
func TestUIStopsBySignal(t *testing.T) {
	t.Parallel()
	path, err := exec.LookPath("openagent")
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	m := termtest.StartTmux(t, 80, 24, t.TempDir(), "env PS1='$ ' HISTFILE= bash --norc -i", uiEnv(home, llmtest.NewServer(t, llmtest.Say("an answer")))...)
	m.Sees("$")
	m.Type(fmt.Sprintf("stty -g >%s/before; sh -c 'echo $$ >%s/pid; exec '%s''", home, home, path))
	m.Keys("Enter")
	m.Sees("❯")
	m.Type("a draft")
	m.Sees("❯ a draft")
	text, err := os.ReadFile(filepath.Join(home, "pid"))
	if err != nil {
		t.Fatal(err)
	}
	var pid int
	if _, err := fmt.Sscan(string(text), &pid); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := syscall.Kill(pid, syscall.SIGTSTP); err != nil {
			t.Fatal(err)
		}
		m.Sees("Stopped")
		m.Type(fmt.Sprintf("clear; stty -g >%s/after; echo in the $((20+1))st shell", home))
		m.Keys("Enter")
		m.Sees("in the 21st shell")
		before, _ := os.ReadFile(filepath.Join(home, "before"))
		after, _ := os.ReadFile(filepath.Join(home, "after"))
		if len(before) == 0 || string(before) != string(after) {
			t.Errorf("stty: %s before, %s after", before, after)
		}
		m.Type("fg")
		m.Keys("Enter")
		m.Sees("❯ a draft")
	}
	m.Keys("Enter")
	m.Sees("an answer")
	m.Keys("C-d")
	m.Sees("openagent --resume")
}
