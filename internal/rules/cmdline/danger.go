package cmdline

import (
	"slices"
	"strings"

	"github.com/openagent-go/agent/internal/guarded"
	"github.com/openagent-go/agent/internal/rules/effects"
	"github.com/openagent-go/agent/internal/rules/paths"
	"github.com/openagent-go/agent/internal/rules/shellscan"
	"github.com/openagent-go/agent/internal/rules/shellword"
)

// Commands that mode auto asks about.

// Danger returns why the line may be dangerous, "" if it is not known to be.
func (s *Line) Danger() string {
	if s.Unclear != "" {
		return shellscan.NotUnderstood + s.Unclear
	}
	for _, r := range s.Redirects {
		if !s.Within(r.In, r.Word) {
			return shellword.Show(r.Path) + " is not known to be in the working folders"
		}
		if r.Write && s.GuardedWord(r.In, r.Word) {
			return shellword.Show(r.Path) + " decides what runs later"
		}
	}
	for i := range s.List {
		if why := s.commandDanger(&s.List[i]); why != "" {
			return why
		}
	}
	return ""
}

func (s *Line) commandDanger(c *shellscan.Command) string {
	if what := effects.DangerOf(c.Name); what != "" {
		return shellword.Show(c.Name) + " " + what
	}
	if strings.HasPrefix(c.Name, "mkfs") || strings.HasPrefix(c.Name, "newfs") {
		return shellword.Show(c.Name) + " deletes"
	}
	if isOurs(c) && !lists(c) {
		return shellword.Show(c.Name) + " may change what is permitted, or run with other permissions"
	}
	if effects.RunsOrWrites(c.Name, c.Args) {
		return "the program given to " + c.Name + " may run or write anything"
	}
	if c.Name == "git" && (len(c.Words) > 0 && c.Words[0].Unknown() || hasArg(c.Args, "push") && slices.ContainsFunc(c.Args, func(a string) bool { return strings.HasPrefix(a, "+") || strings.HasPrefix(a, ":") })) {
		return shellword.Show(c.Text()) + " may delete"
	}
	dirs, ok := s.dirs(c.In)
	switch {
	case !ok:
		return shellword.Show(c.Name) + " runs in a folder that is not known"
	case slices.ContainsFunc(dirs, func(d string) bool { return !s.Inside(d) }):
		return shellword.Show(c.Name) + " runs outside of the working folders"
	}
	if i := slices.IndexFunc(c.Set, effects.SteersProgram); i >= 0 {
		return "the variable " + shellword.Show(c.Set[i]) + " may name a program"
	}
	if why := s.effectDanger(c); why != "" {
		return why
	}
	writes := s.CommandReads(c, false) != ""
	if c.Name == "echo" || c.Name == "printf" {
		return "" // they open no file
	}
	script := effects.ScriptWord(c.Name, c.Words)
	for i, w := range c.Words {
		if i == script {
			continue
		}
		if why := s.argumentDanger(c, w, writes); why != "" {
			return why
		}
	}
	return ""
}

func (s *Line) argumentDanger(c *shellscan.Command, w shellword.Word, writes bool) string {
	if writes && w.Unknown() && effects.IsWriter(c.Name) && !w.Home {
		return "what " + c.Name + " changes is only known when it runs"
	}
	for _, v := range shellword.PathForms(w) {
		if strings.Contains(v.Text, "://") || v.Text == "-" || paths.IsStream(v.Text) {
			continue
		}
		files, known := s.Files(c.In, v)
		if !known && v.Glob != "" && !v.Unknown() {
			files, _, known = s.reach(c.In, v)
		}
		leaves := slices.ContainsFunc(files, func(f string) bool { return !s.Inside(f) })
		if !known { // what is relative is taken to stay in the folder
			leaves = v.Home || strings.HasPrefix(v.Text, "/") || strings.HasPrefix(v.Text, "~") || strings.Contains(v.Text, "..")
		}
		if leaves {
			return shellword.Show(v.Text) + " is not known to be in the working folders"
		}
		if writes && (s.GuardedWord(c.In, v) || effects.IsReplacer(c.Name) && s.holdsGuarded(c.In, v)) {
			return shellword.Show(v.Text) + " decides what runs later"
		}
	}
	return ""
}

// GuardedWord reports whether a word names a guarded file: one that decides which programs run later.
func (s *Line) GuardedWord(in []shellscan.Workdir, w shellword.Word) bool {
	files, ok := s.Files(in, w)
	return ok && slices.ContainsFunc(files, s.Guards)
}

// holdsGuarded reports whether a word names a folder of which a part decides what
// runs later, such as .github.
func (s *Line) holdsGuarded(in []shellscan.Workdir, w shellword.Word) bool {
	files, ok := s.Files(in, w)
	return ok && slices.ContainsFunc(files, func(f string) bool { return guarded.MayHold(paths.Segments(f)) })
}

// isOurs reports whether the command is openagent, by which permissions can be
// given and used that the call at hand does not have.
func isOurs(c *shellscan.Command) bool {
	return strings.TrimSuffix(strings.ToLower(c.Name), ".exe") == "openagent"
}

// lists reports whether the command openagent only shows what there is, with the
// home folder and the settings that it has anyway.
func lists(c *shellscan.Command) bool {
	if len(c.Env) > 0 || c.Outer > 0 || len(c.Args) == 0 || shellword.Any(c.Words, shellword.Word.Hidden) {
		return false
	}
	var args []string
	for i := 0; i < len(c.Args); i++ {
		switch a := c.Args[i]; {
		case i > 0 && a == "--output-format":
			i++
		case i > 0 && strings.HasPrefix(a, "-") && !strings.HasPrefix(a, "--output-format="):
			return false
		default:
			args = append(args, a)
		}
	}
	switch args[0] {
	case "version", "--version", "--help", "-h", "models":
		return len(args) == 1
	case "help":
		return true
	}
	if len(args) == 1 {
		return effects.OpenagentLists(args[0], "")
	}
	return args[1] != "" && effects.OpenagentLists(args[0], args[1])
}

// hasArg reports whether an argument is among those of a command; a flag of one letter
// may be in a cluster, and a long flag may have a value.
func hasArg(args []string, arg string) bool {
	return slices.ContainsFunc(args, func(a string) bool {
		switch {
		case a == arg || strings.HasPrefix(arg, "--") && strings.HasPrefix(a, arg+"="):
			return true
		case len(arg) == 2 && arg[0] == '-' && arg[1] != '-' && len(a) > 1 && a[0] == '-' && a[1] != '-':
			return strings.Contains(a[1:], arg[1:])
		}
		return false
	})
}

// IsOrdinary reports whether nothing dangerous is known of a command, nor of the same
// with other arguments.
func (s *Line) IsOrdinary(c *shellscan.Command) bool {
	if effects.DangerOf(c.Name) == "" && effects.Interpreter(c.Name) == "" && c.OwnName() && !isOurs(c) && !effects.Known(c.Name) && !strings.HasPrefix(c.Name, "mkfs") {
		return !shellword.Any(c.Words, func(w shellword.Word) bool { return s.argumentDanger(c, w, true) != "" })
	}
	return s.commandDanger(c) == ""
}
