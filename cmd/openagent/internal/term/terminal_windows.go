package term

import (
	"os"

	"golang.org/x/sys/windows"
)

// IsTerminal reports whether a file is a terminal.
func IsTerminal(f *os.File) bool {
	var mode uint32
	return windows.GetConsoleMode(windows.Handle(f.Fd()), &mode) == nil
}

// DropInput forgets what was typed on a console and has not been read.
func DropInput(f *os.File) error {
	return windows.FlushConsoleInputBuffer(windows.Handle(f.Fd()))
}
