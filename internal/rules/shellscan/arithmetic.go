package shellscan

import (
	"slices"
	"strings"

	"github.com/openagent-go/agent/internal/rules/shellword"
	"mvdan.cc/sh/v3/syntax"
)

// Arithmetic. The value of a variable is evaluated as an expression, whose
// subscripts may run commands, so only numbers and variables that hold numbers
// are understood.

func (s *shell) arithm(x syntax.ArithmExpr, in []Workdir) {
	switch x := x.(type) {
	case nil:
	case *syntax.BinaryArithm:
		s.arithm(x.X, in)
		s.arithm(x.Y, in)
		if w, ok := x.X.(*syntax.Word); ok && isAssignOp(x.Op) {
			s.setVar(w.Lit(), in)
		}
	case *syntax.UnaryArithm:
		s.arithm(x.X, in)
		if w, ok := x.X.(*syntax.Word); ok && (x.Op == syntax.Inc || x.Op == syntax.Dec) {
			s.setVar(w.Lit(), in)
		}
	case *syntax.ParenArithm:
		s.arithm(x.X, in)
	case *syntax.Word:
		s.number(x, in)
	default:
		s.fail("it computes with something that may hold code")
		s.substitutions(x, in)
	}
}

func isAssignOp(op syntax.BinAritOperator) bool {
	switch op {
	case syntax.Assgn, syntax.AddAssgn, syntax.SubAssgn, syntax.MulAssgn, syntax.QuoAssgn, syntax.RemAssgn,
		syntax.AndAssgn, syntax.OrAssgn, syntax.XorAssgn, syntax.ShlAssgn, syntax.ShrAssgn:
		return true
	}
	return false
}

// number checks a word that is evaluated as an arithmetic expression.
func (s *shell) number(w *syntax.Word, in []Workdir) {
	s.word(w, in)
	if len(w.Parts) != 1 {
		s.fail("it computes with something that may hold code")
		return
	}
	switch p := w.Parts[0].(type) {
	case *syntax.Lit:
		if !shellword.IsDigits(p.Value) {
			s.variable(p.Value)
		}
	case *syntax.ArithmExp:
	case *syntax.ParamExp:
		if !shellword.IsNumber(p) {
			if !shellword.IsSimple(p) {
				s.fail("it computes with something that may hold code")
				return
			}
			s.variable(p.Param.Value)
		}
	case *syntax.DblQuoted:
		s.number(&syntax.Word{Parts: p.Parts}, in)
	default:
		s.fail("it computes with something that may hold code")
	}
}

func (s *shell) variable(name string) {
	s.arithmetic = true
	s.stain("it computes with the variable " + name)
	if !s.ints[name] {
		s.fail("it computes with a variable that may hold code")
	}
}

// wholeNumbers returns the variables that stmts set, and set to whole numbers only.
func wholeNumbers(stmts []*syntax.Stmt, src string) map[string]bool {
	if !strings.Contains(src, "((") && !strings.Contains(src, "[") && !strings.Contains(src, "let") {
		return nil // nothing is computed
	}
	ints := map[string]bool{}
	note := func(name string, ok bool) {
		was, seen := ints[name]
		ints[name] = ok && (was || !seen)
	}
	for _, st := range stmts {
		syntax.Walk(st, func(n syntax.Node) bool {
			switch n := n.(type) {
			case *syntax.Assign:
				if n.Name != nil && !n.Naked {
					note(n.Name.Value, n.Index == nil && n.Array == nil && isInteger(n.Value))
				}
			case *syntax.WordIter:
				note(n.Name.Value, len(n.Items) > 0 && !slices.ContainsFunc(n.Items, func(w *syntax.Word) bool { return !isInteger(w) }))
			case *syntax.BinaryArithm:
				if w, ok := n.X.(*syntax.Word); ok && n.Op == syntax.Assgn {
					note(w.Lit(), true)
				}
			}
			return true
		})
	}
	return ints
}

func isInteger(w *syntax.Word) bool {
	if w == nil || len(w.Parts) != 1 {
		return false
	}
	switch p := w.Parts[0].(type) {
	case *syntax.Lit:
		return shellword.IsDigits(p.Value)
	case *syntax.ArithmExp:
		return true
	case *syntax.DblQuoted:
		return isInteger(&syntax.Word{Parts: p.Parts})
	}
	return false
}
