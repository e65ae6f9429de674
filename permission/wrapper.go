package permission

import (
	"slices"
	"strings"
	"unicode"

	"mvdan.cc/sh/v3/syntax"
)

// A wrapper is a command that runs the command given in its arguments. Flags
// that are not listed make it not understood: where the inner command begins
// could only be guessed.
type wrapper struct {
	bools    string   // one-letter flags
	values   string   // one-letter flags with a value, in the same word or the next
	optional string   // one-letter flags whose value is in the same word, if any
	long     []string // long flags, "name=" with a value
	operands int      // words in front of the inner command
	vars     bool     // NAME=value in front of the inner command
	grants   bool     // the inner command gets other rights, so a rule must name the wrapper
}

var wrappers = map[string]wrapper{
	"command": {bools: "p"},
	"builtin": {},
	"exec":    {bools: "cl", values: "a"},
	"nohup":   {},
	"setsid":  {bools: "cfw", long: []string{"ctty", "fork", "wait"}},
	"nice":    {bools: "0123456789", values: "n", long: []string{"adjustment="}},
	"ionice":  {bools: "t", values: "cn", long: []string{"class=", "classdata=", "ignore"}},
	"stdbuf":  {values: "ioe", long: []string{"input=", "output=", "error="}},
	"time":    {bools: "pv", long: []string{"portability", "verbose"}},
	"timeout": {bools: "v", values: "ks", long: []string{"preserve-status", "foreground", "verbose", "kill-after=", "signal="}, operands: 1},
	"env":     {bools: "i0v", values: "u", long: []string{"ignore-environment", "null", "unset=", "debug"}, vars: true},
	"xargs": {bools: "0rtpxo", values: "nPLsdEIa", optional: "iel",
		long: []string{"null", "no-run-if-empty", "verbose", "interactive", "exit", "open-tty", "max-args=", "max-procs=", "max-chars=", "delimiter=", "arg-file="}},
	"sudo":    {bools: "nEHSkbA", values: "ugpCTDR", long: []string{"non-interactive", "preserve-env", "set-home", "stdin", "user=", "group="}, vars: true, grants: true},
	"doas":    {bools: "n", values: "uC", grants: true},
	"busybox": {},
	"toybox":  {},
}

// opaque names commands that run commands in ways that are not followed.
var opaque = strings.Fields(`. source alias unalias shopt enable hash bind complete compgen compopt fc history mapfile readarray getopts caller
	declare typeset local nameref readonly dirs strace ltrace gdb lldb perf valgrind parallel script watch flock entr expect unshare nsenter chroot su runuser
	sg newgrp pkexec setarch proot fakeroot firejail bwrap systemd-run systemd-nspawn xvfb-run dbus-run-session dbus-launch coreutils rlwrap unbuffer
	faketime proxychains proxychains4 torsocks tsocks caffeinate cgexec numactl taskset chrt prlimit choom setpriv capsh start-stop-daemon daemonize
	hyperfine at batch crontab screen tmux dtach abduco ssh-agent setuidgid softlimit envdir chpst runcon catchsegv ld.so linux32 linux64 i386 x86_64 arch
	genv gxargs gnice gnohup gstdbuf gtimeout gtime gfind bfind chronic pwsh powershell cmd cmd.exe fish csh tcsh rc nu elvish xonsh run-parts sandbox-exec`)

var shells = strings.Fields("sh bash dash ash rbash zsh ksh ksh93 mksh")

// meaningful reports whether a command is followed in a way of its own, so that
// a function of this name would deceive.
func meaningful(name string) bool {
	_, wraps := wrappers[name]
	_, reads := readers[name]
	return wraps || reads || slices.Contains(opaque, name) || slices.Contains(shells, name) ||
		slices.Contains(strings.Fields("cd pushd popd eval trap set read printf test [ unset export wait exit return shift"), name)
}

