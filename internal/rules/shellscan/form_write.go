package shellscan

import (
	"bytes"
	"regexp"
	"slices"
	"strings"

	"github.com/openagent-go/agent/internal/rules/shellword"
	"mvdan.cc/sh/v3/syntax"
)

// A formWriter prints a syntax tree as its form. Statements begin on the lines that
// they had, as far as possible, so that the shell's messages name the same lines.
type formWriter struct {
	out    []byte
	line   uint // the number of the line that is being written
	bash   bool
	odd    string // why there is no form
	quoted bool   // in double quotes, or where the same holds
	flat   bool   // nothing may begin a line, for the documents are not written yet
	sub    bool   // in a substitution
	docs   []formDoc
}

// writeForm returns the form of statements, of about that size, or why there is none.
func writeForm(stmts []*syntax.Stmt, size int) (form Form, odd string) {
	w := formWriter{line: 1, out: make([]byte, 0, size+size/8)}
	w.stmts(stmts)
	w.flush()
	return Form{string(w.out), w.bash}, w.odd
}

//go:noinline // called from many places: every program stays smaller
func (w *formWriter) refuse(why string) {
	if w.odd == "" {
		w.odd = why
	}
}

//go:noinline // called from many places: every program stays smaller
func (w *formWriter) text(s string) {
	w.out = append(w.out, s...)
	for i := range len(s) {
		if s[i] == '\n' {
			w.line++
		}
	}
}

// down begins a new line until it is the one of pos, and reports whether it did.
func (w *formWriter) down(pos syntax.Pos) bool {
	if w.flat || w.line >= pos.Line() {
		return false
	}
	w.flush()
	for first := true; first || w.line < pos.Line(); first = false {
		w.text("\n")
	}
	return true
}

// space writes a space, or what brings the output down to the line of pos.
func (w *formWriter) space(pos syntax.Pos) {
	if !w.down(pos) {
		w.text(" ")
	}
}

func (w *formWriter) stmts(list []*syntax.Stmt) {
	for i, st := range list {
		switch {
		case i == 0:
			w.down(st.Pos())
		case w.down(st.Pos()):
		case len(w.docs) > 0 && !w.flat:
			w.flush()
			w.text("\n")
		case list[i-1].Background:
			w.text(" ")
		default:
			w.text("; ")
		}
		w.stmt(st)
	}
}

// body writes what stands between two words of a compound command.
func (w *formWriter) body(open string, list []*syntax.Stmt, end string) {
	w.text(open)
	if len(list) == 0 {
		w.refuse("a part of it is empty")
		return
	}
	w.space(list[0].Pos())
	w.stmts(list)
	w.close(list, end)
}

func (w *formWriter) close(list []*syntax.Stmt, end string) {
	switch {
	case len(w.docs) > 0 && !w.flat:
		w.flush()
		w.text("\n")
	case list[len(list)-1].Background:
		w.text(" ")
	default:
		w.text("; ")
	}
	w.text(end)
}

// round writes statements in parentheses, which were opened at pos.
func (w *formWriter) round(open string, list []*syntax.Stmt, pos syntax.Pos) {
	w.text(open)
	at := len(w.out)
	w.stmts(list)
	if at < len(w.out) && w.out[at] == '(' {
		if list[0].Pos().Offset() <= pos.Offset()+uint(len(open)) {
			w.refuse("it is not clear whether two parentheses begin arithmetic")
		}
		w.out = slices.Insert(w.out, at, ' ') // else it begins arithmetic
	}
	if len(w.docs) > 0 && !w.flat {
		w.flush()
		w.text("\n")
	}
	w.text(")")
}

// apart writes statements of a substitution.
func (w *formWriter) apart(open string, list []*syntax.Stmt, pos syntax.Pos) {
	was := *w
	w.quoted, w.sub, w.flat = false, true, w.flat || len(w.docs) > 0
	w.round(open, list, pos)
	w.quoted, w.sub, w.flat = was.quoted, was.sub, was.flat
}

func (w *formWriter) stmt(st *syntax.Stmt) {
	if st.Coprocess || st.Disown || st.Negated && st.Cmd == nil {
		w.refuse("it has a form that is not known")
		return
	}
	if st.Negated {
		w.text("! ")
	}
	if st.Cmd != nil {
		w.command(st.Cmd)
	}
	for i, r := range st.Redirs {
		if i > 0 || st.Cmd != nil {
			w.text(" ")
		}
		w.redirect(r)
	}
	if st.Background {
		w.text(" &")
	}
}

var plainName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

