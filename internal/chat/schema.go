package chat

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/openagent-go/agent/internal/wire"
)

// Limits for a schema that refers to itself.
const (
	maxDepth   = 12
	maxSchemas = 2000
)

// googleKeys are the members of a schema that Gemini reads
// (https://ai.google.dev/api/caching#Schema). It refuses a request with others.
var googleKeys = []string{"title", "description", "nullable", "format", "enum", "minItems", "maxItems", "minProperties", "maxProperties",
	"minLength", "maxLength", "pattern", "minimum", "maximum", "default", "example"}

// googleSchema returns the part of a tool's schema that Gemini reads, nil for a tool
// without input. The tool itself checks the rest.
func googleSchema(schema []byte) []byte {
	var root map[string]any
	if json.Unmarshal(schema, &root) != nil {
		return schema
	}
	if ps, _ := root["properties"].(map[string]any); len(ps) == 0 {
		return nil
	}
	out, err := json.Marshal((&narrower{root: root}).schema(root, 0))
	if err != nil {
		return schema
	}
	return wire.AppendJSON(nil, out)
}

type narrower struct {
	root map[string]any
	seen int // number of schemas so far
}

func (n *narrower) schema(s map[string]any, depth int) map[string]any {
	if n.seen++; n.seen > maxSchemas || depth > maxDepth {
		return map[string]any{"type": "object"}
	}
	if ref, ok := s["$ref"].(string); ok {
		if to := n.find(ref); to != nil {
			return n.schema(to, depth+1)
		}
		return map[string]any{"type": "object"}
	}
	out := map[string]any{}
	for _, k := range googleKeys {
		if v, ok := s[k]; ok {
			out[k] = v
		}
	}
	n.kind(out, s)
	if c, ok := s["const"]; ok && out["enum"] == nil {
		out["enum"] = []any{c}
	}
	if list, ok := out["enum"].([]any); ok && !texts(list) {
		delete(out, "enum")
	}
	if f, ok := out["format"].(string); ok && out["type"] == "string" && f != "enum" && f != "date-time" {
		delete(out, "format")
	}
	n.choices(out, s, depth)
	if ps, ok := s["properties"].(map[string]any); ok {
		n.properties(out, ps, s["required"], depth)
	}
	switch items := s["items"].(type) {
	case map[string]any:
		out["items"] = n.schema(items, depth+1)
	default:
		if out["type"] == "array" {
			out["items"] = map[string]any{"type": "string"}
		}
	}
	return out
}

// kind sets the type: one name, and whether null is allowed.
func (n *narrower) kind(out, s map[string]any) {
	var names []string
	switch t := s["type"].(type) {
	case string:
		names = []string{t}
	case []any:
		for _, v := range t {
			if name, ok := v.(string); ok {
				names = append(names, name)
			}
		}
	}
	if i := slices.Index(names, "null"); i >= 0 {
		names, out["nullable"] = slices.Delete(names, i, i+1), true
	}
	switch {
	case len(names) == 1:
		out["type"] = names[0]
	case len(names) > 1:
		var list []any
		for _, name := range names {
			list = append(list, map[string]any{"type": name})
		}
		out["anyOf"] = list
	case s["properties"] != nil:
		out["type"] = "object"
	case s["items"] != nil:
		out["type"] = "array"
	case s["enum"] != nil || s["const"] != nil:
		out["type"] = "string"
	}
}

// choices joins anyOf and oneOf, and merges allOf.
func (n *narrower) choices(out, s map[string]any, depth int) {
	for _, k := range []string{"anyOf", "oneOf"} {
		list, _ := s[k].([]any)
		var kept []any
		for _, v := range list {
			part, ok := v.(map[string]any)
			if !ok {
				continue
			}
			if part["type"] == "null" {
				out["nullable"] = true
				continue
			}
			kept = append(kept, n.schema(part, depth+1))
		}
		switch {
		case len(kept) == 1:
			for k, v := range kept[0].(map[string]any) {
				if _, taken := out[k]; !taken {
					out[k] = v
				}
			}
		case len(kept) > 1:
			out["anyOf"] = kept
		}
	}
	all, _ := s["allOf"].([]any)
	for _, v := range all {
		part, ok := v.(map[string]any)
		if !ok {
			continue
		}
		for k, v := range n.schema(part, depth+1) {
			if _, taken := out[k]; !taken {
				out[k] = v
			}
		}
	}
}

func (n *narrower) properties(out, ps map[string]any, required any, depth int) {
	kept := map[string]any{}
	for name, v := range ps {
		p, ok := v.(map[string]any)
		if !ok {
			p = map[string]any{"type": "string"} // true: anything
		}
		kept[name] = n.schema(p, depth+1)
	}
	if len(kept) == 0 {
		return // Gemini refuses an empty list of properties
	}
	out["properties"] = kept
	var names []any
	list, _ := required.([]any)
	for _, v := range list {
		if name, ok := v.(string); ok && kept[name] != nil {
			names = append(names, name)
		}
	}
	if len(names) > 0 {
		out["required"] = names
	}
}

// find returns the target of a reference within the schema, nil if there is none.
func (n *narrower) find(ref string) map[string]any {
	rest, ok := strings.CutPrefix(ref, "#")
	if !ok {
		return nil
	}
	at := n.root
	for _, step := range strings.Split(strings.TrimPrefix(rest, "/"), "/") {
		if step == "" {
			continue
		}
		step = strings.NewReplacer("~1", "/", "~0", "~").Replace(step)
		next, ok := at[step].(map[string]any)
		if !ok {
			return nil
		}
		at = next
	}
	return at
}

// texts reports whether a list holds nothing but text.
func texts(list []any) bool {
	return !slices.ContainsFunc(list, func(v any) bool { _, ok := v.(string); return !ok })
}
