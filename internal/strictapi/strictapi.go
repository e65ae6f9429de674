// Package strictapi checks requests to models as strictly as the providers do. The server of
// package llm/llmtest and the tests of wire clients use it.
package strictapi

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// A Violation is a rule of a provider that a request breaks.
type Violation struct {
	Rule    string
	Path    string // the part of the body meant, as the provider names it
	Message string // the provider's answer
}

func (v Violation) String() string { return v.Rule + ": " + v.Message }

// Report collects violations.
type Report struct{ Found []Violation }

func (r *Report) Add(rule, path, format string, args ...any) {
	r.Found = append(r.Found, Violation{Rule: rule, Path: path, Message: fmt.Sprintf(format, args...)})
}

// Object is a JSON object as the checkers see it: numbers are json.Number.
type Object = map[string]any

// Parse decodes one JSON value and nothing after it.
func Parse(body []byte) (any, error) {
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

func ObjectOf(v any) Object { o, _ := v.(Object); return o }
func ListOf(v any) []any    { l, _ := v.([]any); return l }
func TextOf(v any) string   { s, _ := v.(string); return s }
func BoolOf(v any) bool     { b, _ := v.(bool); return b }

func isObject(v any) bool { _, ok := v.(Object); return ok }
func IsText(v any) bool   { _, ok := v.(string); return ok }

func ObjectsOf(v any) []Object {
	var out []Object
	for _, x := range ListOf(v) {
		out = append(out, ObjectOf(x))
	}
	return out
}

func NumberOf(v any) (float64, bool) {
	n, ok := v.(json.Number)
	if !ok {
		return 0, false
	}
	f, err := n.Float64()
	return f, err == nil
}

func IntegerOf(v any) (int64, bool) {
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
	case Object:
		return len(v) == 0
	}
	return false
}

// Set is an unordered set of words.
type Set map[string]bool

func SetOf(words ...string) Set {
	s := Set{}
	for _, w := range words {
		s[w] = true
	}
	return s
}

func Words(v any) []string {
	if s, ok := v.(string); ok {
		return []string{s}
	}
	var out []string
	for _, x := range ListOf(v) {
		out = append(out, TextOf(x))
	}
	return out
}

// DataURL reads data:TYPE;base64,DATA, no bytes from any other URL.
func DataURL(url string) (string, []byte) {
	head, data, _ := strings.Cut(strings.TrimPrefix(url, "data:"), ",")
	media, isBase64 := strings.CutSuffix(head, ";base64")
	if !isBase64 {
		return "", nil
	}
	decoded, _ := base64.StdEncoding.DecodeString(data) // a picture that does not decode has no bytes
	return media, decoded
}

// signaturePrefix marks the signatures made by sign.
const signaturePrefix = "llmtest-"

// Sign returns a signature that depends on the text alone, so that any server can check it.
func Sign(text string) string {
	sum := sha256.Sum256([]byte(text))
	return signaturePrefix + hex.EncodeToString(sum[:12])
}
