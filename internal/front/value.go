package front

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// A Value is that of a key of front matter. The errors of its methods are Faults.
type Value struct {
	Key   string
	Line  int // of the key in the file
	value any
}

// ValuesOf returns the members of a JSON object as if they were front matter, by name.
// They have no lines.
func ValuesOf(object map[string]any) []Value {
	var out []Value
	for _, key := range slices.Sorted(maps.Keys(object)) {
		out = append(out, Value{Key: key, value: object[key]})
	}
	return out
}

// Fault returns a Fault of the value's line.
func (v Value) Fault(format string, args ...any) *Fault {
	return at(v.Line, "%s: %s", v.Key, fmt.Sprintf(format, args...))
}

// Any returns the value as YAML has it: a string, number, bool, list or object, nil for
// none.
func (v Value) Any() any { return v.value }

// Text returns a text, "" for no value. Numbers, true and false are texts as well.
func (v Value) Text() (string, error) {
	switch x := v.value.(type) {
	case nil:
		return "", nil
	case string:
		return x, nil
	case bool, int, int64, uint64, float64:
		return fmt.Sprint(x), nil
	}
	return "", v.Fault("it must be a text")
}

// Bool returns true or false, and false for no value.
func (v Value) Bool() (bool, error) {
	switch x := v.value.(type) {
	case nil:
		return false, nil
	case bool:
		return x, nil
	}
	return false, v.Fault("it must be true or false")
}

// Count returns a number from 1 to most.
func (v Value) Count(most int) (int, error) {
	var n uint64
	switch x := v.value.(type) {
	case uint64:
		n = x
	case int:
		n = uint64(max(x, 0))
	case int64:
		n = uint64(max(x, 0))
	case float64: // of JSON
		if n = uint64(max(x, 0)); float64(n) != x {
			n = 0
		}
	}
	if n < 1 || n > uint64(most) {
		return 0, v.Fault("it must be a number from 1 to %d", most)
	}
	return int(n), nil
}

// Items returns the texts of a list: one of YAML, or texts with commas between them,
// where commas in parentheses do not count.
func (v Value) Items() ([]string, error) {
	var out []string
	switch x := v.value.(type) {
	case nil:
	case string:
		out = commas(x)
	case []any:
		for _, item := range x {
			s, ok := item.(string)
			if !ok {
				return nil, v.Fault("it must be a list of texts")
			}
			if s = strings.TrimSpace(s); s != "" {
				out = append(out, s)
			}
		}
	default:
		return nil, v.Fault("it must be a list, or texts with commas between them")
	}
	return out, nil
}

func commas(s string) []string {
	depth := 0
	parts := strings.FieldsFunc(s, func(c rune) bool {
		switch c {
		case '(':
			depth++
		case ')':
			depth--
		}
		return c == ',' && depth <= 0
	})
	var out []string
	for _, p := range parts {
		if p = strings.TrimSpace(p); p != "" {
			out = append(out, p)
		}
	}
	return out
}

// JSON returns the value as JSON.
func (v Value) JSON() (json.RawMessage, error) {
	data, err := json.Marshal(v.value)
	if err != nil {
		return nil, v.Fault("it cannot be JSON: %v", err)
	}
	return data, nil
}

// List returns the members of a list as Values of the same key and line, and false if the
// value is not a list.
func (v Value) List() ([]Value, bool) {
	list, ok := v.value.([]any)
	var out []Value
	for _, item := range list {
		out = append(out, Value{v.Key, v.Line, item})
	}
	return out, ok
}

// Object returns the members of an object, and false if the value is not an object.
func (v Value) Object() (map[string]Value, bool) {
	object, ok := v.value.(map[string]any)
	out := make(map[string]Value, len(object))
	for key, value := range object {
		out[key] = Value{v.Key, v.Line, value}
	}
	return out, ok
}
