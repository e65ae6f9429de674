package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/openagent-go/agent/internal/toolapi"
	"github.com/openagent-go/agent/internal/toolrun"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
	"github.com/openagent-go/agent/tool/tooltest"
	"github.com/openagent-go/agent/workspace"
)

// body is the input of ApplyPatch.
func body(lines ...string) applyPatchInput {
	return applyPatchInput{Input: "*** Begin Patch\n" + strings.Join(lines, "\n") + "\n*** End Patch"}
}

// allBelow returns all that is below dir: modes, times and contents by path.
func allBelow(t testing.TB, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(dir, path)
		if d.IsDir() {
			all[name] = info.Mode().String()
			return nil
		}
		data, err := os.ReadFile(path)
		all[name] = fmt.Sprint(info.Mode(), info.ModTime(), string(data))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestApplyPatch(t *testing.T) {
	d := newDesk(t)
	ap := ApplyPatch(d.files)
	tooltest.Check(t, ap)
	d.put("src/a.go", "package a\n\nfunc f() {\n\told()\n}\n")
	d.put("run.sh", "one\r\ntwo\r\n")
	d.put("gone.txt", "bye\n")
	d.put("u16", "\xfe\xff\x00a\x00\n")
	if err := os.Chmod(d.dir+"/run.sh", 0o751); err != nil {
		t.Fatal(err)
	}
	in := body(
		"*** Update File: src/a.go", "@@ func f() {", "-old()", "+new()",
		"*** Update File: run.sh", "*** Move to: bin/run.sh", "@@", " one", "-two", "+three", "+four",
		"*** Delete File: gone.txt",
		"*** Update File: u16", "-a", "+é",
		"*** Add File: new/b.txt", "+x", "+y")
	before := allBelow(t, d.dir)
	d.fails(ap, in, "has not been read in this session")
	for _, name := range []string{"src/a.go", "run.sh", "gone.txt", "u16"} {
		d.ok(d.read, readInput{FilePath: name})
	}
	call := tool.Call{Dir: d.dir, Input: tooltest.Input(t, in)}
	preview := ap.(tool.Previewer).Preview(call)
	class := toolrun.Classify(ap, call)
	if !maps.Equal(before, allBelow(t, d.dir)) {
		t.Fatal("looking at a call changes files")
	}
	r := d.do(ap, in)
	if r.IsError {
		t.Fatal(r.Text())
	}
	for name, want := range map[string]string{"src/a.go": "package a\n\nfunc f() {\n\tnew()\n}\n", "bin/run.sh": "one\r\nthree\r\nfour\r\n", "new/b.txt": "x\ny\n", "u16": "\xfe\xff\x00\xe9\x00\n"} {
		if got := d.get(name); got != want {
			t.Errorf("%s: %q", name, got)
		}
	}
	after := allBelow(t, d.dir)
	if len(after) != 8 || !strings.HasPrefix(after["bin/run.sh"], "-rwxr-x--x") {
		t.Errorf("%v", after)
	}
	var c patchChange
	if err := json.Unmarshal(r.Details, &c); err != nil {
		t.Fatal(err)
	}
	p := func(name string) string { return filepath.Join(d.dir, name) }
	want := []patchedFile{
		{FilePath: p("src/a.go"), Additions: 1, Deletions: 1}, {FilePath: p("bin/run.sh"), MovedFrom: p("run.sh"), Additions: 2, Deletions: 1},
		{FilePath: p("gone.txt"), Deleted: true, Deletions: 1}, {FilePath: p("u16"), Additions: 1, Deletions: 1}, {FilePath: p("new/b.txt"), Created: true, Additions: 2},
	}
	if fmt.Sprint(c.Files) != fmt.Sprint(want) || c.Additions != 6 || c.Deletions != 4 || c.DiffCut || r.Title != "Patch 5 files (+6 −4)" {
		t.Errorf("%q: %+v", r.Title, c)
	}
	for _, part := range []string{
		"--- " + p("src/a.go") + "\n+++ " + p("src/a.go") + "\n", "-\told()\n+\tnew()\n", "--- " + p("run.sh") + "\n+++ " + p("bin/run.sh") + "\n",
		"--- " + p("gone.txt") + "\n+++ /dev/null\n", "--- /dev/null\n+++ " + p("new/b.txt") + "\n",
	} {
		if !strings.Contains(c.Diff, part) {
			t.Errorf("%q is not in the diff:\n%s", part, c.Diff)
		}
	}
	if preview != c.Diff {
		t.Errorf("the preview is another diff:\n%s", preview)
	}
	for _, part := range []string{"Changed " + p("src/a.go") + " (hunk 1 matched uniquely but for indentation)", "Moved " + p("run.sh") + " to " + p("bin/run.sh") + "\n", "Deleted " + p("gone.txt"), "Created " + p("new/b.txt"), "Check the change:\n---"} {
		if !strings.Contains(r.Text(), part) {
			t.Errorf("%q is not in %q", part, r.Text())
		}
	}
	var targets []string
	for _, a := range class.Access {
		if a.Kind != permission.EditFile {
			t.Errorf("%+v", a)
		}
		targets = append(targets, strings.TrimPrefix(a.Target, d.dir+"/"))
	}
	if got := strings.Join(targets, " "); got != "src/a.go run.sh bin/run.sh gone.txt u16 new/b.txt" || len(class.Touches) != 6 || class.ReadOnly {
		t.Errorf("%+v", class)
	}

	// Files that it wrote count as read, removed ones do not.
	d.ok(d.edit, editInput{FilePath: "src/a.go", OldString: "new", NewString: "newer"})
	d.ok(ap, body("*** Add File: new/b.txt", "+replaced"))
	d.ok(ap, body("*** Update File: bin/run.sh", "*** Move to: run.sh"))
	maps.DeleteFunc(d.state, func(_ string, v json.RawMessage) bool { return string(v) == "null" }) // as sessions do
	d.put("gone.txt", "bye\n")
	d.fails(ap, body("*** Delete File: gone.txt"), "has not been read in this session")
	if d.get("new/b.txt") != "replaced\n" || d.get("run.sh") != "one\r\nthree\r\nfour\r\n" {
		t.Errorf("%v", allBelow(t, d.dir))
	}
}

// TestApplyPatchRefuses: a mistake in one file leaves all unchanged.
func TestApplyPatchRefuses(t *testing.T) {
	d := newDesk(t)
	ap := ApplyPatch(d.files)
	first := []string{"*** Update File: ok.txt", "-one", "+two", "*** Add File: new/deep/file", "+x", "*** Delete File: bye.txt"}
	for _, name := range []string{"ok.txt", "bye.txt", "other.txt", "target.txt"} {
		d.put(name, "one\n")
		d.ok(d.read, readInput{FilePath: name})
	}
	d.put("unread.txt", "one\n")
	d.put("stale.txt", "one\n")
	d.ok(d.read, readInput{FilePath: "stale.txt"})
	d.put("stale.txt", "two\n")
	d.put("bad16", "\xfe\xff\x00a\xd8\x00")
	var known map[string]json.RawMessage
	if err := json.Unmarshal(sight(d.dir+"/bad16", []byte("\xfe\xff\x00a\xd8\x00")), &known); err != nil {
		t.Fatal(err)
	}
	maps.Copy(d.state, known)
	if err := os.Mkdir(d.dir+"/folder", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("ok.txt", d.dir+"/link"); err != nil {
		t.Fatal(err)
	}
	before := allBelow(t, d.dir)
	for name, c := range map[string]struct {
		last []string
		want string
	}{
		"hunk":            {[]string{"*** Update File: other.txt", "-nothing like it"}, "other.txt, hunk 1 (line 9 of the patch): its lines are not in the file"},
		"no change":       {[]string{"*** Update File: other.txt", "-one", "+one"}, "would change nothing in"},
		"no file":         {[]string{"*** Update File: none", "-one"}, "none does not exist"},
		"nothing to go":   {[]string{"*** Delete File: none"}, "none does not exist"},
		"unread":          {[]string{"*** Update File: unread.txt", "-one"}, "unread.txt exists and has not been read"},
		"unread delete":   {[]string{"*** Delete File: unread.txt"}, "unread.txt exists and has not been read"},
		"unread add":      {[]string{"*** Add File: unread.txt", "+x"}, "unread.txt exists and has not been read"},
		"unread move":     {[]string{"*** Update File: unread.txt", "*** Move to: moved"}, "unread.txt exists and has not been read"},
		"stale":           {[]string{"*** Update File: stale.txt", "-two"}, "stale.txt has changed since"},
		"target is there": {[]string{"*** Update File: other.txt", "*** Move to: target.txt"}, "target.txt exists already"},
		"moves to itself": {[]string{"*** Update File: other.txt", "*** Move to: ./other.txt"}, "other.txt twice"},
		"twice":           {[]string{"*** Delete File: ok.txt"}, "ok.txt twice"},
		"through a link":  {[]string{"*** Delete File: link"}, "ok.txt twice"},
		"outside":         {[]string{"*** Add File: ../x", "+x"}, "is outside the folders"},
		"moves outside":   {[]string{"*** Update File: other.txt", "*** Move to: /tmp/x"}, "is outside the folders"},
		"folder":          {[]string{"*** Delete File: folder"}, "is a folder"},
		"below a file":    {[]string{"*** Add File: other.txt/x", "+x"}, "not a directory"},
		"not text":        {[]string{"*** Update File: bad16", "-a"}, "not well-formed UTF-16"},
		"syntax":          {[]string{"*** Rename File: a"}, `line 8: "*** Rename File: a"`},
		// Fails when three files are written already: the file is a folder by then.
		"file and folder": {[]string{"*** Add File: a/b", "+x", "*** Add File: a", "+x"}, "it is now a folder"},
	} {
		d.TB = t
		d.fails(ap, body(append(first, c.last...)...), c.want)
		if after := allBelow(t, d.dir); !maps.Equal(before, after) {
			t.Fatalf("%s: %v\nbecame %v", name, before, after)
		}
	}
	d.fails(ap, applyPatchInput{}, `no line "*** Begin Patch"`)
	d.fails(ap, `{}`, "input")
	d.fails(ap, applyPatchInput{Input: strings.Repeat("x", 3<<20)}, "too large")

	// The first wrong files are named together.
	r := d.do(ap, body("*** Delete File: none1", "*** Delete File: none2", "*** Delete File: none3", "*** Delete File: none4"))
	if !strings.Contains(r.Text(), "none1") || !strings.Contains(r.Text(), "none3") || strings.Contains(r.Text(), "none4") {
		t.Errorf("%q", r.Text())
	}
	for _, in := range []applyPatchInput{body("*** Add File: ../x"), body("nonsense")} {
		call := tool.Call{Dir: d.dir, Input: tooltest.Input(t, in)}
		if c := toolrun.Classify(ap, call); c.ReadOnly || c.Access != nil || c.Touches != nil {
			t.Errorf("%+v", c)
		}
		if got := ap.(tool.Previewer).Preview(call); got != "" {
			t.Errorf("%q", got)
		}
	}
}

// spoiled are files of which one becomes a folder while the patch is being
// applied.
type spoiled struct {
	*workspace.Workspace
	folder string
}

func (s spoiled) UpdateAll(ctx context.Context, dir string, names []string, change func(old [][]byte) ([]workspace.Content, error)) error {
	return s.Workspace.UpdateAll(ctx, dir, names, func(old [][]byte) ([]workspace.Content, error) {
		contents, err := change(old)
		return contents, errors.Join(err, os.Mkdir(s.folder, 0o755))
	})
}

// TestApplyPatchRollsBack: what fails when files are written already puts them
// back, with their modes and times, and takes new folders away.
func TestApplyPatchRollsBack(t *testing.T) {
	d := newDesk(t)
	for _, name := range []string{"a", "b", "c"} {
		d.put(name, "one\n")
		d.ok(d.read, readInput{FilePath: name})
	}
	if err := errors.Join(os.Chmod(d.dir+"/a", 0o751), os.Chmod(d.dir+"/b", 0o600)); err != nil {
		t.Fatal(err)
	}
	before := allBelow(t, d.dir)
	before["late"] = "drwxr-xr-x"
	ap := ApplyPatch(spoiled{d.files, d.dir + "/late"})
	r := d.do(ap, body("*** Update File: a", "-one", "+two", "*** Delete File: b", "*** Update File: c", "*** Move to: new/deep/c", "*** Add File: late", "+x"))
	if !r.IsError || !strings.Contains(r.Text(), "late: it is now a folder") || !strings.Contains(r.Text(), "was not applied") || r.Patch.State != nil {
		t.Errorf("%s", r.Text())
	}
	if after := allBelow(t, d.dir); !maps.Equal(before, after) {
		t.Errorf("%v\nbecame %v", before, after)
	}
	// The session's record of the files still holds.
	d.ok(ApplyPatch(d.files), body("*** Update File: a", "-one", "+two", "*** Delete File: b"))
}

func TestApplyPatchCancelled(t *testing.T) {
	d := newDesk(t)
	d.put("a", "one\n")
	d.ok(d.read, readInput{FilePath: "a"})
	before := allBelow(t, d.dir)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r, err := ApplyPatch(d.files).Run(ctx, tool.Call{Dir: d.dir, State: toolapi.Details(d.state), Input: tooltest.Input(t, body("*** Update File: a", "-one", "+two", "*** Add File: new/b", "+x"))})
	if err == nil && !r.IsError || !maps.Equal(before, allBelow(t, d.dir)) {
		t.Errorf("%v, %v: %v", r, err, allBelow(t, d.dir))
	}
}

// TestApplyPatchTogether: of two patches to the same files one is applied as a
// whole, the other not at all.
func TestApplyPatchTogether(t *testing.T) {
	d := newDesk(t)
	ap := ApplyPatch(d.files)
	for _, name := range []string{"a", "b"} {
		d.put(name, "one\n")
		d.ok(d.read, readInput{FilePath: name})
	}
	state := toolapi.Details(d.state)
	results := make([]*tool.Result, 2)
	var wg sync.WaitGroup
	for i, order := range [][2]string{{"a", "b"}, {"b", "a"}} {
		in := body("*** Update File: "+order[0], "-one", fmt.Sprint("+by ", i), "*** Update File: "+order[1], "-one", fmt.Sprint("+by ", i))
		wg.Go(func() {
			results[i] = tooltest.RunCall(t, ap, tool.Call{Dir: d.dir, State: state, Input: tooltest.Input(t, in)})
		})
	}
	wg.Wait()
	if results[0].IsError == results[1].IsError || d.get("a") != d.get("b") || d.get("a") == "one\n" {
		t.Errorf("%q, %q: %s; %s", d.get("a"), d.get("b"), results[0].Text(), results[1].Text())
	}
}

// TestApplyPatchLarge: the details stay bounded whatever is patched.
func TestApplyPatchLarge(t *testing.T) {
	d := newDesk(t)
	var lines []string
	for i := range 100 {
		lines = append(lines, fmt.Sprintf("*** Add File: f%d", i))
		for range 400 {
			lines = append(lines, "+a line of a file that is large enough")
		}
	}
	r := d.do(ApplyPatch(d.files), body(lines...))
	var c patchChange
	if err := json.Unmarshal(r.Details, &c); err != nil || r.IsError {
		t.Fatal(err, r.Text())
	}
	if !c.DiffCut || len(c.Diff) > maxDiff || c.Additions != 40_000 || len(c.Files) != 100 {
		t.Errorf("%d bytes of diff, %+v", len(c.Diff), c.Additions)
	}
}

func BenchmarkApplyPatch(b *testing.B) {
	d := newDesk(b)
	ap := ApplyPatch(d.files)
	file := strings.Repeat("\tif err != nil { return err } // a line of code\n", 2000) + "needle\n"
	var there, back []string
	for i := range 4 {
		d.put(fmt.Sprint("f", i), file)
		d.ok(d.read, readInput{FilePath: fmt.Sprint("f", i), Limit: 1})
		there = append(there, fmt.Sprint("*** Update File: f", i), "-needle", "+pin")
		back = append(back, fmt.Sprint("*** Update File: f", i), "-pin", "+needle")
	}
	b.SetBytes(int64(8 * len(file)))
	b.ReportAllocs()
	for b.Loop() {
		d.ok(ap, body(there...))
		d.ok(ap, body(back...))
	}
}
