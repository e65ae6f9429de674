package term

import "github.com/clipperhouse/displaywidth"

// cluster returns the length of the grapheme cluster at the beginning of a text.
func cluster(s string) int {
	g := displaywidth.StringGraphemes(s)
	g.Next()
	return len(g.Value())
}
