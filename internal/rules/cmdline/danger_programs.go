package cmdline

import (
	"path"
	"slices"
	"strings"

	"github.com/openagent-go/agent/internal/rules/effects"
	"github.com/openagent-go/agent/internal/rules/paths"
	"github.com/openagent-go/agent/internal/rules/shellscan"
	"github.com/openagent-go/agent/internal/rules/shellword"
)

// Commands judged by the tables of package effects.

// effectDanger says why a command is not known to be without danger, "" if it is.
func (s *Line) effectDanger(c *shellscan.Command) string {
	switch {
	case c.Wraps || c.Name == "" || effects.IsShell(c.Name) && c.OwnName():
		return s.unknownArguments(c)
	case isOurs(c): // judged by what it lists
		return ""
	case !c.OwnName():
		return s.ownProgram(c)
	case s.CommandReads(c, false) == "":
		return ""
	}
	name := c.Name
	if language := effects.Interpreter(name); language != "" {
		name = language
	}
	return s.knownDanger(c, name, c.Words)
}

func (s *Line) knownDanger(c *shellscan.Command, name string, words []shellword.Word) string {
	e, words, full, why := effects.Lookup(name, words)
	if why != "" {
		return why
	}
	if effects.IsTar(name) && len(words) > 0 && !strings.HasPrefix(words[0].Text, "-") {
		words = slices.Clone(words)
		words[0].Text = "-" + words[0].Text // "tar cf x.tar"
	}
	said := shellword.Show(strings.TrimSpace(strings.ReplaceAll(full, ">", " ")))
	r := effects.Arguments{Effect: e, Words: words}
	if why := r.Read(); why != "" {
		return said + " " + why
	}
	for _, w := range slices.Concat(r.Operands, words) {
		if slices.ContainsFunc(e.Asks, func(t string) bool { return strings.Contains(w.Text, t) }) {
			return said + " is asked about with " + shellword.Show(w.Text)
		}
	}
	if i := slices.IndexFunc(words, effects.UsesOddScheme); i >= 0 && (name == "curl" || name == "wget") {
		return said + " is asked about with " + shellword.Show(words[i].Text)
	}
	for _, w := range r.Paths {
		if why := s.argumentDanger(c, w, true); why != "" {
			return why
		}
	}
	for _, w := range r.Code {
		if !s.isCode(c.In, w) {
			return "what " + said + " runs is not in a file of the working folders"
		}
	}
	return s.operandDanger(c, said, full, &r)
}

// operandDanger judges the arguments that are not options.
func (s *Line) operandDanger(c *shellscan.Command, said, full string, r *effects.Arguments) string {
	kind := r.Effect.Operands
	switch {
	case kind == "text":
		return effects.TextDanger(c.Name, said, r)
	case kind == "none" && len(r.Operands) > 0:
		return said + " gets arguments that are not known"
	case r.Module != "":
		return s.moduleDanger(c, r)
	case kind == "script" && len(r.Operands) == 0 && !slices.ContainsFunc(c.Args, effects.ReadsNoProgram):
		return "what " + said + " runs comes from its input"
	case kind == "script" && len(r.Operands) > 0 && !s.isCode(c.In, r.Operands[0]):
		return "what " + said + " runs is not in a file of the working folders"
	case kind == "command":
		if len(r.Operands) == 0 || r.Operands[0].Unknown() {
			return "what " + said + " runs is not known"
		}
		inner := *c
		inner.Path, inner.Words, inner.Args, inner.All = r.Operands[0].Text, r.Operands[1:], shellword.Texts(r.Operands[1:]), nil
		inner.Name = path.Base(inner.Path)
		if strings.HasSuffix(inner.Name, ".py") {
			return s.ownProgram(&inner)
		}
		return s.commandDanger(&inner)
	case full == "git>checkout" && s.discards(c, r):
		return said + " may replace files by older ones"
	}
	for _, w := range r.Operands {
		switch {
		case w.Hidden() || w.Split:
			return "what " + said + " works on is only known when it runs"
		case w.Glob != "" && s.mayBeOption(c.In, w):
			return "a file that " + said + " gets may have the name of an option"
		case kind == "variables" && !effects.PlainVariable(w.Text):
			return said + " is asked about with " + shellword.Show(w.Text)
		}
	}
	switch c.Name {
	case "sed", "gsed":
		return effects.SedDanger(said, r)
	case "chmod":
		if len(r.Operands) > 0 && effects.GivesRights.MatchString(r.Operands[0].Text) {
			return said + " gives a program the rights of its owner"
		}
	}
	return ""
}

