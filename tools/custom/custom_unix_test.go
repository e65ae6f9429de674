//go:build unix

package custom

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

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/permission"
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

// one writes a script that is one tool; run is what it does when called.
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

func TestDescribe(t *testing.T) {
	b := newBench(t)
	b.one("weather.sh", `{"title":" The\nweather ","description":"Tells the weather.","read_only":true,"timeout_ms":1500,
		"input_schema":{"type":"object","properties":{"town":{"type":"string"}},"required":["town"]}}`, "")
	b.one("named", `{"name":"other","open_world":true}`, "")
	b.one("two.py", `[{"name":"a"},{"name":"b","idempotent":true}]`, "")
	b.one(".hidden", `{}`, "")
	if err := os.WriteFile(filepath.Join(b.dir, "notes.txt"), []byte("not a tool"), 0o644); err != nil {
		t.Fatal(err)
	}
	if got := b.names(); got != "other two_a two_b weather" {
		t.Errorf("tools %s, said %q", got, b.said)
	}
	if ct, ok := b.tool("two_a").(*Tool); !ok || ct.File != filepath.Join(b.dir, "two.py") || ct.Folder.Path != b.dir {
		t.Errorf("%+v", ct)
	}
	s := b.tool("weather").Spec()
	if s.Title != "The weather" || s.Description != "Tells the weather." || !s.ReadOnly || s.Timeout != 1500*time.Millisecond || !strings.Contains(string(s.Input), `"town"`) {
		t.Errorf("%+v", s)
	}
	if s := b.tool("two_b").Spec(); s.ReadOnly || !s.Idempotent || s.Timeout != 0 {
		t.Errorf("%+v", s)
	}
	if len(b.said) > 0 {
		t.Errorf("said %q", b.said)
	}
}

// What is broken is named and left out; the others work.
func TestBroken(t *testing.T) {
	b := newBench(t)
	b.set.patience = time.Minute
	for name, c := range map[string]struct{ script, want string }{
		"json":     {"echo '{'", "did not write a JSON object"},
		"nothing":  {"", "did not write a JSON object"},
		"word":     {"echo null", "did not write a JSON object"},
		"code":     {"echo '{}'; echo no luck >&2; exit 3", "exit code 3: no luck"},
		"flood":    {"cat /dev/zero", "more than 1024 KB"},
		"schema":   {`echo '{"input_schema":{"type":"string"}}'`, `not of type "object"`},
		"ref":      {`echo '{"input_schema":{"type":"object","properties":{"a":{"$ref":"#/nowhere"}}}}'`, "nowhere"},
		"bad name": {"echo '{}'", "bad name"},
		"mcp":      {`echo '{"name":"mcp__a__b"}'`, "MCP servers"},
		"time":     {`echo '{"timeout_ms":-1}'`, "timeout_ms"},
		"endless":  {`echo '{"timeout_ms":99999999999999}'`, "timeout_ms"},
		"long":     {`printf '{"description":"%09000d"}' 0`, "its description has more"},
		"wide":     {`printf '{"input_schema":{"type":"object","description":"%070000d"}}' 0`, "its input schema has more"},
		"half":     {`echo '[{"name":"ok"},{"name":""},{"name":"ok"},{"name":"a b"}]'`, "tool 2"},
	} {
		b.put(name, c.script+"\n")
		defer func() { b.warned(c.want) }()
	}
	if err := os.WriteFile(filepath.Join(b.dir, "noprogram"), []byte("\x00\x01"), 0o755); err != nil {
		t.Fatal(err)
	}
	if got := b.names(); got != "half_ok" {
		t.Errorf("tools %s", got)
	}
	b.warned("noprogram is not loaded")
	said := len(b.said)
	b.names()
	if len(b.said) != said {
		t.Errorf("said again: %q", b.said[said:])
	}
}

func TestDescribeHangs(t *testing.T) {
	b := newBench(t)
	b.set.patience = 100 * time.Millisecond
	b.put("hang", "echo '{}'; while :; do sleep 1; done\n")
	if got := b.names(); got != "" {
		t.Errorf("tools %s", got)
	}
	b.warned("hang is not loaded: describe took more than 100ms")
}

