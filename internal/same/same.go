// Package same tells whether two values of a caller's are the same one.
package same

import "reflect"

// Value reports whether a == b. It is false, and does not panic, for values of a type
// that Go cannot compare, such as a struct with a func in it.
func Value(a, b any) bool {
	x, y := reflect.ValueOf(a), reflect.ValueOf(b)
	return x.IsValid() == y.IsValid() && (!x.IsValid() || x.Comparable() && y.Comparable() && a == b)
}
