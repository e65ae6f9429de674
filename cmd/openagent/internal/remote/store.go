package remote

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/session"
)

// A Store reads the sessions of a server, for functions that read stores. It has no facts that the
// agent records for itself alone, and none of sub-agents.
type Store struct{ Client *Client }

// Open implements [session.Store]. It fails: only the server writes its sessions.
func (s *Store) Open(context.Context, string, session.Header) (session.Log, error) {
	return nil, errors.New("a session of a server cannot be opened; send it messages")
}

// Limits of what a server may send to one who reads a session.
var (
	maxFacts     = 1 << 20   // of one reading: readers keep a little of each
	stretchFacts = 2000      // readers keep all of so many at most
	stretchBytes = 128 << 20 // which may be so large
)

// A Fact is one that a server has sent.
type Fact struct {
	event.Event
	Size int // in bytes
}

// Read implements [session.Store]. It fails if the pages of the server do not come to an end, and if
// a part of the session is too large for the memory.
func (s *Store) Read(ctx context.Context, id string, after int64) iter.Seq2[event.Event, error] {
	return func(yield func(event.Event, error) bool) {
		count, size := 0, 0
		for f, err := range s.Facts(ctx, id, after) {
			if size += f.Size; size > stretchBytes {
				err = fmt.Errorf("a part of the session has more than %d MB, which is too much to read from a server; look at it on the server's machine", stretchBytes>>20)
			}
			if !yield(f.Event, err) || err != nil {
				return
			}
			if count++; count%stretchFacts == 0 {
				size = 0
			}
		}
	}
}

// Facts reads a session as Read does, but its parts may be large.
func (s *Store) Facts(ctx context.Context, id string, after int64) iter.Seq2[Fact, error] {
	return func(yield func(Fact, error) bool) {
		count := 0
		for more := true; more; {
			var page struct {
				Events []json.RawMessage
				Last   int64
				More   bool
			}
			err := s.Client.ask(ctx, http.MethodGet, at(id, fmt.Sprintf("/events?after=%d", after)), nil, &page)
			if IsCode(err, "not_found") {
				err = fmt.Errorf("%w: %w", session.ErrNotFound, err)
			}
			if count += len(page.Events); count > maxFacts {
				err = fmt.Errorf("the session has more than %d facts, which are too many to read from a server; look at it on the server's machine", maxFacts)
			}
			more = page.More
			if err == nil && (page.Last < after || more && page.Last == after) {
				err = fmt.Errorf("%s: the pages of the session do not come to an end: %w", s.Client.URL, errForeign)
			}
			if err != nil {
				yield(Fact{}, err)
				return
			}
			for _, raw := range page.Events {
				for _, e := range s.Client.events([]json.RawMessage{raw}) {
					if e.Seq <= after || e.Seq > page.Last {
						yield(Fact{}, fmt.Errorf("%s: the facts of the session are not in order: %w", s.Client.URL, errForeign))
						return
					}
					after = e.Seq
					if !yield(Fact{e, len(raw)}, nil) {
						return
					}
				}
			}
			after = page.Last
		}
	}
}

// List implements [session.Store].
func (s *Store) List(ctx context.Context) ([]session.Info, error) {
	list, err := s.Client.Sessions(ctx)
	var out []session.Info
	for _, i := range list {
		out = append(out, i.Info)
	}
	return out, err
}

// Under implements [session.Nester].
func (s *Store) Under(string) session.Store { return unread{s} }

// unread is the store of the sub-agents' sessions, which the API does not show.
type unread struct{ *Store }

func (unread) Read(context.Context, string, int64) iter.Seq2[event.Event, error] {
	return func(yield func(event.Event, error) bool) { yield(event.Event{}, session.ErrNotFound) }
}
