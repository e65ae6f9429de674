package engine

import (
	"strings"
	"unicode/utf8"

	"github.com/openagent-go/agent/event"
)

// setChange sets the first byte in which a text differs from its old version, and the texts there.
func setChange(b *event.CacheBroken, was, is string) {
	n := 0
	for n < len(was) && n < len(is) && was[n] == is[n] {
		n++
	}
	b.Byte, b.Was, b.Is = n, excerpt(was, n), excerpt(is, n)
}

// apart are the bytes between the words of a text, which keys and passwords rarely contain.
const apart = " \t\r\n\"'`,;(){}[]<>"

// longWord bounds the words of an excerpt, in bytes.
const longWord = 200

// excerpt returns what stands around byte n, in whole words: half of a secret would not
// be known for one. A word that is too long for it is left out.
func excerpt(s string, n int) string {
	from, to := max(0, n-20), min(len(s), n+60)
	from = min(from, to)
	start := strings.LastIndexAny(s[:from], apart) + 1
	if from-start > longWord {
		if start = strings.IndexAny(s[from:to], apart); start < 0 {
			return "…"
		}
		start += from
	}
	end := strings.IndexAny(s[to:], apart)
	switch {
	case end < 0:
		end = len(s)
	default:
		end += to
	}
	if end-to > longWord {
		if end = start + 1 + strings.LastIndexAny(s[start:to], apart); end == start {
			return "…"
		}
	}
	if s = s[start:end]; !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "")
	}
	return s
}
