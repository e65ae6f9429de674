package difftext

import (
	"strings"
	"testing"
	"unicode"

	"github.com/aymanbagabas/go-udiff"
	"github.com/openagent-go/agent/cmd/openagent/internal/tui/styled"
)

// marked writes rows as text, with brackets around words that differ and braces around what
// is underlined.
func marked(rows []styled.Row) string {
	var b strings.Builder
	for _, r := range rows {
		for _, s := range r {
			text := s.Text
			if s.Attr&styled.Underlined != 0 {
				text = "{" + text + "}"
			}
			if s.Kind == styled.AddedWord || s.Kind == styled.RemovedWord {
				text = "[" + text + "]"
			}
			b.WriteString(text)
		}
		b.WriteByte('\n')
	}
	return strings.ReplaceAll(b.String(), "][", "")
}

const sample = `--- a/invoice.sh
+++ b/invoice.sh
@@ -1,4 +1,4 @@ awk
 #!/bin/sh
-	{ if (line > 100) line *= 0.9; sum += line }
+	{ sum += line } END { if (sum > 100) sum *= 0.9 }
 # 端数処理
-old text
+quite another thing
@@ -98,2 +98,4 @@
 end
+
+-- not a head
\ No newline at end of file
`

func TestRows(t *testing.T) {
	const want = `  1   #!/bin/sh
  2 -     { if ([line] > 100) [line] *= 0.9[; sum += line] }
  2 +     { [sum += line } END { ]if ([sum] > 100) [sum] *= 0.9 }
  3   # 端数処理
  4 - old text
  4 + quite another thing
    ⋯
 98   end
 99 + 
100 + -- not a head
\ No newline at end of file
`
	if got := marked(Rows(sample, Options{})); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
	if added, removed := Count(sample); added != 4 || removed != 2 {
		t.Error(added, removed)
	}
}

func TestExact(t *testing.T) {
	diff := "--- x\n+++ x\n@@ -1 +1 @@\n-\tapt install x\n+\t\u0430pt install\u200b x\n"
	const want = "1 -     [apt] install x\n1 +     [{\u0430}pt] install[{\\u{200b}}] x\n"
	if got := marked(Rows(diff, Options{Exact: true})); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
	got := marked(Rows(diff, Options{Mask: func(s string) string { return strings.ReplaceAll(s, "install", "***") }}))
	if strings.Contains(got, "install") || !strings.Contains(got, "*** x") {
		t.Errorf("masked: %s", got)
	}
}

func TestFiles(t *testing.T) {
	diff := "--- a\n+++ a\n@@ -1 +1 @@\n-x\n+y\n--- /dev/null\n+++ b\n@@ -0,0 +1 @@\n+z\n--- c\n+++ /dev/null\n@@ -1 +0,0 @@\n-w\n"
	const want = "a\n1 - x\n1 + y\n\nb\n1 + z\n\nc\n1 - w\n"
	if got := marked(Rows(diff, Options{})); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

func TestWidth(t *testing.T) {
	diff := "--- x\n+++ x\n@@ -9 +9,2 @@\n-abcdefghijkl\n+abc 日本語日本語\n+x\n"
	const want = " 9 - abcdefg\n     hijkl\n 9 + abc 日\n     本語日\n     本語\n10 + x\n"
	if got := marked(Rows(diff, Options{Width: 12})); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

func TestNoDiff(t *testing.T) {
	const text = "a\n-b\n+c\n@@ x\n--- \n"
	if got, want := marked(Rows(text, Options{})), "a\n-b\n+c\n@@ x\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// Every line of a diff is in the rows, and nothing drives the terminal.
func FuzzRows(f *testing.F) {
	f.Add("a b c\nd\n", "a x c\nd\n", false)
	f.Add("\x1b[2Ja\n", "\u202eb\u200b\n\t\tc d", true)
	f.Fuzz(func(t *testing.T, old, new string, exact bool) {
		diff := udiff.Unified("a", "a", old, new)
		for _, text := range []string{diff, old, new} {
			for _, width := range []int{0, 20} {
				rows := Rows(text, Options{Width: width, Exact: exact})
				for _, r := range rows {
					if strings.ContainsFunc(r.Text(), unicode.IsControl) || width > 0 && r.Width() > width {
						t.Fatalf("%q: %q", text, r.Text())
					}
				}
			}
		}
		added, removed := Count(diff)
		changed := 0
		for _, r := range Rows(diff, Options{}) {
			if len(r) > 0 && (r[0].Kind == styled.Added || r[0].Kind == styled.Removed) {
				changed++
			}
		}
		if changed != added+removed {
			t.Fatalf("%q: %d rows for %d lines", diff, changed, added+removed)
		}
	})
}

func BenchmarkRows(b *testing.B) {
	b.SetBytes(int64(len(sample)))
	for b.Loop() {
		Rows(sample, Options{Exact: true})
	}
}
