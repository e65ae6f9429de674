package tools

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/openagent-go/agent/tool"
	"github.com/openagent-go/agent/tool/tooltest"
)

func TestEditMatching(t *testing.T) {
	code := "func f() {\n\tif a {\n\t\tb()\n\t}\n}\n"
	for name, c := range map[string]struct {
		file, old, new string
		all            bool
		want           string // "" is an error
		err            string
	}{
		"exact":          {file: code, old: "\t\tb()", new: "\t\tc()\n\t\td()", want: "func f() {\n\tif a {\n\t\tc()\n\t\td()\n\t}\n}\n"},
		"part of a line": {file: "a b c", old: "b", new: "x", want: "a x c"},
		"delete":         {file: "a\nb\nc\n", old: "b\n", new: "", want: "a\nc\n"},
		"twice":          {file: "a\na\n", old: "a", new: "b", err: "in 2 places (at lines 1, 2)"},
		"all":            {file: "a\na\n", old: "a", new: "b", all: true, want: "b\nb\n"},
		"all of one":     {file: "xa\n", old: "a", new: "b", all: true, want: "xb\n"},
		"overlap":        {file: "aaa", old: "aa", new: "b", err: "in 2 places"},
		"overlap all":    {file: "aaa", old: "aa", new: "b", all: true, want: "ba"},
		"grows":          {file: "aa", old: "a", new: "aa", all: true, want: "aaaa"},
		"none":           {file: code, old: "zzzzz", new: "b", err: "old_string is not in"},
		"empty":          {file: code, old: "", new: "b", err: "must not be empty"},
		"same":           {file: code, old: "a", new: "a", err: "are the same"},

		"crlf":          {file: "a\r\nb\r\nc\r\n", old: "a\nb\n", new: "x\ny\n", want: "x\r\ny\r\nc\r\n"},
		"crlf one line": {file: "a\r\nb\r\nc\r\n", old: "b", new: "x\ny", want: "a\r\nx\r\ny\r\nc\r\n"},
		"crlf twice":    {file: "a\r\nb\r\na\r\nb\r\n", old: "a\nb", new: "x", err: "at lines 1, 3"},
		"crlf all":      {file: "a\r\nb\r\na\r\nb\r\n", old: "a\nb", new: "x\ny", all: true, want: "x\r\ny\r\nx\r\ny\r\n"},
		"mixed":         {file: "a\nb\r\nc\n", old: "a\nb\nc", new: "x\ny", want: "x\r\ny\n"},

		"crlf last": {file: "a\r\nb \r\nc", old: "c \n", new: "x\ny\n", want: "a\r\nb \r\nx\r\ny"},

		"crlf before":      {file: "a\r\nb\r\nc\r\n", old: "\nb", new: "", want: "a\r\nc\r\n"},
		"crlf before more": {file: "a\r\nb\r\nc\r\n", old: "\nb", new: "\nx\ny", want: "a\r\nx\r\ny\r\nc\r\n"},
		"crlf before all":  {file: "a\r\nb\r\nb", old: "\nb", new: "", all: true, want: "a"},

		"line numbers":   {file: "a\nb\n", old: "     1→a\n     2→b", new: "     1→x", err: "Leave out the line numbers"},
		"trailing":       {file: "a  \nb\t\nc\n", old: "a\nb\n", new: "x\n", want: "x\nc\n"},
		"trailing old":   {file: "a\nb\nc\n", old: "a  \nb ", new: "x", want: "x\nc\n"},
		"trailing twice": {file: "a \nb\na \nb\n", old: "a\nb", new: "x", err: "not in"},
		"trailing all":   {file: "a \nb\na \nb\n", old: "a\nb", new: "x", all: true, err: "not in"},
		"no last break":  {file: "x\na ", old: "a\n", new: "b\n", want: "x\nb"},

		"indentation":         {file: code, old: "if a {\n\tb()\n}", new: "if a {\n\tb()\n\tc()\n}", want: "func f() {\n\tif a {\n\t\tb()\n\t\tc()\n\t}\n}\n"},
		"indentation less":    {file: "a {\n  b\n}\n", old: "    a {\n      b\n    }", new: "    a {\n      b\n      c\n    }", want: "a {\n  b\n  c\n}\n"},
		"spaces for tabs":     {file: code, old: "    if a {\n        b()\n    }", new: "    if a {\n        c()\n    }", want: "func f() {\n\tif a {\n\t\tc()\n\t}\n}\n"},
		"spaces for tabs new": {file: code, old: "    if a {\n        b()\n    }", new: "    if a {\n            c()\n    }", err: "not in"},
		"two for one":         {file: "  a\n    b\n", old: " a\n b", new: " c", err: "not in"},
		"indentation twice":   {file: "\ta\n\t\ta\n", old: "  a", new: "  b", err: "not in"},
		"a part of a line":    {file: "\tfoo(bar)\n", old: "  foo(", new: "  baz(", err: "not in"},

		"escaped":           {file: "s := \"a\"\n", old: `s := \"a\"`, new: `s := \"b\"`, want: "s := \"b\"\n"},
		"escaped otherwise": {file: "s := \"a\"\n", old: `s := \"a\"`, new: `s := \"b\\n\"`, err: "not in"},
		"escaped lines":     {file: "a\nb\nc\n", old: `a\nb`, new: `x\ny`, want: "x\ny\nc\n"},
		"escape stays":      {file: "s := \"a\\n\"\n", old: `"a\n"`, new: `"b\n"`, want: "s := \"b\\n\"\n"},
		"not all escaped":   {file: "s := \"a\"\n", old: `s := \"a\"`, new: `s := "b"`, err: "not in"},
		"escaped twice":     {file: "\"a\" \"a\"\n", old: `\"a\"`, new: `\"b\"`, err: "not in"},
		"white space alone": {file: "a\n\n\nb", old: "\n\n\n\n", new: "", err: "not in"},
		"invalid bytes":     {file: "\xfd\xfe\xff=1\nb\n", old: "b", new: "c", want: "\xfd\xfe\xff=1\nc\n"},
		"latin1":            {file: "caf\xe9\nb\n", old: "b", new: "c", want: "caf\xe9\nc\n"},
		"bom":               {file: "\xef\xbb\xbfa\nb\n", old: "a", new: "c", want: "\xef\xbb\xbfc\nb\n"},
		"utf16":             {file: "\xfe\xff\x00a\x00\n\x00b", old: "a\nb", new: "é", want: "\xfe\xff\x00\xe9"},
		"broken utf16":      {file: "\xfe\xff\x00a\xd8\x00", old: "a", new: "b", err: "not well-formed UTF-16"},
	} {
		e, err := revise("/f", []byte(c.file), editInput{FilePath: "/f", OldString: c.old, NewString: c.new, ReplaceAll: c.all})
		switch {
		case c.err != "":
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%s: got %q, %v; want %q", name, e.data, err, c.err)
			}
		case err != nil:
			t.Errorf("%s: %v", name, err)
		case string(e.data) != c.want:
			t.Errorf("%s: got %q, want %q", name, e.data, c.want)
		}
	}
}

