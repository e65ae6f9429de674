package httptape

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"
)

func TestRedact(t *testing.T) {
	r := redactor{}
	r.add("geheim7", "abc", "a\"b\nc")
	for in, want := range map[string]string{
		"nothing to hide":                                             "nothing to hide",
		"key sk-ant-api03-AbCdEfGhIjKl, then":                         "key [redacted], then",
		"sk-proj-abcd":                                                "[redacted]",
		"Authorization: Bearer abcdefgh.ijk":                          "Authorization: [redacted]",
		"postgres://user:pass@host/db":                                "postgres[redacted]host/db",
		"write to a.b+c@mail.example.org.":                            "write to [redacted].",
		"AKIAIOSFODNN7EXAMPLE":                                        "[redacted]",
		"for org-AbCdEfGhIjKlMnOp (proj_AbCdEfGhIjKlMnOp)":            "for [redacted] ([redacted])",
		`{"organization_id":"3f2504e0-4f89-41d3-9a0c-0305e82c3301"}`:  `{"organization_id":"[redacted]"}`,
		"3f2504e0-4f89-41d3-9a0c-0305e82c3301":                        "3f2504e0-4f89-41d3-9a0c-0305e82c3301",
		"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.SflKxwRJSMeKKF2QT4": "[redacted]",
		"geheim7geheim7 and abc":                                      "[redacted] and abc",
		`in JSON a\"b\nc`:                                             "in JSON [redacted]",
		"a\"b\nc":                                                     "[redacted]",
		`{"t":"line\njoe@example.com\u00e9joe@example.com"}`:          `{"t":"line\n[redacted]\u00e9[redacted]"}`,
		`{"t":"C:\\joe@example.com"}`:                                 `{"t":"C:\\[redacted]"}`,
		"risk-free, task-based, user@localhost":                       "risk-free, task-based, user@localhost",
	} {
		if got := r.text(in); got != want {
			t.Errorf("%q is shown as %q, want %q", in, got, want)
		}
	}
}

// FuzzRedact checks that pieces of a text are redacted as the whole is, that
// JSON stays JSON, and that nothing is left to hide.
func FuzzRedact(f *testing.F) {
	f.Add(`{"a":"joe@example.com\njoe@example.com","b":"sk-ant-0123456789abcdef","c":"geheim7"}`, uint64(1))
	f.Add(`Bearer abcdefghijk geheim7@example.com`, uint64(2))
	f.Add(`"\u0061\\\u0061a@b.cc"`, uint64(3))
	f.Fuzz(func(t *testing.T, text string, seed uint64) {
		r := redactor{}
		r.add("geheim7", "\\\"quoted\"")
		rnd := rand.New(rand.NewPCG(seed, 0))
		var pieces []string
		for rest := text; rest != ""; {
			n := 1 + rnd.IntN(len(rest))
			pieces, rest = append(pieces, rest[:n]), rest[n:]
		}
		got := r.pieces(pieces)
		whole := r.text(text)
		if len(got) != len(pieces) || strings.Join(got, "") != whole {
			t.Fatalf("pieces %q of %q become %q, the whole %q", pieces, text, got, whole)
		}
		if json.Valid([]byte(text)) && !json.Valid([]byte(whole)) {
			t.Errorf("%q becomes %q", text, whole)
		}
		if strings.Contains(whole, "geheim7") {
			t.Errorf("%q is left of %q", whole, text)
		}
	})
}
