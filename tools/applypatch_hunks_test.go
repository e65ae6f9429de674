package tools

import (
	"context"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/openagent-go/agent/internal/patch"
)

// hunksOf reads the hunks of an update.
func hunksOf(t testing.TB, body string) []patch.Hunk {
	t.Helper()
	files, err := patch.Parse("*** Begin Patch\n*** Update File: f\n" + body + "\n*** End Patch")
	if err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	return files[0].Hunks
}

func TestApplyHunks(t *testing.T) {
	classes := "class A:\n    def f(self):\n        x = 1\n        return x\n\nclass B:\n    def f(self):\n        x = 1\n        return x\n"
	goes := "func f() {\n\tif a {\n\t\tb()\n\t}\n}\n"
	braces := "void f()\n{\n  x();\n}\nvoid g()\n{\n  x();\n}\n"
	for name, c := range map[string]struct {
		file, body string
		want       string
		how        string
		err        string
	}{
		"replace":             {file: "a\nb\nc\n", body: " a\n-b\n+x\n+y\n c", want: "a\nx\ny\nc\n"},
		"two hunks":           {file: "a\nb\nc\nd\ne\n", body: "@@\n-a\n+x\n@@\n d\n-e", want: "x\nb\nc\nd\n"},
		"adjacent":            {file: "a\nb\nc\n", body: "@@\n a\n-b\n@@\n c\n+d", want: "a\nc\nd\n"},
		"delete all":          {file: "a\n", body: "-a", want: ""},
		"add to empty":        {file: "", body: "+a\n+b", want: "a\nb\n"},
		"append":              {file: "a\n", body: "@@\n+b", want: "a\nb\n"},
		"append, no newline":  {file: "a", body: "@@\n+b", want: "a\nb"},
		"append twice":        {file: "a\n", body: "@@\n+b\n@@\n+c", want: "a\nb\nc\n"},
		"last, no newline":    {file: "a\nb", body: " a\n-b\n+c", want: "a\nc"},
		"last goes":           {file: "a\nb", body: " a\n-b", want: "a\n"},
		"before the last":     {file: "a\nb", body: " a\n+x\n b", want: "a\nx\nb"},
		"in front":            {file: "a\nb\n", body: "+x\n a", want: "x\na\nb\n"},
		"blank context":       {file: "a\n\nb\n", body: " a\n\n-b\n+c", want: "a\n\nc\n"},
		"not there":           {file: "alpha\nb\n", body: " alpha\n-c", err: "f, hunk 1 (line 3 of the patch): its lines are not in the file. The nearest places, which were not changed:\n     1→alpha"},
		"not unique":          {file: "a\nb\na\n", body: "-a\n+x", err: "its lines are in the file in 2 places (at lines 1, 3). Add lines of context"},
		"unique after":        {file: "a\nb\na\n", body: "@@\n-b\n@@\n-a\n+x", want: "a\nx\n"},
		"out of order":        {file: "a\nb\nc\n", body: "@@\n-c\n@@\n-a", err: "hunk 2 (line 5 of the patch): its lines are at line 1, above"},
		"the same twice":      {file: "a\nb\n", body: "@@\n-a\n@@\n-a", err: "hunk 2"},
		"overlap":             {file: "a\nb\nc\n", body: "@@\n a\n-b\n@@\n-b\n c", err: "hunk 2"},
		"line numbers":        {file: "a\nb\n", body: "-     1→a\n-     2→b", err: "Leave out the line numbers"},
		"no looser if unique": {file: "a \nb\na\n", body: "-a\n+x", want: "a \nb\nx\n"},

		"trailing":        {file: "a  \nb\n", body: " a\n-b\n+c", want: "a  \nc\n", how: "hunk 1 matched uniquely but for white space at the ends of lines"},
		"trailing twice":  {file: "a \nb\na\t\n", body: "-a", err: "2 places (at lines 1, 3)"},
		"trimmed":         {file: goes, body: " if a {\n-    b()\n+    c()\n+\n+    d()\n }", want: "func f() {\n\tif a {\n\t\tc()\n\n\t\td()\n\t}\n}\n", how: "but for indentation"},
		"trimmed unclear": {file: goes, body: " if a {\n-b()\n+      c()\n }", err: "not in the file"},
		"blank alone":     {file: "a\n \nb\n", body: "-\n+x", err: "not in the file"},

		"header":               {file: classes, body: "@@ class B:\n-        x = 1\n+        x = 2", want: strings.Replace(classes, "B:\n    def f(self):\n        x = 1", "B:\n    def f(self):\n        x = 2", 1)},
		"header near":          {file: classes, body: "@@ class A:\n-        x = 1\n+        x = 2", want: strings.Replace(classes, "x = 1", "x = 2", 1)},
		"headers":              {file: classes, body: "@@ class B:\n@@     def f(self):\n-        return x\n+        return 2", want: strings.TrimSuffix(classes, "x\n") + "2\n"},
		"header not unique":    {file: classes, body: "@@     def f(self):\n-        x = 1\n+        x = 2", err: "2 places (at lines 3, 8)"},
		"header trimmed":       {file: classes, body: "@@ class A:\n@@ def f(self):\n-        x = 1\n+        x = 2", want: strings.Replace(classes, "x = 1", "x = 2", 1)},
		"header missing":       {file: classes, body: "@@ class C:\n-        x = 1", err: "its line @@ class C: is not in the file after line 0"},
		"header as context":    {file: classes, body: "@@ class B:\n class B:\n+    y = 1", want: strings.Replace(classes, "class B:\n", "class B:\n    y = 1\n", 1)},
		"header of two hunks":  {file: classes, body: "@@ class A:\n-        x = 1\n+        x = 2\n@@ class A:\n-        return x\n+        return 2", want: strings.Replace(classes, "x = 1\n        return x", "x = 2\n        return 2", 1)},
		"header, insert":       {file: classes, body: "@@ class B:\n+    y = 1", want: strings.Replace(classes, "class B:\n", "class B:\n    y = 1\n", 1)},
		"header, where":        {file: classes, body: "@@     def f(self):\n+        y = 1", err: "its @@ line is in the file in 2 places"},
		"header above":         {file: classes, body: "@@ class A:\n-        return x\n@@ class A:\n+    y = 1", err: "its @@ line is above the hunk before it"},
		"brace below a header": {file: braces, body: "@@ void f()\n-  x();", want: strings.Replace(braces, "  x();\n", "", 1)},

		"end of file":        {file: "a\nb\na\n", body: "-a\n+x\n*** End of File", want: "a\nb\nx\n"},
		"end, no newline":    {file: "a\nb\na", body: "-a\n+x\n*** End of File", want: "a\nb\nx"},
		"not the end":        {file: "a\nb\n", body: "-a\n*** End of File", err: "its lines are not the last of the file"},
		"end, too short":     {file: "a\n", body: " a\n-b\n-c\n*** End of File", err: "its lines are not the last"},
		"append at the end":  {file: "a\n", body: "@@ a\n+b\n*** End of File", want: "a\nb\n"},
		"end, but trimmed":   {file: "  a\n  b\n", body: "-b\n+c\n*** End of File", want: "  a\n  c\n", how: "but for indentation"},
		"crlf":               {file: "a\r\nb\r\nc\r\n", body: " a\n-b\n+x\n+y\n c", want: "a\r\nx\r\ny\r\nc\r\n"},
		"crlf in the patch":  {file: "a\nb\n", body: " a\r\n-b\r\n+x\r", want: "a\nx\n"},
		"mixed":              {file: "a\nb\r\nc\n", body: " a\n b\n+x\n c", want: "a\nb\r\nx\nc\n"},
		"crlf at a CR LF":    {file: "a\r\nb\nc\n", body: "-a\n+x", want: "x\r\nb\nc\n"},
		"invalid bytes stay": {file: "\xff\nb\n", body: "-b\n+c", want: "\xff\nc\n"},
	} {
		got, how, err := applyHunks(t.Context(), "f", c.file, hunksOf(t, c.body))
		switch {
		case c.err != "":
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%s: got %q, %v; want %q", name, got, err, c.err)
			}
		case err != nil || got != c.want:
			t.Errorf("%s: got %q, %v; want %q", name, got, err, c.want)
		case c.how == "" && how != nil || !strings.Contains(strings.Join(how, ""), c.how):
			t.Errorf("%s: found %q, want %q", name, how, c.how)
		}
	}
}

