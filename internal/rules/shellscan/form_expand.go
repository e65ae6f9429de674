package shellscan

import (
	"regexp"
	"strings"

	"github.com/openagent-go/agent/internal/rules/shellword"
	"mvdan.cc/sh/v3/syntax"
)

// Expansions.

// expansion writes a part of a word that is not a text.
func (w *formWriter) expansion(p, next syntax.WordPart) {
	switch p := p.(type) {
	case *syntax.ParamExp:
		w.parameter(p, next)
	case *syntax.CmdSubst:
		w.substitution(p)
	case *syntax.ArithmExp:
		if p.Unsigned {
			w.refuse("it has a form that is not known")
		}
		w.arithmetic("$((", p.X, "))")
	case *syntax.ExtGlob:
		w.refuse("it has an extended file pattern")
	default:
		w.refuse("quotes are within quotes")
	}
}

func (w *formWriter) substitution(c *syntax.CmdSubst) {
	if c.TempFile || c.ReplyVar {
		w.refuse("it has a form that is not known")
		return
	}
	if c.Backquotes && (hasBackslash(c) || hidesBackquote(c, w.quoted)) {
		w.refuse("it quotes within backquotes")
	}
	if text := documentText(c); w.quoted && text != shellword.Unknown {
		if _, _, ok := delimiter(c.Stmts[0].Redirs[0].Word); ok {
			w.text(escapeQuoted(text))
			return
		}
	}
	w.apart("$(", c.Stmts, c.Left)
}

// hidesBackquote reports whether a substitution in backquotes holds what may hide its end
// from a parser but not from a shell, or the other way round.
func hidesBackquote(c *syntax.CmdSubst, quoted bool) bool {
	found := false
	syntax.Walk(c, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Comment:
			found = true
		case *syntax.DblQuoted:
			found = found || quoted
		case *syntax.SglQuoted:
			found = found || strings.Contains(n.Value, "`")
		case *syntax.Redirect:
			found = found || n.Hdoc != nil
		}
		return !found
	})
	return found
}

var (
	variableName   = regexp.MustCompile(`^([A-Za-z_][A-Za-z0-9_]*|[0-9]+|[?#$!@*-])$`)
	unusualParam   = "it expands a variable in an unusual way"
	patternActive  = "*?[]^!"
	patternEscaped = "*?[]^!#%/: "
)

func (w *formWriter) parameter(p *syntax.ParamExp, next syntax.WordPart) {
	if p.Param == nil || !variableName.MatchString(p.Param.Value) || p.Excl || p.Width || p.IsSet || p.Flags != nil || p.NestedParam != nil ||
		p.Split != 0 || p.GlobSubst != 0 || p.RcExpand != 0 || len(p.Modifiers) > 0 || p.Names != 0 || !p.Dollar.IsValid() {
		w.refuse(unusualParam)
		return
	}
	name := p.Param.Value
	if p.Short && name == "$" && opensMoreText(next) {
		w.refuse("a bracket follows $$") // in quotes bash takes the second dollar sign for that of an expansion
	}
	if p.Short && p.Index == nil && name != "$" && !extends(next) {
		w.text("$" + name)
		return
	}
	w.text("${")
	if p.Length {
		if shellword.IsDigits(name) || !strings.Contains("?#$!-", name) {
			w.text("#")
		} else {
			w.refuse(unusualParam)
		}
	}
	w.text(name)
	if p.Index != nil {
		w.bash = true
		if x, ok := p.Index.(*syntax.Word); ok && (x.Lit() == "@" || x.Lit() == "*") {
			w.text("[" + x.Lit() + "]")
		} else {
			w.arithmetic("[", p.Index, "]")
		}
	}
	w.operation(p)
	w.text("}")
}

// opensMoreText reports whether a part of a word would begin an expansion after a dollar sign.
func opensMoreText(next syntax.WordPart) bool {
	lit, ok := next.(*syntax.Lit)
	return ok && lit.Value != "" && strings.IndexByte("{([", lit.Value[0]) >= 0
}

