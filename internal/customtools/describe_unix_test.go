//go:build unix

package customtools

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/openagent-go/agent/internal/toolrun"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/tool"
)

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
	b.one("pay", `{"needs_approval":{"description":"pays much","properties":{"n":{"minimum":100}},"required":["n"]}}`, "echo paid")
	for input, want := range map[string]string{`{"n":100}`: "pays much", `{"n":5}`: "", ``: ""} {
		if got := toolrun.Approval(b.tool("pay"), tool.Call{Input: json.RawMessage(input)}); got != want {
			t.Errorf("the input %s needs approval: %q, want %q", input, got, want)
		}
	}
	if s := b.tool("two_b").Spec(); s.ReadOnly || !s.Idempotent || s.Timeout != 0 {
		t.Errorf("%+v", s)
	}
	if len(b.said) > 0 {
		t.Errorf("said %q", b.said)
	}
}

// A broken file is named and left out; the others work.
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
		"approval": {`echo '{"needs_approval":"yes"}'`, "its needs_approval is not a JSON Schema"},
		"broad":    {`printf '{"needs_approval":{"description":"%070000d"}}' 0`, "its needs_approval has more"},
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

// The next program does not wait for a file that hung, until the file is changed or an hour
// has passed.
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
