package tools

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/openagent-go/agent/tool"
	"github.com/openagent-go/agent/tool/tooltest"
	"github.com/openagent-go/agent/workspace"
)

func TestWriteNewFile(t *testing.T) {
	d := newDesk(t)
	r := d.do(d.write, writeInput{FilePath: "new/dir/a.txt", Content: "one\ntwo\n"})
	if r.IsError || d.get("new/dir/a.txt") != "one\ntwo\n" {
		t.Fatal(r.Text())
	}
	c := changeOf(t, r)
	if c.FilePath != filepath.Join(d.dir, "new/dir/a.txt") || !c.Created || c.Additions != 2 || c.Deletions != 0 || !strings.Contains(c.Diff, "--- /dev/null\n") || !strings.Contains(c.Diff, "+two\n") {
		t.Errorf("got %+v", c)
	}
	// A written file counts as read.
	d.ok(d.write, writeInput{FilePath: "new/dir/a.txt", Content: "three\n"})
	d.ok(d.edit, editInput{FilePath: "new/dir/a.txt", OldString: "three", NewString: "four"})
	d.ok(d.write, writeInput{FilePath: "empty"})
	if d.get("empty") != "" || d.get("new/dir/a.txt") != "four\n" {
		t.Errorf("got %q", d.get("new/dir/a.txt"))
	}
}

