package skill

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/openagent-go/agent/internal/policies"
	"github.com/openagent-go/agent/internal/toolapi"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tools"
)

var _ toolapi.Skills = (*Registry)(nil)

func TestRegistry(t *testing.T) {
	r := New(&Skill{Name: "one", Aliases: []string{"uno", "two"}, Instructions: "1"}, &Skill{Name: "two", Instructions: "2"}, &Skill{Name: "bad name"},
		&Skill{Name: "hidden", Hidden: true, Instructions: "h"}, &Skill{Name: "manual", Manual: true, Instructions: "m"},
		&Skill{Name: "away", Available: func() bool { return false }, Instructions: "a"})
	if got := names(r.All()); got != "away manual hidden two one" {
		t.Errorf("all: %s", got)
	}
	if got := names(r.UserInvocable()); got != "manual two one" {
		t.Errorf("for people: %s", got)
	}
	var listed []string
	for _, s := range r.List() {
		listed = append(listed, s.Name)
	}
	if got := strings.Join(listed, " "); got != "hidden two one" {
		t.Errorf("for models: %s", got)
	}
	if s := r.Get("UNO"); s == nil || s.Name != "one" {
		t.Errorf("by alias: %+v", s)
	}
	if s := r.Get("two"); s == nil || s.Name != "two" {
		t.Errorf("a name counts before an alias: %+v", s)
	}
	if err := r.Register(&Skill{Name: "ONE"}); err == nil {
		t.Error("registered twice")
	}
	r.Replace(&Skill{Name: "One", Instructions: "new"})
	if x, err := r.Expand("one", ""); err != nil || !strings.HasSuffix(x.Text, "new") {
		t.Errorf("%+v, %v", x, err)
	}
	if !r.Remove("one") || r.Remove("one") || r.Get("uno") != nil {
		t.Error("one is still there")
	}
	if _, err := r.Expand("away", ""); err == nil || !strings.Contains(err.Error(), "not available") {
		t.Errorf("%v", err)
	}
	if _, err := r.Expand("manul", ""); err == nil || !strings.Contains(err.Error(), "did you mean manual?") {
		t.Errorf("%v", err)
	}
	if info, ok := r.Find("away"); !ok || !info.Manual {
		t.Errorf("%+v", info)
	}
}

// The last folder counts, and only the names that are asked for.
func TestDiscover(t *testing.T) {
	says := func(n int) string { return fmt.Sprintf("---\ndescription: %d\n---\nx", n) }
	home := tree(t, map[string]string{".claude/commands/deep/a.md": says(0), ".config/agents/skills/a/SKILL.md": says(1), ".agents/skills/a/SKILL.md": says(2), ".claude/skills/a/SKILL.md": says(3),
		".config/agents/skills/b/SKILL.md": says(1)})
	project := tree(t, map[string]string{".claude/commands/a.md": says(4), ".openagent/commands/a.md": says(5),
		".agents/skills/a/SKILL.md": says(6), ".claude/skills/a/SKILL.md": says(7), ".openagent/skills/a/SKILL.md": says(8)})
	for i, want := range []string{"0", "1", "2", "3", "4", "5", "6", "7", "8"} {
		r := New()
		n, problems := r.Discover(Folders(home, project)[:i+1])
		if s := r.Get("a"); len(problems) > 0 || s == nil || s.Description != want || n < i+1 {
			t.Errorf("%d folders: %d found, %+v, %v", i+1, n, s, problems)
		}
	}
	r := New(BuiltIn(project)...)
	if n, _ := r.Discover(Folders(home, project), "b"); n != 1 || r.Get("a") != nil {
		t.Errorf("%d found", n)
	}
	if len(Folders("", "")) != 0 || len(Folders("", project)) != 5 {
		t.Error("folders of nobody")
	}
}

func TestBuiltIn(t *testing.T) {
	with, without := tree(t, map[string]string{"go.mod": "module x"}), t.TempDir()
	odd := filepath.Join(tree(t, map[string]string{"[x]*/jest.config.ts": "x"}), "[x]*")
	for dir, want := range map[string]string{with: "commit review simplify debug test", without: "commit review simplify debug", odd: "commit review simplify debug test"} {
		r := New(BuiltIn(dir)...)
		if got := names(r.UserInvocable()); got != want {
			t.Errorf("%s: %s", dir, got)
		}
	}
	r := New(BuiltIn(with)...)
	for alias, name := range map[string]string{"ci": "commit", "review-pr": "review", "cr": "review", "investigate": "debug", "diagnose": "debug", "run-tests": "test"} {
		if s := r.Get(alias); s == nil || s.Name != name {
			t.Errorf("%s is %+v", alias, s)
		}
	}
	for _, s := range r.All() {
		x, err := r.Expand(s.Name, "this")
		if err != nil || strings.Contains(x.Text, argsMark) || !strings.Contains(x.Text, "this") {
			t.Errorf("%s: %v, %v", s.Name, x, err)
		}
		b := permission.Restriction{Only: []permission.Rule{"Bash", "Read", "Glob", "Grep"}}
		if policies.Covers(&b, s.Tools) == (s.Name == "test") || len(s.Tools) < 4 {
			t.Errorf("%s may use %v", s.Name, s.Tools)
		}
	}
}

