package lsp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func TestFrames(t *testing.T) {
	long := strings.Repeat("x", 100_000)
	for name, c := range map[string]struct{ in, want, problem string }{
		"plain":            {"Content-Length: 2\r\n\r\n{}rest", "{}", ""},
		"more headers":     {"Content-Type: a\r\ncontent-length:2\r\n\r\n{}", "{}", ""},
		"bare newlines":    {"Content-Length: 2\n\n{}", "{}", ""},
		"empty":            {"Content-Length: 0\r\n\r\n", "", ""},
		"long":             {"Content-Length: 100000\r\n\r\n" + long, long, ""},
		"end":              {"", "", "EOF"},
		"end in header":    {"Content-Le", "", "unexpected EOF|EOF"},
		"end after header": {"Content-Length: 2\r\n", "", "EOF"},
		"end in content":   {"Content-Length: 20\r\n\r\n{}", "", "unexpected EOF"},
		"no length":        {"Content-Type: a\r\n\r\n{}", "", "no Content-Length"},
		"negative":         {"Content-Length: -1\r\n\r\n{}", "", "its length is"},
		"huge":             {"Content-Length: 33554433\r\n\r\n{}", "", "its length is"},
		"no number":        {"Content-Length: two\r\n\r\n{}", "", "its length is"},
		"no header":        {"hello\r\n\r\n{}", "", "not a header line"},
		"long line":        {"X: " + long, "", "buffer full"},
		"many lines":       {strings.Repeat("X: y\r\n", 2000), "", "longer than"},
	} {
		got, err := readFrame(bufio.NewReaderSize(strings.NewReader(c.in), maxHeader))
		if c.problem == "" {
			if err != nil || string(got) != c.want {
				t.Errorf("%s: %.80q, %v", name, got, err)
			}
			continue
		}
		ok := false
		for p := range strings.SplitSeq(c.problem, "|") {
			ok = ok || err != nil && strings.Contains(err.Error(), p)
		}
		if !ok {
			t.Errorf("%s: %v", name, err)
		}
	}
	var b bytes.Buffer
	if err := writeFrame(&b, []byte("{é}")); err != nil || b.String() != "Content-Length: 4\r\n\r\n{é}" {
		t.Errorf("%q, %v", b.String(), err)
	}
}

func FuzzFrame(f *testing.F) {
	f.Add([]byte("Content-Length: 2\r\n\r\n{}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		r := bufio.NewReaderSize(bytes.NewReader(data), maxHeader)
		for {
			if content, err := readFrame(r); err != nil || len(content) > len(data) {
				return
			}
		}
	})
}

func TestEncodings(t *testing.T) {
	for _, c := range []struct {
		line         string
		n            int
		utf8, utf16  int
		offset       int
		exceptOffset bool
	}{
		{"abc", 0, 0, 0, 0, false},
		{"abc", 2, 2, 2, 2, false},
		{"abc", 9, 3, 3, 3, false},
		{"ß🙂x", 1, 2, 1, 2, false},
		{"ß🙂x", 2, 6, 3, 6, false},
		{"ß🙂x", 3, 7, 4, 7, false},
		{"", 1, 0, 0, 0, false},
	} {
		if got := UTF8.Units(c.line, c.n); got != c.utf8 {
			t.Errorf("utf-8 units of %d in %q: %d", c.n, c.line, got)
		}
		if got := UTF16.Units(c.line, c.n); got != c.utf16 {
			t.Errorf("utf-16 units of %d in %q: %d", c.n, c.line, got)
		}
		if got := UTF8.Offset(c.line, c.utf8); got != c.offset {
			t.Errorf("utf-8 offset of %d in %q: %d", c.utf8, c.line, got)
		}
		if got := UTF16.Offset(c.line, c.utf16); got != c.offset {
			t.Errorf("utf-16 offset of %d in %q: %d", c.utf16, c.line, got)
		}
	}
	for _, e := range []Encoding{UTF8, UTF16} {
		if e.Offset("abc", -5) != 0 || e.Offset("abc", math.MaxInt) != 3 {
			t.Errorf("%s: a place outside of the line", e)
		}
	}
}

