package permission

import (
	"slices"

	"github.com/openagent-go/agent/permission/internal/shellscan"
	"github.com/openagent-go/agent/permission/internal/shellword"
)

// Unknown stands in a [Command] for text that only the running shell knows: the
// value of a variable, the output of a command. No command line can hold it.
const Unknown = shellword.Unknown

// A Command is one simple command of a command line, the way the shell will run
// it: quoting is removed and parts only known at run time are [Unknown].
type Command struct {
	Name string   // base name of the program or built-in command; "" for an assignment alone, Unknown if not known
	Args []string // the words after the name
	Env  []string // assignments in front of it, NAME=value
	Raw  string   // as written; for what another command runs, the words with … for what is not known
}

// A Redirect is a file that a command line opens by itself.
type Redirect struct {
	Path  string // as in Command.Args
	Write bool
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
}

// ParseCommand takes a command line (bash) apart. The error is not nil if the
// line has a syntax error or exceeds a limit; then Unclear is set as well and
// List holds what was found before.
func ParseCommand(line string) (Commands, error) {
	scanned, err := shellscan.Scan(line)
	c := Commands{Unclear: scanned.Unclear}
	for i := range scanned.List {
		x := &scanned.List[i]
		c.List = append(c.List, Command{Name: x.Name, Args: slices.Clone(x.Args), Env: slices.Clone(x.Env), Raw: x.Raw})
	}
	for _, r := range scanned.Redirects {
		c.Redirects = append(c.Redirects, Redirect{Path: r.Path, Write: r.Write})
	}
	return c, err
}

// A Form is a command line as it is judged and run.
type Form struct {
	Line string
	Bash bool // it uses what a shell other than bash may read in another way
}

// Canonical returns the form of a command line. The error says why the line is not
// understood; no rule with a pattern and no mode but [Bypass] allows such a line.
// Give the shell the form of a line that was judged.
func Canonical(line string) (Form, error) {
	form, err := shellscan.Canonical(line)
	return Form(form), err
}
