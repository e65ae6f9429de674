package safefile_test

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/openagent-go/agent/internal/safefile"
)

// A lock is waited for until it is free, or until the context ends.
func TestLock(t *testing.T) {
	name := filepath.Join(t.TempDir(), "lock")
	unlock, err := safefile.Lock(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	why := errors.New("enough")
	ctx, stop := context.WithTimeoutCause(t.Context(), 20*time.Millisecond, why)
	defer stop()
	if _, err := safefile.Lock(ctx, name); !errors.Is(err, why) {
		t.Error(err)
	}
	got := make(chan error, 1)
	go func() {
		again, err := safefile.Lock(t.Context(), name)
		if err == nil {
			err = again()
		}
		got <- err
	}()
	if err := unlock(); err != nil {
		t.Error(err)
	}
	if err := <-got; err != nil {
		t.Error(err)
	}
	if _, err := safefile.Lock(t.Context(), filepath.Join(name, "below a file")); err == nil {
		t.Error("a lock below a file")
	}
}
