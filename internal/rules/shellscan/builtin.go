package shellscan

import (
	"slices"
	"strings"
	"unicode"

	"mvdan.cc/sh/v3/syntax"

	"github.com/openagent-go/agent/internal/rules/paths"
	"github.com/openagent-go/agent/internal/rules/shellword"
	"github.com/openagent-go/agent/internal/text"
)

// Built-in commands and shells that read text as commands, change the folder or
// set variables.

func (s *shell) changeDir(c Command, in []Workdir) []Workdir {
	var to *shellword.Word
	for i, w := range c.Words {
		switch {
		case to == nil && (w.Text == "-P" || w.Text == "-L" || w.Text == "--" || w.Text == "-e"):
		case to != nil || w.Split || strings.HasPrefix(w.Text, "-") || strings.HasPrefix(w.Text, "+"):
			return []Workdir{Lost}
		default:
			to = &c.Words[i]
		}
	}
	if to == nil {
		if c.Name == "pushd" {
			return []Workdir{Lost}
		}
		to = &shellword.Word{Text: "~", Home: true}
	}
	var out []Workdir
	for _, p := range in {
		out = union(out, []Workdir{p.cd(*to)})
	}
	return out
}

// literal joins words by spaces if they are known to the last character.
func literal(words []shellword.Word) (string, bool) {
	var parts []string
	for _, w := range words {
		if w.Unknown() || w.Glob != "" || w.Home {
			return "", false
		}
		parts = append(parts, w.Text)
	}
	return strings.Join(parts, " "), true
}

func (s *shell) eval(c Command, in []Workdir) (ok, bad []Workdir) {
	s.evaluates = true
	words := c.Words
	if len(words) > 0 && words[0].Text == "--" {
		words = words[1:]
	}
	src, known := literal(words)
	if !known || strings.HasPrefix(src, "-") {
		s.fail("eval runs text that is only known when it runs")
		s.lost = true
		return []Workdir{Lost}, []Workdir{Lost}
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
	if len(c.Words) < 2 && len(c.Words) > 0 || len(c.Words) > 0 && (c.Words[0].Text == "" || c.Words[0].Text == "-") {
		return
	}
	s.evaluates, s.lost = true, true
	if len(c.Words) == 0 {
		return
	}
	src, known := literal(c.Words[:1])
	if !known || strings.HasPrefix(src, "-") {
		s.fail("trap runs text that is not followed")
		return
	}
	form, _ := s.text(src, func(stmts []*syntax.Stmt) { s.stmts(stmts, []Workdir{Lost}) })
	s.bash = s.bash || form.Bash
	s.rewrite(c.Words[:1], src, form)
}

// shellCommand follows "sh -c text".
func (s *shell) shellCommand(c Command, in []Workdir) {
	if c.Name != "sh" && c.Name != "bash" && c.Name != "dash" && c.Name != "ash" && c.Name != "rbash" {
		s.fail("%s reads commands in a way of its own", c.Name)
	}
	isText := false
	i := 0
	for ; i < len(c.Words); i++ {
		w := c.Words[i]
		a := w.Text
		if w.Unknown() || w.Glob != "" {
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
				s.fail("what %s does with %s is not followed", c.Name, text.Bytes(a, shellword.MaxShown))
			}
			continue
		}
		if strings.Trim(a[1:], "celuvxnfEBhpPCoO") != "" {
			s.fail("what %s does with %s is not followed", c.Name, text.Bytes(a, shellword.MaxShown))
		}
		isText = isText || strings.Contains(a[1:], "c")
		i += strings.Count(a[1:], "o") + strings.Count(a[1:], "O")
	}
	if i >= len(c.Words) {
		s.fail("what %s runs comes from its input", c.Name)
		return
	}
	if !isText {
		if w := c.Words[i]; w.Unknown() || w.Glob != "" || paths.IsStream(w.Text) || strings.HasPrefix(w.Text, "/dev/") || strings.HasPrefix(w.Text, "/proc/") {
			s.fail("what %s runs is only known when it runs", c.Name)
		}
		return
	}
	src, known := literal(c.Words[i : i+1])
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
	s.rewrite(c.Words[i:i+1], src, form)
}

// set accepts the options that do not change what the text means.
func (s *shell) set(c Command) {
	for i := 0; i < len(c.Args); i++ {
		a := c.Args[i]
		if a == "--" || a == "-" {
			return
		}
		if a == "" || a[0] != '-' && a[0] != '+' {
			if c.Words[i].Unknown() || c.Words[i].Glob != "" {
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
func (s *shell) setters(c Command, in []Workdir) {
	s.evaluates = true
	for _, w := range c.Words {
		switch {
		case w.Unknown() || w.Glob != "" || strings.ContainsAny(w.Text, "[$`"):
			s.fail("%s gets the name of a variable that may hold code", c.Name)
		case !strings.HasPrefix(w.Text, "-"):
			s.setVar(w.Text, in)
		}
	}
}

// testCommand refuses arguments by which test may look up a variable by a computed name.
func (s *shell) testCommand(c Command) {
	isOperator := func(i int) bool {
		if i < 0 || i >= len(c.Words) || c.Words[i].Unknown() {
			return false
		}
		t := c.Words[i].Text
		return t == "=" || t == "==" || t == "!=" || t == "<" || t == ">" || len(t) > 1 && t[0] == '-' && unicode.IsLetter(rune(t[1]))
	}
	words := c.Words
	if c.Name == "[" && len(words) > 0 {
		words = words[:len(words)-1]
	}
	for i, w := range words {
		bad := w.Text == "-v" || w.Text == "-R" || w.Split || w.Glob != ""
		if w.Unknown() && len(words) > 1 && !isOperator(i-1) && !isOperator(i+1) {
			bad = true
		}
		if bad {
			s.fail("test may look up a variable by a computed name")
		}
	}
}
