package shellscan

import (
	"slices"
	"strings"

	"github.com/openagent-go/agent/internal/rules/shellword"
	"mvdan.cc/sh/v3/syntax"
)

// What runs while words are expanded.

// word follows the substitutions of a word and returns its text.
func (s *shell) word(w *syntax.Word, in []Workdir) shellword.Word {
	if w == nil {
		return shellword.Word{}
	}
	for _, p := range w.Parts {
		switch p.(type) {
		case *syntax.Lit, *syntax.SglQuoted: // in which nothing runs
		default:
			s.substitutions(p, in)
		}
	}
	x := shellword.Read(w)
	x.From = w
	return x
}

// substitutions follows what runs while n is expanded.
func (s *shell) substitutions(n syntax.Node, in []Workdir) {
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
func (s *shell) param(p *syntax.ParamExp, in []Workdir) {
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