// special follows the commands that mean more than running a program.
func (s *shell) special(at int, in []place) (ok, bad []place) {
	c := s.List[at]
	if w, found := wrappers[c.Name]; found {
		return s.wrapped(at, w, in)
	}
	switch {
	case slices.Contains(opaque, c.Name) || strings.HasPrefix(c.Name, "ld-linux") || strings.HasPrefix(c.Name, "qemu-"):
		s.fail("what %s runs cannot be seen", c.Name)
		s.lost = s.lost || c.Name == "." || c.Name == "source"
		return in, in
	case slices.Contains(shells, c.Name):
		s.shellCommand(c, in)
		return in, in
	}
	switch c.Name {
	case "cd", "pushd":
		return s.changeDir(c, in), in
	case "popd":
		return []place{lostPlace}, in
	case "eval":
		return s.eval(c, in)
	case "trap":
		s.trap(c)
	case "find":
		s.find(at, in)
	case "fd", "fdfind":
		s.refuse(c, "xX", "exec", "exec-batch")
	case "sort":
		s.refuse(c, "", "compress-program")
	case "rg":
		s.refuse(c, "", "pre", "hostname-bin")
	case "tar", "bsdtar", "gtar":
		s.List[at].in = c.folders(in)
		s.refuse(c, "IF", "use-compress-program", "to-command", "checkpoint-action", "rsh-command", "info-script", "new-volume-script")
	case "git", "make", "gmake", "ninja":
		s.List[at].in = c.folders(in)
	case "man":
		s.refuse(c, "PH", "pager", "html")
	case "set":
		s.set(c)
	case "unset", "read":
		s.setters(c, in)
	case "printf":
		s.evaluates = true
		if len(c.Args) > 0 && (strings.HasPrefix(c.Args[0], "-v") || strings.HasPrefix(c.Args[0], Unknown) || c.words[0].glob != "") {
			s.fail("printf may set a variable")
		}
	case "wait":
		if slices.ContainsFunc(c.words, func(w word) bool {
			return strings.HasPrefix(w.text, "-") && strings.Contains(w.text, "p") || w.split || w.glob != ""
		}) {
			s.fail("wait sets a variable")
		}
	case "test", "[":
		s.testCommand(c)
	case "export":
		s.fail("export is called in a way that is not followed")
	}
	return in, in
}

// refuse marks a command whose flags may run another program. GNU programs take
// any unambiguous beginning of a long flag.
func (s *shell) refuse(c Command, letters string, long ...string) {
	for _, a := range c.Args {
		name, isLong := strings.CutPrefix(a, "--")
		name, _, _ = strings.Cut(name, "=")
		switch {
		case isLong && name != "" && slices.ContainsFunc(long, func(l string) bool { return strings.HasPrefix(l, name) }),
			!isLong && strings.HasPrefix(a, "-") && strings.ContainsAny(a, letters):
			s.fail("%s may run another program with %s", c.Name, clip(a))
		}
	}
}

var tars = []string{"tar", "bsdtar", "gtar"}

// folders returns where a command with "-C folder" works.
func (c *Command) folders(in []place) []place {
	all := in
	move := func(w word) {
		for _, p := range all {
			all = union(all, []place{p.cd(w)})
		}
	}
	tar := slices.Contains(tars, c.Name)
	for i, w := range c.words {
		dir, long := strings.CutPrefix(w.text, "--directory=")
		switch {
		case long:
			move(word{text: dir})
		case w.text == "-C", strings.HasPrefix(w.text, "--dir"):
			if i+1 < len(c.words) {
				move(c.words[i+1])
			}
		case strings.HasPrefix(w.text, "-C"):
			move(word{text: w.text[2:]})
		case tar && strings.Contains(w.text, "C") && (i == 0 || strings.HasPrefix(w.text, "-")): // "czfC a.tgz folder"
			for _, v := range c.words[i+1 : min(i+3, len(c.words))] {
				move(v)
			}
		}
	}
	return all
}

func (s *shell) changeDir(c Command, in []place) []place {
	var to *word
	for i, w := range c.words {
		switch {
		case to == nil && (w.text == "-P" || w.text == "-L" || w.text == "--" || w.text == "-e"):
		case to != nil || w.split || strings.HasPrefix(w.text, "-") || strings.HasPrefix(w.text, "+"):
			return []place{lostPlace}
		default:
			to = &c.words[i]
		}
	}
	if to == nil {
		if c.Name == "pushd" {
			return []place{lostPlace}
		}
		to = &word{text: "~", home: true}
	}
	var out []place
	for _, p := range in {
		out = union(out, []place{p.cd(*to)})
	}
	return out
}

// literal joins words by spaces if they are known to the last character.
func literal(words []word) (string, bool) {
	var parts []string
	for _, w := range words {
		if w.unknown() || w.glob != "" || w.home {
			return "", false
		}
		parts = append(parts, w.text)
	}
	return strings.Join(parts, " "), true
}

func (s *shell) eval(c Command, in []place) (ok, bad []place) {
	s.evaluates = true
	src, known := literal(c.words)
	if !known {
		s.fail("eval runs text that is only known when it runs")
		s.lost = true
		return []place{lostPlace}, []place{lostPlace}
	}
	ok, bad = in, in
	if err := s.text(src, func(stmts []*syntax.Stmt) { ok, bad = s.stmts(stmts, in) }); err != nil {
		s.lost = true
	}
	return ok, bad
}

