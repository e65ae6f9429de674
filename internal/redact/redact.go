// Package redact takes values that must not be shown out of texts.
package redact

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
)

// shortest is how long a value must be to be taken for a secret: shorter ones
// would be found everywhere.
const shortest = 8

// Values are what must not be shown. The zero value is none.
type Values struct{ replacer *strings.Replacer }

// New returns the values given, less those of under 8 bytes. They are found as
// they are and as they stand in JSON strings.
func New(values []string) Values {
	values = slices.Clone(values)
	slices.SortFunc(values, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) }) // the longest first
	var pairs []string
	for _, v := range slices.Compact(values) {
		if len(v) < shortest {
			continue
		}
		pairs = append(pairs, v, "***")
		if quoted, err := json.Marshal(v); err == nil && string(quoted[1:len(quoted)-1]) != v {
			pairs = append(pairs, string(quoted[1:len(quoted)-1]), "***")
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

// JSON returns raw without the values, nil where it is no JSON or was none without
// them, as when a value is a number.
func (v Values) JSON(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 {
		return nil
	}
	if v.replacer != nil {
		raw = json.RawMessage(v.Text(string(raw)))
	}
	if !json.Valid(raw) {
		return nil
	}
	return raw
}
