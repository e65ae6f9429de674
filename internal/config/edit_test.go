package config

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
)

func TestEdit(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, key, value, want string }{
		{`{}`, "model", `"m"`, "{\n  \"model\": \"m\"\n}"},
		{"{\n}\n", "env.A", `"1"`, "{\n  \"env\": {\n    \"A\": \"1\"\n  }\n}\n"},
		{`{"a":1}`, "model", `"m"`, `{"a":1, "model": "m"}`},
		{`{ "a" : 1 }`, "permissions.deny", `["Bash(rm *)", "Read"]`, `{ "a" : 1, "permissions": {"deny":["Bash(rm *)","Read"]} }`},
		{"{\n\t\"a\": 1.50\n}", "permissions.deny", `["Bash"]`, "{\n\t\"a\": 1.50,\n\t\"permissions\": {\n\t\t\"deny\": [\n\t\t\t\"Bash\"\n\t\t]\n\t}\n}"},
		{"\xef\xbb\xbf{\r\n  \"a\": 1\r\n}\r\n", "model", `"m"`, "\xef\xbb\xbf{\r\n  \"a\": 1,\r\n  \"model\": \"m\"\r\n}\r\n"},
		{"{\n  \"z\" :  [1,2 ],\n  \"model\": \"old\" ,\n\n  \"a\": {}\n}", "model", `"<new>"`, "{\n  \"z\" :  [1,2 ],\n  \"model\": \"<new>\" ,\n\n  \"a\": {}\n}"},
		{`{"mod\u0065l":1,"a":2}`, "model", `"m"`, `{"mod\u0065l":"m","a":2}`},
		{"{\n  \"permissions\": {\n    \"allow\": [\"Read\"]\n  },\n  \"a\": 1\n}", "permissions.deny", `[]`, "{\n  \"permissions\": {\n    \"allow\": [\"Read\"],\n    \"deny\": []\n  },\n  \"a\": 1\n}"},
		{`{"permissions":null}`, "permissions.deny", `["A"]`, `{"permissions":{"deny":["A"]}}`},
		{"{\n  \"permissions\": {}\n}", "permissions.deny", `[]`, "{\n  \"permissions\": {\n    \"deny\": []\n  }\n}"},
		{"{\n  \"a\": 1,\n  \"model\": 2,\n  \"b\": 3\n}", "model", "", "{\n  \"a\": 1,\n  \"b\": 3\n}"},
		{"{\n  \"model\": 2,\n  \"b\": 3\n}", "model", "", "{\n  \"b\": 3\n}"},
		{"{\n  \"a\": 1,\n  \"model\": 2\n}", "model", "", "{\n  \"a\": 1\n}"},
		{"{ \"model\": 2 }", "model", "", "{}"},
		{"{\"env\": {\"A\": \"1\", \"B\": \"2\"}}", "env.A", "", "{\"env\": {\"B\": \"2\"}}"},
		{"{\"a\": 1 }", "model", "", "{\"a\": 1 }"},
		{"{\"permissions\": null}", "permissions.deny", "", "{\"permissions\": null}"},
	} {
		var value json.RawMessage
		if c.value != "" {
			value = raw(c.value)
		}
		got, err := edit([]byte(c.text), strings.Split(c.key, "."), value)
		if err != nil || string(got) != c.want {
			t.Errorf("%q, %s = %s:\n%s\nwant\n%s (%v)", c.text, c.key, c.value, got, c.want, err)
		}
	}
	for _, text := range []string{`{"permissions":[]}`, `[]`, `{`, `{"a":1,"a":2}`} {
		if got, err := edit([]byte(text), []string{"permissions", "deny"}, raw("[]")); err == nil {
			t.Errorf("%s became %s", text, got)
		}
	}
}

// FuzzEdit: what was set is what is read, and all else is as it was.
func FuzzEdit(f *testing.F) {
	for _, s := range []string{"{}", `{"a":1}`, "{\n  \"permissions\": {\"deny\": []},\n\t\"x\": [1]}", `{"permissions":null,"model":"m"}`, "{ \"permissions\"\n:{ \"a\":1}}"} {
		f.Add([]byte(s), true)
	}
	f.Fuzz(func(t *testing.T, text []byte, keep bool) {
		value, want := raw(`["Bash(a <b> *)"]`), any([]any{"Bash(a <b> *)"})
		if !keep {
			value, want = nil, nil
		}
		got, err := edit(text, []string{"permissions", "deny"}, value)
		if err != nil || len(text) > maxFile/2 {
			return
		}
		before, after := object(t, text), object(t, got)
		p, _ := after["permissions"].(map[string]any)
		if v, ok := p["deny"]; ok != keep || !reflect.DeepEqual(v, want) {
			t.Fatalf("%q became %q", text, got)
		}
		old, _ := before["permissions"].(map[string]any)
		delete(p, "deny")
		delete(old, "deny")
		if len(p) == 0 && len(old) == 0 {
			delete(before, "permissions")
			delete(after, "permissions")
		}
		if !reflect.DeepEqual(before, after) {
			t.Fatalf("%q became %q", text, got)
		}
	})
}