// moduleDanger judges "python -m": a module that is known, or one of the project.
func (s *Line) moduleDanger(c *shellscan.Command, r *effects.Arguments) string {
	for _, name := range []string{"python>" + r.Module, r.Module} {
		if effects.Known(name) {
			return s.knownDanger(c, name, r.Operands)
		}
	}
	w := shellword.Word{Text: strings.ReplaceAll(r.Module, ".", "/")}
	for _, form := range []string{w.Text, w.Text + ".py"} {
		files, ok := s.Files(c.In, shellword.Word{Text: form})
		if ok && len(files) > 0 && !slices.ContainsFunc(files, func(f string) bool { return !paths.Exists(f) || !s.Inside(f) }) {
			return s.unknownArguments(c)
		}
	}
	return "the module " + shellword.Show(r.Module) + " is not one whose effects are known"
}

// isCode reports whether a word names a file of the working folders, which somebody
// could look at before it runs.
func (s *Line) isCode(in []shellscan.Workdir, w shellword.Word) bool {
	return !w.Hidden() && !w.Split && w.Glob == "" && w.Text != "-" && !strings.Contains(w.Text, ":") && !paths.IsStream(w.Text) && s.Within(in, w)
}

// ownProgram judges a program that is named by its path: one of the project, or a
// link to one of the system.
func (s *Line) ownProgram(c *shellscan.Command) string {
	w := shellword.Word{Text: c.Path}
	files, ok := s.Files(c.In, w)
	if !ok {
		return "which program " + shellword.Show(c.Path) + " is, is only known when it runs"
	}
	for _, f := range files {
		real := paths.RealPath(f)
		dir, base := path.Split(real)
		switch {
		case s.Inside(f):
		case slices.Contains(shellscan.Trusted, dir):
			linked := *c
			linked.Path, linked.Name = real, base
			if why := s.commandDanger(&linked); why != "" {
				return why
			}
		default:
			return shellword.Show(c.Path) + " is not known to be in the working folders"
		}
	}
	return s.unknownArguments(c)
}

// unknownArguments says that arguments of a command that may do anything with them
// are not known.
func (s *Line) unknownArguments(c *shellscan.Command) string {
	if c.Wraps { // they are those of the command that it runs
		return ""
	}
	if shellword.Any(c.Words, func(w shellword.Word) bool { return w.Hidden() || w.Split }) {
		return "what " + shellword.Show(c.Name) + " works on is only known when it runs"
	}
	return ""
}

// discards reports whether "git checkout" may be about files instead of a branch.
func (s *Line) discards(c *shellscan.Command, r *effects.Arguments) bool {
	if shellword.Any(c.Words, func(w shellword.Word) bool { return w.Text == "-b" }) {
		return false
	}
	if len(r.Operands) > 1 {
		return true
	}
	return shellword.Any(r.Operands, func(w shellword.Word) bool {
		files, ok := s.Files(c.In, w)
		return !ok || slices.ContainsFunc(files, paths.Exists)
	})
}

// mayBeOption reports whether a pattern of files may stand for a name that begins
// with a dash.
func (s *Line) mayBeOption(in []shellscan.Workdir, w shellword.Word) bool {
	if w.Text == "" || strings.IndexByte("*?[", w.Text[0]) < 0 {
		return false
	}
	dirs, ok := s.dirs(in)
	if !ok {
		return true
	}
	names, ok := expand(dirs, []shellword.Word{w})
	return !ok || shellword.Any(names, func(n shellword.Word) bool { return strings.HasPrefix(n.Text, "-") })
}

// OptionsUnknown reports whether an argument that is not known may make the command
// run a program or write a file.
func (s *Line) OptionsUnknown(c *shellscan.Command) bool {
	return c.Steered || (effects.IsSteered(c.Name) || c.Name == "find") && shellword.Any(c.Words, func(w shellword.Word) bool { return w.Glob != "" && s.mayBeOption(c.In, w) })
}
