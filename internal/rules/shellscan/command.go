// Package shellscan reads command lines. [Scan] returns the simple commands of a line, with
// what is known of each, and why the line is not understood. [Canonical] returns the form
// that is judged and run. It knows nothing of rules, nor where the line runs.
package shellscan

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/openagent-go/agent/internal/rules/effects"
	"github.com/openagent-go/agent/internal/rules/shellword"
	"mvdan.cc/sh/v3/syntax"
)

// A Command is one simple command of a command line, the way the shell will run
// it: quoting is removed and parts only known at run time are [shellword.Unknown].
type Command struct {
	Name string   // base name of the program or built-in command; "" for an assignment alone, Unknown if not known
	Args []string // the words after the name
	Env  []string // assignments in front of it, NAME=value
	Raw  string   // as written; for what another command runs, the words with … for what is not known

	All     []string         // path and Args, nil if they are not in one
	Path    string           // the name as written, quoting removed
	Words   []shellword.Word // as Args
	In      []Workdir        // where the shell may be; see place
	Set     []string         // names of the variables in Env
	Steered bool             // an argument that is not known may be an option by which it runs or writes
	Spell   []string         // options by which it runs programs or deletes, which a rule has to spell out
	Outputs []shellword.Word // files that it builds
	Wraps   bool             // it only runs the command that follows in the list
	At      int              // its index in the list
	Outer   int              // 1 + index of the command that runs this one with other rights, 0 for none
}

// A Redirect is a file that a command line opens by itself.
type Redirect struct {
	Path  string // as in Command.Args
	Write bool

	Word shellword.Word
	In   []Workdir
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

	Impure string   // why the line is not read-only though each command may be
	Heads  []string // see findHeads
	Loose  bool     // parts of a command are not known
	Form   Form     // what is run, where Unclear is ""
}

// Limits of what is analysed; beyond them a line is not understood.
const (
	maxLine  = 128 << 10 // bytes
	maxNest  = 200       // brackets and keywords that open something
	maxDepth = 6         // shells within shells
	maxList  = 2000      // simple commands
	maxCalls = 60        // programs that run programs, within one another
	MaxDirs  = 8         // folders that the shell may be in
)

func parseLine(line string) (Commands, error) {
	s := &shell{}
	form, err := s.text(line, func(stmts []*syntax.Stmt) { s.stmts(stmts, []Workdir{""}) })
	s.Form = form
	if s.evaluates && s.arithmetic {
		s.fail("it computes with a variable that may hold code")
	}
	s.Heads = s.findHeads()
	for i := range s.List {
		s.Loose = s.Loose || s.List[i].Loose()
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

	words []shellword.Word // room for those of commands
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

//go:noinline // called from many places: every program stays smaller
func (s *shell) fail(format string, args ...any) {
	if s.Unclear == "" {
		s.Unclear = fmt.Sprintf(format, args...)
	}
}

func (s *shell) stain(reason string) {
	if s.Impure == "" {
		s.Impure = reason
	}
}

// Simple commands.

func (s *shell) add(c Command) int {
	if len(s.List) >= maxList {
		s.fail("it holds more than %d commands", maxList)
		return len(s.List) - 1
	}
	c.At = len(s.List)
	s.List = append(s.List, c)
	return len(s.List) - 1
}

func (s *shell) callExpr(c *syntax.CallExpr, in []Workdir) (ok, bad []Workdir) {
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
		if slices.ContainsFunc(set, func(n string) bool { return !effects.IsInert(n) }) {
			s.add(Command{Env: env, Set: set, Raw: s.source(c), In: in, Outer: s.outer})
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
func (s *shell) call(words []shellword.Word, env, set []string, in []Workdir) (ok, bad []Workdir) {
	return s.callAs("", words, env, set, in)
}

// callAs is call with what was written; "" makes that of the words.
func (s *shell) callAs(raw string, words []shellword.Word, env, set []string, in []Workdir) (ok, bad []Workdir) {
	name := words[0]
	c := Command{Name: path.Base(name.Text), Env: env, Words: words[1:], Path: name.Text, In: in, Set: set, Outer: s.outer}
	c.All = room(&s.args, len(words))
	for i, w := range words {
		c.All[i] = w.Text
	}
	c.Args = c.All[1:]
	if name.Unknown() || name.Glob != "" || name.Home {
		s.fail("the name of a command is only known when it runs")
		c.Name = shellword.Unknown
	}
	if name.Text == "" {
		c.Name = ""
		s.fail("the name of a command is empty")
	}
	if c.Raw = raw; raw == "" {
		c.Raw = strings.ReplaceAll(c.Text(), shellword.Unknown, "…")
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

// Text returns the command with its words joined by single spaces.
func (c *Command) Text() string { return strings.Join(c.List(c.Path), " ") }

// List returns the assignments, a name and the arguments. It is not to be changed.
//
//go:noinline // called from many places: every program stays smaller
func (c *Command) List(name string) []string {
	if len(c.Env) == 0 && c.All != nil && name == c.Path && name != "" {
		return c.All
	}
	list := slices.Clone(c.Env)
	if name != "" {
		list = append(list, name)
	}
	return append(list, c.Args...)
}

// Trusted folders hold the programs that their names promise.
var Trusted = []string{"/bin/", "/usr/bin/", "/sbin/", "/usr/sbin/", "/usr/local/bin/", "/opt/homebrew/bin/"}

// OwnName reports whether the command is what its base name says.
func (c *Command) OwnName() bool {
	if !strings.Contains(c.Path, "/") {
		return true
	}
	dir, _ := path.Split(c.Path)
	return slices.Contains(Trusted, dir)
}

// Clone returns a copy whose words may be changed.
func (c *Command) Clone() *Command {
	copied := *c
	copied.Words, copied.Args, copied.All = slices.Clone(c.Words), slices.Clone(c.Args), nil
	return &copied
}
