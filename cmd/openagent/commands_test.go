package main

import (
	"bytes"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
)

// Every command has a page of its own with its usage, summary, examples and flags.
func TestEveryCommandHasAPage(t *testing.T) {
	seen := map[string]string{}
	pages := 0
	root(cli.NewIO()).Walk(func(path string, c cli.Command) {
		page := c.Page(path)
		pages++
		checkWidth(t, path, page)
		for line := range strings.Lines(c.Details) {
			if n := utf8.RuneCountInString(strings.TrimSpace(line)); n > cli.MaxColumns {
				t.Errorf("%s: this line of the details has %d characters, so it is broken twice: %s", path, n, line)
			}
		}
		if other, ok := seen[page]; ok {
			t.Errorf("%s has the page of %s", path, other)
		}
		seen[page] = path
		if !strings.HasPrefix(page, "Usage: "+path) || !strings.Contains(page, c.Summary+".\n") || !strings.Contains(page, "\nExamples:\n  ") {
			t.Errorf("%s: the page lacks its usage, summary or examples:\n%s", path, page)
		}
		if first, _ := utf8.DecodeRuneInString(c.Summary); !unicode.IsUpper(first) || strings.HasSuffix(c.Summary, ".") || strings.Contains(c.Summary, "\n") {
			t.Errorf("%s: %q is no summary of one line", path, c.Summary)
		}
		switch {
		case c.Run == nil && (len(c.Subcommands) < 2 || !slices.Contains(c.Names(), c.Default)):
			t.Errorf("%s is a group without commands or without a default", path)
		case c.Run != nil && (len(c.Examples) == 0 || !strings.Contains(page, "--help")):
			t.Errorf("%s has no example, or its page no flags", path)
		}
		if c.Common != nil {
			page = c.FlagsPage()
			checkWidth(t, path+", flags", page)
		}
		checkFlags(t, path, c, page)
	})
	if pages < 50 {
		t.Errorf("there are %d pages; the tree lost commands", pages)
	}
}

// A command that needs arguments says so, wherever it is in the tree.
func TestMissingArguments(t *testing.T) {
	checked := 0
	root(cli.NewIO()).Walk(func(path string, c cli.Command) {
		for n := range c.MinArgs {
			args := append(strings.Fields(path)[1:], slices.Repeat([]string{"x"}, n)...)
			if _, err := root(cli.NewIO()).Parse(args); err == nil || !strings.Contains(err.Error(), path+" needs ") {
				t.Errorf("%s with %d arguments: %v", path, n, err)
			}
			checked++
		}
	})
	if checked < 20 {
		t.Errorf("%d command lines were checked", checked)
	}
}

// checkWidth checks that no line of a page is cut on a terminal of usual width.
func checkWidth(t *testing.T, path, page string) {
	t.Helper()
	for _, width := range []int{cli.MaxColumns, 80, 50} {
		h := &cli.IO{Columns: func() int { return width }}
		for line := range strings.Lines(h.Wrap(page)) {
			if line = strings.TrimSuffix(line, "\n"); utf8.RuneCountInString(line) > width && strings.Contains(strings.TrimSpace(line), " ") {
				t.Errorf("%s, %d columns: %s", path, width, line)
			}
		}
	}
}

// The first page is short enough to read. Everything that it leaves out has a page.
func TestFirstPageIsShort(t *testing.T) {
	h := cli.NewIO()
	page := h.Wrap(root(h).Page("openagent"))
	if lines := strings.Count(page, "\n"); lines > 49 {
		t.Errorf("%d lines:\n%s", lines, page)
	}
	for _, topic := range helpTopics {
		var out bytes.Buffer
		if code := execute(&cli.IO{Out: &out, Err: &out, Getenv: func(string) string { return "" }}, []string{"help", topic}); code != 0 || out.Len() < 200 || !strings.Contains(page, topic) {
			t.Errorf("help %s: exit code %d\n%s", topic, code, &out)
		}
		for line := range strings.Lines(out.String()) {
			if utf8.RuneCountInString(line) > cli.MaxColumns+1 {
				t.Errorf("help %s: %s", topic, line)
			}
		}
	}
}

