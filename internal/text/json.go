package text

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
)

// JSONMismatch explains a JSON type error without words of Go: the member, its type, and the expected
// type. whole names the whole value. It returns other errors as they are.
func JSONMismatch(err error, whole string) error {
	var kind *json.UnmarshalTypeError
	if !errors.As(err, &kind) {
		return err
	}
	name := kind.Field
	if name == "" {
		name = whole
	}
	got := kind.Value
	if got == "bool" {
		got = "true or false"
	}
	return fmt.Errorf("%s must be %s, not %s", name, wanted(kind.Type), got)
}

// wanted names the JSON type for a Go type.
func wanted(t reflect.Type) string {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t.Kind() {
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64, reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return "a whole number"
	case reflect.Float32, reflect.Float64:
		return "a number"
	case reflect.Slice, reflect.Array:
		return "a list"
	}
	return "an object"
}
