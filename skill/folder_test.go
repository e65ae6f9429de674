package skill

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/openagent-go/agent/internal/front"
)

// tree writes files below a new folder.
func tree(t testing.TB, files map[string]string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func names(skills []*Skill) string {
	var out []string
	for _, s := range skills {
		out = append(out, s.Name)
	}
	return strings.Join(out, " ")
}

const seedSkill = `---
name: polyv-live-cli
description: 管理保利威直播服务
aliases: live, plv
allowed-tools: Bash, Read, Write, Glob
when-to-use: user asks about live streaming management
argument-hint: [action] [options]
---

# polyv-live-cli Skill

Help.
`

func TestFrontMatter(t *testing.T) {
	for _, c := range []struct {
		name, front string
		want        Skill
		tools       string
		wrong       string // line and words of an error
	}{
		{name: "lists of YAML", front: "name: x\ndescription: d\naliases: [a, b]\nallowed-tools:\n  - Read\n  - Bash(git diff *)\n", want: Skill{Name: "x", Description: "d", Aliases: []string{"a", "b"}}, tools: "Read|Bash(git diff *)"},
		{name: "texts", front: "name: x\naliases: a, b\nallowed-tools: Bash(git diff:*), Bash(git log a, b) Read,Grep\n", want: Skill{Name: "x", Aliases: []string{"a", "b"}}, tools: "Bash(git diff:*)|Bash(git log a, b)|Read|Grep"},
		{name: "snake", front: "when_to_use: often\nargument_hint: n\nuser_invocable: false\n", want: Skill{When: "often", Hint: "n", Hidden: true}},
		{name: "blocks", front: "description: >\n  one\n  two\nwhen-to-use: |\n  three\n  four\n", want: Skill{Description: "one two", When: "three four"}},
		{name: "quotes", front: "description: \"a: b\"\nmodel: 'm'\ndisable-model-invocation: true\n", want: Skill{Description: "a: b", Model: "m", Manual: true}},
		{name: "inherit", front: "model: inherit\n"},
		{name: "a colon without quotes", front: "description: how to: a guide, it's short\n", want: Skill{Description: "how to: a guide, it's short"}},
		{name: "brackets", front: "argument-hint: [message]\n", want: Skill{Hint: "[message]"}},
		{name: "more brackets", front: "argument-hint: [a] [b]\n", want: Skill{Hint: "[a] [b]"}},
		{name: "a number", front: "description: 7\n", want: Skill{Description: "7"}},
		{name: "escapes", front: "description: \"a\\x1b[31mb\\0c\"\n", want: Skill{Description: "abc"}},
		{name: "name", front: "description: d\nname: ../x\n", wrong: "3: name"},
		{name: "tools", front: "name: x\nallowed-tools: Bash(git\n", wrong: "3: allowed-tools"},
		{name: "tools of tools", front: "allowed-tools:\n  - {a: b}\n", wrong: "2: allowed-tools: it must be a list of texts"},
		{name: "flag", front: "user-invocable: maybe\n", wrong: "2: user-invocable: it must be true or false"},
		{name: "twice", front: "allowed-tools: Read\nallowed_tools: Bash\n", wrong: "3: allowed-tools is there twice"},
		{name: "no object", front: "- a\n- b\n", wrong: "2: the front matter must be keys"},
		{name: "anchors", front: "a: &x [1]\nb: [*x, *x]\n", wrong: "2: a: anchors"},
		{name: "broken", front: "name: x\ndescription: \"open\n", wrong: "3: "},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got Skill
			_, err := understand([]byte(c.front), &got)
			if c.wrong != "" {
				f, _ := err.(*front.Fault)
				if f == nil || !strings.HasPrefix((&front.Problem{Line: f.Line, Text: f.Text}).Error(), ":"+c.wrong) {
					t.Errorf("got %+v, %+v", got, err)
				}
				return
			}
			var tools []string
			for _, r := range got.Tools {
				tools = append(tools, string(r))
			}
			if err != nil || got.Name != c.want.Name || got.Description != c.want.Description || !slices.Equal(got.Aliases, c.want.Aliases) || got.When != c.want.When || got.Hint != c.want.Hint ||
				got.Model != c.want.Model || got.Hidden != c.want.Hidden || got.Manual != c.want.Manual || strings.Join(tools, "|") != c.tools {
				t.Errorf("got %+v, %v", got, err)
			}
		})
	}
}

