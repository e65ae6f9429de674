package tool

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
)

// A Schema is a JSON Schema of type object that values can be checked against: what
// tools' inputs are checked by, for answers of models.
type Schema struct{ shape *shape }

// ReadSchema compiles a schema.
func ReadSchema(schema json.RawMessage) (*Schema, error) {
	s, err := newShape(schema)
	if err != nil {
		return nil, err
	}
	return &Schema{s}, nil
}

// SchemaOf returns the schema of a Go type, as [New] infers it: a struct or a map.
func SchemaOf(t reflect.Type) (*Schema, error) {
	s, err := shapeOf(t)
	if err != nil {
		return nil, err
	}
	return &Schema{s}, nil
}

// JSON returns the schema itself.
func (s *Schema) JSON() json.RawMessage { return s.shape.schema }

// Check returns value, repaired as [New] says of inputs, or says what is wrong with it.
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
	out, _, err := s.shape.read("", value)
	var bad *InputError
	if errors.As(err, &bad) {
		return nil, bad.plain()
	}
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := json.Compact(&b, out); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// plain is the error without the tool.
func (e *InputError) plain() error {
	text := ""
	for i, p := range e.Problems {
		if i > 0 {
			text += "; "
		}
		text += p
	}
	if e.Form != "" {
		text += "\nexpected: " + e.Form
	}
	return errors.New(text)
}
