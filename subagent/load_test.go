package subagent

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/openagent-go/agent/hook"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/workspace"
)

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

const reviewer = `---
name: reviewer
description: Use it after changes.
  It reads a diff. Example: user: "review this"
tools: Read, Grep, Bash(git diff *), mcp__issues
disallowedTools: [Write, "Bash(git push *)"]
model: sonnet
permissionMode: dontAsk
maxTurns: 12
skills: [style, security-notes]
mcpServers:
  - issues
  - docs: {command: docs-server, args: [--all]}
background: true
isolation: worktree
effort: high
color: blue
memory: project
tool: Read
hooks:
  PreToolUse:
    - matcher: Bash
      hooks: [{type: command, command: ./check.sh, timeout: 5}]
  Stop:
    - hooks: [{type: command, command: ./end.sh}]
---

You review changes.
`

// Every key means the same as in Claude Code.
func TestRead(t *testing.T) {
	file := filepath.Join(t.TempDir(), "reviewer.md")
	// The second line of a plain text in YAML may hold no colon with a space.
	write(t, file, strings.Replace(reviewer, "\n  It reads a diff. Example: user: \"review this\"", " It reads a diff. Example: user: \"review this\"", 1))
	d, notes, err := ReadFile(file, &workspace.Workspace{Root: "/p"})
	if err != nil {
		t.Fatal(err)
	}
	var said []string
	for _, n := range notes {
		said = append(said, strings.TrimPrefix(n.Error(), file+":"))
	}
	if len(said) != 3 || !strings.HasPrefix(said[0], "3: ") || !strings.Contains(said[0], "quotes") || !strings.HasPrefix(said[1], "17: memory: ") || !strings.Contains(said[2], "18: tool: there is no such key; did you mean tools?") {
		t.Errorf("notes: %q", said)
	}
	a := d.Agent
	for _, c := range []struct{ what, got, want any }{
		{"name", a.Name, "reviewer"},
		{"description", d.Description, `Use it after changes. It reads a diff. Example: user: "review this"`},
		{"text", a.System, "You review changes."},
		{"tools", a.AllowedTools, []string{"Read", "Grep", "Bash", "mcp__issues"}},
		{"not", a.DisallowedTools, []string{"Write"}},
		{"deny", a.Permissions.Deny, []permission.Rule{"Bash(git push *)"}},
		{"mode", a.Permissions.Mode, permission.DontAsk},
		{"turns", a.Budget.Turns, 12},
		{"effort", a.Thinking.Effort, "high"},
		{"model", d.Model, "sonnet"},
		{"skills", d.Skills, []string{"style", "security-notes"}},
		{"servers", fmt.Sprintf("%s", d.Servers), `[{issues } {docs {"args":["--all"],"command":"docs-server"}}]`},
		{"background", d.Background, true},
		{"isolation", d.Isolation, worktreeIsolation},
		{"color", d.Color, "blue"},
		{"reads only", d.ReadOnly, false},
		{"file", d.Source, file},
	} {
		if !reflect.DeepEqual(c.got, c.want) {
			t.Errorf("%s: %#v", c.what, c.got)
		}
	}
	if len(a.Hooks) != 2 || a.Hooks[0].On != hook.PreToolUse || a.Hooks[0].Match != "Bash" || a.Hooks[0].Timeout != 5*time.Second || a.Hooks[1].On != hook.SubagentStop {
		t.Errorf("hooks: %+v", a.Hooks)
	}
	for line, denied := range map[string]bool{"git diff HEAD": false, "git diff HEAD; ls": true, "ls": true, "git log": true} {
		r := permission.Request{Tool: "Bash", Dir: "/p", Access: []permission.Access{{Kind: permission.RunCommand, Target: line}}}
		if got := permission.Composite(d.Bounded().Deciders...).Decide(r); (got.Behavior == permission.Denied) != denied || got.Behavior == permission.Allowed {
			t.Errorf("%s: %+v", line, got)
		}
	}
}

