package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/openagent-go/agent/internal/policies"
	"github.com/openagent-go/agent/internal/rules/paths"
	"github.com/openagent-go/agent/internal/tooloutput"
	"github.com/openagent-go/agent/internal/toolrun"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
	"github.com/openagent-go/agent/tool/tooltest"
)

func TestReadText(t *testing.T) {
	d := newDesk(t)
	d.put("a.txt", "one\ntwo\n\tthree\r\nfour")
	for _, c := range []struct {
		in   readInput
		want string
	}{
		{readInput{FilePath: "a.txt"}, "     1→one\n     2→two\n     3→\tthree\n     4→four\n"},
		{readInput{FilePath: filepath.Join(d.dir, "a.txt"), Offset: 3}, "     3→\tthree\n     4→four\n"},
		{readInput{FilePath: "./x/../a.txt", Offset: 2, Limit: 1}, "     2→two\n\n[Lines 2 to 2 of 4 are shown. Read with offset 3 to go on.]\n"},
		{readInput{FilePath: "a.txt", Offset: 4, Limit: 1}, "     4→four\n"},
	} {
		if got := d.ok(d.read, c.in); got != c.want {
			t.Errorf("%+v: got %q, want %q", c.in, got, c.want)
		}
	}
	d.fails(d.read, readInput{FilePath: "a.txt", Offset: 5}, "has 4 lines: there is no line 5")
	d.fails(d.read, readInput{FilePath: "a.txt", Offset: -1}, "at least 1")
	d.put("empty", "")
	if got := d.ok(d.read, readInput{FilePath: "empty"}); !strings.Contains(got, "empty") {
		t.Errorf("got %q", got)
	}
	d.put("newline", "\n")
	if got := d.ok(d.read, readInput{FilePath: "newline"}); got != "     1→\n" {
		t.Errorf("got %q", got)
	}
}

func TestReadLimits(t *testing.T) {
	d := newDesk(t)
	d.put("lines", strings.Repeat("x\n", 2500))
	r := d.do(d.read, readInput{FilePath: "lines"})
	if !strings.HasSuffix(r.Text(), "  2000→x\n\n[Lines 1 to 2000 of 2500 are shown. Read with offset 2001 to go on.]\n") || !r.Truncated {
		t.Errorf("got …%q", r.Text()[len(r.Text())-200:])
	}
	if r := d.do(d.read, readInput{FilePath: "lines", Offset: 501}); strings.Contains(r.Text(), "go on") || r.Truncated {
		t.Error("the last 2000 lines are not all")
	}

	d.put("bytes", strings.Repeat(strings.Repeat("y", 999)+"\n", 100))
	r = d.do(d.read, readInput{FilePath: "bytes"})
	if len(r.Text()) > 50<<10+200 || !strings.Contains(r.Text(), "Lines 1 to 50 of 100 are shown. Read with offset 51") {
		t.Errorf("%d bytes, …%q", len(r.Text()), r.Text()[len(r.Text())-100:])
	}

	d.put("wide", strings.Repeat("é", 5000)+"\nnext\n"+strings.Repeat("z", 20_000)+"\n"+strings.Repeat("w", 2000)+"\n")
	got := d.ok(d.read, readInput{FilePath: "wide"})
	want := "     1→" + strings.Repeat("é", 2000) + "… [3000 more characters]\n     2→next\n     3→" + strings.Repeat("z", 2000) +
		"… [18000 more characters]\n     4→" + strings.Repeat("w", 2000) + "\n"
	if got != want {
		t.Errorf("got %.100q … %q", got, got[max(0, len(got)-100):])
	}
	// Text that Read shows is not truncated again.
	r = d.do(d.read, readInput{FilePath: "lines"})
	limited, err := tooloutput.Limit(tool.Output{Dir: t.TempDir()}, tool.Call{}, r)
	if err != nil || limited.Text() != r.Text() {
		t.Errorf("cut again: %v", err)
	}
}

