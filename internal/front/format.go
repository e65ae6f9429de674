package front

import (
	"bytes"
	"fmt"

	"github.com/goccy/go-yaml"
)

// New returns a value to be written. value is a text, a number, a bool, or a list or object of
// such values.
func New(key string, value any) Value { return Value{Key: key, value: value} }

// Format returns a file with front matter and a text: the inverse of Split and Parse.
func Format(values []Value, text string) ([]byte, error) {
	var doc yaml.MapSlice
	for _, v := range values {
		doc = append(doc, yaml.MapItem{Key: v.Key, Value: v.value})
	}
	matter, err := yaml.Marshal(doc)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "---\n%s---\n", matter)
	if text != "" {
		fmt.Fprintf(&b, "\n%s\n", text)
	}
	return b.Bytes(), nil
}
