package safecall_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"

	"github.com/openagent-go/agent/internal/safecall"
)

func TestOr(t *testing.T) {
	if got := safecall.Or(func() int { return 1 }, 2); got != 1 {
		t.Errorf("without a panic: %d", got)
	}
	if got := safecall.Or(func() int { panic("no") }, 2); got != 2 {
		t.Errorf("with a panic: %d", got)
	}
}

func TestWithin(t *testing.T) {
	for name, tt := range map[string]struct {
		fn   func() (int, error)
		want string
	}{
		"panic":  {func() (int, error) { panic("no") }, "the callback panicked: no"},
		"goexit": {func() (int, error) { runtime.Goexit(); return 0, nil }, "called runtime.Goexit"},
		"error":  {func() (int, error) { return 0, errors.New("own") }, "own"},
	} {
		if _, err := safecall.Within(t.Context(), tt.fn); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got, err := safecall.Within(t.Context(), func() (int, error) { return 3, nil }); got != 3 || err != nil {
		t.Errorf("%d, %v", got, err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	why, free := errors.New("why"), make(chan struct{})
	defer close(free)
	cancel(why)
	if _, err := safecall.Within(ctx, func() (int, error) { <-free; return 0, nil }); err != why {
		t.Errorf("a callback that does not return: %v", err)
	}
}