func TestReadLargeFile(t *testing.T) {
	d := newDesk(t)
	path := d.put("big", "first\nsecond\n")
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	for range maxFile>>20 + 1 {
		if _, err := f.WriteString(strings.Repeat("0123456789abcde\n", 1<<16)); err != nil {
			t.Fatal(err)
		}
	}
	f.Close()
	r := d.do(d.read, readInput{FilePath: "big", Offset: 2, Limit: 2})
	if want := "     2→second\n     3→0123456789abcde\n\n[Lines 2 to 3 are shown, and the file has more. Read with offset 4 to go on.]\n"; r.Text() != want {
		t.Errorf("got %q", r.Text())
	}
	d.fails(d.edit, editInput{FilePath: "big", OldString: "first", NewString: "1st"}, "too large")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := d.read.Run(ctx, tool.Call{Dir: d.dir, Input: json.RawMessage(`{"file_path":"big","offset":1000000}`)}); err == nil {
		t.Error("cancelling does not end it")
	}
}

func TestReadEncodings(t *testing.T) {
	d := newDesk(t)
	for name, data := range map[string]string{
		"utf8bom": "\xef\xbb\xbfhé\n", "utf16le": "\xff\xfeh\x00\xe9\x00\n\x00", "utf16be": "\xfe\xff\x00h\x00\xe9\x00\n",
	} {
		d.put(name, data)
		if got := d.ok(d.read, readInput{FilePath: name}); got != "     1→hé\n" {
			t.Errorf("%s: got %q", name, got)
		}
	}
	d.put("latin1", "h\xe9llo, world\n")
	if got := d.ok(d.read, readInput{FilePath: "latin1"}); got != "     1→h\uFFFDllo, world\n" {
		t.Errorf("got %q", got)
	}
}

func TestReadRefusesBinaries(t *testing.T) {
	d := newDesk(t)
	for name, c := range map[string]struct{ data, want string }{
		"prog":      {"\x7fELF\x02\x01\x01\x00\x00", "ELF program"},
		"a.txt":     {"text\x00with NUL", "binary file"},
		"zip":       {"PK\x03\x04\x14\x00\x00\x00", "zip archive"},
		"photo.png": {"\x89PNG\r\n\x1a\nnot really", "cannot be shown"},
		"x.webp":    {"RIFF\x10\x00\x00\x00WEBPVP8 ", "cannot be shown"},
		"noise":     {strings.Repeat("\x01\x02\xff", 100), "binary file"},
	} {
		d.put(name, c.data)
		d.fails(d.read, readInput{FilePath: name}, c.want)
	}
}

func TestReadFolder(t *testing.T) {
	d := newDesk(t)
	d.put("d/b.txt", "")
	d.put("d/a/x", "")
	if err := os.Symlink("b.txt", filepath.Join(d.dir, "d", "link")); err != nil {
		t.Fatal(err)
	}
	want := filepath.Join(d.dir, "d") + " is a folder with 3 entries:\na/\nb.txt\nlink@\n"
	if got := d.ok(d.read, readInput{FilePath: "d"}); got != want {
		t.Errorf("got %q", got)
	}
	if err := os.Mkdir(filepath.Join(d.dir, "none"), 0o755); err != nil {
		t.Fatal(err)
	}
	if got := d.ok(d.read, readInput{FilePath: "none"}); !strings.Contains(got, "empty folder") {
		t.Errorf("got %q", got)
	}
	for i := range maxEntries + 5 {
		d.put(fmt.Sprintf("many/%04d", i), "")
	}
	got := d.ok(d.read, readInput{FilePath: "many"})
	if !strings.Contains(got, "1005 entries, of which 1000 are shown") || strings.Count(got, "\n") != 1001 {
		t.Errorf("got %.200q", got)
	}
}

func TestReadDidYouMean(t *testing.T) {
	d := newDesk(t)
	d.put("src/server.go", "")
	d.put("src/client.go", "")
	d.put("src/server_test.go", "")
	for name, want := range map[string]string{
		"src/sever.go":    "Did you mean " + filepath.Join(d.dir, "src", "server.go"),
		"src/server.ts":   filepath.Join(d.dir, "src", "server.go"),
		"src/SERVER.go":   filepath.Join(d.dir, "src", "server.go"),
		"scr/server.go":   "Did you mean " + filepath.Join(d.dir, "src") + "?",
		"src/zzzzzzzz.md": "The nearest folder that exists is " + filepath.Join(d.dir, "src"),
	} {
		d.fails(d.read, readInput{FilePath: name}, want)
	}
	d.fails(d.read, readInput{FilePath: "../../../../nowhere"}, "is outside the folders")
}

