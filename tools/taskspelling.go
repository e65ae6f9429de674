package tools

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"github.com/openagent-go/agent/tool"
)

// spelled is the input T of a tool whose members may be written in any of the
// ways in which models join words: blockedBy, blocked_by, blocked-by.
type spelled[T any] struct{ in T }

// spelledSchema is the schema of T, but for unknown members: those are judged
// when the input is decoded.
func spelledSchema[T any]() json.RawMessage {
	var schema map[string]json.RawMessage
	closed := tool.New[T](tool.Spec{Name: "schema"}, nil).Spec().Input
	// A pointer tells "" from nothing; the model need not know of null.
	closed = bytes.ReplaceAll(closed, []byte(`["null","string"]`), []byte(`"string"`))
	closed = bytes.ReplaceAll(closed, []byte(`,"additionalProperties":true`), nil)
	if err := json.Unmarshal(closed, &schema); err != nil {
		panic(err) // the schema is ours
	}
	delete(schema, "additionalProperties")
	return details(schema)
}

// UnmarshalJSON names what is unknown or given twice.
func (s *spelled[T]) UnmarshalJSON(data []byte) error {
	var given map[string]json.RawMessage
	if err := json.Unmarshal(data, &given); err != nil {
		return err
	}
	names := memberNames(reflect.TypeFor[T]())
	members := map[string]json.RawMessage{}
	for name, value := range given {
		known := ""
		for _, n := range names {
			if plainName(n) == plainName(name) {
				known = n
			}
		}
		if known == "" {
			hint := ""
			if near := tool.Nearest(name, names); near != "" {
				hint = "; did you mean " + near + "?"
			}
			return fmt.Errorf("%q is unknown%s", name, hint)
		}
		if _, twice := members[known]; twice {
			return fmt.Errorf("%s is given twice", known)
		}
		members[known] = value
	}
	data, err := json.Marshal(members)
	if err != nil {
		return err
	}
	return json.Unmarshal(data, &s.in)
}

var separators = strings.NewReplacer("_", "", "-", "")

func plainName(name string) string { return strings.ToLower(separators.Replace(name)) }

// memberNames returns the JSON names of a struct's fields.
func memberNames(t reflect.Type) []string {
	var names []string
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		names = append(names, name)
	}
	return names
}
