// Package redact takes values that must not be shown out of texts.
package redact

import (
	"bytes"
	"encoding/json"
	"slices"
	"sort"

	"strings"

	"github.com/openagent-go/agent/internal/order"
	"github.com/openagent-go/agent/internal/text"
)

// shortest is how long a value must be to be taken for a secret: shorter ones
// would be found everywhere.
const shortest = 8

// Values are the values that must not be shown. The zero value is none.
type Values struct{ replacer *strings.Replacer }

// New returns the values given, less those of under 8 bytes. They are found as
// they are and as they stand in JSON strings, with and without escapes for HTML.
func New(values []string) Values {
	values = slices.Clone(values)
	longer := func(i, j int) bool {
		a, b := values[i], values[j]
		return len(a) > len(b) || len(a) == len(b) && a < b
	}
	sort.Sort(order.By(len(values), longer, func(i, j int) { values[i], values[j] = values[j], values[i] }))
	var pairs []string
	for _, v := range slices.Compact(values) {
		if len(v) < shortest {
			continue
		}
		forms := []string{v, text.QuoteJSON(v)}
		if quoted, err := json.Marshal(v); err == nil {
			forms = append(forms, string(quoted))
		}
		for i, form := range forms {
			if i > 0 {
				form = form[1 : len(form)-1]
			}
			if !slices.Contains(pairs, form) {
				pairs = append(pairs, form, "***")
			}
		}
	}
	if pairs == nil {
		return Values{}
	}
	return Values{strings.NewReplacer(pairs...)}
}

// Text returns t with *** in the place of the values.
func (v Values) Text(t string) string {
	if v.replacer == nil {
		return t
	}
	return v.replacer.Replace(t)
}

// JSON returns raw without the values, however its strings are escaped. It returns raw
// itself if it holds none of them. It returns nil if raw is not JSON, or would not be JSON
// without them, as when a value is a number.
func (v Values) JSON(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 || !json.Valid(raw) {
		return nil
	}
	if v.replacer == nil {
		return raw
	}
	plain := Plain(raw)
	hidden := json.RawMessage(v.Text(string(plain)))
	switch {
	case bytes.Equal(hidden, plain):
		return raw
	case !json.Valid(hidden):
		return nil
	}
	return hidden
}

// Plain returns JSON whose strings have no escapes but those that they need. raw is
// valid.
func Plain(raw json.RawMessage) json.RawMessage {
	if bytes.IndexByte(raw, '\\') < 0 {
		return raw
	}
	var out []byte
	for rest := []byte(raw); len(rest) > 0; {
		begin := bytes.IndexByte(rest, '"')
		if begin < 0 {
			return append(out, rest...)
		}
		out, rest = append(out, rest[:begin]...), rest[begin:]
		end := 1
		for end < len(rest)-1 && rest[end] != '"' {
			if rest[end] == '\\' {
				end++
			}
			end++
		}
		literal := rest[:min(end+1, len(rest))]
		rest = rest[len(literal):]
		var plain string
		if bytes.IndexByte(literal, '\\') >= 0 && json.Unmarshal(literal, &plain) == nil {
			literal = []byte(text.QuoteJSON(plain))
		}
		out = append(out, literal...)
	}
	return out
}