// TestApplyHunksBounds: what would take for ever, or too much memory, ends with an error.
func TestApplyHunksBounds(t *testing.T) {
	same := strings.Repeat("x\n", 60_000)
	for name, c := range map[string]struct{ file, body, want string }{
		"lines":  {strings.Repeat("\n", maxPatchLines+1), "-a", "too many for a patch"},
		"heads":  {same, "@@ x\n-y", "not in the file"},
		"places": {same, "-x", "in 60000 places (at lines 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, …)"},
	} {
		if _, _, err := applyHunks(t.Context(), "f", c.file, hunksOf(t, c.body)); err == nil || !strings.Contains(err.Error(), c.want) || len(err.Error()) > 10_000 {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, body := range []string{"-a", "@@ a\n+b"} {
		s := &hunkSearch{text: "a\n", lines: []string{"a\n"}, steps: maxPatchSteps + 1}
		if _, err := s.find(hunksOf(t, body)[0]); err != errPatchSteps {
			t.Errorf("%q after too many steps: %v", body, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := applyHunks(ctx, "f", "a\n", hunksOf(t, "-a")); err == nil {
		t.Error("it goes on when it was cancelled")
	}
}

// FuzzApplyHunks: whatever is applied, unchanged lines keep every byte and their order, and
// removed and added lines are those of the patch.
func FuzzApplyHunks(f *testing.F) {
	f.Add("a\r\nb \n\tc", " a\n-b\n+x\n@@\n+y")
	f.Add("class A:\n  f\nclass B:\n  f\n", "@@ class B:\n-f\n+g\n*** End of File")
	f.Add("\xff\n\n\n", "-\n+é\n \n")
	f.Fuzz(func(t *testing.T, text, body string) {
		files, err := patch.Parse("*** Begin Patch\n*** Update File: f\n" + body + "\n*** End Patch")
		if err != nil || len(files) != 1 {
			return
		}
		out, how, err := applyHunks(t.Context(), "f", text, files[0].Hunks)
		if err != nil {
			return
		}
		comes, goes := 0, 0
		for _, h := range files[0].Hunks {
			for _, l := range h.Lines {
				switch l.Op {
				case '+':
					comes++
					if how == nil && !strings.Contains(out, l.Text) {
						t.Fatalf("%q is not in %q", l.Text, out)
					}
				case '-':
					goes++
				}
			}
		}
		before, after := countLines(text), countLines(out)
		// A last line of nothing is none.
		if want := before + comes - goes; after != want && (after != want-1 || strings.HasSuffix(text, "\n")) {
			t.Fatalf("%d lines of %q with +%d -%d are %d lines of %q", before, text, comes, goes, after, out)
		}
		if comes == 0 && how == nil && len(out) > len(text) {
			t.Fatalf("%q grew to %q", text, out)
		}
		if comes == 0 && utf8.ValidString(text) && len(out) < len(text) && !subsequence(strings.SplitAfter(out, "\n"), strings.SplitAfter(text, "\n")) {
			t.Fatalf("%q is not made of the lines of %q", out, text)
		}
	})
}

// subsequence reports whether all lines are in text, in this order.
func subsequence(lines, text []string) bool {
	for _, l := range text {
		if len(lines) > 0 && lines[0] == l {
			lines = lines[1:]
		}
	}
	return len(lines) == 0 || len(lines) == 1 && lines[0] == ""
}

func BenchmarkApplyHunks(b *testing.B) {
	text := strings.Repeat("\tif err != nil { return err } // a line of code\n", 20_000) + "needle\n"
	hunks := hunksOf(b, "-needle\n+pin")
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := applyHunks(context.Background(), "f", text, hunks); err != nil {
			b.Fatal(err)
		}
	}
}
