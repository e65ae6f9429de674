package tool

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
)

// A Schema is a JSON Schema of type object to check values against. It checks answers of
// models as inputs of tools are checked.
type Schema struct{ shape *shape }

// ReadSchema compiles a schema.
func ReadSchema(schema json.RawMessage) (*Schema, error) {
	s, err := newShape(schema)
	if err != nil {
		return nil, fmt.Errorf("the schema %w", err)
	}
	return &Schema{s}, nil
}

// SchemaOf returns the schema of a Go type, as [New] infers it: a struct or a map.
func SchemaOf(t reflect.Type) (*Schema, error) {
	s, err := shapeOf(t)
	if err != nil {
		return nil, fmt.Errorf("the schema of %v %w", t, err)
	}
	return &Schema{s}, nil
}

// JSON returns the schema itself.
func (s *Schema) JSON() json.RawMessage { return s.shape.schema }

// Check returns value, repaired as [New] describes for inputs, or an error that lists its
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

// outputShape compiles s.Output.
func (s Spec) outputShape() (*shape, error) {
	out, err := newShape(s.Output)
	if err != nil {
		return nil, fmt.Errorf("the output schema %w", err)
	}
	return out, nil
}

// verified checks the result of t against its output schema, unless t has done so.
func verified(t Tool, call Call, r *Result) *Result {
	if _, ok := t.(interface{ checked() }); ok || r == nil || r.IsError {
		return r
	}
	spec := specOf(t)
	if spec.Output == nil {
		return r
	}
	s, err := spec.outputShape()
	if err != nil {
		return Errorf("the result of %s cannot be checked: %v", call.Name, err)
	}
	return promised(s, call, r)
}

// promised is r with its Details repaired where they break s, an error where that
// cannot be done. A nil s takes anything.
func promised(s *shape, call Call, r *Result) *Result {
	if s == nil || r.IsError {
		return r
	}
	fixed, repaired, err := s.read(call.Name, r.Details)
	if err != nil {
		return Errorf("%s returned details that break its own output schema: %v", call.Name, err)
	}
	if repaired == nil {
		return r
	}
	copied := *r
	copied.Details = fixed
	return &copied
}
