//go:build unix

package term

import (
	"errors"
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

	// Stopped receives when another program asks this one to stop, as kill -TSTP does: call Suspend.
	Stopped chan os.Signal
}

// WatchSignals begins to receive signals.
func WatchSignals() *Signals {
	s := &Signals{make(chan os.Signal, 1), make(chan os.Signal, 1), make(chan os.Signal, 1)}
	signal.Notify(s.Resized, syscall.SIGWINCH)
	signal.Notify(s.Continued, syscall.SIGCONT)
	signal.Notify(s.Stopped, syscall.SIGTSTP)
	return s
}

// Stop ends the receiving.
func (s *Signals) Stop() {
	signal.Stop(s.Resized)
	signal.Stop(s.Continued)
	signal.Stop(s.Stopped)
}

// Suspend gives the terminal back and stops the program and its process group, as a shell's
// Ctrl-Z does. It returns when the program goes on.
func (t *Terminal) Suspend(s *Signals) error {
	return t.Outside(func(_, _ *os.File) error {
		if err := syscall.Kill(0, syscall.SIGTSTP); err != nil {
			return err
		}
		select { // the program has asked to receive it, so it goes on
		case <-s.Stopped:
		case <-time.After(200 * time.Millisecond):
		}
		return s.Pause()
	})
}

// Pause stops the program, unless nobody can continue it. SIGTSTP stops no Go program any more that
// has asked to receive it. SIGTTIN still has its default effect, which is the same.
func (s *Signals) Pause() error {
	drain(s.Continued)
	if err := syscall.Kill(syscall.Getpid(), syscall.SIGTTIN); err != nil {
		return err
	}
	select {
	case <-s.Continued:
	case <-time.After(200 * time.Millisecond): // nobody can continue it, so it was not stopped
	}
	drain(s.Continued)
	return nil
}

// With runs a program that has the terminal, such as an editor. If it stops the process group,
// this program stops as well, and its shell gets the terminal.
func (s *Signals) With(run func() error) error {
	done := make(chan error, 1)
	go func() { done <- run() }()
	for {
		select {
		case err := <-done:
			return err
		case <-s.Stopped:
			if err := s.Pause(); err != nil {
				return errors.Join(err, <-done)
			}
		}
	}
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
