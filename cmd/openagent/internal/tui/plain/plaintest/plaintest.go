// Package plaintest is a terminal that knows carriage return, line feed and backspace. Anything
// else that is not a letter fails the test.
package plaintest

import (
	"strings"
	"testing"
	"unicode"

	"github.com/clipperhouse/uax29/v2/graphemes"

	"github.com/openagent-go/agent/cmd/openagent/internal/tui/frame"
)

// A Screen is the terminal.
type Screen struct {
	t     testing.TB
	lines []string
	last  []string // cells of the last line; the second cell of a wide letter is ""
	at    int      // the cell of the cursor
}

// New returns an empty terminal.
func New(t testing.TB) *Screen { return &Screen{t: t} }

// Write shows bytes.
func (s *Screen) Write(b []byte) {
	for g := graphemes.FromString(string(b)); g.Next(); {
		s.letter(g.Value())
	}
}

func (s *Screen) letter(l string) {
	switch l {
	case "\r\n":
		s.at = 0
		s.feed()
		return
	case "\n":
		s.feed()
		return
	case "\r":
		s.at = 0
		return
	case "\b":
		s.at = max(s.at-1, 0)
		return
	}
	for _, r := range l {
		if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) {
			s.t.Errorf("%q drives the terminal", r)
		}
	}
	n := frame.Width(l)
	for len(s.last) < s.at+n {
		s.last = append(s.last, " ")
	}
	for i := range n {
		s.last[s.at+i] = ""
	}
	if n > 0 {
		s.last[s.at] = l
	}
	s.at += n
}

func (s *Screen) feed() {
	s.lines = append(s.lines, strings.TrimRight(strings.Join(s.last, ""), " "))
	s.last, s.at = nil, 0
}

// Lines returns the lines that are complete.
func (s *Screen) Lines() []string { return s.lines }

// String returns all lines, with the cursor in the last one.
func (s *Screen) String() string {
	var b strings.Builder
	for _, l := range s.lines {
		b.WriteString(l + "\n")
	}
	at := min(s.at, len(s.last))
	last := strings.TrimRight(strings.Join(s.last[:at], "")+"▏"+strings.Join(s.last[at:], ""), " ")
	if last != "▏" {
		b.WriteString(last + "\n")
	}
	return b.String()
}
