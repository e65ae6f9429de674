package permission

import (
	"slices"
	"strings"
)

// A shellLine is a command line and where it runs.
type shellLine struct {
	*pathContext
	Commands
	line  string
	looks int // names in folders that may still be looked at for rules that forbid

	clear, judged bool     // see evident
	mentions      []string // see opens
	allKnown      bool
	collected     bool
	noted         map[string]bool // see collect
	notedIn       []workdir
	reads         []*string // see commandReads
}

// notUnderstood begins what is said of lines that are not.
const notUnderstood = "it is not understood: "

func newShellLine(g *pathContext, line string) *shellLine {
	c, _ := parsed(line) // what the error says is in Unclear
	return &shellLine{pathContext: g, Commands: c, line: line, looks: maxLooks}
}

// writes reports whether the line redirects into a file.
func (s *shellLine) writes() bool {
	return slices.ContainsFunc(s.Redirects, func(r Redirect) bool { return r.Write })
}

// doubtful reports whether a rule may hold for the line without being seen to, with files
// one for what it opens.
func (s *shellLine) doubtful(files bool) bool {
	return s.Unclear != "" || s.loose || files && !s.evident()
}

// evident reports whether all files that the commands of the line open are named by
// words that are known to the last character.
func (s *shellLine) evident() bool {
	if !s.judged {
		s.judged, s.clear = true, s.isEvident()
	}
	return s.clear
}

func (s *shellLine) isEvident() bool {
	if s.Unclear != "" {
		return false
	}
	plain := func(in []workdir, w word) bool {
		if file, _ := fileAddress(w.text); file == Unknown {
			return false
		}
		if w.glob != "" || w.unknown() {
			return false
		}
		_, placed := s.dirs(in)
		return placed
	}
	for _, r := range s.Redirects {
		if !plain(r.in, r.word) {
			return false
		}
	}
	for i := range s.List {
		c := &s.List[i]
		if !c.opens(false) {
			continue
		}
		if c.runsByOption() || c.takesList() || slices.ContainsFunc(c.words, func(w word) bool { return !plain(c.in, w) }) {
			return false
		}
		if _, walks := c.walker(); walks {
			return false
		}
	}
	return true
}

// opens returns the files that the words of the line are known to name; false if
// there are file patterns among them, which may name others.
func (s *shellLine) opens() ([]string, bool) {
	if s.collected {
		return s.mentions, s.allKnown
	}
	s.collected, s.allKnown = true, true
	for _, r := range s.Redirects {
		s.collect(r.in, r.word)
	}
	for i := range s.List {
		for _, w := range s.List[i].words {
			s.collect(s.List[i].in, w)
		}
	}
	slices.Sort(s.mentions)
	s.mentions = slices.Compact(s.mentions)
	return s.mentions, s.allKnown
}

func (s *shellLine) collect(in []workdir, w word) {
	if w.means == nil && w.glob == "" && !w.split && !strings.HasPrefix(w.text, "-") && !strings.ContainsAny(w.text, "=@:"+Unknown) {
		if w.text != "" && s.isNew(in, w) { // its only form
			files, _ := s.pathContext.files(in, w)
			s.mentions = append(s.mentions, files...)
		}
		return
	}
	words, _ := w.meanings()
	for _, m := range words {
		for _, v := range pathForms(m) {
			if v.glob != "" {
				s.allKnown = false
			}
			if !s.allKnown {
				return
			}
			files, _, _ := s.reach(in, v)
			s.mentions = append(s.mentions, files...)
		}
	}
}

// isNew reports whether a word that is known was not asked about in these places
// since others were.
func (s *shellLine) isNew(in []workdir, w word) bool {
	if s.noted == nil || !slices.Equal(in, s.notedIn) {
		s.noted, s.notedIn = map[string]bool{}, in
	}
	if w.home { // the text is not all of it
		return true
	}
	seen := s.noted[w.text]
	s.noted[w.text] = true
	return !seen
}
