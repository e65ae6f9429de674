package shellscan

import (
	"slices"
	"strings"

	"github.com/openagent-go/agent/internal/rules/shellword"
	"mvdan.cc/sh/v3/syntax"
)

// Statements. Each takes the places where the shell may be and returns those
// after success and after failure.

func (s *shell) stmts(list []*syntax.Stmt, in []Workdir) (ok, bad []Workdir) {
	ok, bad = in, nil
	for _, st := range list {
		ok, bad = s.stmt(st, union(ok, bad))
	}
	return ok, bad
}

// apart walks statements that run in a process of their own.
func (s *shell) apart(list []*syntax.Stmt, in []Workdir) { s.stmts(list, in) }

func (s *shell) stmt(st *syntax.Stmt, in []Workdir) (ok, bad []Workdir) {
	if s.lost {
		in = []Workdir{Lost}
	}
	for _, r := range st.Redirs {
		s.redirect(r, in)
	}
	ok, bad = s.command(st.Cmd, in)
	if st.Negated {
		ok, bad = bad, ok
	}
	if st.Background || st.Coprocess {
		return in, in
	}
	return ok, bad
}

func (s *shell) command(cmd syntax.Command, in []Workdir) (ok, bad []Workdir) {
	switch c := cmd.(type) {
	case nil:
	case *syntax.CallExpr:
		return s.callExpr(c, in)
	case *syntax.BinaryCmd:
		return s.binary(c, in)
	case *syntax.Subshell:
		s.apart(c.Stmts, in)
	case *syntax.Block:
		return s.stmts(c.Stmts, in)
	case *syntax.IfClause:
		return s.ifClause(c, in)
	case *syntax.WhileClause:
		in = s.loop(c, in)
		return both(s.stmts(slices.Concat(c.Cond, c.Do), in))
	case *syntax.ForClause:
		in = s.loop(c, in)
		s.loopHead(c.Loop, in)
		return both(s.stmts(c.Do, in))
	case *syntax.CaseClause:
		return s.caseClause(c, in)
	case *syntax.FuncDecl:
		s.function(c)
	case *syntax.TimeClause:
		if c.Stmt != nil {
			return s.stmt(c.Stmt, in)
		}
	case *syntax.CoprocClause:
		// Where its name ends and its command begins is not always told right.
		s.fail("it starts a co-process")
		if c.Name != nil {
			s.word(c.Name, in)
		}
		s.stmt(c.Stmt, in)
	case *syntax.DeclClause:
		s.declare(c, in)
	case *syntax.ArithmCmd:
		s.arithm(c.X, in)
	case *syntax.LetClause:
		for _, x := range c.Exprs {
			s.arithm(x, in)
		}
	case *syntax.TestClause:
		s.test(c.X, in)
	default:
		s.fail("it has a form that is not known")
	}
	return in, in
}

func both(ok, bad []Workdir) ([]Workdir, []Workdir) {
	all := union(ok, bad)
	return all, all
}

func (s *shell) binary(c *syntax.BinaryCmd, in []Workdir) (ok, bad []Workdir) {
	switch c.Op {
	case syntax.AndStmt:
		ok, failed := s.stmt(c.X, in)
		ok, bad := s.stmt(c.Y, ok)
		return ok, union(failed, bad)
	case syntax.OrStmt:
		passed, bad := s.stmt(c.X, in)
		ok, bad := s.stmt(c.Y, bad)
		return union(passed, ok), bad
	}
	s.stmt(c.X, in)
	s.stmt(c.Y, in)
	return in, in
}

func (s *shell) ifClause(c *syntax.IfClause, in []Workdir) (ok, bad []Workdir) {
	yes, no := in, in
	if len(c.Cond) > 0 { // an else has none
		yes, no = s.stmts(c.Cond, in)
	}
	out := union(s.stmts(c.Then, yes))
	switch {
	case c.Else != nil:
		out = union(out, union(s.ifClause(c.Else, no)))
	case len(c.Cond) > 0:
		out = union(out, no)
	}
	return out, out
}

func (s *shell) caseClause(c *syntax.CaseClause, in []Workdir) (ok, bad []Workdir) {
	s.word(c.Word, in)
	out := in
	for _, item := range c.Items {
		for _, p := range item.Patterns {
			s.word(p, in)
		}
		// ";&" goes on with the next item.
		ok, bad := s.stmts(item.Stmts, union(in, out))
		out = union(out, union(ok, bad))
	}
	return out, out
}

// loop returns where the shell may be in the body of a loop.
func (s *shell) loop(n syntax.Node, in []Workdir) []Workdir {
	if changesDir(n) {
		return []Workdir{Lost}
	}
	return in
}

// changesDir reports whether a node holds a word that may change the directory.
func changesDir(n syntax.Node) bool {
	found := false
	syntax.Walk(n, func(n syntax.Node) bool {
		if c, ok := n.(*syntax.CallExpr); ok {
			for i, w := range c.Args {
				lit := plain(w)
				found = found || len(lit) == 0 && i == 0 ||
					len(lit) == 1 && slices.Contains([]string{"cd", "pushd", "popd", "eval"}, lit[0])
			}
		}
		return !found
	})
	return found
}

// plain returns the text of a word that has nothing to expand, else nothing.
func plain(w *syntax.Word) []string {
	x := shellword.Read(w)
	if x.Unknown() || x.Glob != "" {
		return nil
	}
	return []string{x.Text}
}

func (s *shell) loopHead(l syntax.Loop, in []Workdir) {
	switch l := l.(type) {
	case *syntax.WordIter:
		s.setVar(l.Name.Value, in)
		for _, w := range l.Items {
			s.listed(w, in)
		}
	case *syntax.CStyleLoop:
		for _, x := range []syntax.ArithmExpr{l.Init, l.Cond, l.Post} {
			if x != nil {
				s.arithm(x, in)
			}
		}
	}
}

// listed follows a word of a list whose file patterns the shell expands itself.
func (s *shell) listed(w *syntax.Word, in []Workdir) shellword.Word {
	x := s.word(w, in)
	if x.Glob != "" && (x.Home || strings.HasPrefix(x.Text, "/") || strings.Contains(x.Text, "..") || x.Unknown()) {
		s.stain("it lists files that are not known to be in the working folders")
	}
	return x
}

func (s *shell) function(c *syntax.FuncDecl) {
	s.stain("it defines a function")
	if c.Name == nil {
		s.fail("it defines a function without a name")
		return
	}
	if meaningful(c.Name.Value) {
		s.fail("it redefines %s", c.Name.Value)
	}
	if changesDir(c.Body) {
		s.lost = true
	}
	s.stmt(c.Body, []Workdir{Lost})
}

func (s *shell) test(x syntax.TestExpr, in []Workdir) {
	switch x := x.(type) {
	case *syntax.Word:
		s.word(x, in)
	case *syntax.ParenTest:
		s.test(x.X, in)
	case *syntax.UnaryTest:
		if x.Op == syntax.TsVarSet || x.Op == syntax.TsRefVar {
			s.fail("it looks up a variable by a computed name")
		}
		s.test(x.X, in)
	case *syntax.BinaryTest:
		s.test(x.X, in)
		s.test(x.Y, in)
		switch x.Op {
		case syntax.TsEql, syntax.TsNeq, syntax.TsLeq, syntax.TsGeq, syntax.TsLss, syntax.TsGtr:
			for _, side := range []syntax.TestExpr{x.X, x.Y} {
				if w, ok := side.(*syntax.Word); ok {
					s.number(w, in)
				}
			}
		}
	}
}
