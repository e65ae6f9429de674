package tools_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/openagent-go/agent/internal/policies"
	"github.com/openagent-go/agent/internal/rules"
	"github.com/openagent-go/agent/internal/toolrun"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
	"github.com/openagent-go/agent/tools"
	"github.com/openagent-go/agent/workspace"
)

// A field is a workspace to search, whose files were written one after the other.
type field struct {
	*testing.T
	dir        string
	ws         *workspace.Workspace
	unreadable []string
}

// plant writes files, each one second younger than the one before. A file is
// "name" or "name=content"; "name->target" is a symlink.
func plant(t *testing.T, files ...string) *field {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for i, f := range files {
		name, text, _ := strings.Cut(f, "=")
		name, target, link := strings.Cut(name, "->")
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if link {
			if err := os.Symlink(target, path); err != nil {
				t.Skip("no symlinks here:", err)
			}
			continue
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, at, at.Add(time.Duration(i)*time.Second)); err != nil {
			t.Fatal(err)
		}
	}
	ws := &workspace.Workspace{Root: dir}
	t.Cleanup(func() { ws.Close() })
	return &field{T: t, dir: dir, ws: ws}
}

// call runs a tool on an input, a Go value that becomes JSON.
func (f *field) call(tl tool.Tool, input any) *tool.Result {
	f.Helper()
	data, err := json.Marshal(input)
	if err != nil {
		f.Fatal(err)
	}
	r, err := tl.Run(f.Context(), tool.Call{ID: "c1", Name: tl.Spec().Name, Input: data, Dir: f.dir, Unreadable: unreadable(f.unreadable...)})
	if err != nil {
		f.Fatal(err)
	}
	return r
}

// text returns the text of a result, with "DIR" for the folder of the workspace.
func (f *field) text(r *tool.Result) string {
	return strings.TrimSuffix(strings.ReplaceAll(r.Text(), f.dir, "DIR"), "\n")
}

type in map[string]any

