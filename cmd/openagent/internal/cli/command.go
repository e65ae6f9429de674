// Package cli is the command line of a program: a tree of commands that is declared once, as
// values. Parsing, help pages, completion scripts and suggestions for typos all come from the tree.
package cli

import (
	"context"
	"slices"
	"strings"
)

// A Command is a node of the tree: one that runs, a group of commands, or both.
//
//	cli.Command{Name: "remove", Args: "ID…", MinArgs: 1, MaxArgs: cli.AnyCount,
//		Summary: "Remove jobs", Examples: []string{"openagent cron remove cron_1"},
//		Flags: func() cli.Flags { return flags }, Run: remove}
type Command struct {
	Name     string
	Args     string // as usage lines show them; " | " separates forms
	Summary  string // one line, without a full stop
	Details  string // further text of the page; "" or whole lines
	Footer   string // text at the end of the page; "" or whole lines
	Examples []string
	// Choices are the arguments that completion offers.
	Choices []string
	// MinArgs and MaxArgs bound the number of arguments of a command in a group, and of any command with
	// a MinArgs.
	MinArgs, MaxArgs int
	// Common are the flags on the page of a command with many flags, and FlagsPage lists all of
	// them. With none, the page has all.
	Common []string
	// Flags returns the flags of the command; nil for none.
	Flags func() Flags
	// CheckWords, if set, judges the arguments before "--" when the flags are set.
	CheckWords func(words []string) error
	// Run executes the command. Without Run, the first argument that is not a flag names a
	// subcommand; the fallback is Default. With both Run and Subcommands, only the very first
	// argument can name a subcommand.
	Run         func(ctx context.Context, args []string) error
	Subcommands []Command
	Default     string
}

// AnyCount is the value of MaxArgs for commands that take any number of arguments.
const AnyCount = 1 << 20

// A Call is a parsed command line.
type Call struct {
	Path    string // the words that name the command, starting with the program
	Command Command
	Args    []string // arguments without flags
	Help    bool     // the user asks for the page, and Args mean nothing
}

// Execute runs the command that args name. It passes help pages to show.
func (c Command) Execute(ctx context.Context, args []string, show func(page string) error) error {
	call, err := c.Parse(args)
	switch {
	case err != nil:
		return err
	case call.Help:
		return show(call.Command.Page(call.Path))
	}
	return call.Command.Run(ctx, call.Args)
}

// Parse finds the command that args name and sets its flags.
func (c Command) Parse(args []string) (Call, error) {
	path := c.Name
	for c.Run != nil && len(args) > 0 {
		sub, ok := c.subcommand(args[0])
		if !ok {
			break
		}
		c, path, args = sub, path+" "+sub.Name, args[1:]
	}
	if c.Run == nil {
		return c.parseGroup(path, args)
	}
	rest, words, help, err := c.allFlags().parseWithHelp(args)
	if err == nil && !help && c.CheckWords != nil {
		err = c.CheckWords(rest[:words])
	}
	if err == nil && !help && c.MinArgs > 0 {
		err = c.checkCount(path, len(rest))
	}
	return Call{path, c, rest, help}, err
}

// parseGroup parses the arguments of a command that only groups others.
func (c Command) parseGroup(path string, args []string) (Call, error) {
	name, at := c.Default, c.unionFlags().firstWord(args)
	if at >= 0 {
		name, args = args[at], slices.Delete(slices.Clone(args), at, at+1)
	}
	sub, ok := c.subcommand(name)
	fs := c.unionFlags().inert()
	if ok {
		fs = c.flagsFor(sub, path)
	}
	rest, _, help, err := fs.parseWithHelp(args)
	switch {
	case help && (at < 0 || !ok):
		return Call{Path: path, Command: c, Help: true}, nil
	case err == nil && !ok:
		err = Usagef("write %s %s%s", path, c.forms(), Suggestion(name, c.Names()))
	case err == nil && !help:
		err = sub.checkCount(path+" "+sub.Name, len(rest))
	}
	return Call{path + " " + sub.Name, sub, rest, help}, err
}

// checkCount returns an error with the usage unless the command takes n arguments.
func (c Command) checkCount(path string, n int) error {
	forms := strings.ReplaceAll(c.Args, " | ", " or ")
	switch {
	case n < c.MinArgs:
		return Usagef("%s needs %s; see %[1]s --help", path, forms)
	case n > c.MaxArgs && c.Args == "":
		return Usagef("%s takes no arguments; see %[1]s --help", path)
	case n > c.MaxArgs:
		return Usagef("%s takes only %s; see %[1]s --help", path, forms)
	}
	return nil
}

// flagsFor returns the flags of sub. It adds flags of its siblings only to name their command in
// errors.
func (c Command) flagsFor(sub Command, path string) Flags {
	fs := sub.allFlags()
	for _, f := range c.unionFlags() {
		if _, own := fs.named(f.Name); own {
			continue
		}
		var with []string
		for _, s := range c.Subcommands {
			if _, has := s.allFlags().named(f.Name); has {
				with = append(with, s.Name)
			}
		}
		f.elsewhere = path + " " + strings.Join(with, ", ")
		fs = append(fs, f)
	}
	return fs
}

// unionFlags returns the flags of all subcommands, each once.
func (c Command) unionFlags() Flags {
	var all Flags
	for _, s := range c.Subcommands {
		for _, f := range s.allFlags() {
			if _, known := all.named(f.Name); !known {
				all = append(all, f)
			}
		}
	}
	return all
}

// allFlags returns the flags of the command and --help.
func (c Command) allFlags() Flags {
	var fs Flags
	if c.Flags != nil {
		fs = c.Flags()
	}
	return append(slices.Clip(fs), Flag{Name: "help", Short: 'h', Help: "show this help", Set: func(string) error { return nil }})
}

// forms lists the usage forms of the subcommands.
func (c Command) forms() string {
	var forms []string
	for _, s := range c.Subcommands {
		for form := range strings.SplitSeq(s.Args, " | ") {
			forms = append(forms, strings.TrimSpace(s.Name+" "+form))
		}
	}
	last := len(forms) - 1
	return strings.Join(forms[:last], ", ") + " or " + forms[last]
}

// Names lists the names of the subcommands.
func (c Command) Names() []string {
	var names []string
	for _, s := range c.Subcommands {
		names = append(names, s.Name)
	}
	return names
}

func (c Command) subcommand(name string) (Command, bool) {
	for _, s := range c.Subcommands {
		if s.Name == name {
			return s, true
		}
	}
	return Command{}, false
}

// Lookup finds a command by its path of names from c.
func (c Command) Lookup(names ...string) (Call, error) {
	path, program := c.Name, c.Name
	for _, name := range names {
		sub, ok := c.subcommand(name)
		if !ok {
			return Call{}, Usagef("there is no command %q%s", Clip(strings.TrimPrefix(path+" "+name, program+" ")), Suggestion(name, c.Names()))
		}
		c, path = sub, path+" "+name
	}
	return Call{Path: path, Command: c}, nil
}

// Walk calls visit with c and all commands below it.
func (c Command) Walk(visit func(path string, c Command)) { c.walk(c.Name, visit) }

func (c Command) walk(path string, visit func(path string, c Command)) {
	visit(path, c)
	for _, s := range c.Subcommands {
		s.walk(path+" "+s.Name, visit)
	}
}