func (w *formWriter) command(cmd syntax.Command) {
	switch c := cmd.(type) {
	case *syntax.CallExpr:
		w.call(c)
	case *syntax.BinaryCmd:
		w.stmt(c.X)
		w.bash = w.bash || c.Op == syntax.PipeAll
		if _, timed := c.Y.Cmd.(*syntax.TimeClause); timed && c.Op != syntax.AndStmt && c.Op != syntax.OrStmt {
			w.refuse("it times a part of a pipe")
		}
		w.text(" " + c.Op.String())
		w.space(c.Y.Pos())
		w.stmt(c.Y)
	case *syntax.Subshell:
		w.round("(", c.Stmts, c.Lparen)
	case *syntax.Block:
		w.body("{", c.Stmts, "}")
	case *syntax.IfClause:
		w.ifClause(c)
	case *syntax.WhileClause:
		word := "while"
		if c.Until {
			word = "until"
		}
		w.body(word, c.Cond, "")
		w.body("do", c.Do, "done")
	case *syntax.ForClause:
		w.forClause(c)
	case *syntax.CaseClause:
		w.caseClause(c)
	case *syntax.FuncDecl:
		w.function(c)
	case *syntax.TimeClause:
		w.timed(c)
	case *syntax.DeclClause:
		w.declare(c)
	case *syntax.ArithmCmd:
		w.bash = true
		if c.Unsigned {
			w.refuse("it has a form that is not known")
		}
		w.arithmetic("((", c.X, "))")
	case *syntax.TestClause:
		w.bash = true
		w.text("[[ ")
		w.test(c.X)
		w.text(" ]]")
	case *syntax.CoprocClause:
		w.refuse("it starts a co-process")
	default:
		w.refuse("it has a form that is not known")
	}
}

func (w *formWriter) call(c *syntax.CallExpr) {
	for i, a := range c.Assigns {
		if i > 0 {
			w.text(" ")
		}
		if a.Array != nil && len(c.Args) > 0 {
			w.refuse("it sets a list for one command")
		}
		if i > 0 {
			w.after(c.Assigns[i-1], a)
		}
		w.assign(a)
	}
	name := true
	for _, x := range c.Args {
		if len(x.Parts) == 0 {
			continue // it has become part of another one, see rewrite
		}
		if !name || len(c.Assigns) > 0 {
			w.text(" ")
		}
		at := len(w.out)
		w.word(x, inCommand{name: name, braces: true})
		switch {
		case name && beginsWithDash(w.out[at:]):
			w.refuse("the name of a command begins with a dash")
		case name && isReserved[x.Lit()]:
			w.refuse("a reserved word is the name of a command")
		}
		name = false
	}
}

func (w *formWriter) ifClause(c *syntax.IfClause) {
	w.body("if", c.Cond, "")
	for {
		w.body("then", c.Then, "")
		switch c = c.Else; {
		case c == nil:
			w.text("fi")
			return
		case len(c.Cond) == 0:
			w.body("else", c.Then, "fi")
			return
		}
		w.body("elif", c.Cond, "")
	}
}

func (w *formWriter) forClause(c *syntax.ForClause) {
	if c.Select || c.Braces {
		w.refuse("it has a loop of an unusual kind")
		return
	}
	switch l := c.Loop.(type) {
	case *syntax.WordIter:
		if !plainName.MatchString(l.Name.Value) {
			w.refuse("it names a variable in an unusual way")
		}
		w.text("for " + l.Name.Value)
		if l.InPos.IsValid() {
			w.text(" in")
		}
		for _, x := range l.Items {
			w.text(" ")
			w.word(x, inCommand{braces: true})
		}
		w.text("; ")
	case *syntax.CStyleLoop:
		w.bash = true
		w.arithmetic("for ((", l.Init, "; ")
		w.arithmetic("", l.Cond, "; ")
		w.arithmetic("", l.Post, ")); ")
	default:
		w.refuse("it has a loop of an unusual kind")
	}
	w.body("do", c.Do, "done")
}

func (w *formWriter) caseClause(c *syntax.CaseClause) {
	if c.Braces {
		w.refuse("it has a form that is not known")
	}
	w.text("case ")
	w.word(c.Word, inCommand{})
	w.text(" in")
	for _, item := range c.Items {
		w.space(item.Pos())
		for i, p := range item.Patterns {
			w.text([]string{"(", " | "}[min(i, 1)])
			w.word(p, inCommand{name: true})
		}
		w.text(")")
		if len(item.Stmts) > 0 {
			w.space(item.Stmts[0].Pos())
			w.stmts(item.Stmts)
		}
		if len(w.docs) > 0 && !w.flat {
			w.flush()
			w.text("\n")
		} else {
			w.text(" ")
		}
		switch item.Op {
		case syntax.Fallthrough, syntax.Resume:
			w.bash = true
			w.text(item.Op.String())
		case syntax.Break:
			w.text(";;")
		default:
			w.refuse("it has a form that is not known")
		}
	}
	w.text(" esac")
}