// What hangs in one program is not waited for in the next, until it is changed or
// an hour has passed.
func TestDescribeHungBefore(t *testing.T) {
	b := newBench(t)
	b.set.patience = time.Second
	b.set.Hung = filepath.Join(b.work, "hung.json")
	count := filepath.Join(b.work, "count")
	b.put("hang", "echo x >>"+count+"; while :; do sleep 1; done\n")
	b.put("good", "echo '{}'\n")
	next := func(names string, asked int) {
		t.Helper()
		b.set = &Set{Workspace: b.set.Workspace, Folders: b.set.Folders, Warn: b.set.Warn, Hung: b.set.Hung, patience: b.set.patience}
		got := b.names()
		data, err := os.ReadFile(count)
		if n := strings.Count(string(data), "x"); err != nil || got != names || n != asked {
			t.Errorf("%q, asked %d times, %v; want %q, %d", got, n, err, names, asked)
		}
	}
	next("good", 1)
	next("good", 1)
	b.warned("took too long before")
	past := fmt.Sprintf(`{%q:"2020-01-01T00:00:00Z"}`, hungKey(file{folder: b.set.Folders[0]}))
	for _, content := range []string{"{", past, `{"x":"2999-01-01T00:00:00Z"}`} {
		if err := os.WriteFile(b.set.Hung, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if h := b.set.readHung(); len(h) > 0 {
			t.Errorf("%s: %v", content, h)
		}
	}
	next("good", 2)
	b.put("hang", "echo x >>"+count+"; echo '{}'\n")
	next("good hang", 3)
	if info, err := os.Stat(b.set.Hung); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
}

// However many files hang, a prompt waits for one time, and for none of them twice.
func TestDescribeManyHang(t *testing.T) {
	b := newBench(t)
	b.set.patience = time.Second // in which each has begun
	count := filepath.Join(b.work, "count")
	for i := range describers {
		b.put(fmt.Sprint("a", i), "echo x >>"+count+"; while :; do sleep 1; done\n")
	}
	b.put("z", "echo x >>"+count+"; echo '{}'\n")
	for prompt, c := range []struct {
		names string
		asked int
	}{{"", describers}, {"z", describers + 1}, {"z", describers + 1}} {
		got := b.names()
		data, err := os.ReadFile(count)
		if asked := strings.Count(string(data), "x"); err != nil || got != c.names || asked != c.asked {
			t.Errorf("prompt %d: %q, %d were asked, %v", prompt, got, asked, err)
		}
	}
	b.warned("z is not loaded: others took too long")
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
		"no document":      {script: `echo '{"content":[{"type":"document","media_type":"application/pdf","data":"aGVsbG8="}]}'`, text: "be what it says", err: true},
		"a call":           {script: `echo '{"content":[{"type":"tool_use","id":"x","name":"Bash","input":{}}]}'`, text: "no text, image or document", err: true},
		"verbatim":         {script: `echo '{"content":[{"type":"verbatim","data":{}}]}'`, text: "block 1", err: true},
		"unknown":          {script: `echo '{"content":[{"type":"movie"}]}'`, text: "movie", err: true},
		"wrong type":       {script: `echo '{"text":5}'`, text: "cannot be used", err: true},
		"details":          {script: `echo '{"text":"a","details":[1]}'`, text: "no JSON object", err: true},
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
	out := tool.Run(progress, b.tool("x"), tool.Call{ID: "c1.0", Name: "x", Input: json.RawMessage(`{}`), Dir: b.work}, time.Minute)
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
	if out := tool.Run(t.Context(), b.tool("y"), tool.Call{ID: "c1.0", Name: "y", Input: json.RawMessage(`{}`)}, time.Minute); out.Fault != tool.TimedOut {
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

// The set sees what changes, asks only what has changed, and says when a tool
// takes another's place.
func TestChanges(t *testing.T) {
	b := newBench(t)
	count := filepath.Join(b.work, "count")
	script := func(describe string) string { return "echo x >> " + count + "; echo '" + describe + "'\n" }
	asked := func() int {
		data, _ := os.ReadFile(count)
		return strings.Count(string(data), "x")
	}
	b.put("a", script(`{}`))
	b.put("b", script(`{"name":"c"}`))
	if got := b.names(); got != "a c" || asked() != 2 {
		t.Errorf("%s, asked %d times", got, asked())
	}
	if got := b.names(); got != "a c" || asked() != 2 {
		t.Errorf("%s, asked %d times", got, asked())
	}
	a := b.tool("a")
	b.put("a", script(`{"name":"Read"}`))
	if r := tooltest.Run(t, a, nil); !r.IsError || !strings.Contains(r.Text(), "changed since it was loaded") || asked() != 2 {
		t.Errorf("a changed file was run: %s", r.Text())
	}
	b.set.Builtin = []string{"Read"}
	if got := b.names(); got != "Read c" || asked() != 3 {
		t.Errorf("%s, asked %d times", got, asked())
	}
	b.warned("Read of " + b.dir + "/a takes the place of the built-in one")
	b.put("e", script(`[{"name":"PATCH"}]`))
	b.set.Builtin = []string{"Read", "e_patch"}
	b.names()
	b.warned("e_PATCH of " + b.dir + "/e gets calls that are meant for the built-in e_patch")
	if err := os.Remove(filepath.Join(b.dir, "e")); err != nil {
		t.Fatal(err)
	}
	b.put("d", script(`{"name":"c","title":"second"}`))
	if got := b.names(); got != "Read c" || b.tool("c").Spec().Title != "second" {
		t.Errorf("%s", got)
	}
	b.warned("takes the place of that of " + b.dir + "/b")
	if err := errors.Join(os.Remove(filepath.Join(b.dir, "d")), os.Remove(filepath.Join(b.dir, "a"))); err != nil {
		t.Fatal(err)
	}
	if got := b.names(); got != "c" {
		t.Errorf("%s", got)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := b.set.Tools(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	b.set.Folders = []Folder{{Path: filepath.Join(b.dir, "none"), Trusted: true}}
	if got := b.names(); got != "" {
		t.Errorf("%s", got)
	}
}

// Nothing of a folder runs that is not trusted as it is now.
func TestTrust(t *testing.T) {
	b := newBench(t)
	b.set.Folders[0].Trusted = false
	ran := filepath.Join(b.work, "ran")
	b.put("x", "touch "+ran+"\necho '{}'\n")
	if err := os.Mkdir(filepath.Join(b.dir, "lib"), 0o755); err != nil {
		t.Fatal(err)
	}
	helper := filepath.Join(b.dir, "lib", "helper")
	if err := os.WriteFile(helper, []byte("one"), 0o644); err != nil {
		t.Fatal(err)
	}
	if got := b.names(); got != "" {
		t.Errorf("loaded: %s", got)
	}
	b.warned("the folder is not trusted: x")
	var asked []Listing
	sum := ""
	b.set.Trusted = func(l Listing) bool {
		asked = append(asked, l)
		return l.Sum == sum
	}
	b.names()
	if _, err := os.Stat(ran); err == nil {
		t.Fatal("a file ran that was not trusted")
	}
	if len(asked) != 1 || asked[0].Dir != b.dir || strings.Join(asked[0].Files, " ") != "x" {
		t.Fatalf("asked %+v", asked)
	}
	sum = asked[0].Sum
	x := b.tool("x")
	if r := tooltest.Run(t, x, nil); r.IsError {
		t.Error(r.Text())
	}
	for name, change := range map[string]func() error{
		"content": func() error { return os.WriteFile(helper, []byte("two"), 0o644) },
		"new":     func() error { return os.WriteFile(helper+"2", nil, 0o644) },
		"mode":    func() error { return os.Chmod(helper, 0o600) },
	} {
		if err := errors.Join(os.WriteFile(helper, []byte("one"), 0o644), os.Chmod(helper, 0o644), os.RemoveAll(helper+"2")); err != nil {
			t.Fatal(err)
		}
		if got := b.names(); got != "x" {
			t.Errorf("%s: as it was: %q", name, got)
		}
		if err := change(); err != nil {
			t.Fatal(err)
		}
		if r := tooltest.Run(t, x, nil); !r.IsError {
			t.Errorf("%s: ran although the folder has changed", name)
		}
		if got := b.names(); got != "" {
			t.Errorf("%s: still trusted: %s", name, got)
		}
	}
}

func TestUnsafeFiles(t *testing.T) {
	b := newBench(t)
	outside := filepath.Join(b.work, "outside")
	if err := os.WriteFile(outside, []byte("#!/bin/sh\necho '{}'\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	b.one("ok", "{}", "")
	b.one("open", "{}", "")
	if err := errors.Join(os.Symlink(outside, filepath.Join(b.dir, "out")), os.Symlink("ok", filepath.Join(b.dir, "same")), os.Symlink("nowhere", filepath.Join(b.dir, "dead")),
		os.Chmod(filepath.Join(b.dir, "open"), 0o777), syscall.Mkfifo(filepath.Join(b.dir, "pipe"), 0o755)); err != nil {
		t.Fatal(err)
	}
	if got := b.names(); got != "ok same" {
		t.Errorf("%s", got)
	}
	b.warned("open is not loaded: everybody may write to it")
	b.warned("out of the folder")
	if err := os.Chmod(b.dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if got := b.names(); got != "" {
		t.Errorf("of a folder that everybody may write to: %s", got)
	}
	b.warned("everybody may write to the folder")
	file := filepath.Join(b.work, "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	b.set.Folders = []Folder{{Path: file, Trusted: true}}
	if got := b.names(); got != "" {
		t.Error(got)
	}
	b.warned("it is not a folder")
}

func TestListBounds(t *testing.T) {
	dir := realTemp(t)
	for i := range maxTools + 1 {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("f%03d", i)), nil, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if l, err := List(dir); err != nil || len(l.Files) != maxTools || len(l.Refused) != 1 {
		t.Errorf("%d files, %v, %v", len(l.Files), l.Refused, err)
	}
	f, err := os.Create(filepath.Join(dir, "large"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := errors.Join(f.Truncate(maxForeign+1), f.Chmod(0o755)); err != nil {
		t.Fatal(err)
	}
	if _, err := List(dir); err == nil || !strings.Contains(err.Error(), "more than 64 MB") {
		t.Errorf("%v", err)
	}
	own := func() error { _, err := new(hashes).list(dir, false); return err }
	if err := own(); err != nil {
		t.Error(err)
	}
	if err := f.Truncate(maxBytes + 1); err != nil {
		t.Fatal(err)
	}
	if err := own(); err == nil || !strings.Contains(err.Error(), "more than 256 MB") {
		t.Errorf("%v", err)
	}
}

// What a link leads to out of the folder could change unseen.
func TestLinksOutOfAFolder(t *testing.T) {
	outside := filepath.Join(realTemp(t), "outside")
	if err := os.WriteFile(outside, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ link, to, want string }{
		"a file":             {"lib/helper", outside, "the link lib/helper in it leads to " + outside},
		"a folder":           {"lib/more", filepath.Dir(outside), "out of the folder"},
		"a way out":          {"lib/up", "../..", "out of the folder"},
		"nowhere":            {"lib/later", filepath.Join(filepath.Dir(outside), "later"), "leads nowhere"},
		"nowhere in it":      {"lib/later", "later", "leads nowhere"},
		"itself":             {"lib/loop", "loop", "leads nowhere"},
		"a file in it":       {"lib/tool", "../tool", ""},
		"a folder in it":     {"more", "lib", ""},
		"the folder":         {"lib/top", "..", ""},
		"by way of another":  {"lib/second", "first", "out of the folder"},
		"a tool, that is":    {"second", outside, "out of the folder"},
		"a tool of that one": {"second", "tool", ""},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.set.Folders[0].Trusted = false
			b.set.Trusted = func(Listing) bool { return true }
			b.put("tool", "echo '{}'\n")
			if err := os.Mkdir(filepath.Join(b.dir, "lib"), 0o755); err != nil {
				t.Fatal(err)
			}
			if c.to == "first" {
				if err := os.Symlink(outside, filepath.Join(b.dir, "lib", "first")); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.Symlink(c.to, filepath.Join(b.dir, c.link)); err != nil {
				t.Fatal(err)
			}
			got := b.names()
			if loaded := got != ""; loaded != (c.want == "") {
				t.Errorf("loaded %q, said %q", got, b.said)
			}
			if c.want != "" {
				b.warned(c.want)
			}
		})
	}
}

// A file that takes the place of a trusted one while others are asked does not run.
func TestReplacedWhileDescribing(t *testing.T) {
	b := newBench(t)
	ran, over := filepath.Join(b.work, "ran"), filepath.Join(b.work, "over")
	for i := range describers {
		b.put(fmt.Sprintf("a%d", i), fmt.Sprintf("[ -e %s ] || printf '#!/bin/sh\\necho >>%s; echo {}\\n' >%s/z; echo {}\n", over, ran, b.dir))
	}
	b.put("z", "echo '{}'\n")
	l, err := List(b.dir)
	if err != nil {
		t.Fatal(err)
	}
	b.set.Folders[0].Trusted = false
	b.set.Trusted = func(now Listing) bool { return now.Sum == l.Sum }
	if got := b.names(); strings.Contains(got, "z") {
		t.Errorf("loaded %s", got)
	}
	if _, err := os.Stat(ran); err == nil {
		t.Error("what nobody trusted ran")
	}
	b.warned("z is not loaded: its files are being changed")
	if err := os.WriteFile(over, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	b.put("z", "echo '{}'\n") // as it was
	if got := b.names(); !strings.HasSuffix(got, "z") {
		t.Errorf("loaded %q, said %q", got, b.said)
	}
}

// What is not changed is not read again, what is changed is, whatever its times say.
func TestHashes(t *testing.T) {
	path := filepath.Join(realTemp(t), "file")
	write := func(text string) {
		t.Helper()
		before, _ := stampAt(path)
		for now := before; now == before; now, _ = stampAt(path) {
			if err := errors.Join(os.WriteFile(path, []byte(text), 0o644), os.Chtimes(path, time.Time{}, time.Unix(1e9, 0))); err != nil {
				t.Fatal(err)
			}
		}
	}
	h := &hashes{settled: -time.Hour}
	hash := func() string {
		t.Helper()
		sum, err := h.file(path)
		if err != nil {
			t.Fatal(err)
		}
		return sum
	}
	write("one")
	one := hash()
	k := h.known[path]
	k.sum = "remembered"
	h.known[path] = k
	if got := hash(); got != "remembered" {
		t.Errorf("it was read again: %s", got)
	}
	write("two")
	if two := hash(); two == "remembered" || two == one {
		t.Errorf("it was not read again: %s", two)
	}
	if write("one"); hash() != one {
		t.Error("the hash is another")
	}
	h = new(hashes)
	if write("new"); hash() == one || len(h.known) > 0 {
		t.Errorf("of a file that has just changed is remembered: %v", h.known)
	}
}

// A custom tool of an agent is judged by its name and what it says of itself.
func TestPermission(t *testing.T) {
	b := newBench(t)
	b.one("look", `{"read_only":true}`, "echo seen")
	b.one("change", `{}`, "echo done")
	for _, c := range []struct {
		policy permission.Policy
		name   string
		ok     bool
	}{
		{permission.Policy{}, "look", true},
		{permission.Policy{}, "change", false},
		{permission.Policy{Mode: permission.Plan}, "change", false},
		{permission.Policy{Allow: []permission.Rule{"change"}}, "change", true},
		{permission.Policy{Mode: permission.Bypass, Deny: []permission.Rule{"look"}}, "look", false},
	} {
		a := &agent.Agent{Toolsets: []tool.Set{b.set}, Permissions: c.policy, Dir: b.work}
		r, err := a.Call(t.Context(), c.name, json.RawMessage(`{}`))
		if err != nil || r.IsError == c.ok {
			t.Errorf("%+v %s: %+v, %v", c.policy, c.name, r, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"name":"a","input_schema":{"type":"object"}}`), []byte(`{"text":"a"}`))
	f.Add([]byte(`[{"name":"a"},{"timeout_ms":5}]`), []byte(`{"content":[{"type":"image"}]}`))
	f.Fuzz(func(t *testing.T, describe, out []byte) {
		parts, err := parse("/x/file.sh", describe)
		for _, p := range parts {
			if p.spec.Check() != nil || p.spec.Timeout < 0 || p.spec.Timeout > maxTimeout {
				t.Errorf("%q gives %+v", describe, p.spec)
			}
			if tl, err := new(Set).tool(file{}, p); err == nil && tl.Spec().Name != p.spec.Name {
				t.Errorf("%q gives the tool %s", describe, tl.Spec().Name)
			}
		}
		if parts == nil && err == nil && len(describe) > 2 && describe[0] == '{' {
			t.Errorf("%q gives nothing and no error", describe)
		}
		r, err := result(out)
		if err != nil {
			return
		}
		for _, b := range r.Content {
			switch b.(type) {
			case llm.Text, llm.Image, llm.Document:
			default:
				t.Errorf("%q gives a %T", out, b)
			}
		}
		if _, err := json.Marshal(r); err != nil {
			t.Error(err)
		}
	})
}