func (s *shell) trap(c Command) {
	if len(c.words) < 2 && len(c.words) > 0 || len(c.words) > 0 && (c.words[0].text == "" || c.words[0].text == "-") {
		return
	}
	s.evaluates, s.lost = true, true
	if len(c.words) == 0 {
		return
	}
	src, known := literal(c.words[:1])
	if !known || strings.HasPrefix(src, "-") {
		s.fail("trap runs text that is not followed")
		return
	}
	_ = s.text(src, func(stmts []*syntax.Stmt) { s.stmts(stmts, []place{lostPlace}) })
}

// shellCommand follows "sh -c text".
func (s *shell) shellCommand(c Command, in []place) {
	if c.Name != "sh" && c.Name != "bash" && c.Name != "dash" && c.Name != "ash" && c.Name != "rbash" {
		s.fail("%s reads commands in a way of its own", c.Name)
	}
	text := false
	i := 0
	for ; i < len(c.words); i++ {
		w := c.words[i]
		a := w.text
		if w.unknown() || w.glob != "" {
			s.fail("what %s runs is only known when it runs", c.Name)
			return
		}
		if a == "--" || a == "-" {
			i++
			break
		}
		if a == "" || a[0] != '-' && a[0] != '+' {
			break
		}
		if strings.HasPrefix(a, "--") {
			if !slices.Contains([]string{"--login", "--norc", "--noprofile", "--posix"}, a) {
				s.fail("what %s does with %s is not followed", c.Name, clip(a))
			}
			continue
		}
		if strings.Trim(a[1:], "celuvxnfEBhpPCoO") != "" {
			s.fail("what %s does with %s is not followed", c.Name, clip(a))
		}
		text = text || strings.Contains(a[1:], "c")
		i += strings.Count(a[1:], "o") + strings.Count(a[1:], "O")
	}
	if i >= len(c.words) {
		s.fail("what %s runs comes from its input", c.Name)
		return
	}
	if !text {
		if w := c.words[i]; w.unknown() || w.glob != "" || slices.Contains(streams, w.text) || strings.HasPrefix(w.text, "/dev/") || strings.HasPrefix(w.text, "/proc/") {
			s.fail("what %s runs is only known when it runs", c.Name)
		}
		return
	}
	src, known := literal(c.words[i : i+1])
	if !known {
		s.fail("what %s runs is only known when it runs", c.Name)
		return
	}
	lost, evaluates := s.lost, s.evaluates
	_ = s.text(src, func(stmts []*syntax.Stmt) { s.apart(stmts, in) })
	s.lost, s.evaluates = lost, evaluates
}

// wrapped follows the command that a wrapper runs.
func (s *shell) wrapped(at int, w wrapper, in []place) (ok, bad []place) {
	c := s.List[at]
	if c.Name == "command" && len(c.Args) > 0 && (c.Args[0] == "-v" || c.Args[0] == "-V") {
		return in, in // only says what it would run
	}
	inner, env, set, replace, ok2 := s.inner(c, w)
	if !ok2 || len(inner) == 0 {
		return in, in
	}
	if c.Name == "xargs" {
		inner = fromInput(inner, replace)
	}
	s.List[at].wraps = true
	if len(env) > 0 {
		for _, n := range set {
			s.assignName(n)
		}
	}
	outer := s.outer
	if w.grants {
		s.outer = at + 1
	}
	ok, bad = s.call(inner, slices.Concat(c.Env, env), slices.Concat(c.set, set), in)
	s.outer = outer
	switch c.Name {
	case "command", "builtin", "exec":
		return ok, bad
	}
	return in, in
}

// inner splits the words of a wrapper. It returns the inner command, the
// assignments in front of it and xargs' replacement text.
func (s *shell) inner(c Command, w wrapper) (inner []word, env, set []string, replace string, ok bool) {
	unknown := func(what string) ([]word, []string, []string, string, bool) {
		s.fail("what %s runs cannot be told because of %s", c.Name, clip(what))
		return nil, nil, nil, "", false
	}
	words := c.words
	next := func() (word, bool) {
		if len(words) == 0 {
			return word{}, false
		}
		x := words[0]
		words = words[1:]
		return x, !x.unknown() && x.glob == ""
	}
	for len(words) > 0 {
		x := words[0]
		if x.unknown() || x.glob != "" {
			return unknown("an expansion")
		}
		if x.text == "-" && c.Name == "env" {
			words = words[1:]
			continue
		}
		if !strings.HasPrefix(x.text, "-") || x.text == "-" {
			break
		}
		words = words[1:]
		if x.text == "--" {
			break
		}
		if name, isLong := strings.CutPrefix(x.text, "--"); isLong {
			name, _, has := strings.Cut(name, "=")
			switch {
			case slices.Contains(w.long, name) && !has:
			case slices.Contains(w.long, name+"="):
				if !has {
					if _, ok := next(); !ok {
						return unknown(x.text)
					}
				}
			default:
				return unknown(x.text)
			}
			continue
		}
		for i := 1; i < len(x.text); i++ {
			letter, rest := x.text[i], x.text[i+1:]
			switch {
			case strings.IndexByte(w.bools, letter) >= 0:
				continue
			case strings.IndexByte(w.optional, letter) >= 0:
				if letter == 'i' {
					if replace = rest; replace == "" {
						replace = "{}"
					}
				}
			case strings.IndexByte(w.values, letter) >= 0:
				if rest == "" {
					v, ok := next()
					if !ok {
						return unknown(x.text)
					}
					rest = v.text
				}
				if letter == 'I' {
					replace = rest
				}
			default:
				return unknown(x.text)
			}
			break
		}
	}
	for range w.operands {
		if _, ok := next(); !ok && len(words) > 0 {
			return unknown("an expansion")
		}
	}
	for w.vars && len(words) > 0 {
		name, _, isVar := strings.Cut(words[0].text, "=")
		if words[0].unknown() && strings.Contains(name, Unknown) {
			return unknown("an expansion")
		}
		if !isVar {
			break
		}
		env, set, words = append(env, words[0].text), append(set, name), words[1:]
	}
	return words, env, set, replace, true
}