func TestURIs(t *testing.T) {
	if runtime.GOOS == "windows" {
		if got, err := Path("file:///C:/a%20b"); err != nil || got != `C:\a b` || URI(got) != "file:///C:/a%20b" {
			t.Errorf("%q, %v", got, err)
		}
		return
	}
	for _, path := range []string{"/a/b.go", "/a b/ü#?%41.go", "/", "/a:b/[x]"} {
		if got, err := Path(URI(path)); err != nil || got != path {
			t.Errorf("%s: %s, %v", URI(path), got, err)
		}
	}
	for uri, want := range map[string]string{
		"file:///a/%62.go": "/a/b.go", "file://localhost/a": "/a", "file:///a/../../b": "/b",
		"file://host/a": "", "https://x/a": "", "jdt://x": "", "file:a": "", "": "", "file:///a%00b": "", "%": "",
	} {
		if got, err := Path(uri); got != filepath.FromSlash(want) || (err == nil) != (want != "") {
			t.Errorf("%s: %q, %v", uri, got, err)
		}
	}
}

func TestApply(t *testing.T) {
	at := func(l1, c1, l2, c2 int, text string) TextEdit {
		return TextEdit{Range{Position{l1, c1}, Position{l2, c2}}, text}
	}
	for _, c := range []struct {
		text, want string
		edits      []TextEdit
	}{
		{"one two\r\nthree\n", "1 two\r\n3\n", []TextEdit{at(1, 0, 1, 5, "3"), at(0, 0, 0, 3, "1")}},
		{"🙂a = 🙂a", "🙂b = 🙂b", []TextEdit{at(0, 2, 0, 3, "b"), at(0, 8, 0, 9, "b")}},
		{"ab\ncd", "aXd", []TextEdit{at(0, 1, 1, 1, "X")}},
		{"a", "a!", []TextEdit{at(9, 9, 9, 9, "!")}},
		{"a", "!a", []TextEdit{at(-1, 0, 0, 0, "!")}},
		{"", "x", []TextEdit{at(0, 0, 0, 0, "x")}},
		{"abc\r\n", "abcX\r\n", []TextEdit{at(0, 99, 0, 99, "X")}},
	} {
		if got, err := UTF16.Apply(c.text, c.edits); err != nil || got != c.want {
			t.Errorf("%q: %q, %v", c.text, got, err)
		}
	}
	for _, edits := range [][]TextEdit{{at(0, 0, 0, 2, ""), at(0, 1, 0, 3, "")}, {at(0, 2, 0, 1, "")}} {
		if got, err := UTF16.Apply("abc", edits); err == nil {
			t.Errorf("%v: %q", edits, got)
		}
	}
}

// replies opens a server that answers every question with text.
func replies(t *testing.T, text string) *Server {
	t.Helper()
	f := &fake{answer: func(_ *fake, m message) (any, *ResponseError) {
		if m.Method == "initialize" || m.Method == "shutdown" {
			return nil, nil
		}
		return json.RawMessage(text), nil
	}}
	s := f.open(t)
	t.Cleanup(s.Close)
	return s
}

func TestLocationsOfAllForms(t *testing.T) {
	for answer, want := range map[string]string{
		`null`: "[] <nil>",
		`[]`:   "[] <nil>",
		`{"uri":"file:///a","range":{"start":{"line":1,"character":2}}}`:                                    "[{file:///a {{1 2} {0 0}}}] <nil>",
		`[{"uri":"file:///a"},{"uri":"file:///b"}]`:                                                         "[{file:///a {{0 0} {0 0}}} {file:///b {{0 0} {0 0}}}] <nil>",
		`[{"targetUri":"file:///c","targetRange":{},"targetSelectionRange":{"start":{"line":3},"end":{}}}]`: "[{file:///c {{3 0} {0 0}}}] <nil>",
		`"text"`:                             "reading locations",
		`[{"uri":7}]`:                        "reading locations",
		`[` + strings.Repeat("[", 20_000):    "has ended",
		`{"uri":"file:///a","range":"none"}`: "reading locations",
	} {
		s := replies(t, answer)
		found, err := s.Definition(t.Context(), "/work/a", Position{})
		if got := fmt.Sprint(found, err); got != want && !(err != nil && strings.Contains(got, want)) {
			t.Errorf("%.80s: %.200s", answer, got)
		}
	}
}

func TestHoverOfAllForms(t *testing.T) {
	for answer, want := range map[string]string{
		`null`:              "",
		`{"contents":null}`: "",
		`{"contents":""}`:   "",
		`{"contents":"a"}`:  "a",
		`{"contents":{"kind":"markdown","value":"b"}}`:             "b",
		`{"contents":{"language":"go","value":"f()"}}`:             "```go\nf()\n```",
		`{"contents":["a",{"language":"go","value":"f()"},"",{}]}`: "a\n\n```go\nf()\n```",
		`{"contents":7}`: "error",
	} {
		s := replies(t, answer)
		got, err := s.Hover(t.Context(), "/work/a", Position{})
		if err != nil {
			got = "error"
		}
		if got != want {
			t.Errorf("%s: %q", answer, got)
		}
	}
}

