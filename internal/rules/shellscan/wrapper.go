package shellscan

import (
	"cmp"
	"slices"
	"strings"

	"github.com/openagent-go/agent/internal/rules/effects"
	"github.com/openagent-go/agent/internal/rules/shellword"
	"github.com/openagent-go/agent/internal/text"
)

// meaningful reports whether a command is followed in a way of its own, so that
// a function of this name would deceive.
func meaningful(name string) bool {
	return effects.IsWrapper(name) || effects.IsReader(name) || effects.IsOpaque(name) || effects.IsShell(name) || effects.IsFollowed(name)
}

// special follows the commands that mean more than running a program.
func (s *shell) special(at int, in []Workdir) (ok, bad []Workdir) {
	c := s.List[at]
	if w, found := effects.WrapperOf(c.Name); found {
		return s.wrapped(at, w, in)
	}
	if c.Name != "git" {
		s.options(at, in)
	}
	switch {
	case effects.IsOpaque(c.Name) || strings.HasPrefix(c.Name, "ld-linux") || strings.HasPrefix(c.Name, "qemu-"):
		s.fail("what %s runs cannot be seen", c.Name)
		s.lost = s.lost || c.Name == "." || c.Name == "source"
		return in, in
	case effects.IsShell(c.Name):
		s.shellCommand(c, in)
		return in, in
	}
	switch c.Name {
	case "cd", "pushd":
		return s.changeDir(c, in), in
	case "popd":
		return []Workdir{Lost}, in
	case "eval":
		return s.eval(c, in)
	case "trap":
		s.trap(c)
	case "find":
		s.find(at, in)
	case "ssh":
		s.ssh(at)
	case "tar", "bsdtar", "gtar":
		s.List[at].In = c.folders(in)
		if slices.ContainsFunc(c.Args, namesHost) {
			s.fail("%s may reach another machine", c.Name)
		}
	case "git":
		s.List[at].In = c.folders(in)
		runs, why := effects.GitSettings(c.Args)
		if runs != "" {
			s.List[at].Spell = append(s.List[at].Spell, runs)
		}
		if why != "" {
			s.fail("%s", why)
		}
		s.options(at, s.List[at].In)
	case "make", "gmake", "ninja":
		s.List[at].In = c.folders(in)
	case "set":
		s.set(c)
	case "unset", "read":
		s.setters(c, in)
	case "printf":
		s.evaluates = true
		if len(c.Args) > 0 && (strings.HasPrefix(c.Args[0], "-v") || strings.HasPrefix(c.Args[0], shellword.Unknown) || c.Words[0].Glob != "") {
			s.fail("printf may set a variable")
		}
	case "wait":
		if shellword.Any(c.Words, func(w shellword.Word) bool {
			return strings.HasPrefix(w.Text, "-") && strings.Contains(w.Text, "p") || w.Split || w.Glob != ""
		}) {
			s.fail("wait sets a variable")
		}
	case "test", "[":
		s.testCommand(c)
	case "export":
		s.fail("export is called in a way that is not followed")
	}
	s.refuse(c)
	return in, in
}

// refuse marks the line if options of the command may run another program.
func (s *shell) refuse(c Command) {
	runs := effects.RunOptions(c.Name)
	if runs == nil {
		return
	}
	for _, a := range c.Args {
		if runs.Matches(a) {
			s.fail("%s may run another program with %s", c.Name, text.Bytes(a, shellword.MaxShown))
		}
	}
}

// namesHost reports whether tar may take an argument for an archive of another machine,
// to which it connects by a program.
func namesHost(arg string) bool {
	arg = strings.TrimPrefix(arg, "--file=")
	host, _, remote := strings.Cut(arg, ":")
	return remote && !strings.HasPrefix(arg, "--") && !strings.Contains(host, "/")
}

// folders returns where a command with "-C folder" works.
//
//go:noinline // called from many places: every program stays smaller
func (c *Command) folders(in []Workdir) []Workdir {
	all := in
	move := func(w shellword.Word) {
		for _, p := range all {
			all = union(all, []Workdir{p.cd(w)})
		}
	}
	tar := effects.IsTar(c.Name)
	for i, w := range c.Words {
		dir, long := strings.CutPrefix(w.Text, "--directory=")
		switch {
		case long:
			move(shellword.Word{Text: dir})
		case w.Text == "-C", strings.HasPrefix(w.Text, "--dir"):
			if i+1 < len(c.Words) {
				move(c.Words[i+1])
			}
		case strings.HasPrefix(w.Text, "-C"):
			move(shellword.Word{Text: w.Text[2:]})
		case tar && strings.Contains(w.Text, "C") && (i == 0 || strings.HasPrefix(w.Text, "-")): // "czfC a.tgz folder"
			for _, v := range c.Words[i+1 : min(i+3, len(c.Words))] {
				move(v)
			}
		}
	}
	return all
}

// wrapped follows the command that a wrapper runs.
func (s *shell) wrapped(at int, w *effects.Wrapper, in []Workdir) (ok, bad []Workdir) {
	c := s.List[at]
	if c.Name == "command" && len(c.Args) > 0 && (c.Args[0] == "-v" || c.Args[0] == "-V") {
		return in, in // only says what it would run
	}
	x := wrapping{Wrapper: w, name: c.Name, words: c.Words}
	if odd := x.read(); odd != "" {
		s.fail("what %s runs cannot be told because of %s", c.Name, text.Bytes(odd, shellword.MaxShown))
		return in, in
	}
	if len(x.words) == 0 {
		return in, in
	}
	if c.Name == "xargs" {
		x.words = fromInput(x.words, x.replace)
	}
	s.List[at].Wraps = true
	for _, n := range x.set {
		s.assignName(n)
	}
	outer := s.outer
	if w.OtherRights {
		s.outer = at + 1
	}
	ok, bad = s.call(x.words, slices.Concat(c.Env, x.env), slices.Concat(c.Set, x.set), in)
	s.outer = outer
	switch c.Name {
	case "command", "builtin", "exec":
		return ok, bad
	}
	return in, in
}