func (w *formWriter) function(c *syntax.FuncDecl) {
	if c.Name == nil || len(c.Names) > 0 || !plainFunction.MatchString(c.Name.Value) || isReserved[c.Name.Value] {
		w.refuse("it names a function in an unusual way")
		return
	}
	if w.sub {
		w.refuse("it defines a function in a substitution") // which bash prints and reads again
	}
	if c.RsrvWord {
		w.bash = true
		w.text("function " + c.Name.Value + " ")
	} else {
		w.text(c.Name.Value + "() ")
	}
	switch c.Body.Cmd.(type) {
	case *syntax.Block, *syntax.Subshell:
	default:
		w.refuse("the body of a function is no group")
	}
	if c.Body.Negated || c.Body.Background || len(c.Body.Redirs) > 0 {
		w.refuse("the body of a function is no group")
	}
	w.stmt(c.Body)
}

var plainFunction = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]*$`)

// timed: what begins with a dash may be a flag of time.
func (w *formWriter) timed(c *syntax.TimeClause) {
	w.bash = true
	if w.sub {
		w.refuse("it times something in a substitution") // which bash prints and reads again
	}
	w.text("time ")
	if c.PosixFormat {
		w.text("-p ")
	}
	if c.Stmt == nil || c.Stmt.Cmd == nil {
		w.refuse("it times nothing")
		return
	}
	if _, is := c.Stmt.Cmd.(*syntax.FuncDecl); is {
		w.refuse("it times the definition of a function")
	}
	at := len(w.out)
	w.stmt(c.Stmt)
	if beginsWithDash(w.out[at:]) {
		w.refuse("what time runs begins with a dash")
	}
}

func beginsWithDash(text []byte) bool {
	return bytes.HasPrefix(bytes.TrimLeft(text, `'"\`), []byte("-"))
}

func (w *formWriter) declare(c *syntax.DeclClause) {
	switch c.Variant.Value {
	case "export", "readonly":
	case "declare", "local", "typeset":
		w.bash = true
	default:
		w.refuse("it has a form that is not known")
	}
	w.text(c.Variant.Value)
	for i, a := range c.Args {
		w.text(" ")
		if i > 0 {
			w.after(c.Args[i-1], a)
		}
		switch {
		case a.Name == nil:
			w.bash = true
			w.word(a.Value, inCommand{braces: true})
		case a.Naked:
			if a.Index != nil || !plainName.MatchString(a.Name.Value) {
				w.refuse("it names a variable in an unusual way")
			}
			w.text(a.Name.Value)
		default:
			if a.Value != nil {
				_, plain := shellword.Ordinary(a.Value)
				w.bash = w.bash || !plain // others split the value into words
				if shellword.HasBraces(a.Value) {
					w.refuse("it declares several variables by braces")
				}
			}
			w.assign(a)
		}
	}
}

// after makes sure that something stands between a list and what follows.
func (w *formWriter) after(a, next *syntax.Assign) {
	if a.Array != nil && a.End().Offset() >= next.Pos().Offset() {
		w.refuse("something follows a list at once")
	}
}

func (w *formWriter) assign(a *syntax.Assign) {
	if a.Name == nil || a.Naked || a.Index != nil || !plainName.MatchString(a.Name.Value) {
		w.refuse("it sets a variable in an unusual way")
		return
	}
	w.text(a.Name.Value)
	if a.Append {
		w.bash = true
		w.text("+")
	}
	w.text("=")
	if a.Value != nil {
		w.word(a.Value, inCommand{})
	}
	if a.Array == nil {
		return
	}
	w.bash = true
	w.text("(")
	for i, e := range a.Array.Elems {
		if e.Index != nil || e.Value == nil {
			w.refuse("it sets an element of a variable")
			return
		}
		if i > 0 {
			w.text(" ")
		}
		w.word(e.Value, inCommand{braces: true, element: true})
	}
	w.text(")")
}

func (w *formWriter) redirect(r *syntax.Redirect) {
	if r.N != nil {
		if !shellword.IsDigits(r.N.Value) {
			w.refuse("it opens a file under the name of a variable")
		}
		w.text(r.N.Value)
	}
	switch r.Op {
	case syntax.Hdoc, syntax.DashHdoc:
		w.document(r)
		return
	case syntax.WordHdoc, syntax.RdrAll, syntax.AppAll:
		w.bash = true
	case syntax.DplIn, syntax.DplOut:
		if t := r.Word.Lit(); !shellword.IsDigits(t) && t != "-" {
			w.refuse("it copies a stream that is not a number")
		}
	case syntax.RdrOut, syntax.AppOut, syntax.RdrIn, syntax.RdrInOut, syntax.RdrClob:
	default:
		w.refuse("it redirects in an unusual way")
	}
	if dup := r.Op == syntax.DplIn || r.Op == syntax.DplOut; !dup && shellword.IsDigits(r.Word.Lit()) {
		w.refuse("it redirects to a file whose name is a number")
	}
	w.text(r.Op.String())
	if r.Word.Pos().Offset() > r.OpPos.Offset()+uint(len(r.Op.String())) {
		w.text(" ")
	}
	if shellword.HasBraces(r.Word) || strings.HasPrefix(r.Word.Lit(), "{") {
		w.refuse("it redirects to several files")
	}
	w.word(r.Word, inCommand{})
}
