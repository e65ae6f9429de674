// Package safecall calls functions of the host, which may panic, end their goroutine or
// not return.
package safecall

import (
	"context"
	"errors"
	"fmt"
)

// Or returns the result of fn, or another value if fn panics.
func Or[T any](fn func() T, otherwise T) (v T) {
	defer func() {
		if recover() != nil {
			v = otherwise
		}
	}()
	return fn()
}

// Within calls fn in its own goroutine and returns when fn does or ctx
// ends, whichever is first. A panic or a Goexit in fn is an error.
func Within[T any](ctx context.Context, fn func() (T, error)) (T, error) {
	type outcome struct {
		value T
		err   error
	}
	done := make(chan outcome, 1)
	go func() {
		out := outcome{err: errors.New("the callback called runtime.Goexit instead of returning")}
		defer func() {
			if v := recover(); v != nil {
				out.err = fmt.Errorf("the callback panicked: %v", v)
			}
			done <- out
		}()
		out.value, out.err = fn()
	}()
	select {
	case out := <-done:
		return out.value, out.err
	case <-ctx.Done():
		var zero T
		return zero, context.Cause(ctx)
	}
}