// One bad file is reported with its line, and spoils no other.
func TestLoad(t *testing.T) {
	dir := tree(t, map[string]string{
		"polyv/SKILL.md":            seedSkill,
		"polyv/references/api.md":   "the api",
		"plain/SKILL.md":            "# Plain\n\nDoes plain\nthings.\n\nMore.",
		"group/inner/SKILL.md":      "---\nname: inner\ndescription: d\n---\nx",
		"a/b/c/d/SKILL.md":          "---\nname: deep\n---\nx",
		"bad/SKILL.md":              "---\nname: bad\nallowed-tools: Bash(\n---\nx",
		"open/SKILL.md":             "---\nname: open\n",
		"double/SKILL.md":           "---\nname: plain\ndescription: d\n---\nx",
		"vast/SKILL.md":             "---\ndescription: " + strings.Repeat("x", maxFront) + "\n---\nx",
		"typo/SKILL.md":             "---\ndescription: d\nalowed-tools: Read\n---\nx",
		"no skill/readme.md":        "x",
		".hidden/SKILL.md":          "x",
		"node_modules/x/SKILL.md":   "x",
		"with space/SKILL.md":       "text",
		"SKILL.md":                  "of the folder itself",
		"crlf/SKILL.md":             "---\r\nname: crlf\r\ndescription: d\r\n---\r\nx\r\n",
		"polyv/scripts/deep/run.sh": "x",
	})
	found := Folder{Path: dir}.Load()
	if got, want := names(found.Skills), "crlf inner plain polyv-live-cli typo"; got != want {
		t.Errorf("found %s, want %s", got, want)
	}
	var problems []string
	for _, p := range found.Problems {
		problems = append(problems, strings.TrimPrefix(p.Error(), dir+"/"))
	}
	want := []string{
		"bad/SKILL.md:3: allowed-tools: parsing rule", "open/SKILL.md:1: the front matter has no end", "plain/SKILL.md: the name plain is that of " + dir + "/double/SKILL.md",
		"plain/SKILL.md:1: there is no front matter", "polyv/SKILL.md:7: the front matter is no YAML", `typo/SKILL.md:3: there is no key "alowed-tools"; did you mean allowed-tools?`,
		"vast/SKILL.md:1: the front matter has more than 8192 bytes", "with space/SKILL.md:1: the name of the file or folder cannot be the skill's", "with space/SKILL.md:1: there is no front matter"}
	for _, w := range want {
		if !slices.ContainsFunc(problems, func(p string) bool { return strings.HasPrefix(p, w) }) {
			t.Errorf("no problem %q in\n%s", w, strings.Join(problems, "\n"))
		}
	}
	if len(problems) != len(want) {
		t.Errorf("%d problems:\n%s", len(problems), strings.Join(problems, "\n"))
	}
	for _, s := range found.Skills {
		if s.Name == "polyv-live-cli" && (s.Hint != "[action] [options]" || !slices.Equal(s.Aliases, []string{"live", "plv"}) || len(s.Tools) != 4) {
			t.Errorf("the seed's skill: %+v", s)
		}
	}
	if found := (Folder{Path: filepath.Join(dir, "none")}).Load(); found.Dir != "" || found.Problems != nil {
		t.Errorf("a folder that is not there: %+v", found)
	}
}

