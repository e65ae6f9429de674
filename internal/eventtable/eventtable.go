// Package eventtable lists the types of events by their names in JSON. Packages event and
// internal/fact add theirs.
package eventtable

import (
	"encoding/json"
	"fmt"
	"reflect"
)

// Zero has the zero value of each type by its name, and Names the names by type.
var (
	Zero  = map[string]any{}
	Names = map[reflect.Type]string{}
)

// Add adds the type of zero. Call it from an init function.
func Add(name string, zero any) { Zero[name], Names[reflect.TypeOf(zero)] = zero, name }

// Decode makes a value of the named type, which is in the table, from its JSON.
func Decode(name string, data []byte) (any, error) {
	v := reflect.New(reflect.TypeOf(Zero[name]))
	if err := json.Unmarshal(data, v.Interface()); err != nil {
		return nil, fmt.Errorf("event: %s: %w", name, err)
	}
	return v.Elem().Interface(), nil
}
