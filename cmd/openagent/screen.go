package main

import (
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/openagent-go/agent/internal/terminal"
)

// A screen is a terminal that lines are written to. Nothing that comes from a
// model, a tool or a file reaches it raw.
type screen struct {
	mu      sync.Mutex
	w       io.Writer
	colours bool
	midLine bool // the cursor is not at the start of a line
}

// The colours that are used, as ECMA-48 names them.
const (
	inPlain  = ""
	inDim    = "2"
	inBold   = "1"
	inRed    = "31"
	inGreen  = "32"
	inYellow = "33"
)

func newScreen(h *host) *screen {
	return &screen{w: h.painted(), colours: h.colours()}
}

// text goes on in the line that has been begun.
func (s *screen) text(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.write(inPlain, terminal.Text(text))
}

// line writes lines of their own.
func (s *screen) line(colour, format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fresh()
	s.write(colour, terminal.Text(fmt.Sprintf(format, args...)))
	s.fresh()
}

// ask writes the start of a line that the person ends.
func (s *screen) ask(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fresh()
	s.write(inBold, terminal.Text(text))
	s.midLine = false // the person's line end follows
}

// broke notes that the terminal itself has written into the line, as ^C.
func (s *screen) broke() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.midLine = true
}

// fresh goes to the start of a line.
func (s *screen) fresh() {
	if s.midLine {
		io.WriteString(s.w, "\n")
		s.midLine = false
	}
}

func (s *screen) write(colour, text string) {
	if text == "" {
		return
	}
	s.midLine = !strings.HasSuffix(text, "\n")
	if s.colours && colour != inPlain {
		text = "\x1b[" + colour + "m" + text + "\x1b[0m"
	}
	io.WriteString(s.w, text)
}