func TestEditSuggests(t *testing.T) {
	var file strings.Builder
	for i := range 100 {
		fmt.Fprintf(&file, "line number %d\n", i+1)
	}
	file.WriteString("func total(items []item) int {\n\tsum := 0\n\treturn sum\n}\n")
	_, err := revise("/f", []byte(file.String()), editInput{OldString: "func total(items []item) int {\n\tsum := 1\n\treturn sum\n}", NewString: "x"})
	if err == nil || !strings.Contains(err.Error(), "   101→func total(items []item) int {\n   102→\tsum := 0\n   103→\treturn sum\n   104→}") {
		t.Errorf("got %v", err)
	}
	_, err = revise("/f", []byte(file.String()), editInput{OldString: "func totl(item []item) int {", NewString: "x"})
	if err == nil || !strings.Contains(err.Error(), "   101→func total(items []item) int {") {
		t.Errorf("got %v", err)
	}
	if n := strings.Count(err.Error(), "→"); n > maxRegions {
		t.Errorf("%d lines are suggested", n)
	}
	wide := strings.Repeat("x", 100_000) + " needle\n"
	_, err = revise("/f", []byte(strings.Repeat(wide, 20)), editInput{OldString: strings.Repeat("x", 5000), NewString: "y", ReplaceAll: false})
	if err == nil || len(err.Error()) > 5000 {
		t.Errorf("an error of %d bytes", len(fmt.Sprint(err)))
	}
}

