package fuzzy

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// marked returns a text with brackets around the letters that were found.
func marked(typed, text string) string {
	at := Compile(typed).At(text)
	var b strings.Builder
	for i, r := range text {
		if slices.Contains(at, i) {
			fmt.Fprintf(&b, "[%c]", r)
		} else {
			b.WriteRune(r)
		}
	}
	return strings.ReplaceAll(b.String(), "][", "")
}

func TestFind(t *testing.T) {
	files := strings.Fields(`cmd/openagent/internal/tui/fuzzy/fuzzy.go cmd/openagent/internal/tui/fuzzy/fuzzy_test.go internal/markdown/stream.go
		docs/terminal.md docs/events.md docs/architecture.md README.md session_watch.go session/session.go internal/engine/state.go
		llm/openai/client.go 文档/说明.md src/FuzzyFinder.java prompt.go cmd/openagent/prompt.go internal/plainfile/read.go`)
	for _, c := range []struct {
		typed string
		want  []string
	}{
		{"fuzzy", []string{"src/[Fuzzy]Finder.java", "cmd/openagent/internal/tui/fuzzy/[fuzzy].go", "cmd/openagent/internal/tui/fuzzy/[fuzzy]_test.go"}},
		{"FF", []string{"src/[F]uzzy[F]inder.java"}},
		{"sw", []string{"[s]ession_[w]atch.go"}},
		{"promptgo", []string{"[prompt].[go]", "cmd/openagent/[prompt].[go]"}},
		{"mdstr", []string{"internal/[m]ark[d]own/[str]eam.go"}},
		{"docs ev", []string{"[docs]/[ev]ents.md"}},
		{"ev docs", []string{"[docs]/[ev]ents.md"}},
		{"read", []string{"[READ]ME.md", "internal/plainfile/[read].go"}},
		{"说明", []string{"文档/[说明].md"}},
		{"nosuchfile", nil},
	} {
		var got []string
		for _, m := range Find(c.typed, files, len(c.want)+1) {
			got = append(got, marked(c.typed, files[m.Index]))
		}
		if !slices.Equal(got[:min(len(got), len(c.want))], c.want) {
			t.Errorf("%q: %q, want %q", c.typed, got, c.want)
		}
	}
	if got := Find("", files, 2); len(got) != 2 || got[0].Index != 0 || got[1].Index != 1 {
		t.Errorf("nothing typed: %v", got)
	}
	if got := Find("x", nil, 5); len(got) != 0 {
		t.Errorf("no texts: %v", got)
	}
}

// best scores all ways to place the letters of a term.
func best(s *scorer, t term, i, from, before, score int) int {
	if i == len(t.letters) {
		return score
	}
	top := none
	for j := from; j < len(s.text); j++ {
		if s.letters(t)[j] != t.letters[i] {
			continue
		}
		n := score + match
		switch {
		case i == 0:
			n += s.bonus[j] * firstTwice
		case j == before+1:
			n += max(s.bonus[j], inRow)
		default:
			n += s.bonus[j] + gap + more*(j-before-2)
		}
		top = max(top, best(s, t, i+1, j+1, j, n))
	}
	return top
}

// The score is that of the best places, and the places have it.
func FuzzScore(f *testing.F) {
	f.Add("abc", "a_b/AbC abC")
	f.Add("日本", "x日/本日本")
	f.Fuzz(func(t *testing.T, typed, text string) {
		if len(text) > 16 || len(typed) > 5 {
			text, typed = text[:min(len(text), 16)], typed[:min(len(typed), 5)]
		}
		p := Compile(typed)
		got, ok := p.Score(text)
		var s scorer
		s.read(text)
		want, possible := 0, true
		for _, term := range p.terms {
			n := best(&s, term, 0, 0, -1, 0)
			possible = possible && n > none/2
			want += n
		}
		if ok != possible || ok && got != want {
			t.Fatalf("%q in %q: %d %v, want %d %v", typed, text, got, ok, want, possible)
		}
		at := p.At(text)
		if ok != (at != nil) && len(p.terms) > 0 || !slices.IsSorted(at) {
			t.Fatalf("%q in %q: %v", typed, text, at)
		}
		if len(p.terms) == 1 && ok {
			for i, b := range at {
				r, _ := utf8.DecodeRuneInString(text[b:])
				if r != p.terms[0].letters[i] && fold(r) != p.terms[0].letters[i] {
					t.Fatalf("%q in %q: %v", typed, text, at)
				}
			}
		}
	})
}

func BenchmarkFind(b *testing.B) {
	var files []string
	for i := range 50_000 {
		files = append(files, fmt.Sprintf("internal/package%d/some_folder/file_%d_test.go", i%100, i))
	}
	for _, typed := range []string{"e", "test", "pack9 file", "nothing here"} {
		b.Run(typed, func(b *testing.B) {
			for b.Loop() {
				Find(typed, files, 8)
			}
		})
	}
}
