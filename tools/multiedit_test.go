package tools

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/openagent-go/agent/internal/toolrun"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
	"github.com/openagent-go/agent/tool/tooltest"
	"github.com/openagent-go/agent/workspace"
)

func TestMultiEditMatching(t *testing.T) {
	many := make([]oneEdit, maxEdits+1)
	for name, c := range map[string]struct {
		file  string // "-": none
		edits []oneEdit
		want  string
		err   string
	}{
		"in turn":         {file: "a\nb\n", edits: []oneEdit{{"a", "b2", false}, {"b2\nb", "c", false}}, want: "c\n"},
		"all of one":      {file: "a a b", edits: []oneEdit{{"a", "x", true}, {"x x", "y", false}}, want: "y b"},
		"crlf":            {file: "a\r\nb\r\nc\r\n", edits: []oneEdit{{"a\nb", "x\ny\nz", false}, {"z\nc", "w", false}}, want: "x\r\ny\r\nw\r\n"},
		"utf16":           {file: "\xfe\xff\x00a\x00\n\x00b", edits: []oneEdit{{"a", "é", false}, {"b", "c", false}}, want: "\xfe\xff\x00\xe9\x00\n\x00c"},
		"bom":             {file: "\xef\xbb\xbfa\nb", edits: []oneEdit{{"a", "c", false}, {"c\nb", "d", false}}, want: "\xef\xbb\xbfd"},
		"latin1":          {file: "\xe9a\n", edits: []oneEdit{{"a", "b", false}}, want: "\xe9b\n"},
		"empties":         {file: "a", edits: []oneEdit{{"a", "", false}}, want: ""},
		"second is wrong": {file: "a\nb\n", edits: []oneEdit{{"a", "x", false}, {"a", "y", false}}, err: "edit 2 of 2: old_string is not in /f"},
		"not unique":      {file: "b\na\n", edits: []oneEdit{{"a", "b", false}, {"b", "c", false}}, err: "edit 2 of 2: old_string is in /f in 2 places (at lines 1, 2)"},
		"none":            {file: "a", err: "edits is empty"},
		"too many":        {file: "a", edits: many, err: "too many"},
		"nothing in all":  {file: "a", edits: []oneEdit{{"a", "b", false}, {"b", "a", false}}, err: "undo each other"},
		"empty old":       {file: "a", edits: []oneEdit{{"", "b", false}}, err: "edit 1 of 1: old_string must not be empty"},
		"empty old later": {file: "-", edits: []oneEdit{{"", "b", false}, {"", "c", false}}, err: "edit 2 of 2: old_string must not be empty"},
		"create":          {file: "-", edits: []oneEdit{{"", "b\nc\n", false}, {"c", "d", false}}, want: "b\nd\n"},
		"create empty":    {file: "-", edits: []oneEdit{{"", "", false}}, want: ""},
		"no such file":    {file: "-", edits: []oneEdit{{"a", "b", false}}, err: "/f does not exist"},
	} {
		old := []byte(c.file)
		if c.file == "-" {
			old = nil
		}
		e, err := reviseAll(t.Context(), "/f", old, c.edits)
		switch {
		case c.err != "":
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%s: got %q, %v; want %q", name, e.data, err, c.err)
			}
		case err != nil || string(e.data) != c.want:
			t.Errorf("%s: got %q, %v; want %q", name, e.data, err, c.want)
		case e.change.Created != (c.file == "-"):
			t.Errorf("%s: %+v", name, e.change)
		}
	}
}

