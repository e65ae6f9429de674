package patch

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
)

const whole = `*** Begin Patch
*** Add File: new/a.txt
+one
+
+*** End Patch
*** Update File: src/b.go
*** Move to: src/c.go
@@ type T struct
@@ 	func (t T) f() {
 	a
-	b
+	c

 	d
@@
+last
*** End of File
*** Delete File: old.txt
*** Update File: plain
 x
-y

*** End Patch`

func TestParse(t *testing.T) {
	want := []File{
		{Action: Add, Path: "new/a.txt", Content: "one\n\n*** End Patch\n", Line: 2},
		{Action: Update, Path: "src/b.go", MoveTo: "src/c.go", Line: 6, Hunks: []Hunk{
			{Headers: []string{"type T struct", "\tfunc (t T) f() {"}, Line: 8, Lines: []Line{{' ', "\ta"}, {'-', "\tb"}, {'+', "\tc"}, {' ', ""}, {' ', "\td"}}},
			{Lines: []Line{{'+', "last"}}, End: true, Line: 15},
		}},
		{Action: Delete, Path: "old.txt", Line: 18},
		{Action: Update, Path: "plain", Line: 19, Hunks: []Hunk{{Lines: []Line{{' ', "x"}, {'-', "y"}}, Line: 20}}},
	}
	for name, text := range map[string]string{
		"as it is":      whole,
		"blank around":  "\n\n" + whole + "\n\n",
		"fence":         "```diff\n" + whole + "\n```\n",
		"here-document": "apply_patch <<'EOF'\n" + whole + "\nEOF\n",
	} {
		files, err := Parse(text)
		for i := range files {
			shift := strings.Count(text[:strings.Index(text, begin)], "\n")
			files[i].Line -= shift
			for j := range files[i].Hunks {
				files[i].Hunks[j].Line -= shift
			}
		}
		if err != nil || !reflect.DeepEqual(files, want) {
			t.Errorf("%s: %v\ngot  %+v\nwant %+v", name, err, files, want)
		}
	}
	if got := want[1].Hunks[0].Old(); strings.Join(got, "|") != "\ta|\tb||\td" {
		t.Errorf("old lines %q", got)
	}
}

func TestParseLeniently(t *testing.T) {
	for name, c := range map[string]struct {
		body string
		want File
	}{
		"numbers":           {"*** Update File: a\n@@ -1,2 +1,3 @@ func f() {\n-x", File{Action: Update, Path: "a", Hunks: []Hunk{{Lines: []Line{{'-', "x"}}}}}},
		"crlf":              {"*** Update File: a\r\n@@ f\r\n-x\r\n\r\n+y\r", File{Action: Update, Path: "a", Hunks: []Hunk{{Headers: []string{"f"}, Lines: []Line{{'-', "x"}, {' ', ""}, {'+', "y"}}}}}},
		"no space":          {"*** Delete File:a ", File{Action: Delete, Path: "a"}},
		"move alone":        {"*** Update File: a\n*** Move to: b c", File{Action: Update, Path: "a", MoveTo: "b c"}},
		"empty new file":    {"*** Add File: a", File{Action: Add, Path: "a"}},
		"markers as text":   {"*** Update File: a\n *** Update File: b\n-*** End Patch", File{Action: Update, Path: "a", Hunks: []Hunk{{Lines: []Line{{' ', "*** Update File: b"}, {'-', "*** End Patch"}}}}}},
		"blank then end":    {"*** Update File: a\n-x\n\n*** End of File", File{Action: Update, Path: "a", Hunks: []Hunk{{Lines: []Line{{'-', "x"}, {' ', ""}}, End: true}}}},
		"a space is a line": {"*** Update File: a\n-x\n ", File{Action: Update, Path: "a", Hunks: []Hunk{{Lines: []Line{{'-', "x"}, {' ', ""}}}}}},
	} {
		files, err := Parse(begin + "\n" + c.body + "\n" + end)
		if err != nil || len(files) != 1 {
			t.Errorf("%s: %v, %v", name, files, err)
			continue
		}
		files[0].Line = 0
		for i := range files[0].Hunks {
			files[0].Hunks[i].Line = 0
		}
		if !reflect.DeepEqual(files[0], c.want) {
			t.Errorf("%s:\ngot  %+v\nwant %+v", name, files[0], c.want)
		}
	}
}

