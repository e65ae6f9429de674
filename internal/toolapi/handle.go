package toolapi

// A Handle carries a value of this package through public packages, whose types are defined
// on it. So programs can name what they pass on, and only this module sees inside.
type Handle[T any] struct{ value T }

// NewHandle returns a handle of a value.
func NewHandle[T any](value T) Handle[T] { return Handle[T]{value} }

// Value returns the value of a handle, nil for the zero value.
func (h Handle[T]) Value() T { return h.value }