func TestReadKinds(t *testing.T) {
	for _, c := range []struct {
		front, wrong string
		check        func(Definition) bool
	}{
		{"tools: Read, Glob", "", func(d Definition) bool { return d.ReadOnly }},
		{"tools: Read Glob", "", func(d Definition) bool { return slices.Equal(d.Agent.AllowedTools, []string{"Read", "Glob"}) }},
		{"tools: Read, Bash", "", func(d Definition) bool { return !d.ReadOnly && len(d.Agent.Deciders) == 0 }},
		{"tools: Read\nmcpServers: x", "", func(d Definition) bool { return !d.ReadOnly }},
		{"tools: '*'", "", func(d Definition) bool { return d.Agent.AllowedTools == nil && !d.ReadOnly }},
		{"tools:", "", func(d Definition) bool { return d.Agent.AllowedTools == nil && !d.ReadOnly }},
		{"tools: Agent(worker, scout), Read", "", func(d Definition) bool {
			use := func(kind string) permission.Behavior {
				return permission.Composite(d.Agent.Deciders...).Decide(permission.Request{Tool: "Agent", Dir: "/p", Access: []permission.Access{{Kind: permission.UseName, Target: kind}}}).Behavior
			}
			return use("worker") == permission.NoOpinion && use("scout") == permission.NoOpinion && use("other") == permission.Denied
		}},
		{"model: inherit", "", func(d Definition) bool { return d.Model == "" }},
		{"mcpServers:\n  a: {url: 'https://x.y'}\n  b: {command: c}", "", func(d Definition) bool { return len(d.Servers) == 2 && d.Servers[0].Config != nil }},
		{"tools: []", "6: tools: an agent without tools", nil},
		{"tools: [Read, Grep", "6: tools: ", nil},
		{"tools: Bash(git", "6: tools: ", nil},
		{"tools: {Read: true}", "6: tools: it must be a list", nil},
		{"permissionMode: all", "unknown permission mode", nil},
		{"isolation: vm", `there is no isolation "vm"`, nil},
		{"effort: huge", "there are low, medium, high and max", nil},
		{"maxTurns: 0", "a number from 1 to", nil},
		{"background: yes please", "true or false", nil},
		{"skills: a b", "cannot be a name", nil},
		{"mcpServers: [x, x]", "x is there twice", nil},
		{"mcpServers: {x: 1}", "must be an object", nil},
		{"model: |\n  a\n  b", "must be a line", nil},
		{"hooks: {PreTool: []}", "there is no event", nil},
		{"hooks: {PreToolUse: [{hooks: [{type: prompt, prompt: x}]}]}", "hooks: ", nil},
		{"hooks: {PreToolUse: [{hooks: [{type: command, command: x}]}]}", "cannot be run here", nil},
		{"name: again", "already defined", nil},
	} {
		dir := t.TempDir()
		write(t, filepath.Join(dir, "k.md"), "---\n# a kind\nname: k\n\ndescription: d\n"+c.front+"\n---\ntext\n")
		list, problems := Load(Folder{Path: dir})
		if c.wrong != "" {
			if len(list) != 0 || len(problems) == 0 || !strings.Contains(problems[len(problems)-1].Error(), c.wrong) || !strings.Contains(problems[len(problems)-1].Error(), "k.md:") {
				t.Errorf("%s: %v, %v", c.front, list, problems)
			}
		} else if len(list) != 1 || !c.check(list[0]) || len(problems) != 0 {
			t.Errorf("%s: %+v, %v", c.front, list, problems)
		}
	}
	for text, wrong := range map[string]string{
		"":                                        "no front matter",
		"just text":                               "no front matter",
		"---\nname: a\n":                          "no end",
		"---\ndescription: d\n---\nx":             "name is missing",
		"---\nname: a\n---\nx":                    "description is missing",
		"---\nname: a\ndescription: d\n---\n":     "no text after",
		"---\nname: a b\ndescription: d\n---\n":   "3: name: ",
		"---\nname: a\ndescription: d\n---\n\xff": "not UTF-8",
		"---\nname: a\ndescription: " + strings.Repeat("x", 40_000) + "\n---\n": "front matter has more than",
	} {
		dir := t.TempDir()
		write(t, filepath.Join(dir, "k.md"), strings.Replace(text, "name: a b", "x: 1\nname: a b", 1))
		if list, problems := Load(Folder{Path: dir}); len(list) != 0 || len(problems) == 0 || !strings.Contains(problems[len(problems)-1].Error(), wrong) {
			t.Errorf("%.60q: %v, %v", text, list, problems)
		}
	}
}

