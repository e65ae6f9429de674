package sim

import (
	"fmt"
	"go/format"
	"reflect"
	"strings"
)

// goCode returns a program as the Go code of a test.
func goCode(p Program) string {
	var b strings.Builder
	fmt.Fprintf(&b, "func TestSeed%d(t *testing.T) {\n\thold(t, ", p.Seed)
	write(&b, reflect.ValueOf(p), true)
	b.WriteString(")\n}\n")
	code, err := format.Source([]byte(b.String()))
	if err != nil {
		return b.String() + "// " + err.Error()
	}
	return string(code)
}

// write writes a value as a composite literal without its zero fields.
func write(b *strings.Builder, v reflect.Value, named bool) {
	switch v.Kind() {
	case reflect.Interface:
		write(b, v.Elem(), true)
	case reflect.Struct:
		if named {
			b.WriteString(v.Type().Name())
		}
		b.WriteString("{")
		sep := ""
		for i := range v.NumField() {
			if f := v.Field(i); !f.IsZero() {
				b.WriteString(sep + v.Type().Field(i).Name + ": ")
				write(b, f, true)
				sep = ", "
			}
		}
		b.WriteString("}")
	case reflect.Slice:
		b.WriteString("[]" + v.Type().Elem().Name() + "{")
		for i := range v.Len() {
			if v.Index(i).Kind() == reflect.Interface || v.Index(i).Kind() == reflect.Struct {
				b.WriteString("\n")
			}
			write(b, v.Index(i), false)
			b.WriteString(", ")
		}
		b.WriteString("}")
	case reflect.String:
		fmt.Fprintf(b, "%q", v.String())
	default:
		fmt.Fprintf(b, "%#v", reflect.ValueOf(v.Interface()).Convert(plain(v)).Interface())
	}
}

// plain returns the type of a number without a name, so that it is written in digits.
func plain(v reflect.Value) reflect.Type {
	switch {
	case v.CanInt():
		return reflect.TypeFor[int64]()
	case v.CanUint():
		return reflect.TypeFor[uint64]()
	}
	return v.Type()
}
