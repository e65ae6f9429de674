// Package cmdline says what a command line does in the folder where it runs: which files it
// opens, whether it changes nothing, and what makes it dangerous. It knows nothing of rules.
package cmdline

import (
	"slices"
	"strings"

	"github.com/openagent-go/agent/internal/rules/effects"
	"github.com/openagent-go/agent/internal/rules/paths"
	"github.com/openagent-go/agent/internal/rules/shellscan"
	"github.com/openagent-go/agent/internal/rules/shellword"
)

// A Line is a command line and where it runs. It may be used by one goroutine at a time.
type Line struct {
	*paths.Context
	shellscan.Commands
	Source string // the line as it is written
	looks  int    // names in folders that may still be looked at for rules that forbid

	clear, judged bool     // see evident
	mentions      []string // see opens
	allKnown      bool
	collected     bool
	noted         map[string]bool // see collect
	notedIn       []shellscan.Workdir
	reads         []*string // see CommandReads

	asked  []shellscan.Workdir // the places whose folders were asked for last
	found  []string            // these folders
	placed bool                // they are known
}

// NewLine reads a command line that runs where the context is.
func NewLine(g *paths.Context, line string) Line {
	c, _ := shellscan.Scan(line) // what the error says is in Unclear
	return Line{Context: g, Commands: c, Source: line, looks: maxLooks}
}

// Alone returns one command of the line as a line of its own.
func (s *Line) Alone(i int) Line {
	c := s.List[i]
	c.At = 0
	return Line{Context: s.Context, Commands: shellscan.Commands{List: []shellscan.Command{c}}, Source: c.Raw, looks: maxLooks}
}

// Writes reports whether the line redirects into a file.
func (s *Line) Writes() bool {
	return slices.ContainsFunc(s.Redirects, func(r shellscan.Redirect) bool { return r.Write })
}

// Doubtful reports whether a rule may match the line although the scan cannot tell. With
// files it also considers rules for the files that the line opens.
func (s *Line) Doubtful(files bool) bool {
	return s.Unclear != "" || s.Loose || files && !s.evident()
}

// evident reports whether all files that the commands of the line open are named by
// words that are known to the last character.
func (s *Line) evident() bool {
	if !s.judged {
		s.judged, s.clear = true, s.isEvident()
	}
	return s.clear
}

func (s *Line) isEvident() bool {
	if s.Unclear != "" {
		return false
	}
	plain := func(in []shellscan.Workdir, w shellword.Word) bool {
		if file, _ := shellword.FileAddress(w.Text); file == shellword.Unknown {
			return false
		}
		if w.Glob != "" || w.Unknown() {
			return false
		}
		_, placed := s.dirs(in)
		return placed
	}
	for _, r := range s.Redirects {
		if !plain(r.In, r.Word) {
			return false
		}
	}
	for i := range s.List {
		c := &s.List[i]
		if !opens(c, false) {
			continue
		}
		if c.RunsByOption() || effects.TakesList(c.Name, c.Args) || shellword.Any(c.Words, func(w shellword.Word) bool { return !plain(c.In, w) }) {
			return false
		}
		if _, walks := effects.WalkerOf(c.Name, c.Args); walks {
			return false
		}
	}
	return true
}

// Opens returns the files that the words of the line are known to name; false if
// there are file patterns among them, which may name others.
func (s *Line) Opens() ([]string, bool) {
	if s.collected {
		return s.mentions, s.allKnown
	}
	s.collected, s.allKnown = true, true
	for _, r := range s.Redirects {
		s.collect(r.In, r.Word)
	}
	for i := range s.List {
		for _, w := range s.List[i].Words {
			s.collect(s.List[i].In, w)
		}
	}
	slices.Sort(s.mentions)
	s.mentions = slices.Compact(s.mentions)
	return s.mentions, s.allKnown
}

func (s *Line) collect(in []shellscan.Workdir, w shellword.Word) {
	if w.Means == nil && w.Glob == "" && !w.Split && !strings.HasPrefix(w.Text, "-") && !strings.ContainsAny(w.Text, "=@:"+shellword.Unknown) {
		if w.Text != "" && s.isNew(in, w) { // its only form
			files, _ := s.Files(in, w)
			s.mentions = append(s.mentions, files...)
		}
		return
	}
	words, _ := w.Meanings()
	for _, m := range words {
		for _, v := range shellword.PathForms(m) {
			if v.Glob != "" {
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
func (s *Line) isNew(in []shellscan.Workdir, w shellword.Word) bool {
	if s.noted == nil || !slices.Equal(in, s.notedIn) {
		s.noted, s.notedIn = map[string]bool{}, in
	}
	if w.Home { // the text is not all of it
		return true
	}
	seen := s.noted[w.Text]
	s.noted[w.Text] = true
	return !seen
}
