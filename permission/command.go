package permission

import (
	"fmt"
	"path"
	"slices"
	"strings"

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

	all     []string  // path and Args, nil if they are not in one
	path    string    // the name as written, quoting removed
	words   []word    // as Args
	in      []workdir // where the shell may be; see place
	set     []string  // names of the variables in Env
	steered bool      // an argument that is not known may be an option by which it runs or writes
	spell   []string  // options by which it runs programs or deletes, which a rule has to spell out
	outputs []word    // files that it builds
	wraps   bool      // it only runs the command that follows in the list
	at      int       // its index in the list
	outer   int       // 1 + index of the command that runs this one with other rights, 0 for none
}

// A Redirect is a file that a command line opens by itself.
type Redirect struct {
	Path  string // as in Command.Args
	Write bool

	word word
	in   []workdir
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
	form   Form     // what is run, where Unclear is ""
}

// Limits of what is analysed; beyond them a line is not understood.
const (
	maxLine  = 128 << 10 // bytes
	maxNest  = 200       // brackets and keywords that open something
	maxDepth = 6         // shells within shells
	maxList  = 2000      // simple commands
	maxCalls = 60        // programs that run programs, within one another
	maxDirs  = 8         // folders that the shell may be in
)

func parseLine(line string) (Commands, error) {
	s := &shell{}
	form, err := s.text(line, func(stmts []*syntax.Stmt) { s.stmts(stmts, []workdir{""}) })
	s.form = form
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
	calls      int             // commands within one another that are being followed
	lost       bool            // functions that change the directory exist
	ints       map[string]bool // variables that only ever get whole numbers
	evaluates  bool            // variables may be set in ways that are not followed
	arithmetic bool            // variables are computed with
	outer      int
	src        string // the text that is being followed
	rewritten  bool   // words of it were replaced, see rewrite
	bash       bool   // a text that it evaluates needs bash, see Form

	words []word // room for those of commands
	args  []string
}

// room takes n elements from a slice that many commands share.
func room[T any](from *[]T, n int) []T {
	if len(*from) < n {
		*from = make([]T, max(n, 64))
	}
	all := (*from)[:n:n]
	*from = (*from)[n:]
	return all
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

// Simple commands.

func (s *shell) add(c Command) int {
	if len(s.List) >= maxList {
		s.fail("it holds more than %d commands", maxList)
		return len(s.List) - 1
	}
	c.at = len(s.List)
	s.List = append(s.List, c)
	return len(s.List) - 1
}

func (s *shell) callExpr(c *syntax.CallExpr, in []workdir) (ok, bad []workdir) {
	var env, set []string
	for _, a := range c.Assigns {
		text, name := s.assign(a, in)
		env, set = append(env, text), append(set, name)
	}
	words := room(&s.words, len(c.Args))
	for i, w := range c.Args {
		words[i] = s.word(w, in)
	}
	if len(words) == 0 {
		if slices.ContainsFunc(set, func(n string) bool { return !changesNothing(n) }) {
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
func (s *shell) call(words []word, env, set []string, in []workdir) (ok, bad []workdir) {
	return s.callAs("", words, env, set, in)
}

// callAs is call with what was written; "" makes that of the words.
func (s *shell) callAs(raw string, words []word, env, set []string, in []workdir) (ok, bad []workdir) {
	name := words[0]
	c := Command{Name: path.Base(name.text), Env: env, words: words[1:], path: name.text, in: in, set: set, outer: s.outer}
	c.all = room(&s.args, len(words))
	for i, w := range words {
		c.all[i] = w.text
	}
	c.Args = c.all[1:]
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
	if s.calls >= maxCalls {
		s.fail("more than %d commands run one another", maxCalls)
		return in, in
	}
	s.calls++
	defer func() { s.calls-- }()
	return s.special(at, in)
}

// text returns the command with its words joined by single spaces.
func (c *Command) text() string { return strings.Join(c.list(c.path), " ") }

// list returns the assignments, a name and the arguments. It is not to be changed.
func (c *Command) list(name string) []string {
	if len(c.Env) == 0 && c.all != nil && name == c.path && name != "" {
		return c.all
	}
	list := slices.Clone(c.Env)
	if name != "" {
		list = append(list, name)
	}
	return append(list, c.Args...)
}
