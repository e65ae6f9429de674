package term

import (
	"strconv"
	"strings"
)

// About is what a terminal has said about itself. The zero About is a terminal that has said
// nothing: it gets what all terminals understand or ignore.
type About struct {
	// Name is the name and version of the terminal, such as "WezTerm 20240203".
	Name string

	// Background is the colour behind the text, if Known.
	Background Colour
	Known      bool

	// NoSync says that the terminal does not know synchronised updates.
	NoSync bool

	// Clusters says that the terminal counts the width of grapheme clusters, as package frame
	// does.
	Clusters bool

	// Pictures says that the terminal knows kitty's graphics protocol with its Unicode placeholders: special
	// characters in the text, in whose cells the terminal draws a picture.
	Pictures bool

	// Cuts says that the terminal cuts lines when it gets narrower, instead of wrapping them
	// again.
	Cuts bool

	sync bool // it knows synchronised updates
}

// A Colour has parts from 0 to 255.
type Colour struct{ R, G, B uint8 }

// Dark reports whether light text is readable on a colour.
func (c Colour) Dark() bool { return 299*int(c.R)+587*int(c.G)+114*int(c.B) < 128*1000 }

// questions ask for modes 2026 and 2027, the background and the name. The last one, for the
// attributes, is one that every terminal answers: what has not been answered before will
// not be.
const questions = "\x1b[?2026$p\x1b[?2027$p\x1b]11;?\x1b\\\x1b[>0q\x1b[c"

// learn takes a reply and returns what is to be written because of it.
func (a *About) learn(r reply) (write string) {
	switch r.kind {
	case modeReply:
		on := 1 <= r.value && r.value <= 3
		if r.mode == 2026 {
			a.sync = on
		}
		if r.mode == 2027 && on && !a.Clusters {
			if a.Clusters = true; r.value != 3 {
				return clustersOn
			}
		}
	case backgroundReply:
		if c, ok := colour(r.text); ok {
			a.Background, a.Known = c, true
		}
	case versionReply:
		a.Name = strings.ToValidUTF8(r.text, "")
		a.Cuts = strings.HasPrefix(a.Name, "XTerm")
		if hasPlaces(a.Name) {
			return pictureQuestion
		}
	case pictureReply:
		a.Pictures = hasPlaces(a.Name)
	case attributesReply:
		a.NoSync = !a.sync
	}
	return ""
}

// colour reads a colour such as rgb:1e1e/1e1e/2e2e or rgb:1e/1e/2e.
func colour(s string) (c Colour, ok bool) {
	s, ok = strings.CutPrefix(s, "rgb:")
	if !ok {
		if s, ok = strings.CutPrefix(s, "rgba:"); !ok {
			return c, false
		}
	}
	parts := strings.Split(s, "/")
	if len(parts) < 3 {
		return c, false
	}
	for i, part := range []*uint8{&c.R, &c.G, &c.B} {
		if len(parts[i]) < 1 || len(parts[i]) > 4 {
			return Colour{}, false
		}
		n, err := strconv.ParseUint(parts[i], 16, 16)
		if err != nil {
			return Colour{}, false
		}
		*part = uint8(n * 255 / (1<<(4*len(parts[i])) - 1))
	}
	return c, true
}

// About returns what the terminal has said about itself so far.
func (t *Terminal) About() About {
	t.state.Lock()
	defer t.state.Unlock()
	return t.state.about
}

// learn takes the replies of one read.
func (t *Terminal) learn(replies []reply) {
	t.state.Lock()
	defer t.state.Unlock()
	for _, r := range replies {
		if write := t.state.about.learn(r); write != "" && t.state.before != nil {
			t.state.clusters = t.state.clusters || write == clustersOn
			t.out.WriteString(write)
		}
	}
}
