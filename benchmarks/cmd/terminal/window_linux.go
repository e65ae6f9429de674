package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// prompt is what the UI shows before the input.
const prompt = "❯"

// A window is a pseudo-terminal with the command in it.
type window struct {
	control *os.File
	cmd     *exec.Cmd
	began   time.Time

	mu    sync.Mutex
	shown bytes.Buffer // guarded by mu
	done  chan struct{}
}

// open starts the command in a window.
func (b *bench) open(ctx context.Context, args ...string) (*window, error) {
	control, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, err
	}
	fd := int(control.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		return nil, err
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		return nil, err
	}
	if err := unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Col: 100, Row: 40}); err != nil {
		return nil, err
	}
	terminal, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, err
	}
	defer terminal.Close()
	env, home, err := b.environment()
	if err != nil {
		return nil, err
	}
	w := &window{control: control, done: make(chan struct{}), began: time.Now()}
	w.cmd = exec.CommandContext(ctx, b.file, append(append([]string{"--model", "claude-sonnet-4-6"}, b.args...), args...)...)
	w.cmd.Dir, w.cmd.Env = home, env
	w.cmd.Stdin, w.cmd.Stdout, w.cmd.Stderr = terminal, terminal, terminal
	w.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := w.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		defer close(w.done)
		buf := make([]byte, 64<<10)
		for {
			n, err := control.Read(buf)
			w.mu.Lock()
			w.shown.Write(buf[:n])
			w.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	return w, nil
}

func (w *window) types(s string) { w.control.WriteString(s) }

func (w *window) bytes() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.shown.Len()
}

// last returns the last bytes that were shown.
func (w *window) last(n int) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	b := w.shown.Bytes()
	return string(b[max(0, len(b)-n):])
}

// until waits until a text was shown, and returns the time since the start.
func (w *window) until(text string) (time.Duration, error) {
	for time.Since(w.began) < 2*time.Minute {
		w.mu.Lock()
		found := bytes.Contains(w.shown.Bytes(), []byte(text))
		w.mu.Unlock()
		if found {
			return time.Since(w.began), nil
		}
		select {
		case <-w.done:
			return 0, fmt.Errorf("the command ended: %q", w.last(1000))
		case <-time.After(100 * time.Microsecond):
		}
	}
	return 0, fmt.Errorf("%q is not shown: %q", text, w.last(1000))
}

// cpu returns the CPU time of the command so far.
func (w *window) cpu() time.Duration {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", w.cmd.Process.Pid))
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	return time.Duration(user+system) * 10 * time.Millisecond
}

// rss returns the memory of the command in MB.
func (w *window) rss() float64 {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", w.cmd.Process.Pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(status)) {
		if kb, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			n, _ := strconv.Atoi(strings.Fields(kb)[0])
			return float64(n) / 1000
		}
	}
	return 0
}

func (w *window) close() {
	w.cmd.Process.Kill()
	w.cmd.Wait()
	<-w.done
	w.control.Close()
}