func TestSymbolsOfAllForms(t *testing.T) {
	s := replies(t, `[{"name":"A","kind":5,"detail":"d","selectionRange":{"start":{"line":1}},"children":[{"name":"b","kind":6,"selectionRange":{"start":{"line":2}}}]},
		{"name":"C","kind":99,"containerName":"p","location":{"uri":"file:///c","range":{"start":{"line":4}}}}]`)
	found, err := s.DocumentSymbols(t.Context(), "/work/a")
	want := "[{A class d  0 {file:///work/a {{1 0} {0 0}}}} {b method  A 1 {file:///work/a {{2 0} {0 0}}}} {C symbol  p 0 {file:///c {{4 0} {0 0}}}}] <nil>"
	if got := fmt.Sprint(found, err); got != want {
		t.Errorf("%s", got)
	}
	s = replies(t, `[{"name":"W","kind":12,"location":{"uri":"file:///w"}}]`)
	if found, err := s.WorkspaceSymbols(t.Context(), "W"); err != nil || len(found) != 1 || found[0].Location.URI != "file:///w" {
		t.Errorf("%v, %v", found, err)
	}
}

func TestCallHierarchy(t *testing.T) {
	f := &fake{answer: func(_ *fake, m message) (any, *ResponseError) {
		switch m.Method {
		case "textDocument/prepareCallHierarchy":
			return json.RawMessage(`[{"name":"f","kind":12,"uri":"file:///a","selectionRange":{"start":{"line":1}},"data":{"keep":[1]}}]`), nil
		case "callHierarchy/incomingCalls":
			return json.RawMessage(`[{"from":{"name":"g","kind":12,"uri":"file:///b"},"fromRanges":[{"start":{"line":5}}]}]`), nil
		case "callHierarchy/outgoingCalls":
			return json.RawMessage(`[{"to":{"name":"h","kind":6,"uri":"file:///c"},"fromRanges":[]}]`), nil
		}
		return nil, nil
	}}
	s := f.open(t)
	defer s.Close()
	items, err := s.PrepareCalls(t.Context(), "/work/a", Position{})
	if err != nil || len(items) != 1 || items[0].Name != "f" || items[0].Location.Range.Start.Line != 1 {
		t.Fatalf("%v, %v", items, err)
	}
	in, err := s.Incoming(t.Context(), items[0])
	if err != nil || len(in) != 1 || in[0].Other.Name != "g" || in[0].Calls[0].Start.Line != 5 {
		t.Errorf("%v, %v", in, err)
	}
	out, err := s.Outgoing(t.Context(), items[0])
	if err != nil || len(out) != 1 || out[0].Other.Kind != "method" {
		t.Errorf("%v, %v", out, err)
	}
	for _, asked := range append(f.heard("callHierarchy/in"), f.heard("callHierarchy/out")...) {
		if !strings.Contains(asked, `"data":{"keep":[1]}`) {
			t.Errorf("the server's data is lost: %s", asked)
		}
	}
}

func TestRenamesOfAllForms(t *testing.T) {
	edit := `{"range":{"start":{"line":0}},"newText":"x"}`
	for answer, want := range map[string]string{
		`null`: "[] <nil>",
		`{"changes":{"file:///b":[` + edit + `],"file:///a":[]}}`:                                                               "[{file:///a [] } {file:///b [{{{0 0} {0 0}} x}] }] <nil>",
		`{"documentChanges":[{"textDocument":{"uri":"file:///a","version":null},"edits":[` + edit + `]}]}`:                      "[{file:///a [{{{0 0} {0 0}} x}] }] <nil>",
		`{"documentChanges":[{"kind":"rename","oldUri":"file:///a","newUri":"file:///b"},{"kind":"delete","uri":"file:///c"}]}`: "[{file:///a [] renamed to file:///b} {file:///c [] delete}] <nil>",
		`{"documentChanges":[7]}`: "reading an edit",
	} {
		s := replies(t, answer)
		found, err := s.Rename(t.Context(), "/work/a", Position{}, "x")
		if got := fmt.Sprint(found, err); got != want && !(err != nil && strings.Contains(got, want)) {
			t.Errorf("%s: %s", answer, got)
		}
	}
}

func TestTail(t *testing.T) {
	var tl tail
	for range 100 {
		fmt.Fprint(&tl, strings.Repeat("a", 1000), "\xff")
	}
	io.WriteString(&tl, "end \n")
	if s := tl.String(); len(s) > maxErrorText+300 || !strings.HasSuffix(s, "end") || strings.Contains(s, "\xff") {
		t.Errorf("%d bytes", len(s))
	}
}
