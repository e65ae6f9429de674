//go:build unix

package term

import (
	"os"
	"os/signal"
	"syscall"
	"time"
)

// A Signals tells of signals about the terminal. Stop ends it.
type Signals struct {
	// Resized receives when the size may have changed.
	Resized chan os.Signal

	// Continued receives when the program goes on after another program has stopped it: call
	// Retake.
	Continued chan os.Signal
}

// WatchSignals begins to receive signals.
func WatchSignals() *Signals {
	s := &Signals{make(chan os.Signal, 1), make(chan os.Signal, 1)}
	signal.Notify(s.Resized, syscall.SIGWINCH)
	signal.Notify(s.Continued, syscall.SIGCONT)
	return s
}

// Stop ends the receiving.
func (s *Signals) Stop() {
	signal.Stop(s.Resized)
	signal.Stop(s.Continued)
}

// Suspend stops the program and its process group, as a shell's Ctrl-Z does, and returns when
// it goes on. SIGTSTP must have its default effect: once a Go program has asked to receive
// it, it stops nothing any more.
func (t *Terminal) Suspend(s *Signals) error {
	return t.Outside(func(_, _ *os.File) error {
		drain(s.Continued)
		if err := syscall.Kill(0, syscall.SIGTSTP); err != nil {
			return err
		}
		select {
		case <-s.Continued:
		case <-time.After(200 * time.Millisecond): // nobody can continue it, so it was not stopped
		}
		drain(s.Continued)
		return nil
	})
}

// Retake takes the terminal again after a shell has had it.
func (t *Terminal) Retake() error {
	tell := t.take
	if tell == take {
		tell = keysOff + tell
	}
	err := t.raw(tell)
	t.painter.Forget()
	t.page.stale = true
	return err
}

func drain(c chan os.Signal) {
	for len(c) > 0 {
		<-c
	}
}

// enableSequences makes the terminal carry out sequences: all do.
func enableSequences(*os.File) error { return nil }
