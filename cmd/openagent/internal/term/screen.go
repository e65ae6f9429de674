// Package term names the colours of terminals, and tells whether a file is a terminal.
package term

import (
	"fmt"
	"strings"

	"github.com/openagent-go/agent/internal/terminal"
)

// A Screen takes the lines that commands of a conversation show.
type Screen struct {
	// Show shows lines in a colour. They are fit for a terminal.
	Show func(colour, lines string)
}

// The colours that are used, as ECMA-48 names them.
const (
	Plain  = ""
	Dim    = "2"
	Bold   = "1"
	Red    = "31"
	Green  = "32"
	Yellow = "33"
)

// Line shows lines. Nothing in them that comes from a model, a tool or a file drives the terminal.
func (s *Screen) Line(colour, format string, args ...any) {
	if text := terminal.Text(fmt.Sprintf(format, args...)); text != "" {
		s.Show(colour, strings.TrimSuffix(text, "\n"))
	}
}
