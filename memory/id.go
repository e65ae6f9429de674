package memory

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"strings"
	"unicode"
)

const (
	maxTitle = 120   // bytes
	maxText  = 4_000 // bytes
	maxSlug  = 40    // bytes of an id that come from the title
)

// validID is the form of ids. An id is the name of a file, so it holds nothing else.
var validID = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,60}$`)

// idOf makes the id of an entry: words of the title, and six digits that the kind and the
// title determine. Case, spaces and punctuation of the title do not count.
func idOf(kind Kind, title string) string {
	words := strings.FieldsFunc(strings.ToLower(title), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	sum := sha256.Sum256([]byte(string(kind) + "\x00" + strings.Join(words, " ")))
	slug := ""
	for _, w := range words {
		w = strings.Map(func(r rune) rune {
			if r < 128 {
				return r
			}
			return -1
		}, w)
		if w == "" {
			continue
		}
		if len(slug)+1+len(w) > maxSlug {
			break
		}
		if slug != "" {
			slug += "-"
		}
		slug += w
	}
	if slug == "" {
		slug = string(kind)
	}
	return slug + "-" + hex.EncodeToString(sum[:3])
}
