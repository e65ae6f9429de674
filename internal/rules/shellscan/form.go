package shellscan

import (
	"fmt"
	"regexp"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/openagent-go/agent/internal/rules/shellword"
	"github.com/openagent-go/agent/internal/text"
)

// The canonical form of a command line. A parser and a shell may read one text in two
// ways. So a line is parsed, printed again in a small grammar that leaves nothing to
// interpret, and the printed form is what is judged and what the shell gets. A line
// with a construct outside of that grammar has no form: it is not understood.

// A Form is a command line as it is judged and run.
type Form struct {
	Line string
	Bash bool // it uses what a shell other than bash may read in another way
}

// Canonical returns the form of a command line. The error says why the line is not
// understood; no rule with a pattern allows such a line, and no mode except bypassPermissions.
// Give the shell the form of a line that was judged.
func Canonical(line string) (Form, error) {
	c, err := Scan(line)
	if err == nil && c.Unclear != "" {
		err = fmt.Errorf("reading the command line %q: %s%s", text.Bytes(line, shellword.MaxShown), NotUnderstood, c.Unclear)
	}
	if err != nil {
		return Form{}, err
	}
	return c.Form, nil
}

// A script is a parsed text.
type script struct {
	Form
	stmts []*syntax.Stmt
	odd   string // why the text has no form; Line is as it was written then
}

// readScript parses a text and brings it into its form. The statements are those of
// the form. The error is one of syntax; the statements before it are returned then.
func readScript(src string) (script, error) {
	file, err := parse(src)
	raw := script{Form: Form{Line: src}, stmts: file.Stmts}
	if err != nil {
		return raw, err
	}
	form, odd := writeForm(file.Stmts, len(src))
	if odd == "" {
		odd = oddSource(file, src)
	}
	if odd != "" {
		raw.odd = odd
		return raw, nil
	}
	if form.Line == src {
		return script{Form: form, stmts: file.Stmts}, nil
	}
	if again, ok := readForm(form); ok {
		return again, nil
	}
	raw.odd = twoWays
	return raw, nil
}

const twoWays = "it can be read in two ways"

// readForm parses a form; false if it is not the form of itself.
func readForm(form Form) (script, bool) {
	file, err := parse(form.Line)
	if err != nil {
		return script{}, false
	}
	again, odd := writeForm(file.Stmts, len(form.Line))
	return script{Form: form, stmts: file.Stmts}, odd == "" && again == form && oddSource(file, form.Line) == ""
}

// oddSource says what a text has between its words that shells do not agree on, "" for
// nothing. The tree does not show it.
func oddSource(file *syntax.File, src string) string {
	if strings.Contains(src, "${") && spacedList.MatchString(src) {
		return "a space is beside the subscript of a list"
	}
	comments, joins := strings.Contains(src, "#"), strings.Contains(src, "\\\n")
	if !comments && !joins {
		return ""
	}
	odd := ""
	var plain [][2]uint // where a backslash at the end of a line is text, or is gone from text
	syntax.Walk(file, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Comment:
			if odd == "" {
				odd = oddComment(src, n)
			}
		case *syntax.SglQuoted:
			plain = append(plain, [2]uint{n.Pos().Offset(), n.End().Offset()})
		case *syntax.Redirect:
			plain = append(plain, plainLines(src, n)...)
		}
		return odd == ""
	})
	for at := 0; joins && odd == ""; {
		next := strings.Index(src[at:], "\\\n")
		if next < 0 {
			break
		}
		at += next
		before := strings.TrimRight(src[:at], `\`)
		quoted := (at-len(before))%2 == 1
		if !quoted && !inside(plain, uint(at)) && !endsInSpace(src[:at]) {
			odd = "a backslash at the end of a line is part of a word"
		}
		at++
	}
	return odd
}

// plainLines returns the parts of a here-document in which a backslash at the end of a
// line is text, or is gone from text. Where an expansion may begin before it and go on
// after it, it is neither: bash joins the lines first, the parser does not.
func plainLines(src string, n *syntax.Redirect) (spans [][2]uint) {
	if n.Hdoc == nil {
		return nil
	}
	if strings.ContainsAny(src[n.Word.Pos().Offset():n.Word.End().Offset()], `\'"`) {
		return [][2]uint{{n.Hdoc.Pos().Offset(), n.Hdoc.End().Offset()}}
	}
	for _, part := range n.Hdoc.Parts {
		lit, ok := part.(*syntax.Lit)
		if !ok {
			continue
		}
		from := lit.Pos().Offset()
		for at := from; at < lit.End().Offset(); at++ {
			if !strings.HasPrefix(src[at:], "\\\n") {
				continue
			}
			word := src[strings.LastIndexAny(src[:at], " \t\n")+1 : at]
			if strings.ContainsAny(word, "$`") {
				spans, from = append(spans, [2]uint{from, at}), at+1
			}
		}
		spans = append(spans, [2]uint{from, lit.End().Offset()})
	}
	return spans
}

// spacedList matches "${a[ @]}", which is no list for bash.
var spacedList = regexp.MustCompile(`\$\{#?[A-Za-z_][A-Za-z0-9_]*\[(\s+[@*]\s*|[@*]\s+)\]`)

func endsInSpace(s string) bool {
	return s != "" && strings.IndexByte(" \t\n", s[len(s)-1]) >= 0
}

func inside(spans [][2]uint, at uint) bool {
	for _, s := range spans {
		if s[0] <= at && at < s[1] {
			return true
		}
	}
	return false
}

// oddComment: shells do not agree on comments that follow something at once, and on
// those that end in a backslash.
func oddComment(src string, c *syntax.Comment) string {
	at := int(c.Pos().Offset())
	if at > 0 && !endsInSpace(src[:at]) {
		return "a comment follows something at once"
	}
	text, _, _ := strings.Cut(src[at:], "\n")
	if strings.HasSuffix(text, `\`) {
		return "a comment ends in a backslash"
	}
	return ""
}
