package symbols

import (
	"strings"
	"unicode"
)

// Words splits a name or a text into its words, in lower case: at characters other than
// letters and digits, and at capitals as in camelCase and HTTPServer.
func Words(s string) []string {
	var words []string
	var word []rune
	flush := func() {
		if len(word) > 0 {
			words = append(words, strings.ToLower(string(word)))
			word = nil
		}
	}
	runes := []rune(s)
	for i, r := range runes {
		if !isWord(r) || r == '_' {
			flush()
			continue
		}
		if unicode.IsUpper(r) && i > 0 {
			lowerBefore := unicode.IsLower(runes[i-1]) || unicode.IsDigit(runes[i-1])
			lastOfCapitals := unicode.IsUpper(runes[i-1]) && i+1 < len(runes) && unicode.IsLower(runes[i+1])
			if lowerBefore || lastOfCapitals {
				flush()
			}
		}
		word = append(word, r)
	}
	flush()
	return words
}

func isWord(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }
