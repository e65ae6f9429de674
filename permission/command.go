package permission

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"
)

// Unknown stands in a [Command] for text that only the running shell knows: the
// value of a variable, the output of a command. No command line can hold it.
const Unknown = "\x00"

// A Command is one simple command of a command line, the way the shell will run
// it: quoting is removed and parts only known at run time are [Unknown].
type Command struct {
	Name string   // base name of the program or built-in command; "" for an assignment alone, Unknown if not known
	Args []string // the words after the name
	Env  []string // assignments in front of it, NAME=value
	Raw  string   // as written; for what another command runs, the words with … for what is not known

	path  string   // the name as written, quoting removed
	words []word   // as Args
	in    []place  // where the shell may be; see place
	set   []string // names of the variables in Env
	wraps bool     // it only runs the command that follows in the list
	outer int      // 1 + index of the command that runs this one with other rights, 0 for none
}

// A Redirect is a file that a command line opens by itself.
type Redirect struct {
	Path  string // as in Command.Args
	Write bool

	word word
	in   []place
}

// Commands are all simple commands of a command line in the order of the text:
// in pipes, lists, loops, functions, substitutions and here-documents, and those
// that other commands run (env, xargs, find -exec, sh -c, eval and the like;
// both are listed).
type Commands struct {
	List      []Command
	Redirects []Redirect
	// Unclear says why the line may run more than List; "" if it cannot.
	Unclear string

	impure string   // why the line is not read-only though each command may be
	heads  []string // see findHeads
	loose  bool     // parts of a command are not known
}

// Limits of what is analysed; beyond them a line is not understood.
const (
	maxLine  = 128 << 10 // bytes
	maxNest  = 200       // brackets and keywords that open something
	maxDepth = 6         // shells within shells
	maxList  = 2000      // simple commands
	maxDirs  = 8         // folders that the shell may be in
)

func parseLine(line string) (Commands, error) {
	s := &shell{}
	err := s.text(line, func(stmts []*syntax.Stmt) { s.stmts(stmts, []place{""}) })
	if s.evaluates && s.arithmetic {
		s.fail("it computes with a variable that may hold code")
	}
	s.heads = s.findHeads()
	for i := range s.List {
		s.loose = s.loose || s.List[i].loose()
	}
	return s.Commands, err
}

// A shell follows what a shell will do with a text.
type shell struct {
	Commands
	depth      int
	lost       bool            // functions that change the directory exist
	ints       map[string]bool // variables that only ever get whole numbers
	evaluates  bool            // variables may be set in ways that are not followed
	arithmetic bool            // variables are computed with
	outer      int
	src        string // the text that is being followed
}

func (s *shell) fail(format string, args ...any) {
	if s.Unclear == "" {
		s.Unclear = fmt.Sprintf(format, args...)
	}
}

func (s *shell) stain(reason string) {
	if s.impure == "" {
		s.impure = reason
	}
}

// text parses src and hands its statements to walk.
func (s *shell) text(src string, walk func([]*syntax.Stmt)) error {
	if err := checkText(src); err != nil {
		s.fail("%v", err)
		return err
	}
	if s.depth >= maxDepth {
		err := fmt.Errorf("shells are nested more than %d deep", maxDepth)
		s.fail("%v", err)
		return err
	}
	s.depth++
	defer func() { s.depth-- }()
	stmts, err := parse(src)
	if err != nil {
		s.fail("it is not valid shell: %v", err)
		err = fmt.Errorf("parsing command line: %w", err)
	}
	ints, outer := s.ints, s.src
	s.ints, s.src = wholeNumbers(stmts, src), src
	walk(stmts)
	s.ints, s.src = ints, outer
	return err
}

// parse returns the statements of src, up to the first error: a shell runs what
// comes before one. A parser that gives up must not end the program.
func parse(src string) (stmts []*syntax.Stmt, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%v", r)
		}
	}()
	p := parsers.Get().(*syntax.Parser)
	for st, err := range p.StmtsSeq(strings.NewReader(src)) {
		if err != nil {
			return stmts, err
		}
		stmts = append(stmts, st)
	}
	parsers.Put(p)
	return stmts, nil
}

