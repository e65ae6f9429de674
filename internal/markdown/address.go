package markdown

import (
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"
)

// SafeURL reports whether an address is one that a page may link to: http, https or mailto.
func SafeURL(s string) bool {
	if strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r == 0x7f || unicode.IsControl(r) }) {
		return false
	}
	u, err := url.Parse(s)
	if err != nil {
		return false
	}
	switch strings.ToLower(u.Scheme) {
	case "http", "https":
		return u.Host != ""
	case "mailto":
		return u.Opaque != ""
	}
	return false
}

// addresses makes links of the addresses in texts. Texts of links stay as they are.
func addresses(text []Inline) []Inline {
	var out []Inline
	for i, t := range text {
		var parts []Inline
		switch t := t.(type) {
		case Text:
			parts = linked(string(t))
		case Emphasis:
			t.Text = addresses(t.Text)
			text[i] = t
		case Strong:
			t.Text = addresses(t.Text)
			text[i] = t
		case Strike:
			t.Text = addresses(t.Text)
			text[i] = t
		}
		if parts != nil && out == nil {
			out = append(out, text[:i]...)
		}
		if parts != nil {
			out = append(out, parts...)
		} else if out != nil {
			out = append(out, text[i])
		}
	}
	if out == nil {
		return text
	}
	return out
}

// linked returns a text with links for the addresses in it, or nil if there are none.
func linked(s string) []Inline {
	var out []Inline
	from := 0
	for i := 0; i < len(s); {
		n := strings.Index(s[i:], "http")
		if n < 0 {
			break
		}
		i += n
		end := 0
		if i == 0 || !isWord(s[i-1]) {
			end = addressEnd(s[i:])
		}
		if end == 0 {
			i += len("http")
			continue
		}
		if i > from {
			out = append(out, Text(s[from:i]))
		}
		out = append(out, Link{s[i : i+end], []Inline{Text(s[i : i+end])}})
		i += end
		from = i
	}
	if out != nil && from < len(s) {
		out = append(out, Text(s[from:]))
	}
	return out
}

// isWord reports whether an address cannot begin after a character.
func isWord(c byte) bool {
	return '0' <= c && c <= '9' || 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z'
}

// addressEnd returns how long the address is that s begins with, or 0 if it begins with none.
// Punctuation at its end belongs to the sentence, and so does a bracket that the address does
// not open. Scripts that put no space after an address end it.
func addressEnd(s string) int {
	rest, ok := strings.CutPrefix(s, "https://")
	if !ok {
		if rest, ok = strings.CutPrefix(s, "http://"); !ok {
			return 0
		}
	}
	n := strings.IndexFunc(rest, func(r rune) bool {
		return r <= ' ' || strings.ContainsRune("<>\"`|\\^{}", r) ||
			r >= utf8.RuneSelf && (!unicode.IsLetter(r) || unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul))
	})
	if n < 0 {
		n = len(rest)
	}
	open := strings.Count(rest[:n], "(") - strings.Count(rest[:n], ")")
	for n > 0 {
		switch c := rest[n-1]; {
		case strings.IndexByte(".,;:!?'*_~]", c) >= 0:
		case c == ')' && open < 0:
			open++
		default:
			return len(s) - len(rest) + n
		}
		n--
	}
	return 0
}