// fromInput marks the words of a command that xargs completes.
func fromInput(words []word, replace string) []word {
	out := slices.Clone(words)
	if replace == "" {
		return append(out, word{text: Unknown, split: true})
	}
	for i, w := range out {
		if strings.Contains(w.text, replace) {
			out[i] = word{text: strings.ReplaceAll(w.text, replace, Unknown)}
		}
	}
	return out
}

// find follows what find runs. "{}" becomes the name of a file.
func (s *shell) find(at int, in []place) {
	c := s.List[at]
	for i := 0; i < len(c.words); i++ {
		switch c.words[i].text {
		case "-exec", "-execdir", "-ok", "-okdir":
		default:
			if c.words[i].split {
				s.fail("what find does is only known when it runs")
			}
			continue
		}
		from := in
		if strings.HasSuffix(c.words[i].text, "dir") {
			from = []place{lostPlace}
		}
		end := i + 1
		for end < len(c.words) && c.words[end].text != ";" && !(c.words[end].text == "+" && c.words[end-1].text == "{}") {
			end++
		}
		inner := fromInput(c.words[i+1:end], "{}")
		if len(inner) == 0 {
			s.fail("what find runs cannot be told")
			return
		}
		s.call(inner, c.Env, c.set, from)
		i = end
	}
}

// set accepts the options that do not change what the text means.
func (s *shell) set(c Command) {
	for i := 0; i < len(c.Args); i++ {
		a := c.Args[i]
		if a == "--" || a == "-" {
			return
		}
		if a == "" || a[0] != '-' && a[0] != '+' {
			if c.words[i].unknown() || c.words[i].glob != "" {
				s.fail("set gets options that are only known when it runs")
			}
			return
		}
		if strings.Trim(a[1:], "euxvfCo") != "" || strings.Count(a, "o") > 1 {
			s.fail("set changes how commands are read")
			return
		}
		if strings.Contains(a, "o") {
			i++
			if i < len(c.Args) && !slices.Contains([]string{"errexit", "nounset", "xtrace", "pipefail", "noglob", "noclobber"}, c.Args[i]) {
				s.fail("set changes how commands are read")
				return
			}
		}
	}
}

// setters checks built-in commands that take names of variables.
func (s *shell) setters(c Command, in []place) {
	s.evaluates = true
	for _, w := range c.words {
		switch {
		case w.unknown() || w.glob != "" || strings.ContainsAny(w.text, "[$`"):
			s.fail("%s gets the name of a variable that may hold code", c.Name)
		case !strings.HasPrefix(w.text, "-"):
			s.setVar(w.text, in)
		}
	}
}

// testCommand refuses what lets test look up a variable by a computed name.
func (s *shell) testCommand(c Command) {
	isOperator := func(i int) bool {
		if i < 0 || i >= len(c.words) || c.words[i].unknown() {
			return false
		}
		t := c.words[i].text
		return t == "=" || t == "==" || t == "!=" || t == "<" || t == ">" || len(t) > 1 && t[0] == '-' && unicode.IsLetter(rune(t[1]))
	}
	words := c.words
	if c.Name == "[" && len(words) > 0 {
		words = words[:len(words)-1]
	}
	for i, w := range words {
		bad := w.text == "-v" || w.text == "-R" || w.split || w.glob != ""
		if w.unknown() && len(words) > 1 && !isOperator(i-1) && !isOperator(i+1) {
			bad = true
		}
		if bad {
			s.fail("test may look up a variable by a computed name")
		}
	}
}