func object(t *testing.T, text []byte) map[string]any {
	n, err := parse(text)
	if err == nil {
		err = n.once()
	}
	var m map[string]any
	if err == nil {
		err = json.Unmarshal(text[n.start:n.end], &m)
	}
	if err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return m
}

func (p *place) file(scope Scope) File {
	p.t.Helper()
	f, ok := p.load().File(scope)
	if !ok {
		p.t.Fatalf("no file of %s", scope)
	}
	return f
}

func TestSet(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	for scope, mode := range map[Scope]os.FileMode{User: 0o600, Project: 0o644, Local: 0o600} {
		p := newPlace(t)
		p.Trusted = all
		f := p.file(scope)
		c, err := Set(ctx, f, "max_turns", raw("5"))
		if err != nil || c.Before != "" {
			t.Fatal(c, err)
		}
		if now := p.file(scope); now.Sum != c.After {
			t.Errorf("%s: %+v, %+v", scope, now, c)
		}
		info, err := os.Stat(f.Path)
		if err != nil || runtime.GOOS != "windows" && info.Mode() != mode {
			t.Errorf("%s: %v %v", scope, info.Mode(), err)
		}
		if info, err = os.Stat(filepath.Dir(f.Path)); err != nil || runtime.GOOS != "windows" && (info.Mode().Perm() == 0o700) != (scope == User) {
			t.Errorf("%s: folder %v %v", scope, info.Mode(), err)
		}
		for key, value := range map[string]string{"max_turns": "0", "modle": `"x"`, "model": "5", "hooks": "[]", "env.A": "1", "env.A=B": `"1"`, "permissions.deny": `["Bash("]`, "effort": "\"high\"\n1"} {
			if _, err := Set(ctx, f, key, raw(value)); err == nil {
				t.Errorf("%s is set to %s", key, value)
			}
		}
		again, err := Set(ctx, f, "env.A", raw(`"1"`))
		if err != nil || again.Before != c.After {
			t.Errorf("%+v %v", again, err)
		}
		if _, err := Set(ctx, f, "max_turns", nil); err != nil {
			t.Error(err)
		}
		text, err := os.ReadFile(f.Path)
		if err != nil || string(text) != "{\n  \"env\": {\n    \"A\": \"1\"\n  }\n}\n" {
			t.Errorf("%s %v", text, err)
		}
		left, err := os.ReadDir(filepath.Dir(f.Path))
		if err != nil || len(left) != 1 {
			t.Errorf("%v %v", left, err)
		}
	}
	p := newPlace(t)
	if c, err := Set(ctx, p.file(User), "model", nil); err != nil || c != (Change{}) {
		t.Error(c, err)
	}
	if _, err := os.Stat(p.Home); err == nil {
		t.Error("to remove a setting made the folder")
	}
	if _, err := Set(ctx, p.file(Managed), "model", raw(`"x"`)); err == nil {
		t.Error("managed settings are changed")
	}
	p.write(User, `{"max_turns": "many"}`)
	if _, err := Set(ctx, File{Scope: User, Path: p.path(User)}, "model", raw(`"x"`)); err == nil || !strings.Contains(err.Error(), "line 1: max_turns must be") {
		t.Error(err)
	}
	if _, err := Set(ctx, File{Scope: User, Path: p.path(User)}, "max_turns", raw("5")); err != nil { // so it can be corrected
		t.Error(err)
	}
	// What is private stays so, or becomes so.
	if runtime.GOOS != "windows" {
		if err := os.Chmod(p.path(User), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := Set(ctx, p.file(User), "model", raw(`"x"`)); err != nil {
			t.Error(err)
		}
		if info, err := os.Stat(p.path(User)); err != nil || info.Mode() != 0o600 {
			t.Error(info.Mode(), err)
		}
	}
}

// A project's file that leads elsewhere is not changed, a user's is.
func TestSetLinks(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write(User, "{}")
	other := filepath.Join(p.t.TempDir(), "dotfiles.json")
	if err := os.Rename(p.path(User), other); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(other, p.path(User)); err != nil {
		t.Skip(err)
	}
	if _, err := Set(t.Context(), p.file(User), "model", raw(`"x"`)); err != nil {
		t.Fatal(err)
	}
	if text, _ := os.ReadFile(other); !strings.Contains(string(text), `"x"`) {
		t.Errorf("%s", text)
	}
	if info, err := os.Lstat(p.path(User)); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Error("the link is gone", err)
	}
	for name, link := range map[string]func(dir, file string) error{
		"file":   func(_, file string) error { return os.Symlink(other, file) },
		"folder": func(dir, _ string) error { return errors.Join(os.Remove(dir), os.Symlink(filepath.Dir(other), dir)) },
		"new file": func(_, file string) error {
			return os.Symlink(filepath.Join(filepath.Dir(other), "new"), file)
		},
	} {
		p := newPlace(t)
		f := File{Scope: Project, Path: p.path(Project), root: p.Dir}
		dir := filepath.Dir(f.Path)
		if err := errors.Join(os.MkdirAll(dir, 0o700), link(dir, f.Path)); err != nil {
			t.Fatal(err)
		}
		if _, err := Set(t.Context(), f, "model", raw(`"y"`)); err == nil {
			t.Errorf("%s: a link out of the project was followed", name)
		}
	}
	if text, _ := os.ReadFile(other); strings.Contains(string(text), `"y"`) {
		t.Errorf("%s", text)
	}
	if left, _ := os.ReadDir(filepath.Dir(other)); len(left) != 1 {
		t.Errorf("%v", left)
	}
}

