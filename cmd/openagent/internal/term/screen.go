// Package term writes to terminals: colours, lines and prompts. It also tells whether a file
// is a terminal.
package term

import (
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/openagent-go/agent/internal/terminal"
)

// A Screen is a terminal that lines are written to. Nothing that comes from a
// model, a tool or a file reaches it raw.
type Screen struct {
	mu      sync.Mutex
	W       io.Writer
	Colours bool
	midLine bool // the cursor is not at the start of a line
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

// Text goes on in the line that has been begun.
func (s *Screen) Text(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.write(Plain, terminal.Text(text))
}

// Line writes lines of their own.
func (s *Screen) Line(colour, format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fresh()
	s.write(colour, terminal.Text(fmt.Sprintf(format, args...)))
	s.fresh()
}

// Ask writes the start of a line that the person ends.
func (s *Screen) Ask(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fresh()
	s.write(Bold, terminal.Text(text))
	s.midLine = false // the person's line end follows
}

// MarkMidLine notes that the terminal itself has written into the line, as ^C.
func (s *Screen) MarkMidLine() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.midLine = true
}

// fresh goes to the start of a line.
func (s *Screen) fresh() {
	if s.midLine {
		io.WriteString(s.W, "\n")
		s.midLine = false
	}
}

func (s *Screen) write(colour, text string) {
	if text == "" {
		return
	}
	s.midLine = !strings.HasSuffix(text, "\n")
	if s.Colours && colour != Plain {
		text = "\x1b[" + colour + "m" + text + "\x1b[0m"
	}
	io.WriteString(s.W, text)
}