func TestReadHidden(t *testing.T) {
	if !paths.MatchPath("*.env", "/a/x.env", "/a") {
		t.Skip("paths.MatchPath does not match yet")
	}
	d := newDesk(t)
	d.put("x.env", "KEY=1")
	d.put("plain", "see")
	if err := os.Symlink("x.env", filepath.Join(d.dir, "innocent")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("plain", filepath.Join(d.dir, "y.env")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"x.env", "innocent", "y.env", "./plain/../x.env"} {
		call := tool.Call{Dir: d.dir, Unreadable: policies.Unreadable(permission.Policy{Deny: []permission.Rule{"Read(*.env)"}}, nil), Input: tooltest.Input(t, readInput{FilePath: name})}
		if r := tooltest.RunCall(t, d.read, call); !r.IsError || strings.Contains(r.Text(), "KEY") {
			t.Errorf("%s: %q", name, r.Text())
		}
	}
	for _, name := range []string{".", "z.env"} {
		call := tool.Call{Dir: d.dir, Unreadable: policies.Unreadable(permission.Policy{Deny: []permission.Rule{"Read(*.env)"}}, nil), Input: tooltest.Input(t, readInput{FilePath: name})}
		if r := tooltest.RunCall(t, d.read, call); strings.Contains(r.Text(), "x.env") {
			t.Errorf("%s shows the name of a hidden file: %q", name, r.Text())
		}
	}
}

func TestReadClass(t *testing.T) {
	d := newDesk(t)
	path := d.put("a", "")
	if err := os.Symlink("a", filepath.Join(d.dir, "link")); err != nil {
		t.Fatal(err)
	}
	class := func(tl tool.Tool, in string) tool.Traits {
		return toolrun.Classify(tl, tool.Call{Dir: d.dir, Input: json.RawMessage(in)})
	}
	c := class(d.read, `{"file_path":"link"}`)
	if !c.ReadOnly || len(c.Touches) != 1 || c.Touches[0] != path || len(c.Access) != 1 || c.Access[0] != (permission.Access{Kind: permission.ReadFile, Target: path}) {
		t.Errorf("got %+v", c)
	}
	for tl, in := range map[tool.Tool]string{d.write: `{"file_path":"link","content":""}`, d.edit: `{"file_path":"link","old_string":"a","new_string":"b"}`} {
		c := class(tl, in)
		if c.ReadOnly || len(c.Access) != 1 || c.Access[0] != (permission.Access{Kind: permission.EditFile, Target: path}) || c.Touches[0] != path {
			t.Errorf("%s: got %+v", tl.Spec().Name, c)
		}
	}
	if c := class(d.write, `{"file_path":"/elsewhere","content":""}`); c.ReadOnly || c.Access != nil || c.Touches != nil {
		t.Errorf("got %+v", c)
	}
}

func TestReadPDF(t *testing.T) {
	d := newDesk(t)
	good := "%PDF-1.4\n1 0 obj<</Type /Pages/Count 1>>endobj 2 0 obj<</Type/Page>>endobj\ntrailer<<>>\nstartxref\n0\n%%EOF\n"
	d.put("a.pdf", good)
	r := d.do(d.read, readInput{FilePath: "a.pdf"})
	doc, ok := r.Content[1].(llm.Document)
	if !ok || doc.MediaType != "application/pdf" || doc.Title != "a.pdf" || string(doc.Data) != good {
		t.Errorf("got %+v", r.Content)
	}
	d.put("pages.pdf", "%PDF-1.4\n"+strings.Repeat("<</Type /Page >>", 101)+"%%EOF")
	d.fails(d.read, readInput{FilePath: "pages.pdf"}, "101 pages")
	d.put("locked.pdf", "%PDF-1.4\ntrailer<</Encrypt 3 0 R>>%%EOF")
	d.fails(d.read, readInput{FilePath: "locked.pdf"}, "encrypted")
	d.put("cut.pdf", good[:60])
	d.fails(d.read, readInput{FilePath: "cut.pdf"}, "damaged")
	d.put("big.pdf", good+strings.Repeat(" ", 20<<20)+"%%EOF")
	d.fails(d.read, readInput{FilePath: "big.pdf"}, "pdftotext")
}

func TestReadNotebook(t *testing.T) {
	d := newDesk(t)
	png := encodeBase64(testPNG(t, 3, 2))
	nb := `{"nbformat":4,"nbformat_minor":5,"metadata":{},"cells":[
		{"cell_type":"markdown","id":"m1","source":["# Title\n","text"]},
		{"cell_type":"code","id":"c1","execution_count":7,"source":"print(1)","outputs":[
			{"output_type":"stream","name":"stdout","text":["1\n","2\n"]},
			{"output_type":"execute_result","data":{"text/plain":["array"],"application/json":{"a":1}}},
			{"output_type":"display_data","data":{"image/png":"` + png + `\n","text/plain":"<Figure>"}},
			{"output_type":"error","ename":"E","evalue":"v","traceback":["\u001b[31mTraceback\u001b[0m","E: v"]}]},
		{"cell_type":"code","source":"","outputs":[{"output_type":"stream","text":"` + strings.Repeat("x", 20_000) + `"},
			{"output_type":"display_data","data":{"image/png":"AAAA"}}]}]}`
	d.put("n.ipynb", nb)
	r := d.do(d.read, readInput{FilePath: "n.ipynb"})
	for _, want := range []string{
		"Notebook with 3 cells", "--- cell 1: markdown, id m1 ---\n# Title\ntext\n", "--- cell 2: code, id c1, run 7 ---\nprint(1)\n",
		"--- output of cell 2 ---\n1\n2\n", "array\n", "<Figure>\n[image 1 below]", "Traceback\nE: v", "[… 10000 more bytes]", "an image that cannot be shown",
	} {
		if !strings.Contains(r.Text(), want) {
			t.Errorf("%q is missing in %.1500s", want, r.Text())
		}
	}
	if len(r.Content) != 2 || strings.Contains(r.Text(), "\x1b") {
		t.Errorf("%d blocks", len(r.Content))
	}
	if got := d.ok(d.read, readInput{FilePath: "n.ipynb", Offset: 2, Limit: 1}); strings.Contains(got, "cell 1") || strings.Contains(got, "cell 3:") || !strings.Contains(got, "cell 2:") {
		t.Errorf("got %.300s", got)
	}
	d.fails(d.read, readInput{FilePath: "n.ipynb", Offset: 4}, "there is no cell 4")
	d.put("broken.ipynb", `{"cells": [`)
	if got := d.ok(d.read, readInput{FilePath: "broken.ipynb"}); got != "     1→{\"cells\": [\n" {
		t.Errorf("got %q", got)
	}
}

func FuzzReadContent(f *testing.F) {
	f.Add([]byte("text\r\nmore"), 1, 2)
	f.Add([]byte("\xff\xfea\x00\n"), 0, 0)
	f.Add([]byte(`{"cells":[{"source":["a"],"outputs":[{"data":{"image/png":"AA=="}}]}]}`), 1, 1)
	f.Add([]byte("%PDF-1.4 /Type/Page %%EOF"), 0, 0)
	f.Add([]byte("GIF89a\x01\x00\x01\x00\x00\xff\x00,"), 0, 0)
	f.Fuzz(func(t *testing.T, data []byte, offset, limit int) {
		r := reading{path: "/x/a.ipynb", in: readInput{Offset: max(offset, 0), Limit: max(limit, 0)}}
		if got := r.content(t.Context(), data); got == nil || got.Text() == "" {
			t.Errorf("nothing for %q", data)
		}
	})
}

func BenchmarkRead(b *testing.B) {
	d := newDesk(b)
	d.put("a.go", strings.Repeat("\tif err != nil { return err } // a line of code\n", 900))
	call := tool.Call{Dir: d.dir, Input: json.RawMessage(`{"file_path":"a.go"}`)}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := d.read.Run(b.Context(), call); err != nil {
			b.Fatal(err)
		}
	}
}
