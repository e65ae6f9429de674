package safefile

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

func open(t *testing.T, name string) *os.File {
	t.Helper()
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|OpenFlags, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// wants fails the test unless a try to lock f has the result got.
func wants(t *testing.T, f *os.File, mode Mode, got bool) {
	t.Helper()
	if ok, err := TryLock(f, mode); ok != got || err != nil {
		t.Errorf("TryLock: %v, %v, want %v", ok, err, got)
	}
}

// Shared locks share, exclusive locks exclude every other opening, and Unlock ends both.
func TestLock(t *testing.T) {
	name := filepath.Join(t.TempDir(), "lock")
	a, b := open(t, name), open(t, name)
	wants(t, a, Shared, true)
	wants(t, b, Shared, true)
	c := open(t, name)
	wants(t, c, Exclusive, false)
	for _, f := range []*os.File{a, b} {
		if err := Unlock(f); err != nil {
			t.Fatal(err)
		}
	}
	wants(t, c, Exclusive, true)
	wants(t, a, Shared, false)
	wants(t, b, Exclusive, false)
}

// Others can read a locked file.
func TestReadLocked(t *testing.T) {
	name := filepath.Join(t.TempDir(), "lock")
	f := open(t, name)
	if _, err := f.WriteString("content"); err != nil {
		t.Fatal(err)
	}
	wants(t, f, Exclusive, true)
	if data, err := os.ReadFile(name); err != nil || string(data) != "content" {
		t.Errorf("%q, %v", data, err)
	}
}

// A process that is killed loses its lock.
func TestKilled(t *testing.T) {
	if name := os.Getenv("DURABLE_LOCK"); name != "" {
		wants(t, open(t, name), Exclusive, true)
		os.Stdout.WriteString("locked\n")
		_, _ = io.Copy(io.Discard, os.Stdin)
		return
	}
	name := filepath.Join(t.TempDir(), "lock")
	cmd := exec.Command(os.Args[0], "-test.run=^TestKilled$")
	cmd.Env = append(os.Environ(), "DURABLE_LOCK="+name)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	f := open(t, name)
	if line != "locked\n" {
		t.Errorf("the other process said %q, %v", line, err)
	} else {
		wants(t, f, Exclusive, false)
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	wants(t, f, Exclusive, true)
}