// parsers have parsed nothing, or text without an error.
var parsers = sync.Pool{New: func() any { return syntax.NewParser(syntax.Variant(syntax.LangBash)) }}

var (
	errTooLong = fmt.Errorf("command line is longer than %d bytes", maxLine)
	errNesting = fmt.Errorf("command line is nested more than %d deep", maxNest)
	errBytes   = errors.New("command line holds characters that cannot be seen")
)

// visible reports whether all characters of a text can be seen, or are a space, the
// end of a line or a tab.
func visible(src string) bool {
	for i := range len(src) {
		if c := src[i]; c >= utf8.RuneSelf {
			return utf8.ValidString(src[i:]) && !strings.ContainsFunc(src[i:], hiddenRune)
		} else if c < ' ' && c != '\n' && c != '\t' || c == 0x7f {
			return false
		}
	}
	return true
}

func hiddenRune(c rune) bool {
	return c != '\n' && c != '\t' && (!unicode.IsPrint(c) || c != ' ' && unicode.IsSpace(c))
}

// checkText bounds what the parser has to recurse over and refuses characters
// that a shell may read in another way than the parser.
func checkText(src string) error {
	if len(src) > maxLine {
		return errTooLong
	}
	if !visible(src) {
		return errBytes
	}
	// An upper bound of the depth: whatever opens on one level.
	deep, depth, inWord := 0, 0, 0
	for i := range len(src) {
		switch src[i] {
		case '(', '{', '[', '`':
			depth++
		case ')', '}', ']':
			depth = max(depth-1, 0)
		}
		deep = max(deep, depth)
	}
	for rest := src; rest != ""; {
		end := strings.IndexAny(rest, " \n\t;|&()")
		w := rest
		if rest = ""; end >= 0 {
			w, rest = w[:end], w[end+1:]
		}
		switch w {
		case "if", "elif", "while", "until", "for", "select", "case", "function", "time", "!", "coproc":
			inWord++
		}
	}
	if deep > maxNest || inWord > maxNest {
		return errNesting
	}
	return nil
}

// Statements. Each takes the places where the shell may be and returns those
// after success and after failure.

func (s *shell) stmts(list []*syntax.Stmt, in []place) (ok, bad []place) {
	ok, bad = in, nil
	for _, st := range list {
		ok, bad = s.stmt(st, union(ok, bad))
	}
	return ok, bad
}

// apart walks statements that run in a process of their own.
func (s *shell) apart(list []*syntax.Stmt, in []place) { s.stmts(list, in) }

