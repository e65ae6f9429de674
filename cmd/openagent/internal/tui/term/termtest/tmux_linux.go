package termtest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A Tmux is a program in a window of tmux.
type Tmux struct {
	t      testing.TB
	path   string
	socket string
}

// StartTmux runs a command line of a shell in a window of a size. It skips the test if tmux
// is not there: it is the one in PATH, or the one that internal/devtools/servers/install.sh
// has brought into .cache.
func StartTmux(t testing.TB, w, h int, dir, command string, env ...string) *Tmux {
	t.Helper()
	path, err := exec.LookPath("tmux")
	if err != nil {
		if path = cached(); path == "" {
			t.Skip("tmux is not installed; \"make servers\" brings it on Debian")
		}
	}
	short, err := os.MkdirTemp("", "tmux") // the path of a socket is short
	if err != nil {
		t.Fatal(err)
	}
	m := &Tmux{t: t, path: path, socket: filepath.Join(short, "s")}
	t.Cleanup(func() {
		exec.Command(path, "-S", m.socket, "kill-server").Run()
		os.RemoveAll(short)
	})
	args := []string{"-f", os.DevNull, "new-session", "-d", "-x", fmt.Sprint(w), "-y", fmt.Sprint(h), "-c", dir}
	for _, e := range env {
		args = append(args, "-e", e)
	}
	m.run(append(args, "sh", "-c", command)...)
	m.run("set-option", "-g", "history-limit", "50000")
	m.run("set-option", "-g", "escape-time", "0")
	m.run("set-option", "-g", "remain-on-exit", "on")
	return m
}

// cached returns the tmux in .cache of the repository, "" if there is none.
func cached() string {
	dir, err := os.Getwd()
	for err == nil && dir != filepath.Dir(dir) {
		path := filepath.Join(dir, ".cache", "tmux", "bin", "tmux")
		if _, err := os.Stat(path); err == nil {
			return path
		}
		dir = filepath.Dir(dir)
	}
	return ""
}

func (m *Tmux) run(args ...string) string {
	m.t.Helper()
	cmd := exec.Command(m.path, append([]string{"-S", m.socket}, args...)...)
	cmd.Env = append(os.Environ(), "LC_ALL=C.UTF-8", "TERM=xterm-256color", "TMUX=")
	out, err := cmd.CombinedOutput()
	if err != nil {
		m.t.Fatalf("tmux %q: %v: %s", args, err, out)
	}
	return string(out)
}

// Type types a text as it is.
func (m *Tmux) Type(text string) {
	m.t.Helper()
	m.run("send-keys", "-l", "--", text)
}

// Keys presses keys by the names of tmux, such as Enter, C-c or M-Left.
func (m *Tmux) Keys(names ...string) {
	m.t.Helper()
	m.run(append([]string{"send-keys"}, names...)...)
}

// Paste pastes a text: with marks if the program has asked for them.
func (m *Tmux) Paste(text string) {
	m.t.Helper()
	file := filepath.Join(m.t.TempDir(), "paste")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		m.t.Fatal(err)
	}
	m.run("load-buffer", file)
	m.run("paste-buffer", "-p")
}

// Resize changes the size of the window.
func (m *Tmux) Resize(w, h int) {
	m.t.Helper()
	m.run("resize-window", "-x", fmt.Sprint(w), "-y", fmt.Sprint(h))
}

// Screen returns the rows of the screen.
func (m *Tmux) Screen() string {
	m.t.Helper()
	return m.run("capture-pane", "-p")
}

// Lines returns the lines of history and screen, with those that were wrapped put together.
func (m *Tmux) Lines() []string {
	m.t.Helper()
	lines := strings.Split(m.run("capture-pane", "-p", "-J", "-S", "-", "-E", "-"), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return trimmed(lines)
}

// Cursor returns where the cursor is on the screen.
func (m *Tmux) Cursor() (x, y int) {
	m.t.Helper()
	fmt.Sscan(m.run("display-message", "-p", "#{cursor_x} #{cursor_y}"), &x, &y)
	return x, y
}

// Sees waits until the screen shows a text.
func (m *Tmux) Sees(text string) {
	m.t.Helper()
	m.Until(fmt.Sprintf("%q is shown", text), func() bool { return strings.Contains(m.Screen(), text) })
}

// Until waits until something holds.
func (m *Tmux) Until(what string, holds func() bool) {
	m.t.Helper()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if holds() {
			return
		}
	}
	m.t.Fatalf("not true: %s; the screen is\n%s", what, m.Screen())
}

// Alive reports whether the program runs.
func (m *Tmux) Alive() bool {
	m.t.Helper()
	return strings.TrimSpace(m.run("display-message", "-p", "#{pane_dead}")) == "0"
}

// Settles waits until the screen has stayed the same for longer than tmux takes to tell a
// program about another size.
func (m *Tmux) Settles() {
	m.t.Helper()
	last, since := m.Screen(), time.Now()
	m.Until("the screen settles", func() bool {
		if now := m.Screen(); now != last {
			last, since = now, time.Now()
		}
		return time.Since(since) > 500*time.Millisecond
	})
}