// extends reports whether a part of a word would be taken for a part of the name in
// front of it.
func extends(next syntax.WordPart) bool {
	lit, ok := next.(*syntax.Lit)
	return ok && lit.Value != "" && (isLetterOrDigit(lit.Value[0]) || lit.Value[0] == '_' || lit.Value[0] == '[' || lit.Value[0] == '\\')
}

// operation writes what follows the name in an expansion.
func (w *formWriter) operation(p *syntax.ParamExp) {
	count := 0
	if p.Slice != nil {
		count++
		w.bash = true
		w.arithmetic(": ", p.Slice.Offset, "")
		if p.Slice.Length != nil {
			w.arithmetic(": ", p.Slice.Length, "")
		}
	}
	if p.Repl != nil {
		count++
		w.bash = true
		w.text("/")
		if p.Repl.All {
			w.text("/")
		}
		w.pattern(p.Repl.Orig)
		if p.Repl.With != nil {
			w.text("/")
			w.operand(p.Repl.With)
		}
	}
	if p.Exp != nil {
		count++
		switch p.Exp.Op {
		case syntax.UpperFirst, syntax.UpperAll, syntax.LowerFirst, syntax.LowerAll:
			w.bash = true
			fallthrough
		case syntax.RemSmallPrefix, syntax.RemLargePrefix, syntax.RemSmallSuffix, syntax.RemLargeSuffix:
			w.text(p.Exp.Op.String())
			w.pattern(p.Exp.Word)
		case syntax.DefaultUnset, syntax.DefaultUnsetOrNull, syntax.AlternateUnset, syntax.AlternateUnsetOrNull,
			syntax.ErrorUnset, syntax.ErrorUnsetOrNull, syntax.AssignUnset, syntax.AssignUnsetOrNull:
			w.text(p.Exp.Op.String())
			w.operand(p.Exp.Word)
		default:
			w.refuse(unusualParam)
		}
	}
	if count > 1 || count > 0 && p.Length {
		w.refuse(unusualParam)
	}
}

// operand writes the word that an expansion may become.
func (w *formWriter) operand(x *syntax.Word) {
	if x == nil {
		return
	}
	for i, p := range x.Parts {
		switch p := p.(type) {
		case *syntax.Lit:
			for i := range len(p.Value) {
				if c := p.Value[i]; c != ' ' && (!bare(c) || c == '!' || c == '^') {
					w.refuse("an expansion holds a text with quotes or patterns")
				}
			}
			w.text(p.Value)
		case *syntax.SglQuoted:
			if w.quoted || p.Dollar || strings.ContainsAny(p.Value, "'}") {
				w.refuse("quotes are within an expansion in quotes")
			}
			w.quote(p.Value)
		case *syntax.DblQuoted:
			if w.quoted {
				w.refuse("quotes are within an expansion in quotes")
			}
			w.double(p)
		default:
			w.expansion(p, following(x.Parts, i))
		}
	}
}

// pattern writes the pattern that an expansion removes or replaces.
func (w *formWriter) pattern(x *syntax.Word) {
	if x == nil {
		return
	}
	for i, p := range x.Parts {
		switch p := p.(type) {
		case *syntax.Lit:
			w.patternText(p.Value, i == 0)
		case *syntax.SglQuoted:
			if p.Dollar {
				w.refuse("a pattern in an expansion is unusual")
			}
			w.patternQuoted(p.Value)
		case *syntax.DblQuoted:
			w.patternDouble(p)
		default:
			w.expansion(p, following(x.Parts, i))
		}
	}
}

// patternDouble: of what is in quotes a pattern keeps variables in quotes.
func (w *formWriter) patternDouble(q *syntax.DblQuoted) {
	if q.Dollar {
		w.refuse("a pattern in an expansion is unusual")
	}
	for _, p := range q.Parts {
		switch p := p.(type) {
		case *syntax.Lit:
			w.patternQuoted(shellword.UnescapeQuoted(p.Value))
		case *syntax.ParamExp:
			if !shellword.IsSimple(p) {
				w.refuse("a pattern in an expansion is unusual")
			}
			w.text(`"`)
			w.parameter(p, nil)
			w.text(`"`)
		default:
			w.refuse("a pattern in an expansion is unusual")
		}
	}
}