func TestEditResult(t *testing.T) {
	d := newDesk(t)
	d.put("a.txt", "a\nb\nc\nb\n")
	d.ok(d.read, readInput{FilePath: "a.txt"})
	r := d.do(d.edit, editInput{FilePath: "a.txt", OldString: "b", NewString: "x\ny", ReplaceAll: true})
	c := changeOf(t, r)
	if r.IsError || c.Additions != 4 || c.Deletions != 2 || c.Replacements != 2 || !strings.Contains(r.Text(), "in 2 places") {
		t.Errorf("%s: %+v", r.Text(), c)
	}
	if got := patched(t, "a\nb\nc\nb\n", c.Diff); got != d.get("a.txt") {
		t.Errorf("the diff gives %q", got)
	}
	text := d.ok(d.edit, editInput{FilePath: "a.txt", OldString: "  c", NewString: "  d"})
	if !strings.Contains(text, "but for indentation") || !strings.Contains(text, "-c\n+d") {
		t.Errorf("the model is not told how it matched: %q", text)
	}
	d.fails(d.edit, editInput{FilePath: "none", OldString: "a", NewString: "b"}, "use Write to create it")
	d.fails(d.edit, editInput{FilePath: ".", OldString: "a", NewString: "b"}, "is a folder")
	if info, err := os.Stat(d.dir + "/a.txt"); err != nil || info.Mode().Perm() != 0o644 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

// TestEditsOfOneFile: of two edits made from the same reading one wins and the other fails;
// nothing is lost silently.
func TestEditsOfOneFile(t *testing.T) {
	d := newDesk(t)
	d.put("a.txt", "one\ntwo\n")
	d.ok(d.read, readInput{FilePath: "a.txt"})
	state := fmt.Appendf(nil, `{%q:%s}`, d.dir+"/a.txt", d.state[d.dir+"/a.txt"])
	results := make([]*tool.Result, 2)
	var wg sync.WaitGroup
	for i, in := range []editInput{
		{FilePath: "a.txt", OldString: "one", NewString: "1"}, {FilePath: "a.txt", OldString: "two", NewString: "2"},
	} {
		call := tool.Call{Dir: d.dir, State: state, Input: tooltest.Input(t, in)}
		wg.Go(func() { results[i] = tooltest.RunCall(t, d.edit, call) })
	}
	wg.Wait()
	got := d.get("a.txt")
	switch {
	case !results[0].IsError && results[1].IsError && got == "1\ntwo\n":
	case results[0].IsError && !results[1].IsError && got == "one\n2\n":
	default:
		t.Errorf("%q: %s; %s", got, results[0].Text(), results[1].Text())
	}
}

// patched applies a unified diff.
func patched(t testing.TB, text, diff string) string {
	t.Helper()
	old := strings.SplitAfter(text, "\n")
	lines := strings.SplitAfter(diff, "\n")
	var out strings.Builder
	at := 0
	for i, l := range lines[2:] {
		line := l[min(1, len(l)):]
		if i+3 < len(lines) && strings.HasPrefix(lines[i+3], `\ No newline`) {
			line = strings.TrimSuffix(line, "\n")
		}
		switch {
		case strings.HasPrefix(l, "@@ -"):
			var from int
			if _, err := fmt.Sscanf(l, "@@ -%d", &from); err != nil {
				t.Fatal(err)
			}
			for ; at < from-1; at++ {
				out.WriteString(old[at])
			}
		case strings.HasPrefix(l, "+"):
			out.WriteString(line)
		case strings.HasPrefix(l, "-"), strings.HasPrefix(l, " "):
			if old[at] != line {
				t.Fatalf("the diff has %q where the file has %q", line, old[at])
			}
			if l[0] == ' ' {
				out.WriteString(line)
			}
			at++
		}
	}
	return out.String() + strings.Join(old[at:], "")
}

// FuzzEdit: whatever matches, an edit keeps every byte outside of the match, the diff shows
// the change, and a text that is not unique is not changed.
func FuzzEdit(f *testing.F) {
	f.Add("a\r\n  b\r\nc\r\n", "b\nc", "x\ny", false)
	f.Add("\tif a {\n\t\tb\n\t}\n", "if a {\n\tb\n}", "if c {\n\td\n\te\n}", false)
	f.Add("say \"a\"\n", `say \"a\"`, `say \"b\"`, false)
	f.Add("a a a", "a", "b", true)
	f.Add("a \nb\t\n", "a\nb\n", "", false)
	f.Fuzz(func(t *testing.T, file, old, new string, all bool) {
		e, err := revise("/f", []byte(file), editInput{OldString: old, NewString: new, ReplaceAll: all})
		if err != nil {
			return
		}
		text, enc, _ := decode([]byte(file))
		m := find(text, old, new)
		if enc.order != nil && !utf8.ValidString(new) {
			return // UTF-16 cannot say it
		}
		if len(m.spans) == 0 || len(m.spans) > 1 && (!all || m.how != "") {
			t.Fatalf("changed although it matches in %d places", len(m.spans))
		}
		changed, _, _ := decode(e.data)
		first := m.spans[0]
		if !strings.HasPrefix(changed, text[:first.start]) {
			t.Fatalf("%q became %q: the text before the match changed", text, changed)
		}
		if len(m.spans) == 1 {
			if changed != text[:first.start]+m.text+text[first.end:] {
				t.Fatalf("%q became %q: the text after the match changed", text, changed)
			}
			if m.how != "" && strings.Count(text[first.start:first.end], "\n") > strings.Count(old, "\n")+strings.Count(old, `\n`) {
				t.Fatalf("%q stands for more lines than %q has", text[first.start:first.end], old)
			}
		}
		if m.how == "" && all && !strings.Contains(text, "\r") && changed != strings.ReplaceAll(text, old, new) {
			t.Fatalf("%q became %q", text, changed)
		}
		if utf8.ValidString(text) && utf8.ValidString(changed) && !e.change.DiffCut {
			if got := patched(t, text, e.change.Diff); got != changed {
				t.Fatalf("the diff %q gives %q, not %q", e.change.Diff, got, changed)
			}
		}
	})
}

func BenchmarkEdit(b *testing.B) {
	file := []byte(strings.Repeat("\tif err != nil { return err } // a line of code\n", 2000) + "needle\n")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := revise("/f", file, editInput{OldString: "needle", NewString: "pin"}); err != nil {
			b.Fatal(err)
		}
	}
}