// A wrapping is the words of a wrapper as they are read.
type wrapping struct {
	*effects.Wrapper
	name    string           // of the wrapper
	words   []shellword.Word // not read yet; in the end the inner command
	env     []string         // assignments in front of the inner command
	set     []string         // the variables in them
	replace string           // what xargs replaces in the inner command
}

// read reads what stands in front of the inner command. It returns what makes
// this impossible, "" if nothing does.
func (x *wrapping) read() string {
	if odd := x.readFlags(); odd != "" {
		return odd
	}
	for range x.Words {
		if _, ok := x.next(); !ok && len(x.words) > 0 {
			return anExpansion
		}
	}
	return x.readAssignments()
}

const anExpansion = "an expansion"

// next takes a word; false if there is none or it is not known.
func (x *wrapping) next() (shellword.Word, bool) {
	if len(x.words) == 0 {
		return shellword.Word{}, false
	}
	w := x.words[0]
	x.words = x.words[1:]
	return w, !w.Unknown() && w.Glob == ""
}

func (x *wrapping) readFlags() string {
	for len(x.words) > 0 {
		w := x.words[0]
		if w.Unknown() || w.Glob != "" {
			return anExpansion
		}
		if !strings.HasPrefix(w.Text, "-") || w.Text == "-" && x.name != "env" {
			return ""
		}
		x.words = x.words[1:]
		if w.Text == "--" {
			return ""
		}
		name, isLong := strings.CutPrefix(w.Text, "--")
		if isLong && !x.readLong(name) || !isLong && !x.readLetters(w.Text[1:]) {
			return w.Text
		}
	}
	return ""
}

// readLong reads a long flag; false if it is not known.
func (x *wrapping) readLong(flag string) bool {
	name, _, has := strings.Cut(flag, "=")
	kind, known := x.Long(name)
	switch {
	case !known || kind == effects.PlainOption && has:
		return false
	case kind == effects.PlainOption || has:
		return true
	}
	_, ok := x.next()
	return ok
}

// readLetters reads flags of one letter in one word; false if one is not known.
func (x *wrapping) readLetters(letters string) bool {
	for i := range len(letters) {
		letter, rest := letters[i], letters[i+1:]
		kind, known := x.Letter(letter)
		switch {
		case !known:
			return false
		case kind == effects.PlainOption:
			continue
		case kind == effects.OptionalOption:
			if letter == 'i' {
				x.replace = cmp.Or(rest, "{}")
			}
			return true
		}
		if rest == "" {
			v, ok := x.next()
			if !ok {
				return false
			}
			rest = v.Text
		}
		if letter == 'I' {
			x.replace = rest
		}
		return true
	}
	return true
}

func (x *wrapping) readAssignments() string {
	for x.Assignments && len(x.words) > 0 {
		w := x.words[0]
		name, _, isVar := strings.Cut(w.Text, "=")
		if strings.Contains(name, shellword.Unknown) {
			return anExpansion
		}
		if !isVar {
			return ""
		}
		x.env, x.set, x.words = append(x.env, w.Text), append(x.set, name), x.words[1:]
	}
	return ""
}

// fromInput marks the words of a command that xargs completes.
func fromInput(words []shellword.Word, replace string) []shellword.Word {
	out := slices.Clone(words)
	if replace == "" {
		return append(out, shellword.Word{Text: shellword.Unknown, Split: true})
	}
	for i, w := range out {
		if strings.Contains(w.Text, replace) {
			out[i] = shellword.Word{Text: strings.ReplaceAll(w.Text, replace, shellword.Unknown)}
		}
	}
	return out
}

// find follows what find runs and writes. "{}" becomes the name of a file.
func (s *shell) find(at int, in []Workdir) {
	c := s.List[at]
	for i := 0; i < len(c.Words); i++ {
		switch c.Words[i].Text {
		case "-exec", "-execdir", "-ok", "-okdir":
		case "-delete":
			s.List[at].Spell = append(s.List[at].Spell, "-delete")
			continue
		case "-fprint", "-fprint0", "-fprintf", "-fls":
			if i+1 < len(c.Words) {
				s.writes(c.Words[i+1], in)
			}
			continue
		default:
			if c.Words[i].MayBeOption() {
				s.List[at].Steered = true
				if shellword.Any(c.Words[i+1:], func(w shellword.Word) bool { return w.Text == ";" || w.Text == "+" || w.MayBeOption() }) {
					s.fail("what find does is only known when it runs")
				}
			}
			if c.Words[i].Split {
				s.fail("what find does is only known when it runs")
			}
			continue
		}
		from := in
		if strings.HasSuffix(c.Words[i].Text, "dir") {
			from = []Workdir{Lost}
		}
		end := i + 1
		for end < len(c.Words) && c.Words[end].Text != ";" && !(c.Words[end].Text == "+" && c.Words[end-1].Text == "{}") {
			end++
		}
		inner := fromInput(c.Words[i+1:end], "{}")
		for j := range inner {
			inner[j].Found = inner[j].Found || inner[j].Unknown() && !c.Words[i+1+j].Unknown()
		}
		if len(inner) == 0 {
			s.fail("what find runs cannot be told")
			return
		}
		s.call(inner, c.Env, c.Set, from)
		i = end
	}
}

// Passes reports whether the command only runs the next one in the list.
func (c *Command) Passes() bool {
	w, known := effects.WrapperOf(c.Name)
	return c.Wraps && !(known && w.OtherRights) && c.OwnName()
}
