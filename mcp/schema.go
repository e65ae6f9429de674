package mcp

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/openagent-go/agent/internal/text"
)

const (
	maxSchema = 64 << 10 // bytes of a tool's input schema
	maxNested = 40       // levels of it
)

// property is the form that Anthropic accepts for the name of a member at the root.
var property = regexp.MustCompile(`^[a-zA-Z0-9_.-]{1,64}$`)

type object = map[string]any

// acceptable makes an input schema into one that every provider takes: of type
// object, without $schema, oneOf, anyOf, allOf, not, if or a $ref at its root. The
// result allows no less than the original did; the server checks the rest.
func acceptable(schema any) (json.RawMessage, error) {
	root, ok := schema.(object)
	if !ok {
		root = object{}
	}
	if deeper(root, maxNested) {
		return nil, fmt.Errorf("its input schema is nested more than %d deep", maxNested)
	}
	out := object{"type": "object"}
	for _, k := range []string{"title", "description", "$defs", "definitions", "additionalProperties"} {
		if v, ok := root[k]; ok {
			out[k] = v
		}
	}
	var m merged
	m.add(root, root, 0)
	if m.loose { // members of alternatives may be anything else as well
		delete(out, "additionalProperties")
	}
	for name := range m.properties {
		if property.MatchString(name) {
			continue
		}
		if slices.Contains(m.required, name) {
			return nil, fmt.Errorf("its input needs a member %q, a name that no provider accepts", text.Bytes(name, 80))
		}
		delete(m.properties, name)
	}
	if m.properties == nil {
		m.properties = object{}
	}
	out["properties"] = m.properties
	if len(m.required) > 0 {
		slices.Sort(m.required)
		out["required"] = slices.Compact(m.required)
	}
	data, err := json.Marshal(cleaned(out))
	if err == nil && len(data) > maxSchema {
		err = errors.New("its input schema is larger than 64 KB")
	}
	return data, err
}

// cleaned is a schema whose texts and names hold nothing that moves a terminal.
func cleaned(v any) any {
	switch v := v.(type) {
	case string:
		return text.Clean(v)
	case object:
		out := make(object, len(v))
		for name, member := range v {
			out[text.Clean(name)] = cleaned(member)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, member := range v {
			out[i] = cleaned(member)
		}
		return out
	}
	return v
}

// merged collects the members of an input from the parts of a root.
type merged struct {
	properties object
	required   []string
	loose      bool // there are alternatives
}

// add adds the demands of a part of the root. If the part is one of several alternatives, a
// member is required only if all alternatives require it.
func (m *merged) add(part, root object, depth int) {
	if depth > 8 {
		return
	}
	if ref, ok := part["$ref"].(string); ok {
		if to := follow(root, ref); to != nil {
			m.add(to, root, depth+1)
		}
	}
	if ps, ok := part["properties"].(object); ok {
		for name, p := range ps {
			if m.properties == nil {
				m.properties = object{}
			}
			if _, known := m.properties[name]; !known {
				m.properties[name] = p
			}
		}
	}
	if rs, ok := part["required"].([]any); ok {
		for _, r := range rs {
			if s, ok := r.(string); ok {
				m.required = append(m.required, s)
			}
		}
	}
	for _, p := range parts(part["allOf"]) {
		m.loose = true
		m.add(p, root, depth+1)
	}
	for _, k := range []string{"anyOf", "oneOf"} {
		alternatives := parts(part[k])
		if len(alternatives) == 0 {
			continue
		}
		m.loose = true
		var all []string
		for i, p := range alternatives {
			one := merged{properties: m.properties}
			one.add(p, root, depth+1)
			m.properties = one.properties
			if i == 0 {
				all = one.required
			} else {
				all = slices.DeleteFunc(all, func(r string) bool { return !slices.Contains(one.required, r) })
			}
		}
		m.required = append(m.required, all...)
	}
}

func parts(v any) []object {
	list, _ := v.([]any)
	var out []object
	for _, x := range list {
		if o, ok := x.(object); ok {
			out = append(out, o)
		}
	}
	return out
}

// follow follows a reference within the schema. Nothing is ever fetched.
func follow(root object, ref string) object {
	at := any(root)
	path, ok := strings.CutPrefix(ref, "#/")
	if !ok {
		return nil
	}
	for step := range strings.SplitSeq(path, "/") {
		o, ok := at.(object)
		if !ok {
			return nil
		}
		at = o[strings.NewReplacer("~1", "/", "~0", "~").Replace(step)]
	}
	to, _ := at.(object)
	return to
}

func deeper(v any, levels int) bool {
	if levels == 0 {
		return true
	}
	switch v := v.(type) {
	case object:
		for _, x := range v {
			if deeper(x, levels-1) {
				return true
			}
		}
	case []any:
		for _, x := range v {
			if deeper(x, levels-1) {
				return true
			}
		}
	}
	return false
}
