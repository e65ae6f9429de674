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

// Read implements [session.Store].
func (s *Store) Read(ctx context.Context, id string, after int64) iter.Seq2[event.Event, error] {
	return func(yield func(event.Event, error) bool) {
		for {
			var page struct {
				Events []json.RawMessage
				Last   int64
				More   bool
			}
			err := s.Client.ask(ctx, http.MethodGet, at(id, fmt.Sprintf("/events?after=%d", after)), nil, &page)
			if IsCode(err, "not_found") {
				err = fmt.Errorf("%w: %w", session.ErrNotFound, err)
			}
			if err != nil {
				yield(event.Event{}, err)
				return
			}
			for _, e := range s.Client.events(page.Events) {
				if !yield(e, nil) {
					return
				}
			}
			if !page.More || page.Last <= after {
				return
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
