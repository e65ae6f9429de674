package term

import (
	"os"

	"golang.org/x/sys/windows"
)

// A Signals tells of signals about the terminal. Windows has none.
type Signals struct{ Resized, Continued, Stopped chan os.Signal }

// WatchSignals begins to receive signals.
func WatchSignals() *Signals { return new(Signals) }

// Stop ends the receiving.
func (s *Signals) Stop() {}

// Suspend does nothing: Windows does not stop programs.
func (t *Terminal) Suspend(*Signals) error { return nil }

// Pause does nothing: Windows does not stop programs.
func (s *Signals) Pause() error { return nil }

// With runs a program that has the terminal, such as an editor.
func (s *Signals) With(run func() error) error { return run() }

// Retake does nothing.
func (t *Terminal) Retake() error { return nil }

// enableSequences makes the console carry out sequences.
func enableSequences(out *os.File) error {
	var mode uint32
	if err := windows.GetConsoleMode(windows.Handle(out.Fd()), &mode); err != nil {
		return err
	}
	return windows.SetConsoleMode(windows.Handle(out.Fd()), mode|windows.ENABLE_VIRTUAL_TERMINAL_PROCESSING|windows.DISABLE_NEWLINE_AUTO_RETURN)
}
