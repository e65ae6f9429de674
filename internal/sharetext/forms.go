package sharetext

import (
	"encoding/base64"
	"net/url"
	"strings"
)

// encoded returns values as they are, and as they stand in addresses and in base64.
func encoded(values []string) []string {
	var out []string
	for _, v := range values {
		out = append(out, v)
		if len(v) < minSecret {
			continue
		}
		for _, form := range []string{url.QueryEscape(v), url.PathEscape(v), strings.ReplaceAll(url.QueryEscape(v), "+", "%20")} {
			if form != v {
				out = append(out, form, lowerEscapes(form))
			}
		}
		// In base64 a value has three forms, by what stands before it. Characters at both ends depend on
		// its neighbours: what is left without them tells nothing of use.
		for before := range 3 {
			for _, e := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
				form := e.EncodeToString([]byte(strings.Repeat("x", before) + v))
				begin := []int{0, 2, 3}[before]
				end := (before + len(v)) / 3 * 4
				if end += []int{0, 1, 2}[(before+len(v))%3]; end-begin >= minSecret {
					out = append(out, form[begin:end])
				}
			}
		}
	}
	return out
}

// lowerEscapes returns an address with lower case digits in its escapes.
func lowerEscapes(s string) string {
	b := []byte(s)
	for i := 0; i+2 < len(b); i++ {
		if b[i] == '%' {
			copy(b[i+1:i+3], strings.ToLower(string(b[i+1:i+3])))
		}
	}
	return string(b)
}

// unseen are characters of no width. In a secret they would keep the patterns from it.
var unseen = strings.NewReplacer("\u00ad", "", "\u034f", "", "\u061c", "", "\u180e", "", "\u200b", "", "\u200c", "", "\u200d", "", "\u200e", "", "\u200f", "",
	"\u2060", "", "\u2061", "", "\u2062", "", "\u2063", "", "\u2064", "", "\ufeff", "")

// visible returns a text without characters of no width.
func visible(s string) string { return unseen.Replace(s) }
