package effects

import (
	"strings"
	"testing"
)

// Each embedded table can be read. A malformed one would panic here.
func TestTables(t *testing.T) {
	sizes := map[string]int{
		"effects.txt": len(known().effects), "readonly.txt": len(known().readers), "git.txt": len(known().gitReaders), "recursive.txt": len(known().walkers),
		"wrappers.txt": len(known().wrappers), "runs.txt": len(known().runOptions), "danger.txt": len(known().dangerous), "openagent.txt": len(known().openagent),
		"programs.txt": len(known().opaque), "variables.txt": len(known().steering), "ssh.txt": len(known().sshSettings),
	}
	for file, n := range sizes {
		if n < 5 {
			t.Errorf("%s: %d rows or members", file, n)
		}
	}
}

func TestReadTable(t *testing.T) {
	got := ""
	for _, r := range readTable("t.txt", "# top\na,b -x # why\n\t--y=\n# within\n\tpaths\n\nlong,\n\tname text\n") {
		got += strings.Join(r.names, "+") + "=" + strings.Join(r.words, " ") + ";"
	}
	if want := "a+b=-x --y= paths;long+name=text;"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// The panic about a malformed table names the file, the line, the row and the remedy.
func TestMalformedTables(t *testing.T) {
	effect := func(r *row) { newEffect(r) }
	reader := func(r *row) { newReader(r) }
	wrapper := func(r *row) { newWrapper(r) }
	for _, c := range []struct {
		text string
		take func(*row)
		want string
	}{
		{"\tpaths\n", effect, "t.txt:1: : the line continues no row: begin it without a tab"},
		{"a paths\n\n\t-x\n", effect, "t.txt:3: : the line continues no row"},
		{"# c\na paths\nb,a text\n", effect, `t.txt:3: b,a: "a" has a row in line 2 already: merge the two`},
		{"a -xyx paths\n", effect, "t.txt:1: a: the option -x is listed twice: remove one"},
		{"a --x --x= paths\n", effect, "t.txt:1: a: the option --x= is listed twice: remove one"},
		{"a -x\n", effect, "t.txt:1: a: a word for the other arguments is missing"},
		{"a -x paths text\n", effect, `t.txt:1: a: the word "text" has no meaning here`},
		{"a -x pathes\n", effect, `the word "pathes" has no meaning here`},
		{"a -x> paths\n", reader, "t.txt:1: a: the option -x> changes something: remove it"},
		{"a paths max=one\n", reader, "max=one needs a whole number"},
		{"a\n", reader, "a word for the other arguments is missing"},
		{"a -x> \n", wrapper, "the option -x> is of a kind that wrappers do not have"},
		{"a words=\n", wrapper, "words= needs a whole number"},
		{"a anything\n", wrapper, `the word "anything" has no meaning here`},
	} {
		wantPanic(t, c.text, c.want, func() {
			for _, r := range readTable("t.txt", c.text) {
				c.take(&r)
			}
		})
	}
}

func wantPanic(t *testing.T, text, want string, read func()) {
	t.Helper()
	defer func() {
		if p, _ := recover().(string); !strings.Contains(p, want) {
			t.Errorf("%q: %q, want %s", text, p, want)
		}
	}()
	read()
}

// A list that is missing, misspelt or without members panics.
func TestMalformedLists(t *testing.T) {
	for text, want := range map[string]string{
		"a\n": "needs one name and members", "a,b x\n": "needs one name and members",
		"b x\n": `the list "a" is missing`, "a x\nb y\n": `nothing uses the list "b"`,
	} {
		wantPanic(t, text, want, func() {
			l := readLists("t.txt", text)
			l.take("a")
			l.done("t.txt")
		})
	}
}
