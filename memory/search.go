package memory

import (
	"slices"
	"strings"
	"unicode"
)

// A Found is an entry that a search has found.
type Found struct {
	Store string // its name
	*Entry
}

// Find returns the active entries with the words of a query, the best first. A word counts more in
// a title. With the empty query it returns all. hides, unless nil, reports that a file must not be
// read.
func (m *Memory) Find(query string, hides func(path string) bool) []Found {
	words := wordsOf(query)
	type hit struct {
		Found
		score int
	}
	var hits []hit
	for _, n := range m.Stores {
		entries, _, err := n.Store.Entries()
		if err != nil {
			m.warn(err)
			continue
		}
		for _, e := range ordered(entries) {
			if e.State != Active || hides != nil && hides(n.Store.File(e.ID)) {
				continue
			}
			if score := match(e, words); score > 0 || len(words) == 0 {
				hits = append(hits, hit{Found{n.Name, e}, score})
			}
		}
	}
	slices.SortStableFunc(hits, func(a, b hit) int { return b.score - a.score })
	var out []Found
	for _, h := range hits {
		out = append(out, h.Found)
	}
	return out
}

// match counts the words of a query that an entry has.
func match(e *Entry, words []string) (score int) {
	title, body := wordsOf(e.Title+" "+string(e.Kind)+" "+e.ID), wordsOf(e.Text)
	for _, w := range words {
		begins := func(have string) bool {
			return strings.HasPrefix(have, w) || len(have) > 3 && strings.HasPrefix(w, have)
		}
		switch {
		case slices.ContainsFunc(title, begins):
			score += 3
		case slices.ContainsFunc(body, begins):
			score++
		}
	}
	return score
}

func wordsOf(s string) []string {
	return strings.FieldsFunc(strings.ToLower(s), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}
