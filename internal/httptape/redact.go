package httptape

import (
	"cmp"
	"encoding/json"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/openagent-go/agent/internal/strictapi"
	clients "github.com/openagent-go/agent/internal/wire"
)

// credentials matches texts that look like a secret or like a person's identity: the first
// group if it matches, else all. None holds a quote or a backslash, so that JSON stays
// JSON.
var credentials = regexp.MustCompile(strings.Join([]string{
	`\b(?:sk|rk|pk|xai|gsk|hf|ghp|gho|github_pat|glpat|xox[abp]|ya29)[-_.][A-Za-z0-9_.-]{12,}`, // keys of APIs
	`\bsk-[A-Za-z0-9_-]{4,}`,
	`\bAIza[A-Za-z0-9_-]{20,}`,
	`\b(?:AKIA|ASIA)[A-Z0-9]{16}\b`,
	`\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}`, // JSON web tokens
	`(?i)\b(?:bearer|basic)\s+[A-Za-z0-9._~+/=-]{8,}`,
	`://[^/\s"'@\\]+@`, // users in URLs
	`\b(?:org|proj|acct)[-_][A-Za-z0-9]{16,}\b`,
	`(?i)\borg(?:ani[sz]ation)?(?:[_ -]?id)?["']?\s*[:=]?\s*["']?([0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12})`,
	`[A-Za-z0-9._%+-]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*\.[A-Za-z]{2,}`, // e-mail
}, "|"))

// hidden replaces redacted texts in a recording.
const hidden = "[redacted]"

// A redactor knows the values that must not get into a recording.
type redactor struct{ secrets []string }

// shortest is the least length of a secret: a shorter one would be found everywhere.
const shortest = 4

// add takes in more secrets, also as they look inside of JSON.
func (r *redactor) add(secrets ...string) {
	for _, s := range secrets {
		if len(s) < shortest {
			continue
		}
		quoted, _ := json.Marshal(s) // a string can always be written
		for _, s := range []string{s, string(quoted[1 : len(quoted)-1])} {
			if !slices.Contains(r.secrets, s) {
				r.secrets = append(r.secrets, s)
			}
		}
	}
}

// learn adds the credentials in a URL and a header.
func (r *redactor) learn(url string, h http.Header) {
	r.add(clients.Secrets(url, h)...)
	for _, c := range append((&http.Request{Header: h}).Cookies(), (&http.Response{Header: h}).Cookies()...) {
		r.add(c.Value)
	}
}

// span is a part of a text.
type span struct{ from, to int }

// find returns where something is to be hidden, in order and not touching. In
// the text of JSON it leaves escapes whole.
func (r *redactor) find(text string) []span {
	var all []span
	for _, at := range credentials.FindAllStringSubmatchIndex(text, -1) {
		if at[2] >= 0 {
			at = at[2:]
		}
		all = append(all, span{min(afterEscape(text, at[0]), at[1]), at[1]})
	}
	for _, s := range r.secrets {
		for from := 0; ; {
			i := strings.Index(text[from:], s)
			if i < 0 {
				break
			}
			all = append(all, span{from + i, from + i + len(s)})
			from += i + len(s)
		}
	}
	slices.SortFunc(all, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	var out []span
	for _, s := range all {
		if n := len(out); n > 0 && s.from <= out[n-1].to {
			out[n-1].to = max(out[n-1].to, s.to)
			continue
		}
		out = append(out, s)
	}
	return out
}

// afterEscape returns the end of the JSON escape whose backslash stands before
// at, else at.
func afterEscape(text string, at int) int {
	slashes := 0
	for slashes < at && text[at-1-slashes] == '\\' {
		slashes++
	}
	switch {
	case slashes%2 == 0:
		return at
	case at < len(text) && text[at] == 'u':
		return min(at+5, len(text))
	}
	return at + 1
}

// text returns s without secrets.
func (r *redactor) text(s string) string { return strings.Join(r.pieces([]string{s}), "") }

// pieces returns pieces of one text without secrets, also where one goes over the end of a
// piece: it is replaced in the piece in which it begins.
func (r *redactor) pieces(pieces []string) []string {
	whole := strings.Join(pieces, "")
	spans := r.find(whole)
	out := make([]string, len(pieces))
	at := 0
	for i, p := range pieces {
		var b strings.Builder
		end := at + len(p)
		for at < end {
			if len(spans) == 0 || spans[0].from >= end {
				b.WriteString(whole[at:end])
				at = end
				break
			}
			s := spans[0]
			if s.from >= at {
				b.WriteString(whole[at:s.from])
				b.WriteString(hidden)
			}
			if s.to > end {
				at = end
				break
			}
			at, spans = s.to, spans[1:]
		}
		out[i] = b.String()
	}
	return out
}

// value hides in a JSON value, names of members included.
func (r *redactor) value(v any) any {
	switch v := v.(type) {
	case string:
		return r.text(v)
	case []any:
		for i := range v {
			v[i] = r.value(v[i])
		}
	case strictapi.Object:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			x := r.value(v[k])
			delete(v, k)
			v[r.text(k)] = x
		}
	}
	return v
}