func TestMustHaveBeenRead(t *testing.T) {
	d := newDesk(t)
	path := d.put("a.txt", "one\n")
	write := writeInput{FilePath: "a.txt", Content: "x"}
	edit := editInput{FilePath: "a.txt", OldString: "one", NewString: "two"}
	d.fails(d.write, write, "has not been read in this session")
	d.fails(d.edit, edit, "has not been read in this session")
	d.ok(d.read, readInput{FilePath: "a.txt"})

	// The same size at the same time is another file all the same.
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	d.put("a.txt", "two\n")
	if err := os.Chtimes(path, time.Time{}, info.ModTime()); err != nil {
		t.Fatal(err)
	}
	d.fails(d.write, write, "has changed since")
	d.fails(d.edit, edit, "has changed since")
	if d.get("a.txt") != "two\n" {
		t.Error("written all the same")
	}

	// The same content at another time is the same file.
	d.put("a.txt", "one\n")
	if err := os.Chtimes(path, time.Time{}, info.ModTime().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	d.ok(d.edit, edit)
	d.ok(d.write, write)
	if d.get("a.txt") != "x" {
		t.Errorf("got %q", d.get("a.txt"))
	}
}

// TestReadThroughLink: the record is about the file, whatever its name.
func TestReadThroughLink(t *testing.T) {
	d := newDesk(t)
	d.put("a.txt", "one\n")
	if err := os.Symlink("a.txt", filepath.Join(d.dir, "link")); err != nil {
		t.Fatal(err)
	}
	d.ok(d.read, readInput{FilePath: "link"})
	d.ok(d.edit, editInput{FilePath: "a.txt", OldString: "one", NewString: "two"})
	d.ok(d.edit, editInput{FilePath: "link", OldString: "two", NewString: "three"})
	if info, err := os.Lstat(filepath.Join(d.dir, "link")); err != nil || info.Mode()&os.ModeSymlink == 0 || d.get("a.txt") != "three\n" {
		t.Errorf("%v, %q", err, d.get("a.txt"))
	}
}

func TestWriteOutside(t *testing.T) {
	outer := newDesk(t)
	outer.put("secret", "s")
	inner := filepath.Join(outer.dir, "inner")
	if err := os.Mkdir(inner, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("..", filepath.Join(inner, "up")); err != nil {
		t.Fatal(err)
	}
	ws := &workspace.Workspace{Root: inner}
	for _, name := range []string{"../secret", "up/secret", filepath.Join(outer.dir, "secret"), "up/new"} {
		for tl, in := range map[tool.Tool]any{
			Read(ws):  readInput{FilePath: name},
			Write(ws): writeInput{FilePath: name, Content: "x"},
			Edit(ws):  editInput{FilePath: name, OldString: "s", NewString: "x"},
		} {
			call := tool.Call{Dir: inner, Input: tooltest.Input(t, in)}
			if r := tooltest.RunCall(t, tl, call); !r.IsError || !strings.Contains(r.Text(), "is outside the folders that tools may use") || !strings.Contains(r.Text(), inner) {
				t.Errorf("%s %s: %s", tl.Spec().Name, name, r.Text())
			}
		}
	}
	if outer.get("secret") != "s" {
		t.Error("written outside")
	}
}

func TestWriteKeepsEncoding(t *testing.T) {
	d := newDesk(t)
	for name, c := range map[string]struct{ old, content, want string }{
		"crlf":    {"a\r\nb\r\n", "x\ny\n", "x\r\ny\r\n"},
		"crlf2":   {"a\r\nb\r\n", "x\r\ny\n", "x\r\ny\n"},
		"lf":      {"a\nb\n", "x\ny", "x\ny"},
		"mostly":  {"a\nb\nc\r\n", "x\ny\n", "x\ny\n"},
		"bom":     {"\xef\xbb\xbfa\n", "x\n", "\xef\xbb\xbfx\n"},
		"bombom":  {"\xef\xbb\xbfa\n", "\ufeffx\n", "\xef\xbb\xbfx\n"},
		"utf16le": {"\xff\xfea\x00\r\x00\n\x00", "é\n", "\xff\xfe\xe9\x00\r\x00\n\x00"},
		"utf16be": {"\xfe\xff\x00a", "😀", "\xfe\xff\xd8\x3d\xde\x00"},
		"empty":   {"", "x\n", "x\n"},
	} {
		d.put(name, c.old)
		d.ok(d.read, readInput{FilePath: name})
		d.ok(d.write, writeInput{FilePath: name, Content: c.content})
		if got := d.get(name); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}

func TestWriteDiffIsBounded(t *testing.T) {
	d := newDesk(t)
	d.put("big", strings.Repeat("old line of text, so long that there are more than two megabytes of it\n", 40_000))
	d.ok(d.read, readInput{FilePath: "big", Limit: 1})
	r := d.do(d.write, writeInput{FilePath: "big", Content: strings.Repeat("new line\n", 20_000)})
	c := changeOf(t, r)
	if r.IsError || len(c.Diff) > maxDiff || !c.DiffCut || c.Additions != 20_000 || c.Deletions != 40_000 {
		t.Errorf("%s: %d bytes, cut %v, +%d -%d", r.Text(), len(c.Diff), c.DiffCut, c.Additions, c.Deletions)
	}
}

func TestPreview(t *testing.T) {
	d, other := newDesk(t), newDesk(t)
	d.put("a.txt", "one\ntwo\n")
	other.put("b.txt", "one\n")
	preview := func(tl tool.Tool, in any) string {
		return tl.(tool.Previewer).Preview(tool.Call{Dir: d.dir, Input: tooltest.Input(t, in)})
	}
	if got := preview(d.write, writeInput{FilePath: "a.txt", Content: "one\n2\n"}); !strings.Contains(got, "-two\n+2\n") {
		t.Errorf("got %q", got)
	}
	if got := preview(d.write, writeInput{FilePath: "new", Content: "x\n"}); !strings.Contains(got, "+x\n") {
		t.Errorf("got %q", got)
	}
	if got := preview(d.edit, editInput{FilePath: "a.txt", OldString: "two", NewString: "2"}); !strings.Contains(got, "-two\n+2\n") {
		t.Errorf("got %q", got)
	}
	for _, in := range []editInput{{FilePath: "a.txt", OldString: "none", NewString: "2"}, {FilePath: "none", OldString: "a", NewString: "b"}, {FilePath: filepath.Join(other.dir, "b.txt"), OldString: "one", NewString: "x"}} {
		if got := preview(d.edit, in); got != "" {
			t.Errorf("%+v: got %q", in, got)
		}
	}
	if d.get("a.txt") != "one\ntwo\n" {
		t.Error("a preview writes")
	}
}
