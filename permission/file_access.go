package permission

import (
	"net/url"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Which files a command line may reach, for Read and Edit rules that forbid.

// fileless are commands that open no file, whatever their arguments.
var fileless = strings.Fields("echo printf true false : test [ exit return break continue shift sleep seq basename dirname pwd whoami type which wait kill export declare typeset local readonly cd eval trap set unset read")

// showing are programs that change no file, whatever their arguments.
var showing = strings.Fields("cat head tail wc nl tac rev fold cut paste comm cmp diff stat file du df ls grep egrep fgrep md5sum sha1sum sha256sum sha512sum readlink realpath od hexdump strings tr")

var isFileless, isShowing = setOf(fileless), setOf(showing)

// touches reports whether a Read or Edit rule concerns a known argument or
// redirection of the line.
func (s *shellLine) touches(x *rule) bool {
	edit := x.tool == "Edit"
	for _, r := range s.Redirects {
		if (r.Write || !edit) && s.named(x.path, r.in, r.word) {
			return true
		}
	}
	for i := range s.List {
		c := &s.List[i]
		if edit && (!c.opens(edit) || s.commandReads(c, false) == "") {
			continue
		}
		for _, w := range c.words {
			if s.named(x.path, c.in, w) {
				return true
			}
		}
	}
	return false
}

// named reports whether a pattern concerns a file that a word is known to name.
func (s *shellLine) named(pattern *pathPattern, in []workdir, w word) bool {
	words, _ := w.meanings()
	for _, m := range words {
		for _, v := range pathForms(m) {
			files, open, _ := s.reach(in, v)
			if slices.ContainsFunc(files, func(f string) bool { return s.deniedBy(pattern, f) }) ||
				slices.ContainsFunc(open, func(p string) bool { return s.mayDeny(pattern, segments(p)) }) {
				return true
			}
		}
	}
	return false
}

// mayTouch says why a Read or Edit rule may concern the line without being seen
// to, "" if it cannot.
func (s *shellLine) mayTouch(x *rule) string {
	if s.Unclear != "" {
		return s.Unclear
	}
	edit := x.tool == "Edit"
	for _, r := range s.Redirects {
		if (r.Write || !edit) && !s.known(x.path, r.in, r.word) {
			return "which file " + show(r.Path) + " is, is only known when it runs"
		}
	}
	for i := range s.List {
		c := &s.List[i]
		if !c.opens(edit) {
			continue
		}
		if c.runsByOption() {
			return show(c.Name) + " runs another program with " + show(c.spell[0])
		}
		if c.takesList() {
			return "which files " + show(c.Name) + " opens is written elsewhere"
		}
		_, placed := s.dirs(c.in)
		for _, w := range c.words {
			if file, _ := fileAddress(w.text); file == Unknown {
				return "which file " + show(w.text) + " is, is only known when it runs"
			}
			if placed && w.glob == "" && !w.unknown() {
				continue
			}
			if !s.known(x.path, c.in, w) {
				return "which files " + show(c.Name) + " opens is only known when it runs"
			}
		}
		if s.walksOver(c, x.path) {
			return show(c.Name) + " may reach files that it does not name"
		}
	}
	return ""
}

// opens reports whether the command itself may open files that its arguments
// name, with edit those that it may change.
func (c *Command) opens(edit bool) bool {
	if c.wraps || !c.ownName() {
		return !c.wraps
	}
	return !isFileless[c.Name] && !(edit && isShowing[c.Name])
}

// takesList reports whether a file, or the input, says which files the command opens.
func (c *Command) takesList() bool {
	if c.Name == "cpio" || c.Name == "pax" || c.Name == "patch" || c.Name == "git" && slices.ContainsFunc(c.Args, func(a string) bool { return a == "apply" || a == "am" }) {
		return true
	}
	tar := slices.Contains(tars, c.Name)
	for i, a := range c.Args {
		switch {
		case strings.HasPrefix(a, "--"):
			if strings.HasPrefix(a, "--files") && strings.HasPrefix("--files-from", a) && c.Name != "rg" || strings.HasPrefix(a, "--files-from=") || strings.HasPrefix(a, "--files0-from") {
				return true
			}
		case a == "-files0-from", a == "-@" && c.Name == "zip",
			tar && (i == 0 || strings.HasPrefix(a, "-")) && strings.Contains(a, "T"):
			return true
		}
	}
	return false
}

// known reports whether all files that a word may name are known.
func (s *shellLine) known(pattern *pathPattern, in []workdir, w word) bool {
	words, ok := w.meanings()
	if !ok {
		return false
	}
	for _, m := range words {
		for _, v := range pathForms(m) {
			if _, _, ok := s.reach(in, v); !ok || s.descends(pattern, in, v) {
				return false
			}
		}
	}
	return true
}

// reach returns the files that a word may name, and patterns for those that it
// names if they come to be; false if there may be others.
func (s *shellLine) reach(in []workdir, w word) (files, open []string, ok bool) {
	dirs, ok := s.dirs(in)
	if !ok || w.glob == "" {
		files, ok = s.files(in, w)
		return files, nil, ok && !(w.split && slices.ContainsFunc(dirs, splits))
	}
	if w.split && slices.ContainsFunc(dirs, splits) {
		return nil, nil, false
	}
	wide := w
	wide.glob = widen(w.glob)
	for _, d := range dirs {
		if strings.HasPrefix(join(d, w.glob), "/proc/") { // where links lead depends on who looks
			return nil, nil, false
		}
		if w.unknown() && !w.home {
			open = append(open, s.unborn(d, w)...)
			continue
		}
		names, ok := globNames(d, wide)
		if s.looks -= len(names) + 1; !ok || s.looks < 0 {
			return nil, nil, false
		}
		for _, n := range names {
			files = append(files, join(d, n))
		}
		plain := word{text: w.text, home: w.home, rest: w.rest}
		if to, known := plain.target(); known {
			files = append(files, join(d, to))
		}
		if len(names) == 0 && !slices.ContainsFunc(strings.Split(w.glob, "/"), isStars) {
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
func (s *shellLine) unborn(dir string, w word) []string {
	var front, rest []string
	for step := range strings.SplitSeq(w.glob, "/") {
		if rest != nil || hasMagic(step) {
			rest = append(rest, step)
			continue
		}
		text, _ := unescape(step)
		front = append(front, text)
	}
	start := strings.Join(front, "/")
	switch {
	case w.home:
		start = home() + start
	case !strings.HasPrefix(w.glob, "/"):
		start = join(dir, start)
	case start == "":
		start = "/"
	}
	var out []string
	for _, f := range s.forms(start) {
		out = append(out, escapeGlob(filepath.ToSlash(f))+"/"+strings.Join(rest, "/"))
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

// A denial is a pattern of a rule that forbids, from one of the folders that it
// may start from.
type denial struct{ base, pats []string }

func (g *pathContext) denials(pattern *pathPattern) []denial {
	starts := g.starts()
	out := make([]denial, len(starts))
	for i, dir := range starts {
		out[i] = denial{pattern.start(dir), pattern.pats}
	}
	return out
}

// covers reports whether a file or all that is in it is denied.
func (d denial) covers(segs []string) bool {
	if len(segs) < len(d.base) || !slices.Equal(d.base, segs[:len(d.base)]) {
		return false
	}
	below := segs[len(d.base):]
	return matchSegments(d.pats, below) || matchSegments(d.pats, append(slices.Clone(below), "_"))
}

// mayCover reports whether a path of the form segs, whose segments are patterns,
// "**" for any number of segments, may be denied.
func (d denial) mayCover(segs []string) bool {
	pats := make([]string, 0, len(d.base)+len(d.pats))
	for _, b := range d.base {
		pats = append(pats, escapeGlob(b))
	}
	return meetSegments(append(pats, d.pats...), segs)
}

// mayDeny reports whether a deny or ask pattern may concern a file of the form segs.
func (g *pathContext) mayDeny(pattern *pathPattern, segs []string) bool {
	if foldCase {
		segs = lower(segs)
	}
	return slices.ContainsFunc(g.denials(pattern), func(d denial) bool {
		return d.mayCover(segs) || d.mayCover(append(slices.Clone(segs), "_"))
	})
}

// meetSegments reports whether a path is of the form segs and matched, itself or
// a folder above it, by pats.
func meetSegments(pats, segs []string) bool {
	// meets[j]: pats from i on and segs from j on may match.
	meets, next := make([]bool, len(segs)+1), make([]bool, len(segs)+1)
	for j := range next {
		next[j] = true
	}
	for i := len(pats) - 1; i >= 0; i-- {
		for j := len(segs); j >= 0; j-- {
			more := j < len(segs)
			switch {
			case pats[i] == "**":
				meets[j] = next[j] || more && meets[j+1]
			case !more:
				meets[j] = false
			case segs[j] == "**":
				meets[j] = meets[j+1] || next[j]
			default:
				meets[j] = meetText(pats[i], segs[j]) && next[j+1]
			}
		}
		meets, next = next, meets
	}
	return next[0]
}

// meetText reports whether some text may match both patterns of a segment.
func meetText(a, b string) bool {
	p, q := tokens(a), tokens(b)
	meets, next := make([]bool, len(q)+1), make([]bool, len(q)+1)
	for i := len(p); i >= 0; i-- {
		for j := len(q); j >= 0; j-- {
			switch {
			case i == len(p) && j == len(q):
				meets[j] = true
			case i < len(p) && p[i] < 0:
				meets[j] = next[j] || j < len(q) && takes(p[i], q[j]) && meets[j+1]
			case j < len(q) && q[j] < 0:
				meets[j] = meets[j+1] || i < len(p) && takes(q[j], p[i]) && next[j]
			default:
				meets[j] = i < len(p) && j < len(q) && p[i] == q[j] && next[j+1]
			}
		}
		meets, next = next, meets
	}
	return next[0]
}

// Tokens of a pattern of a segment are bytes, or stand for any number of them.
const (
	anyText   = -1
	anyNumber = -2
)

// takes reports whether a token that stands for bytes may stand for another token.
func takes(any, t int) bool {
	return any == anyText || t < 0 || t == '-' || '0' <= t && t <= '9'
}

// tokens takes a pattern of a segment apart. "?" and brackets stand for one
// character, which may be several bytes, and are taken for any text.
func tokens(pattern string) []int {
	var out []int
	for i := 0; i < len(pattern); i++ {
		switch c := pattern[i]; {
		case strings.HasPrefix(pattern[i:], number):
			out = append(out, anyNumber)
			i += len(number) - 1
		case c == '*', c == '?':
			out = append(out, anyText)
		case c == '[':
			out = append(out, anyText)
			if end := strings.LastIndexByte(pattern, ']'); end > i {
				i = end
			}
		case c == '\\' && i+1 < len(pattern):
			i++
			out = append(out, int(pattern[i]))
		default:
			out = append(out, int(c))
		}
	}
	return out
}

var fileScheme = regexp.MustCompile(`(?i)^(--?[a-z-]+=)?\{?file[^a-z/:]*:(//[^/]*)?(/.*)$`)

// fileAddress returns the path in an address of a file, Unknown if it has patterns.
func fileAddress(text string) (string, bool) {
	if !strings.Contains(text, ":/") {
		return "", false
	}
	if scheme, _, _ := strings.Cut(text, ":/"); strings.ContainsAny(scheme, "{[") {
		return Unknown, true // curl expands it
	}
	m := fileScheme.FindStringSubmatch(text)
	if m == nil {
		return "", false
	}
	file, err := url.PathUnescape(m[3])
	if err != nil || strings.ContainsAny(text, "{}[]"+Unknown) {
		return Unknown, true
	}
	return file, true
}

// pathForms returns the paths that an argument may hold: itself, the value of a
// flag or of name=value, and what follows "@".
func pathForms(w word) []word {
	if w.text == "" {
		return nil
	}
	var out []word
	flag := strings.HasPrefix(w.text, "-")
	if !flag {
		out = append(out, w)
	}
	part := func(text string) {
		if text != "" {
			x := word{text: text}
			if strings.HasPrefix(text, "~/") {
				x.home, x.rest = true, text[1:] // many programs expand it
			}
			out = append(out, x)
		}
	}
	if _, v, ok := strings.Cut(w.text, "="); ok {
		v = strings.Trim(strings.TrimLeft(v, "@<"), `"`)
		part(v)
		if at := strings.IndexAny(v, ";,"); at > 0 { // "f=@a;type=b" of curl
			for piece := range strings.FieldsFuncSeq(v, func(r rune) bool { return r == ';' || r == ',' || r == '"' }) {
				part(piece)
			}
		}
	}
	if front, v, ok := strings.Cut(w.text, "@"); ok {
		if !flag && front != "" && strings.Contains(w.text, Unknown) {
			v = Unknown
		}
		part(v)
	}
	if flag && len(w.text) > 2 && w.text[1] != '-' {
		part(strings.TrimLeft(w.text[2:], "@<"))
		if i := strings.IndexByte(w.text[2:], '/'); i > 0 && w.glob == "" && !strings.ContainsAny(w.text, "=:") {
			part(w.text[2+i:]) // after letters of other options
		}
	}
	if file, ok := fileAddress(w.text); ok {
		part(file)
	}
	if front, back, ok := strings.Cut(w.text, ":"); ok && !strings.HasPrefix(back, "//") {
		if !flag {
			part(front) // host:path, revision:path
		}
		part(back)
	}
	return out
}
