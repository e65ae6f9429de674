package grep

import (
	"bytes"
	"math/rand/v2"
	"regexp"
	"regexp/syntax"
	"strings"
	"testing"
)

// automaton makes the machine of a pattern, and what it must agree with.
func automaton(t testing.TB, pattern string, whole bool) (*machine, *regexp.Regexp) {
	t.Helper()
	if whole {
		pattern = "(?ms)" + pattern
	}
	tree, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		t.Skip(err)
	}
	prog, err := syntax.Compile(tree.Simplify())
	if err != nil {
		t.Skip(err)
	}
	return newMachine(prog, whole), regexp.MustCompile(pattern)
}

// agree compares the machine's matching lines with those of package regexp.
func agree(t testing.TB, m *machine, re *regexp.Regexp, text []byte) {
	t.Helper()
	if m.whole {
		if at, ok := m.find(text, 0); ok && at >= 0 != re.Match(text) {
			t.Fatalf("%v in %q: %d", re, text, at)
		}
		return
	}
	from := 0
	for from < len(text) {
		at, ok := m.find(text, from)
		if !ok {
			return
		}
		for line := range bytes.Lines(text[from:]) {
			end := from + len(line)
			if re.Match(trimEnd(line)) {
				if at < from || at > end || at == end && line[len(line)-1] == '\n' {
					t.Fatalf("%v in %q: %d, but %q matches", re, text, at, line)
				}
				from = end
				break
			}
			if at >= from && at < end {
				t.Fatalf("%v in %q: %d, but %q does not match", re, text, at, line)
			}
			if from = end; from == len(text) && at >= 0 {
				t.Fatalf("%v in %q: %d, but no line matches", re, text, at)
			}
		}
	}
}

func TestMachine(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	pick := func(list []string) string { return list[rnd.IntN(len(list))] }
	more := append([]string{`\B`, `(?m:^)`, `(?m:$)`, `\z`, `\A`, `\d*`, `[[:^word:]]`, `\n?`, `\r`, `[^\n]`, `(?s:.)`, `(?:^|a)`, `(?:$|b)`, `\x{FFFD}`}, atoms...)
	words := []string{"a", "b", "c", "ab", "foo", "Foo", "K", "\u212A", "é", " ", "\n", "\n", "\r\n", "\r", "\xff", "\xc3", "7", "_", "\u017F"}
	for range 1500 {
		pattern := ""
		for range 1 + rnd.IntN(4) {
			pattern += pick(more)
		}
		if rnd.IntN(4) == 0 {
			pattern += "|" + pick(more)
		}
		m, re := automaton(t, pattern, rnd.IntN(3) == 0)
		var text strings.Builder
		for range rnd.IntN(50) {
			text.WriteString(pick(words))
		}
		agree(t, m, re, []byte(text.String()))
	}
}

// Some patterns have more states than may be held, or than are worth it.
func TestMachineBounds(t *testing.T) {
	m, re := automaton(t, `a[ab]{12}c|é\w?$`, false)
	rnd := rand.New(rand.NewPCG(6, 7))
	text := make([]byte, 0, 1<<17)
	for len(text) < 1<<17-100 {
		for range rnd.IntN(80) {
			text = append(text, "ab"[rnd.IntN(2)])
		}
		text = append(text, []string{"c\n", "\n", "\r\n", "é\n", "é"}[rnd.IntN(5)]...)
	}
	agree(t, m, re, text)
	if m.resets < 3 || len(m.states) > maxStates || m.places > maxPlaces {
		t.Errorf("%d resets, %d states, %d places", m.resets, len(m.states), m.places)
	}
	m, _ = automaton(t, `a[ab]{600}c`, false)
	for range 2 {
		if at, ok := m.find(text, 0); ok {
			t.Errorf("%d, with %d left", at, m.work)
		}
	}
	s := Search{Pattern: compile(t, `[ab][ab]{12}[cd]`, Options{}), Want: Count}
	one := &searcher{Search: &s, ctx: t.Context(), room: -1}
	one.machine().work = 1000
	r, err := one.file(bytes.NewReader(text))
	if want := len(naive(s.Pattern.re, string(text), 0, 0)); err != nil || r.Count != want || one.auto.work >= 0 {
		t.Errorf("%+v, %v; want %d", r, err, want)
	}
}

func FuzzMachine(f *testing.F) {
	f.Add(`^a\b|(b+c)*$`, "a\nbcbc\r\nb", false)
	f.Add(`(?i)ſk\B.|\x{FFFD}`, "SKx\n\xff", false)
	f.Add(`^$|a.b`, "a\nb\n\n", true)
	f.Fuzz(func(t *testing.T, pattern, text string, whole bool) {
		if len(pattern) > 100 || len(text) > 2000 {
			return
		}
		m, re := automaton(t, pattern, whole)
		if len(m.prog.Inst) > 3000 {
			return
		}
		agree(t, m, re, []byte(text))
	})
}