// Whatever the text and however it is found, an edit changes lines of one place
// only, no more of them than old has, and keeps the line ends of the file.
func FuzzEditPlace(f *testing.F) {
	for _, s := range [][3]string{
		{"a\r\nb \r\nc", "c \n", "x\ny\n"}, {"\tif a {\n\t\tb\n\t}\n", "if a {\n\tb\n}", "if c {\n\tb\n}"}, {"a \nb\n", "a\nb", "c\nd"},
		{"s := \"a\"\n", `s := \"a\"`, `s := \"b\"`}, {"a\nb\n", `a\nb`, `c\nd`}, {"\ufeffa\r\nb", "a\nb", "c"}, {"x\r\r\ny", "x", "z\n"}, {"é\xff\n ü", "ü", "u"},
	} {
		f.Add(s[0], s[1], s[2])
	}
	f.Fuzz(func(t *testing.T, file, old, new string) {
		text, _, ok := decode([]byte(file))
		r, err := revise("f", []byte(file), editInput{OldString: old, NewString: new})
		if err != nil || !ok {
			return
		}
		out, _, _ := decode(r.data)
		before, after := strings.SplitAfter(text, "\n"), strings.SplitAfter(out, "\n")
		same := 0
		for same < min(len(before), len(after)) && before[same] == after[same] {
			same++
		}
		before, after = before[same:], after[same:]
		for len(before) > 0 && len(after) > 0 && before[len(before)-1] == after[len(after)-1] {
			before, after = before[:len(before)-1], after[:len(after)-1]
		}
		if most := strings.Count(old, "\n") + strings.Count(old, `\n`) + 1; len(before) > most {
			t.Errorf("%q: %q for %q changed %d lines: %q", text, new, old, len(before), out)
		}
		bare := func(s string) bool { return strings.Contains(strings.ReplaceAll(s, "\r\n", ""), "\n") }
		if strings.Contains(text, "\r\n") && !bare(text) && bare(out) && !strings.Contains(new, "\r") && !strings.Contains(old, "\r") {
			t.Errorf("%q: %q for %q mixes line ends: %q", text, new, old, out)
		}
	})
}
