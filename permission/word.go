package permission

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// A word is a word of a command with its quoting removed.
type word struct {
	text  string // Unknown for what is only known at run time
	glob  string // where the word is a pattern of files: the text, or rest, with what was quoted escaped
	home  bool   // begins with the home folder, followed by rest
	rest  string
	split bool   // may become several words, or none
	means []word // where the text is not known: all that the word may be as a path; nil if that is not known
	from  *syntax.Word
	found bool // the name of a file that a program found, which does not begin with "-"
}

func (w word) unknown() bool { return strings.Contains(w.text, Unknown) }

// hidden reports whether the word is not known, not even as a path.
func (w word) hidden() bool {
	return w.unknown() && (!w.home || strings.Contains(w.rest, Unknown))
}

// target returns the path that the word names, "~" first for the home folder;
// false if it is not known.
func (w word) target() (string, bool) {
	switch {
	case w.home:
		return "~" + w.rest, !strings.Contains(w.rest, Unknown) && w.glob == ""
	case strings.HasPrefix(w.text, "~"):
		return "./" + w.text, !w.unknown() && w.glob == ""
	}
	return w.text, !w.unknown() && w.glob == ""
}

// word follows the substitutions of a word and returns its text.
func (s *shell) word(w *syntax.Word, in []workdir) word {
	if w == nil {
		return word{}
	}
	for _, p := range w.Parts {
		switch p.(type) {
		case *syntax.Lit, *syntax.SglQuoted: // in which nothing runs
		default:
			s.substitutions(p, in)
		}
	}
	x := wordText(w)
	x.from = w
	return x
}

// substitutions follows what runs while n is expanded.
func (s *shell) substitutions(n syntax.Node, in []workdir) {
	syntax.Walk(n, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CmdSubst:
			if n.TempFile || n.ReplyVar {
				s.fail("it has a form that is not known")
			}
			s.apart(n.Stmts, in)
			return false
		case *syntax.ProcSubst:
			s.apart(n.Stmts, in)
			return false
		case *syntax.ArithmExp:
			s.arithm(n.X, in)
			return false
		case *syntax.ParamExp:
			s.param(n, in)
		}
		return true
	})
}

// hasBackslash reports whether a backquoted substitution may hold a backslash,
// whose meaning there is an art of its own.
func hasBackslash(n *syntax.CmdSubst) bool {
	found := false
	syntax.Walk(n, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Lit:
			found = found || strings.Contains(n.Value, `\`) || int(n.ValueEnd.Offset()-n.ValuePos.Offset()) != len(n.Value)
		case *syntax.SglQuoted:
			found = found || strings.Contains(n.Value, `\`)
		case *syntax.CmdSubst:
			found = found || n.Backquotes && len(n.Stmts) > 0 && hasInnerBackquote(n)
		}
		return true
	})
	return found
}

func hasInnerBackquote(outer *syntax.CmdSubst) bool {
	found := false
	syntax.Walk(outer, func(n syntax.Node) bool {
		if c, ok := n.(*syntax.CmdSubst); ok && c != outer && c.Backquotes {
			found = true
		}
		return !found
	})
	return found
}

// param refuses expansions that may evaluate the value of a variable as code.
func (s *shell) param(p *syntax.ParamExp, in []workdir) {
	bad := p.Excl || p.Names != 0 || p.Width || p.IsSet || p.Flags != nil || p.NestedParam != nil || len(p.Modifiers) > 0
	if p.Exp != nil {
		switch p.Exp.Op {
		case syntax.AssignUnset, syntax.AssignUnsetOrNull, syntax.OtherParamOps:
			bad = true
		}
	}
	if bad {
		s.fail("it expands a variable in a way that may run code")
	}
	if p.Index != nil {
		if w, ok := p.Index.(*syntax.Word); !ok || !slices.Contains([]string{"@", "*"}, w.Lit()) {
			s.arithm(p.Index, in)
		}
	}
	if p.Slice != nil {
		for _, x := range []syntax.ArithmExpr{p.Slice.Offset, p.Slice.Length} {
			if x != nil {
				s.arithm(x, in)
			}
		}
	}
}

func wordText(w *syntax.Word) word {
	if text, ok := ordinary(w); ok {
		return word{text: text}
	}
	x := plainText(w)
	if hasBraces(w) {
		return word{text: Unknown, split: true, means: alternatives(w)}
	}
	if x.hidden() {
		x.means = paths(w)
	}
	return x
}

// ordinary returns the text of a word that stands for itself; false for others.
func ordinary(w *syntax.Word) (string, bool) {
	if len(w.Parts) != 1 {
		return "", false
	}
	switch p := w.Parts[0].(type) {
	case *syntax.Lit:
		return p.Value, !strings.ContainsAny(p.Value, "\\~*?[{")
	case *syntax.SglQuoted:
		return p.Value, !p.Dollar
	}
	return "", false
}

// plainText returns the text of a word as if braces meant nothing.
func plainText(w *syntax.Word) word {
	var r wordReader
	for i, p := range w.Parts {
		r.part(p, i == 0, len(w.Parts) == 1)
	}
	return r.word()
}

// A wordReader puts a word together from its parts.
type wordReader struct {
	text, glob, rest   strings.Builder // as in word
	magic, home, split bool
}

func (r *wordReader) add(t string, quoted bool) {
	r.text.WriteString(t)
	r.rest.WriteString(t)
	if quoted {
		t = escapeGlob(t)
	}
	r.glob.WriteString(t)
}

func (r *wordReader) part(p syntax.WordPart, first, only bool) {
	switch p := p.(type) {
	case *syntax.Lit:
		r.literal(p.Value, first, only)
	case *syntax.SglQuoted:
		if p.Dollar && strings.Contains(p.Value, `\`) {
			r.add(Unknown, true)
		} else {
			r.add(p.Value, true)
		}
	case *syntax.DblQuoted:
		r.quoted(p, first)
	case *syntax.ParamExp:
		r.add(Unknown, false)
		if first && isHome(p) {
			r.home = true
		} else {
			r.split = r.split || !isNumber(p)
		}
	case *syntax.ProcSubst:
		r.add("/dev/fd/63", true)
	case *syntax.ArithmExp:
		r.add(Unknown, true)
	default:
		r.add(Unknown, false)
		r.split = true
	}
}

func (r *wordReader) literal(v string, first, only bool) {
	if first && strings.HasPrefix(v, "~") {
		if v == "~" && only || strings.HasPrefix(v, "~/") {
			r.home = true
			r.text.WriteString("~")
			v = v[1:]
		} else {
			r.add(Unknown, false)
		}
	}
	t, g := unescape(v)
	r.text.WriteString(t)
	r.rest.WriteString(t)
	r.glob.WriteString(g)
	r.magic = r.magic || hasMagic(g)
}

func (r *wordReader) quoted(q *syntax.DblQuoted, first bool) {
	if q.Dollar {
		r.add(Unknown, true)
		return
	}
	for j, p := range q.Parts {
		switch p := p.(type) {
		case *syntax.Lit:
			r.add(unescapeQuoted(p.Value), true)
		case *syntax.ParamExp:
			r.add(Unknown, true)
			r.home = r.home || first && j == 0 && isHome(p)
			r.split = r.split || isList(p)
		default:
			r.add(Unknown, true)
		}
	}
}

func (r *wordReader) word() word {
	x := word{text: r.text.String(), home: r.home, split: r.split}
	if x.home {
		x.rest = strings.TrimPrefix(r.rest.String(), Unknown)
	}
	if r.magic {
		x.glob = r.glob.String()
		if x.home {
			x.glob = strings.TrimPrefix(x.glob, Unknown)
		}
	}
	return x
}

// unescape removes the backslashes of an unquoted text. Its second result keeps
// those that make a character of a file pattern a plain one.
func unescape(v string) (text, glob string) {
	if !strings.Contains(v, `\`) {
		return v, v
	}
	var t, g strings.Builder
	for i := 0; i < len(v); i++ {
		if v[i] != '\\' {
			t.WriteByte(v[i])
			g.WriteByte(v[i])
			continue
		}
		if i++; i == len(v) {
			t.WriteByte('\\')
			g.WriteString(`\\`)
			break
		}
		if v[i] == '\n' {
			continue
		}
		t.WriteByte(v[i])
		g.WriteString(escapeGlob(v[i : i+1]))
	}
	return t.String(), g.String()
}

func unescapeQuoted(v string) string {
	if !strings.Contains(v, `\`) {
		return v
	}
	var t strings.Builder
	for i := 0; i < len(v); i++ {
		if v[i] == '\\' && i+1 < len(v) && strings.IndexByte("$`\"\\\n", v[i+1]) >= 0 {
			i++
			if v[i] == '\n' {
				continue
			}
		}
		t.WriteByte(v[i])
	}
	return t.String()
}