// checkFlags checks that the page of a command lists its flags, and no name twice.
func checkFlags(t *testing.T, path string, c cli.Command, page string) {
	t.Helper()
	if c.Flags == nil {
		return
	}
	seen := map[string]bool{}
	for _, f := range c.Flags() {
		if seen[f.Name] {
			t.Errorf("%s has --%s twice", path, f.Name)
		}
		seen[f.Name] = true
		if f.Hidden {
			if strings.Contains(page, "--"+f.Name+" ") {
				t.Errorf("%s: the page has --%s, which only programs give", path, f.Name)
			}
			continue
		}
		if f.Help == "" || !strings.Contains(page, "--"+f.Name) {
			t.Errorf("%s: the page lacks --%s or its help", path, f.Name)
		}
		if strings.HasPrefix(f.Help, "with ") && !strings.HasPrefix(f.Help, "with -") && f.Name != "include-partial-messages" && f.Name != "verbose" {
			t.Errorf("%s --%s: %q names a command; a flag belongs to the commands that take it", path, f.Name, f.Help)
		}
	}
}

// Flags with the same name in the commands of a group take a value in all, or in none:
// which word names the command must not depend on it.
func TestFlagsOfAGroupAgree(t *testing.T) {
	root(cli.NewIO()).Walk(func(path string, group cli.Command) {
		if group.Run != nil {
			return
		}
		takes := map[string]bool{}
		for _, c := range group.Subcommands {
			if c.Flags == nil {
				continue
			}
			for _, f := range c.Flags() {
				if value, ok := takes[f.Name]; ok && value != (f.Arg != "") && f.Name != "agent" {
					t.Errorf("%s: --%s takes a value in some commands only", path, f.Name)
				}
				takes[f.Name] = f.Arg != ""
			}
		}
	})
}

// The command line of every example is one that the program accepts.
func TestExamplesParse(t *testing.T) {
	root(cli.NewIO()).Walk(func(path string, c cli.Command) {
		for _, example := range c.Examples {
			_, line, _ := strings.Cut("| "+example, "openagent")
			call, err := root(cli.NewIO()).Parse(shellWords(line))
			if err != nil || call.Path != path && path != "openagent help" || call.Help {
				t.Errorf("%q: %s, %v; want %s", example, call.Path, err, path)
			}
		}
	})
}

// shellWords splits a command line into words. Single quotes keep spaces.
func shellWords(line string) []string {
	var words []string
	quoted, started := false, false
	for _, r := range line {
		switch {
		case r == '\'':
			quoted = !quoted
		case r == ' ' && !quoted:
			started = false
			continue
		}
		if !started {
			words, started = append(words, ""), true
		}
		if r != '\'' {
			words[len(words)-1] += string(r)
		}
	}
	return words
}

func TestPageOfLogin(t *testing.T) {
	call, err := root(cli.NewIO()).Parse([]string{"mcp", "login", "--help"})
	if err != nil || !call.Help {
		t.Fatal(call.Path, err)
	}
	page := call.Command.Page(call.Path)
	for _, want := range []string{"Usage: openagent mcp login [flags] NAME", "--no-browser", "--mcp-config"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q:\n%s", want, page)
		}
	}
	for _, other := range []string{"--transport", "--http", "--max-turns", "--scope"} {
		if strings.Contains(page, other) {
			t.Errorf("the page has %s of another command:\n%s", other, page)
		}
	}
}

var demoNext = regexp.MustCompile(`(?m)^(?:  next|) {4,}openagent (\S+)`)

// The commands that a demo names at its end exist.
func TestDemoNextSteps(t *testing.T) {
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("needs sh in PATH")
	}
	t.Setenv("TMPDIR", t.TempDir())
	for _, demo := range []string{"fix", "survey", "chaos", "team"} {
		var out, errs bytes.Buffer
		h := &cli.IO{In: strings.NewReader(""), Out: &out, Err: &errs, Getenv: func(string) string { return "" }}
		if code := execute(h, []string{"demo", demo}); code != 0 {
			t.Fatalf("demo %s: exit code %d\n%s%s", demo, code, &out, &errs)
		}
		steps := demoNext.FindAllStringSubmatch(out.String(), -1)
		if len(steps) == 0 {
			t.Errorf("demo %s names no command:\n%s", demo, &out)
		}
		for _, step := range steps {
			if !slices.Contains(root(h).Names(), step[1]) && step[1] != "-p" {
				t.Errorf("demo %s: there is no command %s", demo, step[1])
			}
		}
	}
}