func TestExpand(t *testing.T) {
	dir := tree(t, map[string]string{"x/SKILL.md": "---\nname: x\ndescription: d\nallowed-tools: Read, Bash(git diff *)\nmodel: big\n---\nDo $1 then $2, all: $ARGUMENTS. Costs $10, $HOME, $3! In ${CLAUDE_SKILL_DIR}/a.",
		"x/references/a.md": "a", "x/run.sh": "b", "x/.secret": "c"})
	r := New()
	r.Discover([]Folder{{Path: dir}})
	x, err := r.Expand("x", ` first "second $1 one" `)
	if err != nil {
		t.Fatal(err)
	}
	want := `/x first "second $1 one"

The instructions of this skill follow. Its folder is ` + dir + `/x, with files to read or run as they are needed: references/a.md, run.sh. While it is in force only these tools run: Read, Bash(git diff *).

Do first then second $1 one, all: first "second $1 one". Costs $10, $HOME, ! In ` + dir + `/x/a.`
	if x.Text != want {
		t.Errorf("got %q\nwant %q", x.Text, want)
	}
	if sc := x.Scope; x.Kind != "slash_command" || x.Name != "x" || sc.Skill != "x" || len(sc.Tools) != 2 || sc.Model != "big" {
		t.Errorf("%+v, %+v", x, x.Scope)
	}
	text, err := r.Text("x")
	if want := "Do $1 then $2, all: $ARGUMENTS. Costs $10, $HOME, $3! In " + dir + "/x/a."; err != nil || !strings.HasSuffix(text, "references/a.md, run.sh.\n\n"+want) {
		t.Errorf("the text is %q, %v", text, err)
	}
	r.Replace(&Skill{Name: "y", Instructions: "No marks, but $ and $0."})
	if x, _ := r.Expand("y", "args"); !strings.HasSuffix(x.Text, "No marks, but $ and $0.\n\nARGUMENTS: args") {
		t.Errorf("%q", x.Text)
	}
	r.Replace(&Skill{Name: "bomb", Instructions: strings.Repeat("$ARGUMENTS ", 1000)})
	for args, wrong := range map[string]string{strings.Repeat("a", maxArgs): "too long", strings.Repeat("a", maxArgs+1): "10001 bytes"} {
		if _, err := r.Expand("bomb", args); err == nil || !strings.Contains(err.Error(), wrong) {
			t.Errorf("%d bytes: %v", len(args), err)
		}
	}
	r.Replace(&Skill{Name: "empty", Instructions: " \n"})
	if _, err := r.Expand("empty", ""); err == nil {
		t.Error("an empty skill runs")
	}
}

func TestFields(t *testing.T) {
	for args, want := range map[string]string{
		"": "", " a  b ": "a|b", `"a b" c`: "a b|c", `'a "b"' c`: `a "b"|c`, `it's here`: "it's|here", `a"b c"d`: "ab cd", `""`: "", `x "" y`: "x||y",
	} {
		if got := strings.Join(fields(args), "|"); got != want {
			t.Errorf("%q: %q, want %q", args, got, want)
		}
	}
}

// A folder of 200 skills, read and listed: the cost of a start with them.
func Benchmark200(b *testing.B) {
	files := map[string]string{}
	for i := range 200 {
		files[fmt.Sprintf("skill-%03d/SKILL.md", i)] = fmt.Sprintf("---\nname: skill-%03d\ndescription: Does the work number %d in the way that this project wants it\naliases: [s%d]\nallowed-tools: [Read, Grep, \"Bash(git diff *)\"]\nwhen-to-use: the user asks for number %d\n---\n%s", i, i, i, i, strings.Repeat("Do this and that.\n", 400))
		files[fmt.Sprintf("skill-%03d/references/a.md", i)] = "x"
	}
	dir := tree(b, files)
	for _, pinned := range []bool{false, true} {
		b.Run(fmt.Sprintf("pinned=%v", pinned), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				r := New()
				if n, _ := r.Discover([]Folder{{Path: dir, Pinned: pinned}}); n != 200 {
					b.Fatal(n)
				}
				b.ReportMetric(float64(len(tools.Skill(r).Spec().Description)), "prompt-bytes")
			}
		})
	}
}