// hasMagic reports whether a pattern has a character of a file pattern. A lone
// "[" is the name of a command.
func hasMagic(g string) bool {
	for i := 0; i < len(g); i++ {
		switch g[i] {
		case '\\':
			i++
		case '*', '?':
			return true
		case '[':
			if len(g) > 1 {
				return true
			}
		}
	}
	return false
}

// hasBraces reports whether a word may be a brace expansion.
func hasBraces(w *syntax.Word) bool {
	if !slices.ContainsFunc(w.Parts, func(p syntax.WordPart) bool {
		l, ok := p.(*syntax.Lit)
		return ok && strings.Contains(l.Value, "{")
	}) {
		return false
	}
	var b strings.Builder
	for _, p := range w.Parts {
		if l, ok := p.(*syntax.Lit); ok {
			b.WriteString(l.Value)
		} else {
			b.WriteByte('_')
		}
	}
	_, rest, ok := strings.Cut(b.String(), "{")
	if !ok {
		return false
	}
	end := strings.LastIndexByte(rest, '}')
	return end >= 0 && (strings.Contains(rest[:end], ",") || strings.Contains(rest[:end], ".."))
}

func isSimple(p *syntax.ParamExp) bool {
	return p.Param != nil && !p.Excl && !p.Length && !p.Width && !p.IsSet && p.Index == nil && p.Slice == nil &&
		p.Repl == nil && p.Names == 0 && p.Exp == nil && p.Flags == nil && len(p.Modifiers) == 0
}

func isHome(p *syntax.ParamExp) bool { return isSimple(p) && p.Param.Value == "HOME" }

// isNumber reports whether an expansion is a whole number whatever happens.
func isNumber(p *syntax.ParamExp) bool {
	if p.Length && p.Index == nil && p.Exp == nil && p.Slice == nil {
		return true
	}
	return isSimple(p) && slices.Contains([]string{"?", "#", "$", "!"}, p.Param.Value)
}

// isList reports whether an expansion may be several words even in quotes.
func isList(p *syntax.ParamExp) bool {
	if p.Param != nil && p.Param.Value == "@" {
		return true
	}
	w, ok := p.Index.(*syntax.Word)
	return p.Index != nil && (!ok || w.Lit() == "@") || p.Names != 0
}
