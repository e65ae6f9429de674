package streamjson

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
)

// mismatch explains a JSON type error: the member, its type, and the expected type.
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
	name := strings.TrimPrefix(kind.Field, "Budget.") // the embedded struct
	if name == "" {
		name = "the message"
	}
	got := kind.Value
	if got == "bool" {
		got = "true or false"
	}
	return fmt.Errorf("%s must be %s, not %s", name, wanted(kind.Type), got)
}

// wanted names the JSON type for a Go type.
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
