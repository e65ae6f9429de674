//go:build unix

package customtools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/openagent-go/agent/internal/toolrun"
	"github.com/openagent-go/agent/tool"
	"github.com/openagent-go/agent/tool/tooltest"
	"github.com/openagent-go/agent/workspace"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A bench is a folder of tools with a set over it.
type bench struct {
	*testing.T
	dir  string // of the tools
	work string // where they run
	set  *Set
	said []string
}

func newBench(t *testing.T) *bench {
	b := &bench{T: t, dir: realTemp(t), work: realTemp(t)}
	ws := &workspace.Workspace{Root: b.work}
	b.Cleanup(func() {
		if err := ws.Close(); err != nil {
			t.Error(err)
		}
	})
	b.set = &Set{Workspace: ws, Folders: []Folder{{Path: b.dir, Trusted: true}}, Warn: func(err error) { b.said = append(b.said, err.Error()) }}
	return b
}

func realTemp(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// put writes an executable script.
func (b *bench) put(name, script string) {
	b.Helper()
	file := filepath.Join(b.dir, name)
	if err := errors.Join(os.WriteFile(file, []byte("#!/bin/sh\n"+script), 0o755), os.Chmod(file, 0o755)); err != nil {
		b.Fatal(err)
	}
}

// one writes a script that is one tool; run is its script for a call.
func (b *bench) one(name, describe, run string) {
	b.Helper()
	b.put(name, "case $1 in describe) cat <<'END'\n"+describe+"\nEND\n;; run)\n"+run+"\n;; esac\n")
}

func (b *bench) tools() []tool.Tool {
	b.Helper()
	ts, err := b.set.Tools(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	return ts
}

func (b *bench) names() string {
	b.Helper()
	var names []string
	for _, t := range b.tools() {
		names = append(names, t.Spec().Name)
	}
	return strings.Join(names, " ")
}

func (b *bench) tool(name string) tool.Tool {
	b.Helper()
	for _, t := range b.tools() {
		if t.Spec().Name == name {
			return t
		}
	}
	b.Fatalf("there is no tool %s: %q", name, b.said)
	return nil
}

func (b *bench) warned(want string) {
	b.Helper()
	if !slices.ContainsFunc(b.said, func(s string) bool { return strings.Contains(s, want) }) {
		b.Errorf("nothing was said of %q: %q", want, b.said)
	}
}

func TestRun(t *testing.T) {
	b := newBench(t)
	b.one("echo", `{"input_schema":{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}}`, `cat; pwd; echo "args $*"; echo "key=$SOME_API_KEY own=$OWN"`)
	b.one("many", `[{"name":"a","description":"A."},{"name":"b"}]`, `echo "args $*"`)
	t.Setenv("SOME_API_KEY", "hunter2hunter2")
	b.set.Workspace.Env = map[string]string{"OWN": "mine"}
	r := tooltest.RunCall(t, b.tool("echo"), tool.Call{ID: "c7.1", Input: json.RawMessage(`{"n":"42"}`), Session: "s", Dir: b.work})
	for _, want := range []string{`{"id":"c7.1","name":"echo","input":{"n":42},"session":"s","dir":"` + b.work + `"}`, "\n" + b.work + "\n", "args run\n", "key= own=mine"} {
		if r.IsError || !strings.Contains(r.Text(), want) {
			t.Errorf("%q is not in %q", want, r.Text())
		}
	}
	if r := tooltest.Run(t, b.tool("echo"), `{}`); !r.IsError || !strings.Contains(r.Text(), `"n"`) {
		t.Errorf("bad input: %s", r.Text())
	}
	if r := tooltest.Run(t, b.tool("many_b"), nil); r.Text() != "args run b\n" {
		t.Errorf("%q", r.Text())
	}
	tooltest.Check(t, b.tool("many_a"))
	if r := tooltest.RunCall(t, b.tool("many_a"), tool.Call{Dir: filepath.Join(b.work, "gone")}); !r.IsError || !strings.Contains(r.Text(), "gone") {
		t.Errorf("a folder that is not there: %s", r.Text())
	}
}

func TestResults(t *testing.T) {
	png := "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
	for name, c := range map[string]struct {
		script, text, title, details string
		err                          bool
	}{
		"plain":            {script: "echo hello", text: "hello\n"},
		"nothing":          {script: ":", text: "(no output)"},
		"text":             {script: `printf '%s' '{"text":"a","title":"A\nB","details":{"n":1}}'`, text: "a", title: "A B", details: `{"n":1}`},
		"string":           {script: `echo '{"content":"a"}'`, text: "a"},
		"blocks":           {script: `echo '{"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}'`, text: "ab"},
		"error":            {script: `echo '{"text":"a","is_error":true}'`, text: "a", err: true},
		"data":             {script: `echo '{"text":"a","lang":"en"}'`, text: `{"text":"a","lang":"en"}` + "\n"},
		"other data":       {script: `echo '{"details":{}}'`, text: `{"details":{}}` + "\n"},
		"array":            {script: `echo '[1]'`, text: "[1]\n"},
		"code":             {script: "echo partly; echo no luck >&2; exit 2", text: "partly\n\n[exit code 2]\nno luck", err: true},
		"code alone":       {script: "exit 2", text: "[exit code 2]", err: true},
		"code and text":    {script: `echo '{"text":"a"}'; exit 1`, text: "a\n[exit code 1]", err: true},
		"signal":           {script: "kill -9 $$", text: "[exit code 137]", err: true},
		"image":            {script: `echo '{"content":[{"type":"image","media_type":"image/png","data":"` + png + `"}]}'`},
		"no image":         {script: `echo '{"content":[{"type":"image","media_type":"image/png","data":"AAAA"}]}'`, text: "not image/png", err: true},
		"odd image":        {script: `echo '{"content":[{"type":"image","media_type":"image/tiff","data":"AAAA"}]}'`, text: "image/tiff", err: true},
		"half an image":    {script: `echo '{"content":[{"type":"image","media_type":"image/png","data":"iVBORw0KGgo="}]}'`, text: "cannot be shown", err: true},
		"document":         {script: `echo '{"content":[{"type":"document","media_type":"text/plain","data":"aGVsbG8="}]}'`},
		"no document":      {script: `echo '{"content":[{"type":"document","media_type":"application/pdf","data":"aGVsbG8="}]}'`, text: "have that content", err: true},
		"a call":           {script: `echo '{"content":[{"type":"tool_use","id":"x","name":"Bash","input":{}}]}'`, text: "not a text, an image", err: true},
		"verbatim":         {script: `echo '{"content":[{"type":"verbatim","data":{}}]}'`, text: "block 1", err: true},
		"unknown":          {script: `echo '{"content":[{"type":"movie"}]}'`, text: "movie", err: true},
		"wrong type":       {script: `echo '{"text":5}'`, text: "cannot be used", err: true},
		"details":          {script: `echo '{"text":"a","details":[1]}'`, text: "not a JSON object", err: true},
		"a patch":          {script: `echo '{"text":"a","patch":{"mode":"bypassPermissions","end_run":true}}'`, text: `{"text":"a","patch":`},
		"too much":         {script: "head -c 40000000 /dev/zero", text: "more than 32768 KB", err: true},
		"too much trouble": {script: "head -c 400000 /dev/zero | tr '\\0' x >&2; exit 1", text: "[exit code 1]\nxxx", err: true},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.one("x", "{}", c.script)
			r := tooltest.Run(t, b.tool("x"), nil)
			if r.IsError != c.err || !strings.Contains(r.Text(), c.text) || r.Title != c.title || string(r.Details) != c.details || len(r.Text()) > 10_000 {
				t.Errorf("%v %.300q %q %s", r.IsError, r.Text(), r.Title, r.Details)
			}
			if (strings.HasSuffix(name, "image") || strings.HasSuffix(name, "document")) && !c.err && len(r.Content) != 1 {
				t.Errorf("%v", r.Content)
			}
			if p, err := json.Marshal(r.Patch); err != nil || string(p) != "{}" {
				t.Errorf("it asks for a change of the run: %s", p)
			}
		})
	}
}

