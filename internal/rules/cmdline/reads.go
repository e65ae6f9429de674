package cmdline

import (
	"os"
	"slices"

	"github.com/openagent-go/agent/internal/rules/effects"
	"github.com/openagent-go/agent/internal/rules/shellscan"
	"github.com/openagent-go/agent/internal/rules/shellword"
)

// Lines that change nothing.

// WhyNotRead says why the line is not known to change nothing, "" if it is.
// With secrets, commands that show files which they do not name are not either.
func (s *Line) WhyNotRead(secrets bool) string {
	if s.Unclear != "" {
		return shellscan.NotUnderstood + s.Unclear
	}
	if s.Impure != "" {
		return s.Impure
	}
	for _, r := range s.Redirects {
		if why := s.redirectReads(r); why != "" {
			return why
		}
	}
	for i := range s.List {
		if why := s.CommandReads(&s.List[i], secrets); why != "" {
			return why
		}
	}
	return ""
}

func (s *Line) redirectReads(r shellscan.Redirect) string {
	if r.Write {
		return "it writes to " + shellword.Show(r.Path)
	}
	if !s.Within(r.In, r.Word) {
		return "it reads " + shellword.Show(r.Path) + ", which is not known to be in the working folders"
	}
	return ""
}

// CommandReads says why a command is not known to change nothing.
func (s *Line) CommandReads(c *shellscan.Command, secrets bool) string {
	r, known := effects.ReaderOf(c.Name)
	switch {
	case c.Wraps && c.Outer == 0 && c.Name != "exec" && c.Name != "sudo" && c.Name != "doas" && c.Name != "busybox" && c.Name != "toybox" && c.Name != "xargs":
		if !c.OwnName() {
			return shellword.Show(c.Name) + notKnown
		}
		return "" // the command that it runs is in the list as well
	case c.Outer > 0 || !known || !c.OwnName() || slices.ContainsFunc(c.Set, func(n string) bool { return !effects.IsInert(n) }):
		return shellword.Show(c.Name) + notKnown
	case secrets && r.Descends:
		return shellword.Show(c.Name) + " may show files that must not be read"
	}
	if s.reads == nil {
		s.reads = make([]*string, len(s.List))
	}
	if s.reads[c.At] == nil { // it is asked for several times
		why := s.readerReads(c, r)
		s.reads[c.At] = &why
	}
	return *s.reads[c.At]
}

const notKnown = " is not known to be read-only"

// readerReads is [Line.CommandReads] for a program that is known to read.
func (s *Line) readerReads(c *shellscan.Command, r *effects.Reader) string {
	dirs, ok := s.dirs(c.In)
	if !ok || slices.ContainsFunc(dirs, func(d string) bool { return !s.Inside(d) }) {
		return shellword.Show(c.Name) + " may run outside of the working folders"
	}
	for _, w := range c.Words {
		if w.Glob != "" && !s.Within(c.In, w) {
			return shellword.Show(w.Text) + " is not known to be in the working folders"
		}
	}
	words, args := c.Words, c.Args
	if shellword.Any(words, func(w shellword.Word) bool { return w.Glob != "" }) {
		if words, ok = expand(dirs, words); !ok {
			return "the arguments of " + shellword.Show(c.Name) + " are only known when it runs"
		}
		args = make([]string, len(words))
		for i, w := range words {
			args[i] = w.Text
		}
	}
	if !effects.Accepts(c.Name, args) {
		return shellword.Show(c.Text()) + notKnown
	}
	files, ok := r.Parse(c.Name, words)
	if c.Name == "git" {
		ok = files != nil && !slices.ContainsFunc(dirs, func(d string) bool { return !s.GitSafe(d, effects.VisitsModules(args)) })
	}
	if !ok {
		return shellword.Show(c.Text()) + notKnown
	}
	for _, f := range files {
		if c.Name == "diff" && s.isDir(c.In, f) {
			return "diff follows links in folders"
		}
		if !s.Within(c.In, f) {
			return shellword.Show(f.Text) + " is not known to be in the working folders"
		}
	}
	return ""
}

// isDir reports whether a word may name a folder.
func (s *Line) isDir(in []shellscan.Workdir, w shellword.Word) bool {
	files, _ := s.Files(in, w)
	return slices.ContainsFunc(files, func(f string) bool {
		fi, err := os.Stat(f)
		return err == nil && fi.IsDir()
	})
}
