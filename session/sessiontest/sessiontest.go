// Package sessiontest tests implementations of session.Store.
//
//	func TestStore(t *testing.T) {
//		sessiontest.Run(t, func(t *testing.T) session.Store { return newStore(t) })
//	}
package sessiontest

import (
	"context"
	"errors"
	"reflect"
	"testing"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/session"
)

// Run tests the stores that open returns, each of them new and empty. A method
// Delete(ctx, id) error is tested where there is one.
func Run(t *testing.T, open func(t *testing.T) session.Store) {
	for name, test := range map[string]func(*testing.T, session.Store){
		"every type":         everyType,
		"read after":         readAfter,
		"reopen":             reopen,
		"header":             header,
		"fence":              fence,
		"refused facts":      refusedFacts,
		"batch":              batch,
		"busy":               busy,
		"closed":             closed,
		"many openers":       manyOpeners,
		"read while written": readWhileWritten,
		"leaving a read":     leavingRead,
		"ids":                ids,
		"not found":          notFound,
		"big contents":       bigContents,
		"texts":              texts,
		"cancelled":          cancelled,
		"list":               listed,
		"latest":             latest,
		"names":              named,
		"pages":              pages,
		"search":             searched,
		"fork":               fork,
		"fork refused":       forkRefused,
		"create":             created,
		"fork with agents":   agents,
		"delete":             deleted,
		"wait":               waiting,
		"state":              states,
		"query":              queried,
	} {
		t.Run(name, func(t *testing.T) { test(t, open(t)) })
	}
}

// write appends facts to a session, with the first one new, and closes it.
func write(t *testing.T, s session.Store, id string, facts ...event.Event) {
	t.Helper()
	log := opened(t, s, id)
	add(t, log, facts...)
	if err := log.Close(); err != nil {
		t.Fatalf("closing %s: %v", id, err)
	}
}

func opened(t *testing.T, s session.Store, id string) session.Log {
	t.Helper()
	log, err := s.Open(t.Context(), id, session.Header{Created: start})
	if err != nil {
		t.Fatalf("opening %q: %v", id, err)
	}
	t.Cleanup(func() { _ = log.Close() })
	return log
}

func add(t *testing.T, log session.Log, facts ...event.Event) {
	t.Helper()
	if err := log.Append(t.Context(), log.Last(), true, facts...); err != nil {
		t.Fatalf("appending %d facts: %v", len(facts), err)
	}
}

func read(t *testing.T, s session.Store, id string, after int64) []event.Event {
	t.Helper()
	var facts []event.Event
	for e, err := range s.Read(t.Context(), id, after) {
		if err != nil {
			t.Fatalf("reading %q: %v", id, err)
		}
		facts = append(facts, e)
	}
	return facts
}

// same compares the facts read from a session with those appended to it.
func same(t *testing.T, id string, got, want []event.Event) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("read %d facts, want %d", len(got), len(want))
	}
	for i, w := range want {
		w.Session = id
		if !reflect.DeepEqual(got[i], w) {
			t.Fatalf("fact %d came back changed:\n got %#v\nwant %#v", i+1, got[i], w)
		}
	}
}

// isErr reports an error that is not of the kind wanted.
func isErr(t *testing.T, what string, got, want error) {
	t.Helper()
	if !errors.Is(got, want) {
		t.Errorf("%s: error %v, want %v", what, got, want)
	}
}

// readErr returns the error that a read ends with.
func readErr(ctx context.Context, s session.Store, id string) error {
	for _, err := range s.Read(ctx, id, 0) {
		if err != nil {
			return err
		}
	}
	return nil
}