// TestConcurrentSets: processes, each with several goroutines, set a variable each
// at once, and all are there.
func TestConcurrentSets(t *testing.T) {
	if path := os.Getenv("TEST_SETTINGS"); path != "" {
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Go(func() {
				if _, err := Set(context.Background(), File{Scope: User, Path: path}, fmt.Sprintf("env.V%d_%s", i, os.Getenv("TEST_NUMBER")), raw(`"1"`)); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		return
	}
	t.Parallel()
	p := newPlace(t)
	var cmds []*exec.Cmd
	for i := range 4 {
		cmd := exec.Command(os.Args[0], "-test.run=^TestConcurrentSets$")
		cmd.Env = append(os.Environ(), "TEST_SETTINGS="+p.path(User), fmt.Sprintf("TEST_NUMBER=%d", i))
		cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		cmds = append(cmds, cmd)
	}
	for _, cmd := range cmds {
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	}
	var env map[string]string
	if p.load().Decode("env", &env); len(env) != 32 {
		t.Errorf("%d of 32: %v", len(env), env)
	}
	if left, err := os.ReadDir(p.Home); err != nil || len(left) != 1 {
		t.Errorf("%v %v", left, err)
	}
}

// Whoever waits for the lock too long is told so, and a hostile lock file is not
// followed.
func TestLock(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write(User, "{}")
	free, err := lock(t.Context(), p.path(User)+".lock")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Set(ctx, p.file(User), "model", raw(`"x"`)); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if err := free(); err != nil {
		t.Error(err)
	}
	if runtime.GOOS == "windows" {
		return
	}
	victim := filepath.Join(t.TempDir(), "victim")
	if err := os.Symlink(victim, p.path(User)+".lock"); err != nil {
		t.Fatal(err)
	}
	if _, err := Set(t.Context(), p.file(User), "model", raw(`"x"`)); err == nil {
		t.Error("the lock is a link")
	}
	if _, err := os.Lstat(victim); err == nil {
		t.Error("the link was followed")
	}
}

// Texts are added to a list, once, and nothing else of the file changes; of several
// that add at once none is lost.
func TestAppend(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.write(Local, "{\n  \"model\": \"x\",\n  \"permissions\": {\"allow\": [\"Bash(ls)\"]}\n}\n")
	f, _ := p.File(Local)
	var wait sync.WaitGroup
	for i := range 8 {
		wait.Go(func() {
			if _, err := Append(t.Context(), f, "permissions.allow", "Bash(ls)", fmt.Sprintf("Bash(make %d)", i%4)); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	p.Trusted = all
	var got []string
	p.load().Decode("permissions.allow", &got)
	slices.Sort(got)
	if want := "Bash(ls) Bash(make 0) Bash(make 1) Bash(make 2) Bash(make 3)"; strings.Join(got, " ") != want {
		t.Errorf("got %q", got)
	}
	u, _ := p.File(User)
	if _, err := Append(t.Context(), u, "permissions.deny", "Bash(rm *)"); err != nil || len(p.load().Policy().Deny) != 1 {
		t.Errorf("a new file: %v", err)
	}
	for key, text := range map[string]string{"model": "x", "nope": "x", "permissions.allow": "Bash("} {
		if _, err := Append(t.Context(), u, key, text); err == nil {
			t.Errorf("%s accepts %s", key, text)
		}
	}
}

// An update keeps the files that a person has beside the settings.
func TestUpdateKeepsNeighbours(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "settings.json")
	for _, name := range []string{path + ".tmp", path + ".bak", filepath.Join(dir, ".settings.json.tmp")} {
		if err := os.WriteFile(name, []byte("mine"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	err := Update(t.Context(), path, 0o600, func([]byte) ([]byte, error) { return []byte("{}"), nil })
	if err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 4 {
		t.Errorf("%v, %v", entries, err)
	}
	if data, err := os.ReadFile(path + ".tmp"); string(data) != "mine" {
		t.Errorf("%q, %v", data, err)
	}
}
