package cli

import (
	"context"
	"slices"
	"strings"
	"testing"
)

// tree is a small program. It writes the command that runs to ran.
func tree(ran *string) Command {
	var all bool
	var zone string
	run := func(name string) func(context.Context, []string) error {
		return func(_ context.Context, args []string) error {
			*ran = strings.TrimSpace(name + " " + strings.Join(args, ","))
			if all {
				*ran += " all"
			}
			if zone != "" {
				*ran += " zone=" + zone
			}
			return nil
		}
	}
	allFlag := Flag{Name: "all", Short: 'a', Help: "all", Set: SetTrue(&all)}
	zoneFlag := Flag{Name: "zone", Arg: "ZONE", Help: "zone", Set: Text(&zone)}
	return Command{Name: "prog", Args: "[prompt]", Summary: "Run", Run: run("prompt"), Examples: []string{"prog"},
		Flags: func() Flags {
			return Flags{allFlag, {Name: "color", Arg: "on|off", Words: []string{"on", "off"}, Help: "it's color", Set: Text(&zone)}}
		},
		Subcommands: []Command{
			{Name: "job", Summary: "Jobs", Default: "list", Subcommands: []Command{
				{Name: "list", Summary: "List", Run: run("list"), Flags: func() Flags { return Flags{allFlag} }, Examples: []string{"prog job list"}},
				{Name: "add", Args: "TIME TEXT | TEXT", MinArgs: 1, MaxArgs: 2, Summary: "Add", Run: run("add"), Flags: func() Flags { return Flags{zoneFlag} }, Examples: []string{"prog job add x"}},
			}},
			{Name: "version", Summary: "Version", Run: run("version"), Examples: []string{"prog version"}},
		}}
}

func TestExecute(t *testing.T) {
	for _, c := range []struct{ line, ran, err, page string }{
		{line: "hi", ran: "prompt hi"},
		{line: "-a version", ran: "prompt version all"}, // only the first word can name a command of a program that takes a prompt
		{line: "version", ran: "version"},
		{line: "job", ran: "list"},
		{line: "job --all", ran: "list all"},
		{line: "job --all list", ran: "list all"},
		{line: "job --zone list add x", ran: "add x zone=list"},
		{line: "job add --zone=UTC x -- --y", ran: "add x,--y zone=UTC"},
		{line: "job -- add x", ran: "add x"},
		{line: "job list --zone x", err: "--zone is a flag of prog job add"},
		{line: "job add x --all", err: "--all is a flag of prog job list"},
		{line: "job add --zone --all x", err: "--zone needs a value: --zone ZONE"},
		{line: "job add", err: "prog job add needs TIME TEXT or TEXT; see prog job add --help"},
		{line: "job add x y z", err: "prog job add takes only TIME TEXT or TEXT; see prog job add --help"},
		{line: "job list x", err: "prog job list takes no arguments; see prog job list --help"},
		{line: "job lsit", err: "write prog job list, add TIME TEXT or add TEXT; did you mean list?"},
		{line: "job add x --zoen y", err: "unknown flag --zoen; did you mean --zone?"},
		{line: "job --help", page: "Usage: prog job [COMMAND]"},
		{line: "job lsit --help", page: "Usage: prog job [COMMAND]"},
		{line: "job add -h", page: "Usage: prog job add [flags] TIME TEXT\n       prog job add [flags] TEXT\n"},
		{line: "job -h add", page: "Usage: prog job add"},
		{line: "-h --bogus", page: "Usage: prog [flags] [prompt]"},
	} {
		var ran, page string
		err := tree(&ran).Execute(t.Context(), strings.Fields(c.line), func(p string) error { page = p; return nil })
		if ran != c.ran || (err == nil) != (c.err == "") || err != nil && err.Error() != c.err || !strings.HasPrefix(page, c.page) || (page == "") != (c.page == "") {
			t.Errorf("%q: ran %q, error %v, page %q", c.line, ran, err, page)
		}
	}
}

func TestPageShowsOnlyItsFlags(t *testing.T) {
	call, err := tree(new(string)).Lookup("job", "add")
	if err != nil {
		t.Fatal(err)
	}
	page := call.Command.Page(call.Path)
	if !strings.Contains(page, "--zone ZONE") || strings.Contains(page, "--all") || !strings.Contains(page, "  prog job add x\n") {
		t.Error(page)
	}
	if _, err := tree(new(string)).Lookup("job", "ad"); err == nil || !strings.Contains(err.Error(), "did you mean add?") {
		t.Error(err)
	}
}

// Each script names every command, flag and value.
func TestCompletion(t *testing.T) {
	for _, shell := range Shells {
		script, err := Completion(tree(new(string)), shell)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"prog job add", "version", "zone", "color", "on"} {
			if !strings.Contains(script, want) {
				t.Errorf("%s: the script lacks %q:\n%s", shell, want, script)
			}
		}
	}
	if _, err := Completion(tree(new(string)), "fihs"); err == nil || !strings.Contains(err.Error(), "did you mean fish?") {
		t.Error(err)
	}
}

func TestNamed(t *testing.T) {
	fs := tree(new(string)).Flags().Named("color", "none")
	if len(fs) != 1 || fs[0].Name != "color" || !slices.Equal(fs[0].Words, []string{"on", "off"}) {
		t.Errorf("%+v", fs)
	}
}