func TestParseJSON(t *testing.T) {
	for _, c := range []struct{ data, wrong string }{
		{`{"b": {"description": "d", "prompt": "p", "tools": ["Read", "Bash(git *)"], "maxTurns": 3, "background": true, "memory": "user"}, "a": {"description": "x", "prompt": "y", "mcpServers": [{"s": {"command": "c"}}]}}`, ""},
		{`[]`, "the JSON must be an object"}, {`null`, "the JSON must be an object"}, {`{"a": 1}`, "the JSON must be an object"}, {`{`, "the JSON must be an object"},
		{`{"a": {"description": "d"}}`, "a: prompt is missing"},
		{`{"a": {"prompt": "d"}}`, "a: description is missing"},
		{`{"a": null}`, "a: description is missing"},
		{`{"a": {"prompt": 1}}`, "prompt: it must be a string"},
		{`{"a b": {"prompt": "p", "description": "d"}}`, "cannot be a name"},
		{`{"a": {"prompt": "p", "description": "d", "maxTurns": 1.5}}`, "a number from 1"},
		{`{"a": {"prompt": "p", "description": "d", "permissionMode": "yolo"}}`, "unknown permission mode"},
		{`{"a": {"prompt": "p", "description": "d"}, "A": {"prompt": "p", "description": "d"}}`, "twice"},
	} {
		list, notes, err := ParseJSON([]byte(c.data), nil)
		if c.wrong != "" {
			if err == nil || !strings.Contains(err.Error(), c.wrong) || strings.Contains(err.Error(), "line 0") {
				t.Errorf("%s: %v", c.data, err)
			}
			continue
		}
		if err != nil || len(list) != 2 || list[0].Agent.Name != "a" || list[1].Agent.Budget.Turns != 3 || len(list[1].Agent.Deciders) != 1 || !list[1].Background || list[0].Servers[0].Config == nil || !slices.Equal(notes, []string{"b: memory: it says nothing here"}) {
			t.Errorf("%+v, %q, %v", list, notes, err)
		}
	}
}

func kind(name, text string) string {
	return "---\nname: " + name + "\ndescription: d\n---\n" + text + "\n"
}