// Links out of the folder are not read, and neither are other things than files.
func TestLoadStaysInside(t *testing.T) {
	dir := tree(t, map[string]string{
		"skills/good/SKILL.md": "---\nname: good\ndescription: d\n---\nx",
		"out/SKILL.md":         "---\nname: out\ndescription: d\n---\nsecret",
		"skills/file/x":        "x",
		"skills/inside/x":      "x",
		"p/x":                  "x",
	})
	for link, to := range map[string]string{"skills/linked": "../out", "skills/file/SKILL.md": "../../out/SKILL.md", "skills/inside/SKILL.md": "../good/SKILL.md", "skills/loop": "loop", "p/.claude": "../skills"} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Skip(err)
		}
	}
	found := Folder{Path: filepath.Join(dir, "skills")}.Load()
	if got := names(found.Skills); got != "good" {
		t.Errorf("found %s", got)
	}
	text := ""
	for _, p := range found.Problems {
		text += p.Error() + "\n"
	}
	for _, w := range []string{"linked: it is a symlink that leads out", "file/SKILL.md: reading file/SKILL.md: path escapes", "inside/SKILL.md: the name good is that of", "loop: it is a symlink"} {
		if !strings.Contains(text, w) {
			t.Errorf("no %q in\n%s", w, text)
		}
	}
	found = Folder{Path: filepath.Join(dir, "p", ".claude"), Within: filepath.Join(dir, "p")}.Load()
	if len(found.Skills) != 0 || len(found.Problems) != 1 || !strings.Contains(found.Problems[0].Error(), "leads out of") {
		t.Errorf("a project's folder that leads out: %+v", found)
	}
}

func TestLoadBounds(t *testing.T) {
	files := map[string]string{}
	for i := range maxSkills + 5 {
		files["s"+string(rune('a'+i%26))+strings.Repeat("x", i/26)+"/SKILL.md"] = "---\ndescription: d\n---\nx"
	}
	found := Folder{Path: tree(t, files)}.Load()
	if len(found.Skills) != maxSkills || len(found.Problems) != 1 || !strings.Contains(found.Problems[0].Error(), "more than 500 skills") {
		t.Errorf("%d skills, %v", len(found.Skills), found.Problems)
	}
}

// A pinned folder has one sum for all its files; its skills run as they were loaded or
// not at all. Other files count as they are.
func TestPinned(t *testing.T) {
	dir := tree(t, map[string]string{"a/SKILL.md": "---\nname: a\ndescription: d\nallowed-tools: Read\n---\nfirst"})
	file := filepath.Join(dir, "a", "SKILL.md")
	for _, pinned := range []bool{true, false} {
		was := Folder{Path: dir, Pinned: pinned}.Load()
		if pinned != (was.Sum != "") {
			t.Errorf("sum %q", was.Sum)
		}
		r := New(was.Skills...)
		if x, err := r.Expand("a", ""); err != nil || !strings.Contains(x.Text, "first") {
			t.Fatal(x, err)
		}
		if err := os.WriteFile(file, []byte("---\nname: a\ndescription: d\nallowed-tools: Grep\n---\nsecond"), 0o600); err != nil {
			t.Fatal(err)
		}
		x, err := r.Expand("a", "")
		switch {
		case pinned && (err == nil || !strings.Contains(err.Error(), "changed since it was trusted")):
			t.Errorf("pinned: %+v, %v", x, err)
		case !pinned && (err != nil || !strings.Contains(x.Text, "second") || x.Scope.Tools[0] != "Grep"):
			t.Errorf("not pinned: %+v, %v", x, err)
		}
		if now := (Folder{Path: dir, Pinned: pinned}).Load(); pinned && now.Sum == was.Sum {
			t.Error("the sum is the same")
		}
		if err := os.WriteFile(file, []byte("---\nname: a\ndescription: d\nallowed-tools: Read\n---\nfirst"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func FuzzFrontMatter(f *testing.F) {
	f.Add([]byte(seedSkill))
	f.Add([]byte("---\na: [b, {c: d}]\nallowed-tools: Bash(a, b)\n---\nx"))
	f.Add([]byte("---\ndescription: a: b\n---"))
	f.Fuzz(func(t *testing.T, data []byte) {
		of := &file{name: "x/SKILL.md", path: "/s/x/SKILL.md"}
		s, _, _, err := of.parse(data, true)
		if err != nil {
			return
		}
		if checkName(s.Name) != nil || strings.ContainsAny(s.Description+s.When+s.Hint, "\n\x00\x1b") || len(s.Tools) > maxTools {
			t.Errorf("%+v", s)
		}
	})
}