func (s *shell) stmt(st *syntax.Stmt, in []place) (ok, bad []place) {
	if s.lost {
		in = []place{lostPlace}
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

func (s *shell) command(cmd syntax.Command, in []place) (ok, bad []place) {
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

func both(ok, bad []place) ([]place, []place) {
	all := union(ok, bad)
	return all, all
}

func (s *shell) binary(c *syntax.BinaryCmd, in []place) (ok, bad []place) {
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

func (s *shell) ifClause(c *syntax.IfClause, in []place) (ok, bad []place) {
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

func (s *shell) caseClause(c *syntax.CaseClause, in []place) (ok, bad []place) {
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
func (s *shell) loop(n syntax.Node, in []place) []place {
	if changesDir(n) {
		return []place{lostPlace}
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
	x := wordText(w)
	if x.unknown() || x.glob != "" {
		return nil
	}
	return []string{x.text}
}

func (s *shell) loopHead(l syntax.Loop, in []place) {
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
func (s *shell) listed(w *syntax.Word, in []place) word {
	x := s.word(w, in)
	if x.glob != "" && (x.home || strings.HasPrefix(x.text, "/") || strings.Contains(x.text, "..") || x.unknown()) {
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
	s.stmt(c.Body, []place{lostPlace})
}

func (s *shell) test(x syntax.TestExpr, in []place) {
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

// Assignments.

// harmless names variables that change no program that runs.
var harmlessVars = strings.Fields("LANG LANGUAGE TZ NO_COLOR FORCE_COLOR CLICOLOR CLICOLOR_FORCE CI DEBUG VERBOSE COLUMNS LINES GOOS GOARCH CGO_ENABLED GO111MODULE NODE_ENV RUST_BACKTRACE RUST_LOG PYTHONUNBUFFERED PYTHONDONTWRITEBYTECODE")

func harmless(name string) bool {
	if slices.Contains(harmlessVars, name) || strings.HasPrefix(name, "LC_") {
		return true
	}
	return name != "" && strings.ToLower(name) == name && !strings.HasSuffix(name, "_proxy") && !strings.HasPrefix(name, "npm_") && name != "_"
}

// steering names variables that decide which program runs or what it loads.
var steeringVars = strings.Fields("PATH IFS ENV CDPATH HOME PWD OLDPWD PS0 PS1 PS2 PS4 PROMPT_COMMAND SHELL SHELLOPTS GLOBIGNORE EXECIGNORE FIGNORE POSIXLY_CORRECT PAGER LESS LESSOPEN LESSCLOSE EDITOR VISUAL BROWSER MANPAGER TMPDIR GOFLAGS GOROOT GOPATH GOENV GOPROXY GOTOOLCHAIN CC CXX AR LD MAKEFLAGS MAKEFILES GNUMAKEFLAGS CLASSPATH RUBYOPT RUBYLIB RUSTC RUSTC_WRAPPER RUSTFLAGS RIPGREP_CONFIG_PATH TAR_OPTIONS XDG_CONFIG_HOME GREP_OPTIONS SUDO_ASKPASS SSH_ASKPASS")

var steeringPrefixes = strings.Fields("LD_ DYLD_ BASH GIT_ PERL PYTHON NODE_ npm_ JAVA_ _JAVA JDK_ MAVEN_ GRADLE_ LUA_ DOCKER_ CARGO_ SSH_ OPENAGENT_")

func steering(name string) bool {
	if harmless(name) {
		return false
	}
	return slices.Contains(steeringVars, name) || slices.ContainsFunc(steeringPrefixes, func(p string) bool { return strings.HasPrefix(name, p) }) ||
		strings.HasSuffix(strings.ToLower(name), "_proxy") || strings.Contains(name, "PRELOAD")
}

func (s *shell) assignName(name string) {
	if strings.Contains(name, Unknown) {
		s.fail("it sets a variable by a computed name")
	} else if steering(name) {
		s.fail("it sets %s, which decides what programs do", name)
	}
	if !harmless(name) {
		s.stain("it sets the variable " + name)
	}
}

// setVar notes a variable that is set in another way than by an assignment. A
// rule has to allow it if programs may see it.
func (s *shell) setVar(name string, in []place) {
	s.assignName(name)
	if !harmless(name) {
		s.add(Command{Env: []string{name + "=" + Unknown}, Raw: name, in: in, set: []string{name}, outer: s.outer})
	}
}

// assign returns an assignment as text, and the variable.
func (s *shell) assign(a *syntax.Assign, in []place) (text, name string) {
	if a.Name == nil {
		return "", ""
	}
	name = a.Name.Value
	s.assignName(name)
	if a.Index != nil {
		s.fail("it sets an element of a variable")
		s.substitutions(a.Index, in)
	}
	text = name + "="
	if a.Value != nil {
		text += s.word(a.Value, in).text
	}
	if a.Array != nil {
		for _, e := range a.Array.Elems {
			if e.Index != nil {
				s.fail("it sets an element of a variable")
				s.substitutions(e.Index, in)
			}
			if e.Value != nil {
				text += s.listed(e.Value, in).text + " "
			}
		}
	}
	return text, name
}

func (s *shell) declare(c *syntax.DeclClause, in []place) {
	cmd := Command{Name: c.Variant.Value, path: c.Variant.Value, in: in, outer: s.outer}
	if c.Variant.Value == "nameref" {
		s.fail("it makes a variable another name of one")
	}
	for _, a := range c.Args {
		if a.Name != nil && !a.Naked {
			text, _ := s.assign(a, in)
			cmd.Args, cmd.words = append(cmd.Args, text), append(cmd.words, word{text: text})
			continue
		}
		w := word{}
		switch {
		case a.Name != nil:
			w.text = a.Name.Value
			s.assignName(a.Name.Value)
			if a.Index != nil {
				s.fail("it declares an element of a variable")
			}
		case a.Value != nil:
			w = s.word(a.Value, in)
		}
		if w.unknown() || strings.HasPrefix(w.text, "-") && strings.ContainsAny(w.text, "in") || strings.ContainsAny(w.text, "[=") {
			s.fail("it declares a variable in a way that may run code")
		}
		cmd.Args, cmd.words = append(cmd.Args, w.text), append(cmd.words, w)
	}
	cmd.Raw = s.source(c)
	s.add(cmd)
}

// Simple commands.

func (s *shell) add(c Command) int {
	if len(s.List) >= maxList {
		s.fail("it holds more than %d commands", maxList)
		return len(s.List) - 1
	}
	s.List = append(s.List, c)
	return len(s.List) - 1
}

func (s *shell) callExpr(c *syntax.CallExpr, in []place) (ok, bad []place) {
	var env, set []string
	for _, a := range c.Assigns {
		text, name := s.assign(a, in)
		env, set = append(env, text), append(set, name)
	}
	words := make([]word, len(c.Args))
	for i, w := range c.Args {
		words[i] = s.word(w, in)
	}
	if len(words) == 0 {
		if slices.ContainsFunc(set, func(n string) bool { return !harmless(n) }) {
			s.add(Command{Env: env, set: set, Raw: s.source(c), in: in, outer: s.outer})
		}
		return in, in
	}
	return s.callAs(s.source(c), words, env, set, in)
}

// source returns the text of a node.
func (s *shell) source(n syntax.Node) string {
	from, to := n.Pos().Offset(), n.End().Offset()
	if from > to || to > uint(len(s.src)) {
		return ""
	}
	return s.src[from:to]
}

// call follows a simple command whose words are known.
func (s *shell) call(words []word, env, set []string, in []place) (ok, bad []place) {
	return s.callAs("", words, env, set, in)
}

// callAs is call with what was written; "" makes that of the words.
func (s *shell) callAs(raw string, words []word, env, set []string, in []place) (ok, bad []place) {
	name := words[0]
	c := Command{Name: path.Base(name.text), Env: env, words: words[1:], path: name.text, in: in, set: set, outer: s.outer}
	c.Args = make([]string, len(c.words))
	for i, w := range c.words {
		c.Args[i] = w.text
	}
	if name.unknown() || name.glob != "" || name.home {
		s.fail("the name of a command is only known when it runs")
		c.Name = Unknown
	}
	if name.text == "" {
		c.Name = ""
		s.fail("the name of a command is empty")
	}
	if c.Raw = raw; raw == "" {
		c.Raw = strings.ReplaceAll(c.text(), Unknown, "…")
	}
	at := s.add(c)
	return s.special(at, in)
}

// text returns the command with its words joined by single spaces.
func (c *Command) text() string { return strings.Join(c.list(c.path), " ") }

func (c *Command) list(name string) []string {
	list := slices.Clone(c.Env)
	if name != "" {
		list = append(list, name)
	}
	return append(list, c.Args...)
}

// Redirections.

func (s *shell) redirect(r *syntax.Redirect, in []place) {
	w := s.word(r.Word, in)
	if r.N != nil && strings.HasPrefix(r.N.Value, "{") {
		s.setVar(strings.Trim(r.N.Value, "{}"), in)
	}
	f := Redirect{Path: w.text, Write: true, word: w, in: in}
	switch r.Op {
	case syntax.Hdoc, syntax.DashHdoc:
		if r.Hdoc != nil {
			s.word(r.Hdoc, in)
		}
		return
	case syntax.WordHdoc:
		return
	case syntax.DplIn, syntax.DplOut:
		if t := strings.TrimSuffix(w.text, "-"); t == "" || isDigits(t) {
			return
		}
		f.Write = r.Op == syntax.DplOut
	case syntax.RdrIn:
		f.Write = false
	}
	if slices.Contains(streams, w.text) {
		return
	}
	s.Redirects = append(s.Redirects, f)
}

// streams are files that everybody may read from and write to.
var streams = []string{"/dev/null", "/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/fd/0", "/dev/fd/1", "/dev/fd/2", "/dev/fd/63"}