// The later folder counts, what leads out is left out, and one bad file spoils no other.
func TestLoad(t *testing.T) {
	base := t.TempDir()
	home, project := filepath.Join(base, "home"), filepath.Join(base, "project")
	write(t, filepath.Join(home, ".claude/agents/a.md"), kind("a", "user"))
	write(t, filepath.Join(home, ".agents/agents/a.md"), kind("a", "lower"))
	write(t, filepath.Join(home, ".agents/agents/only.md"), kind("only", "user"))
	write(t, filepath.Join(project, ".claude/agents/a.md"), kind("A", "project"))
	write(t, filepath.Join(project, ".openagent/agents/b.md"), kind("b", "project"))
	write(t, filepath.Join(project, ".openagent/agents/c.md"), kind("B", "twice"))
	write(t, filepath.Join(project, ".openagent/agents/bad.md"), "---\n\nname: {}\n---\n")
	write(t, filepath.Join(project, ".openagent/agents/notes.txt"), "no agent")
	write(t, filepath.Join(project, ".openagent/agents/.hidden.md"), kind("hidden", "x"))
	write(t, filepath.Join(base, "outside/out.md"), kind("out", "secret"))
	for link, to := range map[string]string{
		".openagent/agents/link.md":   "../../../outside/out.md",
		".openagent/agents/inside.md": "b.md",
		".agents/agents":              "../../outside",
	} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(project, link)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(to, filepath.Join(project, link)); err != nil {
			t.Skip(err)
		}
	}
	list, problems := Load(append(Folders(home, false), Folders(project, true)...)...)
	var got []string
	for _, d := range list {
		got = append(got, d.Agent.Name+"="+d.Agent.System)
	}
	if want := []string{"A=project", "b=project", "only=user"}; !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
	said := fmt.Sprint(problems)
	for _, want := range []string{"bad.md:3: name: it must be a text", "c.md:1: the name B is that of b.md already", "inside.md:1: the name b is that of b.md", "link.md: reading link.md: ", ".agents/agents: it leads out of"} {
		if !strings.Contains(said, filepath.FromSlash(want)) {
			t.Errorf("%q is missing in %s", want, said)
		}
	}
	if len(problems) != 5 {
		t.Errorf("%d problems: %s", len(problems), said)
	}
	if list, problems := Load(Folder{Path: filepath.Join(base, "nothing")}); list != nil || problems != nil {
		t.Errorf("no folder: %v, %v", list, problems)
	}
}

// The sum follows the content of the folder.
func TestSum(t *testing.T) {
	dir := t.TempDir()
	seen := map[string]bool{}
	check := func(what string) {
		t.Helper()
		f := Folder{Path: dir}.Load()
		if f.Sum == "" || seen[f.Sum] {
			t.Errorf("%s: the sum is the same", what)
		}
		seen[f.Sum] = true
	}
	check("empty")
	write(t, filepath.Join(dir, "a.md"), kind("a", "x"))
	check("new")
	write(t, filepath.Join(dir, "a.md"), kind("a", "y"))
	check("changed")
	write(t, filepath.Join(dir, "b.md"), "bad")
	check("a bad file")
	if err := os.Rename(filepath.Join(dir, "a.md"), filepath.Join(dir, "c.md")); err != nil {
		t.Fatal(err)
	}
	check("another name")
}

func TestBounds(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "large.md"), kind("large", strings.Repeat("x", maxFile)))
	for i := range maxFiles {
		write(t, filepath.Join(dir, fmt.Sprintf("a%03d.md", i)), kind(fmt.Sprintf("a%03d", i), "x"))
	}
	f := Folder{Path: dir}.Load()
	if len(f.Definitions) != maxFiles || len(f.Problems) != 1 || !strings.Contains(f.Problems[0].Error(), "more than 200 agents") {
		t.Errorf("%d, %v", len(f.Definitions), f.Problems)
	}
	for i := range 10 {
		os.Remove(filepath.Join(dir, fmt.Sprintf("a%03d.md", i)))
	}
	if f = (Folder{Path: dir}).Load(); len(f.Problems) != 1 || !strings.Contains(f.Problems[0].Error(), "more than 256 KB") {
		t.Errorf("%v", f.Problems)
	}
}

func BenchmarkLoad(b *testing.B) {
	dir := b.TempDir()
	for i := range 100 {
		text := strings.Replace(strings.Replace(reviewer, "name: reviewer", fmt.Sprintf("name: r%d", i), 1), "\n  It reads a diff. Example: user: \"review this\"", "", 1)
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("r%d.md", i)), []byte(text), 0o600); err != nil {
			b.Fatal(err)
		}
	}
	place := &workspace.Workspace{Root: dir}
	for b.Loop() {
		if f := (Folder{Path: dir, Hooks: place}).Load(); len(f.Definitions) != 100 {
			b.Fatal(f.Problems)
		}
	}
}