func TestParseErrors(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"empty":           {"", `no line "*** Begin Patch"`},
		"another format":  {"--- a\n+++ b\n", `line 1: a patch begins with "*** Begin Patch", not with "--- a"`},
		"cut":             {"*** Begin Patch\n*** Delete File: a\n", "may be cut"},
		"no file":         {"*** Begin Patch\n\n*** End Patch", "names no file"},
		"two patches":     {"*** Begin Patch\n*** Delete File: a\n*** End Patch\n*** Begin Patch\n*** Delete File: b\n*** End Patch", `line 4: "*** Begin Patch" comes after`},
		"nested":          {"*** Begin Patch\n*** Begin Patch\n*** End Patch", "line 2: "},
		"unknown marker":  {"*** Begin Patch\n*** Rename File: a\n*** End Patch", `line 2: "*** Rename File: a" does not say`},
		"text first":      {"*** Begin Patch\nhello\n*** End Patch", `line 2: "hello" does not say`},
		"no path":         {"*** Begin Patch\n*** Add File:  \n*** End Patch", "line 2: the path is missing"},
		"no target":       {"*** Begin Patch\n*** Update File: a\n*** Move to:\n*** End Patch", "line 3: the path to move to"},
		"no plus":         {"*** Begin Patch\n*** Add File: a\n+x\ny\n*** End Patch", `line 4: "y" has no +`},
		"gap in new file": {"*** Begin Patch\n*** Add File: a\n+x\n\n+y\n*** End Patch", `line 4: "" has no +`},
		"no sign":         {"*** Begin Patch\n*** Update File: a\n@@\n-x\nyy\n*** End Patch", `line 5: "yy" has no space, + or -`},
		"no change":       {"*** Begin Patch\n*** Update File: a\n*** End Patch", "no change for a"},
		"context alone":   {"*** Begin Patch\n*** Update File: a\n@@\n x\n*** End Patch", "line 3: the hunk has no line"},
		"end alone":       {"*** Begin Patch\n*** Update File: a\n@@\n*** End of File\n*** End Patch", "line 3: the hunk has no line"},
		"header at end":   {"*** Begin Patch\n*** Update File: a\n@@ f\n*** End Patch", "line 3: the hunk has no line"},
		"after delete":    {"*** Begin Patch\n*** Delete File: a\n-x\n*** End Patch", `line 3: "-x" does not say`},
		"move in add":     {"*** Begin Patch\n*** Add File: a\n*** Move to: b\n*** End Patch", `line 3: "*** Move to: b" does not say`},
		"too many files":  {"*** Begin Patch\n" + strings.Repeat("*** Delete File: a\n", MaxFiles+1) + "*** End Patch", "more than 200 files"},
		"too large":       {strings.Repeat("x", MaxSize+1), "too large"},
		"long line":       {"*** Begin Patch\n" + strings.Repeat("é", 1000) + "\n*** End Patch", "é…\" does not say"},
	} {
		files, err := Parse(c.text)
		if err == nil || !strings.Contains(err.Error(), c.want) || len(err.Error()) > 400 || files != nil {
			t.Errorf("%s: got %v, %v; want %q", name, files, err, c.want)
		}
	}
}

// TestParseBlankLines: a patch of blank lines takes time that grows with it, not
// with its square.
func TestParseBlankLines(t *testing.T) {
	_, err := Parse("*** Begin Patch\n*** Update File: a\n@@\n" + strings.Repeat("\n", MaxSize-100) + "x\n*** End Patch")
	if err == nil || !strings.Contains(err.Error(), `"x" has no space`) {
		t.Error(err)
	}
}

// write is the patch that says what files say.
func write(files []File) string {
	var b strings.Builder
	b.WriteString(begin + "\n")
	for _, f := range files {
		switch f.Action {
		case Add:
			fmt.Fprintf(&b, "%s %s\n", addFile, f.Path)
			for l := range strings.Lines(f.Content) {
				b.WriteString("+" + l)
			}
		case Delete:
			fmt.Fprintf(&b, "%s %s\n", remove, f.Path)
		case Update:
			fmt.Fprintf(&b, "%s %s\n", update, f.Path)
			if f.MoveTo != "" {
				fmt.Fprintf(&b, "%s %s\n", moveTo, f.MoveTo)
			}
			for _, h := range f.Hunks {
				b.WriteString("@@\n")
				for _, header := range h.Headers {
					b.WriteString("@@ " + header + "\n")
				}
				for _, l := range h.Lines {
					fmt.Fprintf(&b, "%c%s\n", l.Op, l.Text)
				}
				if h.End {
					b.WriteString(endOfFile + "\n")
				}
			}
		}
	}
	b.WriteString(end)
	return b.String()
}

// FuzzParse: what is read is whole (paths, changes), and written again it
// reads the same.
func FuzzParse(f *testing.F) {
	f.Add(whole)
	f.Add("```\n*** Begin Patch\r\n*** Update File: a\r\n@@ -1 +1 @@ x\r\n-x\r\n\r\n+y\r\n*** End of File\r\n*** End Patch\r\n```")
	f.Add("*** Begin Patch\n*** Add File: a\n+x\r\n\n\n*** Delete File: \x00\n*** End Patch")
	f.Add("*** Begin Patch\n*** Update File: a\n@@@@ b\n@@ @@\n+\n \n\n*** End of File\n-\n*** End Patch")
	f.Fuzz(func(t *testing.T, text string) {
		files, err := Parse(text)
		if err != nil {
			return
		}
		if len(files) == 0 || len(files) > MaxFiles {
			t.Fatalf("%d files", len(files))
		}
		for _, f := range files {
			if f.Path == "" || f.Action == Update && f.MoveTo == "" && len(f.Hunks) == 0 || f.Action != Update && (f.MoveTo != "" || f.Hunks != nil) || f.Action != Add && f.Content != "" {
				t.Fatalf("%+v", f)
			}
			for _, h := range f.Hunks {
				if !slices.ContainsFunc(h.Lines, func(l Line) bool { return l.Op != ' ' }) {
					t.Fatalf("a hunk without a change: %+v", h)
				}
			}
		}
		again, err := Parse(write(files))
		if err != nil {
			t.Fatalf("%v: %s", err, write(files))
		}
		for _, all := range [][]File{files, again} {
			for i := range all {
				all[i].Line = 0
				for j := range all[i].Hunks {
					all[i].Hunks[j].Line = 0
				}
			}
		}
		if !reflect.DeepEqual(files, again) {
			t.Fatalf("%+v\nbecame\n%+v", files, again)
		}
	})
}

func BenchmarkParse(b *testing.B) {
	text := begin + "\n" + strings.Repeat("*** Update File: src/file.go\n@@ func f() {\n \tcontext line\n-\told line\n+\tnew line\n", 100) + end
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Parse(text); err != nil {
			b.Fatal(err)
		}
	}
}
