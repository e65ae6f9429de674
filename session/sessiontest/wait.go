package sessiontest

import (
	"context"
	"testing"
	"time"

	"github.com/openagent-go/agent/session"
)

// waiting: a wait ends when a fact comes that the caller does not know, also the first one of
// a session. It fails when the session is deleted, and when it never had the fact.
func waiting(t *testing.T, s session.Store) {
	begin := func(after int64) <-chan error {
		done := make(chan error, 1)
		go func() { done <- session.Wait(t.Context(), s, "s", after) }()
		return done
	}
	waits := func(done <-chan error) {
		t.Helper()
		select {
		case err := <-done:
			t.Fatalf("the wait ended before there was a fact: %v", err)
		case <-time.After(20 * time.Millisecond):
		}
	}
	ends := func(done <-chan error) error {
		t.Helper()
		select {
		case err := <-done:
			return err
		case <-time.After(10 * time.Second):
			t.Fatal("the wait did not end")
			return nil
		}
	}

	first := begin(0)
	waits(first)
	log := opened(t, s, "s")
	waits(first)
	add(t, log, Prompts(2)...)
	if err := ends(first); err != nil {
		t.Errorf("waiting for a session: %v", err)
	}
	for _, after := range []int64{-1, 0, 1} {
		if err := ends(begin(after)); err != nil {
			t.Errorf("waiting after fact %d of 2: %v", after, err)
		}
	}
	third := begin(2)
	waits(third)
	add(t, log, Prompts(3)[2:]...)
	if err := ends(third); err != nil {
		t.Errorf("waiting for a fact: %v", err)
	}
	isErr(t, "waiting after a fact that is not there", ends(begin(4)), session.ErrNotFound)

	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- session.Wait(ctx, s, "s", 3) }()
	waits(ended)
	cancel()
	isErr(t, "a cancelled wait", ends(ended), context.Canceled)

	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	d, ok := s.(interface {
		Delete(ctx context.Context, id string) error
	})
	if !ok {
		return
	}
	last := begin(3)
	waits(last)
	if err := d.Delete(t.Context(), "s"); err != nil {
		t.Fatal(err)
	}
	isErr(t, "waiting for a deleted session", ends(last), session.ErrNotFound)
	isErr(t, "waiting after a fact of a session that does not exist", ends(begin(3)), session.ErrNotFound)
	isErr(t, "waiting with an illegal id", session.Wait(t.Context(), s, "../s", 0), session.ErrBadID)
}