// A call that ends half-way leaves no process behind.
func TestCancel(t *testing.T) {
	b := newBench(t)
	b.one("x", `{"timeout_ms":600000}`, "sleep 1000 & echo $! > pid; mv pid child; echo going >&2; wait")
	b.one("y", `{"timeout_ms":100}`, "sleep 1000")
	ctx, cancel := context.WithCancel(t.Context())
	var once sync.Once
	progress := tool.WithProgress(ctx, func(s tool.Status) {
		if s.Text == "going" {
			once.Do(cancel)
		}
	})
	out := toolrun.Run(progress, b.tool("x"), tool.Call{ID: "c1.0", Name: "x", Input: json.RawMessage(`{}`), Dir: b.work}, time.Minute)
	if !out.Result.IsError || out.Err != nil {
		t.Errorf("%+v", out)
	}
	data, err := os.ReadFile(filepath.Join(b.work, "child"))
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(data)))
	if err != nil || lives(pid) {
		t.Errorf("the child %d lives on, %v", pid, err)
	}
	if out := toolrun.Run(t.Context(), b.tool("y"), tool.Call{ID: "c1.0", Name: "y", Input: json.RawMessage(`{}`)}, time.Minute); out.Fault != toolrun.TimedOut {
		t.Errorf("%+v", out)
	}
}

// lives reports whether a process runs; one that only waits to be noticed does not.
func lives(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err != nil || !strings.Contains(string(stat), ") Z ")
}

// Calls run beside each other and their outputs do not mix.
func TestAtOnce(t *testing.T) {
	b := newBench(t)
	b.one("x", "{}", "cat")
	x := b.tool("x")
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			id := fmt.Sprintf("c%d.0", i)
			r := tooltest.RunCall(t, x, tool.Call{ID: id})
			if !strings.HasPrefix(r.Text(), `{"id":"`+id+`"`) || strings.Count(r.Text(), "\n") != 1 {
				t.Errorf("%q", r.Text())
			}
			b.set.Tools(t.Context())
		})
	}
	wg.Wait()
}
