package grep

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// The matches of a text are those of package regexp, whether the machine says where to
// look or not.
func TestMatches(t *testing.T) {
	traced := 0
	for _, pattern := range []string{
		`\w+\s+\d+`, `a*b`, `ab|b`, `a+?b+`, `(a|b)+c`, `a{2,3}`, `a.b`, `(?i)AB`, `[^a]+\n`, `a*`, ``, `\bab`, `^a`, `b$`, `a\n+b`, `é+b`, `(ab)*ab`, `aab|aba|b`, `\n\n`, `(a?b)+`, `.*a`,
		`a(ba)*`, `(?:a|ab)(?:c|bcd)`,
	} {
		p, err := Compile(pattern, Options{Multiline: true})
		if err != nil {
			t.Fatal(err)
		}
		random := rand.New(rand.NewPCG(1, uint64(len(pattern))))
		for range 400 {
			var text strings.Builder
			for range random.IntN(40) {
				text.WriteString([]string{"a", "b", "c", "d", " ", "\n", "1", "é", "\xff", "A"}[random.IntN(10)])
			}
			s := &searcher{Search: &Search{Pattern: p}, data: []byte(text.String())}
			var got [][]int
			s.matches(5, func(loc []int) bool { got = append(got, loc); return true })
			if want := p.re.FindAllIndex(s.data, 5); !slices.EqualFunc(got, want, slices.Equal[[]int]) {
				t.Fatalf("%q in %q: %v, want %v", pattern, s.data, got, want)
			}
			if s.machine().traces() {
				traced++
			}
		}
	}
	if traced < 2000 {
		t.Errorf("%d texts were searched with the machine: too few to tell", traced)
	}
}

// BenchmarkMultiline counts matches of patterns without a literal: of one that no line
// holds, and of one that each holds twice.
func BenchmarkMultiline(b *testing.B) {
	b.Run("none", func(b *testing.B) { benchmark(b, `\w+\s+\d+`, Options{Multiline: true}) })
	b.Run("often", func(b *testing.B) { benchmark(b, `\w+\s+\w+`, Options{Multiline: true}) })
}
