//go:build unix

package customtools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
	"github.com/openagent-go/agent/tool/tooltest"
)

// The set sees changes, asks only changed files, and reports a tool that replaces another.
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
	b.warned("Read of " + b.dir + "/a replaces the built-in one")
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
	b.warned("replaces the one of " + b.dir + "/b")
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
	b.warned("open is not loaded: every user may write to it")
	b.warned("out of the folder")
	if err := os.Chmod(b.dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if got := b.names(); got != "" {
		t.Errorf("of a folder that everybody may write to: %s", got)
	}
	b.warned("every user may write to the folder")
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

// The target of a link out of the folder could change unseen.
func TestLinksOutOfAFolder(t *testing.T) {
	outside := filepath.Join(realTemp(t), "outside")
	if err := os.WriteFile(outside, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ link, to, want string }{
		"a file":             {"lib/helper", outside, "the link lib/helper in it leads to " + outside},
		"a folder":           {"lib/more", filepath.Dir(outside), "out of the folder"},
		"a way out":          {"lib/up", "../..", "out of the folder"},
		"nowhere":            {"lib/later", filepath.Join(filepath.Dir(outside), "later"), "has no target"},
		"nowhere in it":      {"lib/later", "later", "has no target"},
		"itself":             {"lib/loop", "loop", "has no target"},
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

// An unchanged file is not read again, a changed one is, whatever its times are.
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

// A custom tool of an agent is judged by its name and its description.
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
		r, err := a.CallTool(t.Context(), c.name, json.RawMessage(`{}`))
		if err != nil || r.IsError == c.ok {
			t.Errorf("%+v %s: %+v, %v", c.policy, c.name, r, err)
		}
	}
}