func TestGlob(t *testing.T) {
	f := plant(t, "a.go", "b.go", "c.txt", "src/d.go", "src/in/e.ts", "src/in/f.tsx", ".env", ".github/w/ci.yml",
		".gitignore=*.log\n/out/\n", "x.log", "out/o.go", "out/deep/p.go", ".git/config", "we[ird/g.go", "secret/key.go")
	tests := []struct {
		name, pattern, path string
		want                string
	}{
		{"in the folder only", "*.go", "", "DIR/b.go DIR/a.go"},
		{"at any depth, newest first", "**/*.go", "", "DIR/secret/key.go DIR/we[ird/g.go DIR/src/d.go DIR/b.go DIR/a.go"},
		{"braces", "src/**/*.{ts,tsx}", "", "DIR/src/in/f.tsx DIR/src/in/e.ts"},
		{"class", "[ab].go", "", "DIR/b.go DIR/a.go"},
		{"path", "**/*", "src", "DIR/src/in/f.tsx DIR/src/in/e.ts DIR/src/d.go"},
		{"absolute path", "d.go", "DIR/src", "DIR/src/d.go"},
		{"absolute pattern", "DIR/src/*.go", "", "DIR/src/d.go"},
		{"absolute pattern beats path", "DIR/*.txt", "src", "DIR/c.txt"},
		{"upwards", "../*.txt", "src", "DIR/c.txt"},
		{"no special characters", "src/in/e.ts", "", "DIR/src/in/e.ts"},
		{"hidden", "**/.env*", "", "DIR/.env"},
		{"hidden folder", ".github/**", "", "DIR/.github/w/ci.yml"},
		{"path to a hidden folder", "**/*.yml", ".github", "DIR/.github/w/ci.yml"},
		{"escaped", `we\[ird/*`, "", "DIR/we[ird/g.go"},
		{"an ignored folder by name", "out/**/*.go", "", "DIR/out/deep/p.go DIR/out/o.go"},
		{"an ignored folder as path", "**/*.go", "out/deep", "DIR/out/deep/p.go"},
		{"never .git", ".git*/**", "", "DIR/.github/w/ci.yml"},
		{"nothing", "*.rs", "", `No files matched the pattern "*.rs".`},
		{"nothing but ignored", "**/*.log", "", `No files matched the pattern "**/*.log". 2 files and folders were left out because git ignores them; name an ignored folder in path to search it.`},
		{"no such folder in the pattern", "scr/*.go", "", `No files matched the pattern "scr/*.go". DIR/scr does not exist. Did you mean DIR/src?`},
		{"no such path", "*.go", "srcs", `error: DIR/srcs does not exist. Did you mean DIR/src?`},
		{"a file as path", "*.go", "a.go", "error: DIR/a.go is a file. path must be a folder; use Read for the file itself."},
		{"a file as folder", "a.go/*", "", `No files matched the pattern "a.go/*". DIR/a.go is a file.`},
		{"bad class", "[a.go", "", `error: The pattern "[a.go" is not a valid glob: "[a.go" is not a name, wildcard or class: a bracket is not closed, or a backslash escapes nothing (write \[ for a literal bracket).`},
		{"empty", "", "", `error: The pattern "" is not a valid glob: the pattern is empty.`},
		{"upwards in the middle", "src/*/../*.go", "", `error: The pattern "src/*/../*.go" is not a valid glob: ".." can only stand at the beginning of a pattern, not in "*/../*.go".`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f.T = t
			r := f.call(tools.Glob(f.ws), in{"pattern": strings.ReplaceAll(tt.pattern, "DIR", f.dir), "path": strings.ReplaceAll(tt.path, "DIR", f.dir)})
			got := strings.ReplaceAll(f.text(r), "\n", " ")
			if strings.HasPrefix(tt.want, "DIR") && strings.Contains(got, "\\") {
				t.Skip("the paths of this system look different")
			}
			if r.IsError {
				got = "error: " + got
			}
			if got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

func TestGlobOutside(t *testing.T) {
	outside := plant(t, "x.go=secret")
	f := plant(t, "a.go", "link->"+outside.dir, "file.go->"+outside.dir+"/x.go")
	for _, input := range []in{
		{"pattern": "../*"}, {"pattern": outside.dir + "/*"}, {"pattern": "*.go", "path": outside.dir},
		{"pattern": "link/*.go"}, {"pattern": "*", "path": "link"},
	} {
		if r := f.call(tools.Glob(f.ws), input); !r.IsError || !strings.Contains(r.Text(), "outside") {
			t.Errorf("%v: %s", input, r.Text())
		}
	}
	if r := f.call(tools.Glob(f.ws), in{"pattern": "**/*"}); strings.Contains(r.Text(), "x.go") {
		t.Errorf("a link was followed: %s", r.Text())
	}
	for _, input := range []in{{"pattern": "secret"}, {"pattern": "secret", "path": "link"}, {"pattern": "secret", "path": "file.go"}} {
		if r := f.call(tools.Grep(f.ws), input); strings.Contains(r.Text(), "x.go\n") || strings.Contains(r.Text(), "file.go\n") {
			t.Errorf("%v: a link was followed: %s", input, r.Text())
		}
	}
}

func TestGlobLimit(t *testing.T) {
	var files []string
	for i := range 130 {
		files = append(files, fmt.Sprintf("f%03d", i))
	}
	f := plant(t, files...)
	r := f.call(tools.Glob(f.ws), in{"pattern": "*"})
	lines := strings.Split(f.text(r), "\n")
	if len(lines) != 101 || lines[0] != filepath.Join("DIR", "f129") || lines[99] != filepath.Join("DIR", "f030") || !strings.Contains(lines[100], "130 files match, of which the 100 changed last") {
		t.Errorf("%d lines, the last is %s", len(lines), lines[len(lines)-1])
	}
	if string(r.Details) != `{"files":130,"truncated":true}` || r.Title != "Glob *" {
		t.Errorf("details %s, title %s", r.Details, r.Title)
	}
}

func TestSearchHides(t *testing.T) {
	f := plant(t, "a.txt=word", "secret/key.txt=word", ".env=word", "b.env=word", "named.env->a.txt", "alias->secret")
	f.unreadable = []string{"secret/", "*.env"}
	if got := f.text(f.call(tools.Glob(f.ws), in{"pattern": "**/{*.txt,*.env,.env}"})); got != filepath.Join("DIR", "a.txt") {
		t.Errorf("Glob shows %s", got)
	}
	if got := f.text(f.call(tools.Grep(f.ws), in{"pattern": "word", "glob": "*.txt,*.env,.env"})); got != "a.txt" {
		t.Errorf("Grep shows %s", got)
	}
	for _, path := range []string{"secret/key.txt", "b.env", "named.env", "alias/key.txt"} {
		if r := f.call(tools.Grep(f.ws), in{"pattern": "word", "path": path}); !r.IsError || !strings.Contains(r.Text(), "rule") {
			t.Errorf("Grep of %s: %s", path, r.Text())
		}
	}
	for _, path := range []string{"secret", "alias"} {
		if got := f.text(f.call(tools.Grep(f.ws), in{"pattern": "word", "path": path})); strings.Contains(got, "key.txt") {
			t.Errorf("Grep of %s shows %s", path, got)
		}
	}
	if r := f.call(tools.Glob(f.ws), in{"pattern": "*", "path": "secrets"}); strings.Contains(r.Text(), "Did you mean") {
		t.Errorf("Glob suggests a hidden folder: %s", r.Text())
	}
}

func TestClassifySearch(t *testing.T) {
	f := plant(t, "src/a.go")
	for _, tt := range []struct {
		tool  tool.Tool
		input string
		want  string
	}{
		{tools.Glob(f.ws), `{"pattern":"*.go"}`, ""},
		{tools.Glob(f.ws), `{"pattern":"src/*.go"}`, "src"},
		{tools.Glob(f.ws), `{"pattern":"*.go","path":"src"}`, "src"},
		{tools.Grep(f.ws), `{"pattern":"x"}`, ""},
		{tools.Grep(f.ws), `{"pattern":"x","path":"src/a.go"}`, "src/a.go"},
	} {
		want := filepath.Join(f.dir, tt.want)
		c := toolrun.Classify(tt.tool, tool.Call{Input: json.RawMessage(tt.input), Dir: f.dir})
		if !c.ReadOnly || len(c.Touches) != 1 || c.Touches[0] != want || len(c.Access) != 1 || c.Access[0] != (permission.Access{Kind: permission.ReadFile, Target: want}) {
			t.Errorf("%s: %+v", tt.input, c)
		}
	}
}

func TestSearchCancelled(t *testing.T) {
	f := plant(t, "a=x", "b=x", "c/d=x")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, tl := range []tool.Tool{tools.Glob(f.ws), tools.Grep(f.ws)} {
		if _, err := tl.Run(ctx, tool.Call{Input: json.RawMessage(`{"pattern":"x"}`), Dir: f.dir}); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", tl.Spec().Name, err)
		}
	}
}

// unreadable is what deny rules for reading with these patterns hide.
func unreadable(patterns ...string) *rules.Unreadable {
	var p permission.Policy
	for _, pattern := range patterns {
		p.Deny = append(p.Deny, permission.Rule("Read("+pattern+")"))
	}
	return policies.Unreadable(p, nil)
}
