package cmdline

import (
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/openagent-go/agent/internal/rules/effects"
	"github.com/openagent-go/agent/internal/rules/paths"
	"github.com/openagent-go/agent/internal/rules/shellscan"
	"github.com/openagent-go/agent/internal/rules/shellword"
)

// Which files a command line may reach, for Read and Edit rules that forbid.

// Touches reports whether a pattern concerns a file that a known argument or redirection
// of the line names.
func (s *Line) Touches(pattern *paths.Pattern) bool {
	for _, r := range s.Redirects {
		if s.named(pattern, r.In, r.Word) {
			return true
		}
	}
	for i := range s.List {
		c := &s.List[i]
		for _, w := range c.Words {
			if s.named(pattern, c.In, w) {
				return true
			}
		}
	}
	return false
}

// named reports whether a pattern concerns a file that a word is known to name.
func (s *Line) named(pattern *paths.Pattern, in []shellscan.Workdir, w shellword.Word) bool {
	words, _ := w.Meanings()
	for _, m := range words {
		for _, v := range shellword.PathForms(m) {
			files, open, _ := s.reach(in, v)
			if slices.ContainsFunc(files, func(f string) bool { return s.DeniedBy(pattern, f) }) ||
				slices.ContainsFunc(open, func(p string) bool { return s.MayDeny(pattern, p) }) {
				return true
			}
		}
	}
	return false
}

// MayTouch says why a pattern may concern a file that the line opens, or with edit
// changes, without being seen to; "" if it cannot.
func (s *Line) MayTouch(pattern *paths.Pattern, edit bool) string {
	if s.Unclear != "" {
		return s.Unclear
	}
	for _, r := range s.Redirects {
		if (r.Write || !edit) && !s.known(pattern, r.In, r.Word) {
			return "which file " + shellword.Show(r.Path) + " is, is only known when it runs"
		}
	}
	for i := range s.List {
		c := &s.List[i]
		if !opens(c, edit) || edit && s.CommandReads(c, false) == "" {
			continue
		}
		if c.RunsByOption() {
			return shellword.Show(c.Name) + " runs another program with " + shellword.Show(c.Spell[0])
		}
		if effects.TakesList(c.Name, c.Args) {
			return "which files " + shellword.Show(c.Name) + " opens is written elsewhere"
		}
		_, placed := s.dirs(c.In)
		for _, w := range c.Words {
			if file, _ := shellword.FileAddress(w.Text); file == shellword.Unknown {
				return "which file " + shellword.Show(w.Text) + " is, is only known when it runs"
			}
			if placed && w.Glob == "" && !w.Unknown() {
				continue
			}
			if !s.known(pattern, c.In, w) {
				return "which files " + shellword.Show(c.Name) + " opens is only known when it runs"
			}
		}
		if s.walksOver(c, pattern, edit) {
			return shellword.Show(c.Name) + " may reach files that it does not name"
		}
	}
	return ""
}

// opens reports whether the command itself may open files that its arguments
// name, with edit those that it may change.
func opens(c *shellscan.Command, edit bool) bool {
	if c.Wraps || !c.OwnName() {
		return !c.Wraps
	}
	return !effects.OpensNoFile(c.Name) && !(edit && effects.ChangesNoFile(c.Name))
}

// known reports whether all files that a word may name are known.
func (s *Line) known(pattern *paths.Pattern, in []shellscan.Workdir, w shellword.Word) bool {
	words, ok := w.Meanings()
	if !ok {
		return false
	}
	for _, m := range words {
		for _, v := range shellword.PathForms(m) {
			if _, _, ok := s.reach(in, v); !ok || s.descends(pattern, in, v) {
				return false
			}
		}
	}
	return true
}

// reach returns the files that a word may name, and patterns for those that it
// names if they come to be; false if there may be others.
func (s *Line) reach(in []shellscan.Workdir, w shellword.Word) (files, open []string, ok bool) {
	dirs, ok := s.dirs(in)
	if !ok || w.Glob == "" {
		files, ok = s.Files(in, w)
		return files, nil, ok && !(w.Split && slices.ContainsFunc(dirs, splits))
	}
	if w.Split && slices.ContainsFunc(dirs, splits) {
		return nil, nil, false
	}
	wide := w
	wide.Glob = widen(w.Glob)
	for _, d := range dirs {
		if strings.HasPrefix(join(d, w.Glob), "/proc/") { // where links lead depends on who looks
			return nil, nil, false
		}
		if w.Unknown() && !w.Home {
			open = append(open, s.unborn(d, w)...)
			continue
		}
		names, ok := paths.GlobNames(d, wide.Glob, wide.Home)
		if s.looks -= len(names) + 1; !ok || s.looks < 0 {
			return nil, nil, false
		}
		for _, n := range names {
			files = append(files, join(d, n))
		}
		plain := shellword.Word{Text: w.Text, Home: w.Home, Rest: w.Rest}
		if to, known := plain.Target(); known {
			files = append(files, join(d, to))
		}
		if len(names) == 0 && !slices.ContainsFunc(strings.Split(w.Glob, "/"), isStars) {
			open = append(open, s.unborn(d, wide)...)
		}
	}
	return files, open, true
}

// isStars reports whether a step of a file pattern matches any name: what there
// is says more than that.
func isStars(step string) bool { return step != "" && strings.Trim(step, "*") == "" }

// splits reports whether the name of a folder becomes several words where it is
// not quoted.
func splits(dir string) bool { return strings.ContainsAny(dir, " \t\n*?[\\") }

// unborn returns the patterns of files, seen from a folder, with the links in
// front of what is open resolved.
func (s *Line) unborn(dir string, w shellword.Word) []string {
	var front, rest []string
	for step := range strings.SplitSeq(w.Glob, "/") {
		if rest != nil || paths.HasMagic(step) {
			rest = append(rest, step)
			continue
		}
		text, _ := paths.Unescape(step)
		front = append(front, text)
	}
	start := strings.Join(front, "/")
	switch {
	case w.Home:
		start = paths.Home() + start
	case !strings.HasPrefix(w.Glob, "/"):
		start = join(dir, start)
	case start == "":
		start = "/"
	default:
		start = paths.FromShell(start)
	}
	var out []string
	for _, f := range s.Forms(start) {
		out = append(out, paths.EscapeGlob(filepath.ToSlash(f))+"/"+strings.Join(rest, "/"))
	}
	return out
}

// widen rewrites a file pattern of a shell so that [path.Match] finds all that it
// may match in any shell and language, and perhaps more.
func widen(glob string) string {
	if !strings.Contains(glob, "[") {
		return glob
	}
	steps := strings.Split(glob, "/")
	for i, step := range steps {
		if _, err := path.Match(step, ""); err == nil && plainBrackets.MatchString(step) {
			steps[i] = strings.ReplaceAll(step, "[!", "[^")
			continue
		}
		from, to := strings.IndexByte(step, '['), strings.LastIndexByte(step, ']')
		if 0 <= from && from < to {
			steps[i] = step[:from] + "*" + step[to+1:]
		}
	}
	return strings.Join(steps, "/")
}

// plainBrackets matches text whose brackets hold nothing but letters and ranges
// of digits, which all shells read alike.
var plainBrackets = regexp.MustCompile(`^[^\[\]\\]*(\[[!^]?([a-zA-Z_.]|[0-9](-[0-9])?)+\][^\[\]\\]*)*$`)