func TestMultiEdit(t *testing.T) {
	d := newDesk(t)
	me := MultiEdit(d.files)
	tooltest.Check(t, me)
	path := d.put("a.sh", "one\n\ttwo\nthree\n")
	if err := os.Chmod(path, 0o751); err != nil {
		t.Fatal(err)
	}
	in := multiEditInput{FilePath: "a.sh", Edits: []oneEdit{{"one", "1", false}, {"  two\nthree", "  2\n3", false}}}
	d.fails(me, in, "has not been read in this session")
	d.ok(d.read, readInput{FilePath: "a.sh"})
	d.fails(me, multiEditInput{FilePath: "a.sh", Edits: []oneEdit{{"one", "1", false}, {"zzz", "2", false}}}, "Nothing was changed")
	if d.get("a.sh") != "one\n\ttwo\nthree\n" {
		t.Fatal("the first edit stayed")
	}
	call := tool.Call{Dir: d.dir, Input: tooltest.Input(t, in)}
	preview := me.(tool.Previewer).Preview(call)
	r := d.do(me, in)
	c := changeOf(t, r)
	if r.IsError || d.get("a.sh") != "1\n\t2\n3\n" || c.Replacements != 2 || c.Diff != preview || patched(t, "one\n\ttwo\nthree\n", c.Diff) != d.get("a.sh") {
		t.Errorf("%s: %+v, %q", r.Text(), c, d.get("a.sh"))
	}
	if !strings.Contains(r.Text(), "edit 2 matched uniquely but for indentation") || r.Title != "Edit a.sh (+3 −3)" {
		t.Errorf("%q, %q", r.Title, r.Text())
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o751 {
		t.Errorf("%v, %v", info, err)
	}
	class := toolrun.Classify(me, call)
	if class.ReadOnly || len(class.Access) != 1 || class.Access[0] != (permission.Access{Kind: permission.EditFile, Target: path}) || class.Touches[0] != path {
		t.Errorf("%+v", class)
	}

	// Files that it wrote or created count as read.
	d.ok(d.edit, editInput{FilePath: "a.sh", OldString: "3", NewString: "4"})
	d.ok(me, multiEditInput{FilePath: "new/b", Edits: []oneEdit{{"", "x\n", false}, {"x", "y", false}}})
	d.ok(d.edit, editInput{FilePath: "new/b", OldString: "y", NewString: "z"})
	if d.get("new/b") != "z\n" {
		t.Errorf("%q", d.get("new/b"))
	}
	d.fails(me, multiEditInput{FilePath: "../x", Edits: in.Edits}, "is outside the folders")
	d.fails(me, multiEditInput{FilePath: ".", Edits: in.Edits}, "is a folder")
	d.fails(me, `{"file_path":"a.sh"}`, "edits")
	d.fails(me, `{"file_path":"a.sh","edits":[{"old_string":"a"}]}`, "new_string")
	d.put("big", strings.Repeat("line of text\n", 20_000)+"needle\n")
	d.ok(d.read, readInput{FilePath: "big", Limit: 1})
	if r := d.do(me, multiEditInput{FilePath: "big", Edits: []oneEdit{{"line", "row", true}, {"needle", "pin", false}}}); r.IsError || len(r.Details) > 2*maxDiff || !changeOf(t, r).DiffCut {
		t.Errorf("%s: %d bytes of details", r.Text(), len(r.Details))
	}
}

// TestMultiEditCancelled: a call that is cancelled half-way changes nothing.
func TestMultiEditCancelled(t *testing.T) {
	d := newDesk(t)
	me := MultiEdit(d.files)
	d.put("a", "one\ntwo\n")
	d.ok(d.read, readInput{FilePath: "a"})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	state := fmt.Appendf(nil, `{%q:%s}`, d.dir+"/a", d.state[d.dir+"/a"])
	r, err := me.Run(ctx, tool.Call{Dir: d.dir, State: state, Input: tooltest.Input(t, multiEditInput{FilePath: "a", Edits: []oneEdit{{"one", "1", false}}})})
	if err == nil && !r.IsError || d.get("a") != "one\ntwo\n" {
		t.Errorf("%v, %v, %q", r, err, d.get("a"))
	}
}

// TestMultiEditsOfOneFile: of two calls made from the same reading one wins.
func TestMultiEditsOfOneFile(t *testing.T) {
	d := newDesk(t)
	me := MultiEdit(d.files)
	d.put("a", "one\ntwo\n")
	d.ok(d.read, readInput{FilePath: "a"})
	state := fmt.Appendf(nil, `{%q:%s}`, d.dir+"/a", d.state[d.dir+"/a"])
	results := make([]*tool.Result, 2)
	var wg sync.WaitGroup
	for i, e := range []oneEdit{{"one", "1", false}, {"two", "2", false}} {
		call := tool.Call{Dir: d.dir, State: state, Input: tooltest.Input(t, multiEditInput{FilePath: "a", Edits: []oneEdit{e}})}
		wg.Go(func() { results[i] = tooltest.RunCall(t, me, call) })
	}
	wg.Wait()
	want := map[bool]string{true: "one\n2\n", false: "1\ntwo\n"}[results[0].IsError]
	if results[0].IsError == results[1].IsError || d.get("a") != want {
		t.Errorf("%q: %s; %s", d.get("a"), results[0].Text(), results[1].Text())
	}
}

func BenchmarkMultiEdit(b *testing.B) {
	dir := b.TempDir()
	ws := &workspace.Workspace{Root: dir}
	file := []byte(strings.Repeat("\tif err != nil { return err } // a line of code\n", 2000) + "needle\npin\n")
	path := filepath.Join(dir, "f")
	if err := os.WriteFile(path, file, 0o644); err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(file)))
	b.ReportAllocs()
	me := MultiEdit(ws)
	state := sight(path, file)
	edits := []oneEdit{{"needle", "thread", false}, {"pin\n", "x\n", false}}
	for b.Loop() {
		r, err := me.Run(context.Background(), tool.Call{Dir: dir, State: state, Input: tooltest.Input(b, multiEditInput{FilePath: path, Edits: edits})})
		if err != nil || r.IsError {
			b.Fatal(r, err)
		}
		if err := os.WriteFile(path, file, 0o644); err != nil {
			b.Fatal(err)
		}
	}
}