func (w *formWriter) patternText(v string, first bool) {
	for i := 0; i < len(v); i++ {
		c := v[i]
		switch {
		case c == '\\' && i+1 < len(v):
			i++
			w.patternQuoted(v[i : i+1])
		case bare(c), strings.IndexByte(patternActive, c) >= 0, c == '#' && first && i == 0:
			w.text(string(c))
		case c == ' ':
			w.text(`\ `)
		default:
			w.refuse("a pattern in an expansion is unusual")
		}
	}
}

func (w *formWriter) patternQuoted(v string) {
	for i := range len(v) {
		switch c := v[i]; {
		case strings.IndexByte(patternEscaped, c) >= 0:
			w.text(`\` + string(c))
		case bare(c):
			w.text(string(c))
		default:
			w.refuse("a pattern in an expansion is unusual")
		}
	}
}

// Arithmetic and tests.

var plainNumber = regexp.MustCompile(`^([A-Za-z_][A-Za-z0-9_]*|[0-9]+(#[0-9A-Za-z]+)?|0[xX][0-9A-Fa-f]+)$`)

func (w *formWriter) arithmetic(open string, x syntax.ArithmExpr, end string) {
	was := w.quoted
	w.quoted = true
	w.text(open)
	if x != nil {
		w.arith(x)
	}
	w.text(end)
	w.quoted = was
}

func (w *formWriter) arith(x syntax.ArithmExpr) {
	switch x := x.(type) {
	case *syntax.Word:
		if len(x.Parts) == 1 {
			lit, ok := x.Parts[0].(*syntax.Lit)
			switch {
			case !ok:
				w.expansion(x.Parts[0], nil)
				return
			case plainNumber.MatchString(lit.Value):
				w.text(lit.Value)
				return
			}
		}
		w.refuse("it computes with something that may hold code")
	case *syntax.BinaryArithm:
		w.arith(x.X)
		w.text(" " + x.Op.String() + " ")
		w.arith(x.Y)
	case *syntax.UnaryArithm:
		op := x.Op.String()
		if x.Post {
			w.arith(x.X)
			w.text(op)
			return
		}
		w.text(op)
		if _, again := x.X.(*syntax.UnaryArithm); again {
			w.text(" ")
		}
		w.arith(x.X)
	case *syntax.ParenArithm:
		w.text("(")
		w.arith(x.X)
		w.text(")")
	default:
		w.refuse("it computes with something that may hold code")
	}
}

func (w *formWriter) test(x syntax.TestExpr) {
	switch x := x.(type) {
	case *syntax.Word:
		w.word(x, inCommand{name: true})
	case *syntax.ParenTest:
		w.text("( ")
		w.test(x.X)
		w.text(" )")
	case *syntax.UnaryTest:
		w.text(x.Op.String() + " ")
		w.test(x.X)
	case *syntax.BinaryTest:
		w.test(x.X)
		w.text(" " + x.Op.String() + " ")
		if y, ok := x.Y.(*syntax.Word); ok && x.Op == syntax.TsReMatch {
			w.regexp(y)
			return
		}
		w.test(x.Y)
	default:
		w.refuse("it tests in an unusual way")
	}
}

var plainRegexp = regexp.MustCompile(`^([A-Za-z0-9_./:,=@%+*?^\[\]{}-]|\\[.+*?\[\]{}()/^$|-])*\$?$`)

// regexp writes a regular expression. Quotes and backslashes say what is literal, so
// that they are kept.
func (w *formWriter) regexp(x *syntax.Word) {
	for i, p := range x.Parts {
		lit, ok := p.(*syntax.Lit)
		switch {
		case !ok:
			w.word(&syntax.Word{Parts: x.Parts[i : i+1]}, inCommand{})
		case !plainRegexp.MatchString(lit.Value), strings.HasSuffix(lit.Value, "$") && i+1 < len(x.Parts):
			w.refuse("it tests by an unusual regular expression")
		default:
			w.text(lit.Value)
		}
	}
}
