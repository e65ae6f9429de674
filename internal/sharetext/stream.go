package sharetext

import (
	"strings"
	"unicode"

	"github.com/openagent-go/agent/internal/text"
)

// A Stream hides a text that comes in pieces. It keeps the end of the text back until nothing that
// follows can make a secret of it: so a secret in two pieces does not get out.
type Stream struct {
	rules   *Rules
	text    string // not settled yet
	settled int    // bytes of shown that the rules cannot change any more
	shown   string // all that was released
}

// Stream returns a Stream for one text.
func (r *Rules) Stream() *Stream { return &Stream{rules: r} }

// Shown returns all that was released.
func (s *Stream) Shown() string { return s.shown }

// Write adds a piece. It returns what is released now: to be added to what was shown, or with restart in
// its place.
func (s *Stream) Write(piece string) (add string, restart bool) {
	s.text = visible(s.text + piece)
	safe := s.rules.safe(s.text)
	return s.release(s.text[:safe], safe)
}

// Close ends the text.
func (s *Stream) Close() (add string, restart bool) { return s.release(s.text, len(s.text)) }

func (s *Stream) release(part string, safe int) (add string, restart bool) {
	hidden := s.rules.Text(part)
	before := s.shown[s.settled:]
	add, ok := strings.CutPrefix(hidden, before)
	if !ok {
		if len(hidden) < len(before) && strings.HasPrefix(before, hidden) {
			return "", false // what is kept back now was released already
		}
		s.shown, restart = s.shown[:s.settled]+hidden, true
		add = s.shown
	} else {
		s.shown += add
	}
	if n := strings.LastIndexByte(part, '\n') + 1; n > 0 && !inPEM(part[:n]) && !below(part[:n]) {
		if first := s.rules.Text(part[:n]); first+s.rules.Text(part[n:]) == hidden {
			s.text, s.settled = s.text[n:], s.settled+len(first)
		}
	}
	return add, restart
}

// below reports whether what follows a text may belong to a name of a secret in it.
func below(s string) bool {
	_, open := hideBelow(visible(text.Clean(s)), func() {})
	return open
}

// safe returns how much of a text can be released: what follows cannot change it.
func (r *Rules) safe(s string) int {
	ends := " \t\r\n"
	if r.byLine {
		ends = "\n"
	}
	safe := strings.LastIndexAny(s, ends) + 1
	if i := strings.IndexFunc(s[:safe], unsteady); i >= 0 { // escape sequences may end later
		safe = strings.LastIndexAny(s[:i], ends) + 1
	}
	for _, known := range r.spaced {
		for i := max(0, safe-len(known)+1); i < safe; i++ {
			if strings.EqualFold(known[:safe-i], s[i:safe]) {
				safe = i
			}
		}
	}
	return safe
}

// unsteady reports whether a character belongs to an escape sequence, or removes another one.
func unsteady(r rune) bool {
	return r == '\b' || unicode.IsControl(r) && r != '\n' && r != '\t' && r != '\r'
}
