package llmtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// A Violation is a rule of a provider that a request breaks.
type Violation struct {
	// Rule is A01 to A55 for Anthropic Messages, O01 to O29 for OpenAI Chat
	// Completions, O40 to O50 for single hosts of it, R01 to R31 for OpenAI Responses, A00, O00 and R00 for a body that is not JSON, and H01 to H04 for
	// headers: key, anthropic-version, content type, Content-Length.
	Rule    string
	Path    string // the part of the body meant, as the provider names it
	Message string // the provider's answer
	Request int    // which request of a [Server] broke it, from 0
}

func (v Violation) String() string { return v.Rule + ": " + v.Message }

// report collects violations.
type report struct{ found []Violation }

func (r *report) add(rule, path, format string, args ...any) {
	r.found = append(r.found, Violation{Rule: rule, Path: path, Message: fmt.Sprintf(format, args...)})
}

// object is a JSON object as the checkers see it: numbers are json.Number.
type object = map[string]any

// parse decodes one JSON value and nothing after it.
func parse(body []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errors.New("more than one JSON value")
	}
	return v, nil
}

// The accessors below return the zero value if a member is absent or of another type, so
// that no body, however odd, stops a check.

func objectOf(v any) object { o, _ := v.(object); return o }
func listOf(v any) []any    { l, _ := v.([]any); return l }
func textOf(v any) string   { s, _ := v.(string); return s }
func boolOf(v any) bool     { b, _ := v.(bool); return b }

func isObject(v any) bool { _, ok := v.(object); return ok }
func isText(v any) bool   { _, ok := v.(string); return ok }

func objectsOf(v any) []object {
	var out []object
	for _, x := range listOf(v) {
		out = append(out, objectOf(x))
	}
	return out
}

func numberOf(v any) (float64, bool) {
	n, ok := v.(json.Number)
	if !ok {
		return 0, false
	}
	f, err := n.Float64()
	return f, err == nil
}

func integerOf(v any) (int64, bool) {
	n, ok := v.(json.Number)
	if !ok {
		return 0, false
	}
	i, err := n.Int64()
	return i, err == nil
}

// isEmpty reports null, "", [] and {}: the APIs treat them as absent.
func isEmpty(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case string:
		return v == ""
	case []any:
		return len(v) == 0
	case object:
		return len(v) == 0
	}
	return false
}

// set is an unordered set of words.
type set map[string]bool

func setOf(words ...string) set {
	s := set{}
	for _, w := range words {
		s[w] = true
	}
	return s
}
