package permission

import (
	"slices"
	"strings"
	"unicode"

	"mvdan.cc/sh/v3/syntax"

	"github.com/openagent-go/agent/internal/text"
)

// Built-in commands and shells that read text as commands, change the folder or
// set variables.

func (s *shell) changeDir(c Command, in []workdir) []workdir {
	var to *word
	for i, w := range c.words {
		switch {
		case to == nil && (w.text == "-P" || w.text == "-L" || w.text == "--" || w.text == "-e"):
		case to != nil || w.split || strings.HasPrefix(w.text, "-") || strings.HasPrefix(w.text, "+"):
			return []workdir{lostPlace}
		default:
			to = &c.words[i]
		}
	}
	if to == nil {
		if c.Name == "pushd" {
			return []workdir{lostPlace}
		}
		to = &word{text: "~", home: true}
	}
	var out []workdir
	for _, p := range in {
		out = union(out, []workdir{p.cd(*to)})
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

func (s *shell) eval(c Command, in []workdir) (ok, bad []workdir) {
	s.evaluates = true
	words := c.words
	if len(words) > 0 && words[0].text == "--" {
		words = words[1:]
	}
	src, known := literal(words)
	if !known || strings.HasPrefix(src, "-") {
		s.fail("eval runs text that is only known when it runs")
		s.lost = true
		return []workdir{lostPlace}, []workdir{lostPlace}
	}
	ok, bad = in, in
	form, err := s.text(src, func(stmts []*syntax.Stmt) { ok, bad = s.stmts(stmts, in) })
	if err != nil {
		s.lost = true
	}
	s.bash = s.bash || form.Bash
	s.rewrite(words, src, form)
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
	form, _ := s.text(src, func(stmts []*syntax.Stmt) { s.stmts(stmts, []workdir{lostPlace}) })
	s.bash = s.bash || form.Bash
	s.rewrite(c.words[:1], src, form)
}

// shellCommand follows "sh -c text".
func (s *shell) shellCommand(c Command, in []workdir) {
	if c.Name != "sh" && c.Name != "bash" && c.Name != "dash" && c.Name != "ash" && c.Name != "rbash" {
		s.fail("%s reads commands in a way of its own", c.Name)
	}
	isText := false
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
				s.fail("what %s does with %s is not followed", c.Name, text.Bytes(a, maxShown))
			}
			continue
		}
		if strings.Trim(a[1:], "celuvxnfEBhpPCoO") != "" {
			s.fail("what %s does with %s is not followed", c.Name, text.Bytes(a, maxShown))
		}
		isText = isText || strings.Contains(a[1:], "c")
		i += strings.Count(a[1:], "o") + strings.Count(a[1:], "O")
	}
	if i >= len(c.words) {
		s.fail("what %s runs comes from its input", c.Name)
		return
	}
	if !isText {
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
	form, _ := s.text(src, func(stmts []*syntax.Stmt) { s.apart(stmts, in) })
	s.lost, s.evaluates = lost, evaluates
	if form.Bash && c.Name != "bash" && c.Name != "rbash" {
		s.fail("%s may read in another way what only bash understands", c.Name)
	}
	s.rewrite(c.words[i:i+1], src, form)
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
func (s *shell) setters(c Command, in []workdir) {
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
