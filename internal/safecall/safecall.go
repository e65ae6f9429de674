// Package safecall calls functions of the host, which may panic, end their goroutine or
// not return.
package safecall

import (
	"context"
	"errors"
	"fmt"
)

// Or returns the result of fn, or another value if fn panics.
func Or[T any](fn func() T, otherwise T) T {
	var v T
	if finishes(func() { v = fn() }) {
		return v
	}
	return otherwise
}

// finishes calls fn and reports whether it returned without a panic.
func finishes(fn func()) (ok bool) {
	defer func() {
		if !ok {
			recover()
		}
	}()
	fn()
	return true
}

// Within calls fn in its own goroutine and returns when fn does or ctx
// ends, whichever is first. A panic or a Goexit in fn is an error.
func Within[T any](ctx context.Context, fn func() (T, error)) (T, error) {
	v := new(T)
	returned, err := within(ctx, func() (err error) { *v, err = fn(); return err })
	if !returned { // fn may still write *v
		var zero T
		return zero, err
	}
	return *v, err
}

// within is Within without a value. It also reports whether fn has ended.
func within(ctx context.Context, fn func() error) (returned bool, err error) {
	done := make(chan error, 1)
	go func() {
		err := errors.New("the callback called runtime.Goexit instead of returning")
		defer func() {
			if v := recover(); v != nil {
				err = fmt.Errorf("the callback panicked: %v", v)
			}
			done <- err
		}()
		err = fn()
	}()
	select {
	case err := <-done:
		return true, err
	case <-ctx.Done():
		return false, context.Cause(ctx)
	}
}
