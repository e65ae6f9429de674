package streamjson

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
)

// mismatch says in plain words what is wrong with JSON that does not fit what it was
// read into: the member, what it is, and what it must be.
func mismatch(err error) error {
	var kind *json.UnmarshalTypeError
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &kind):
	case errors.As(err, &syntax), errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("the line is not JSON: %w", err)
	default:
		return err
	}
	name := strings.TrimPrefix(kind.Field, "Budget.") // which is embedded
	if name == "" {
		name = "the message"
	}
	got := kind.Value
	if got == "bool" {
		got = "true or false"
	}
	return fmt.Errorf("%s must be %s, not %s", name, wanted(kind.Type), got)
}

// wanted names what JSON has to be for a type.
func wanted(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Int64:
		return "a whole number"
	case reflect.Float64:
		return "a number"
	case reflect.Slice:
		return "a list"
	}
	return "an object"
}
