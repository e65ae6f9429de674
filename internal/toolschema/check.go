package toolschema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
)

// A Schema is a JSON Schema of type object to check values against. It checks answers of
// models as inputs of tools are checked.
type Schema struct{ shape *Shape }

// Parse compiles a schema.
func Parse(schema json.RawMessage) (*Schema, error) {
	s, err := New(schema)
	if err != nil {
		return nil, fmt.Errorf("the schema %w", err)
	}
	return &Schema{s}, nil
}

// OfType returns the schema of a Go type, a struct or a map.
func OfType(t reflect.Type) (*Schema, error) {
	s, err := Of(t)
	if err != nil {
		return nil, fmt.Errorf("the schema of %v %w", t, err)
	}
	return &Schema{s}, nil
}

// JSON returns the schema itself.
func (s *Schema) JSON() json.RawMessage { return s.shape.Schema }

// Check returns value, repaired as inputs of tools are, or an error that lists its
// mistakes.
func (s *Schema) Check(value []byte) (json.RawMessage, error) {
	value = bytes.TrimSpace(value)
	switch {
	case len(value) == 0:
		return nil, errors.New("it is empty")
	case !json.Valid(value):
		var v any
		return nil, fmt.Errorf("it is not valid JSON: %v", json.Unmarshal(value, &v))
	case value[0] != '{':
		return nil, fmt.Errorf("it must be a JSON object, not %s", shown(value))
	}
	out, _, err := s.shape.Read(value)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := json.Compact(&b, out); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// ForOutput compiles the output schema of a tool.
func ForOutput(schema json.RawMessage) (*Shape, error) {
	out, err := New(schema)
	if err != nil {
		return nil, fmt.Errorf("the output schema %w", err)
	}
	return out, nil
}

// Promised returns the details of a tool's result repaired where they break its output
// schema, nil if they need no repair.
func (s *Shape) Promised(tool string, details []byte) (json.RawMessage, error) {
	fixed, repaired, err := s.Read(details)
	if err != nil {
		return nil, fmt.Errorf("%s returned details that break its own output schema: invalid input for %s: %w", tool, tool, err)
	}
	if repaired == nil {
		return nil, nil
	}
	return fixed, nil
}
