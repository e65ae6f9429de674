// Package trigger starts runs from outside, by signed HTTP requests: a [Handler]
// answers those that others send to triggers of ours, a [Client] sends to
// triggers of others, and a [Store] keeps both with their secrets.
//
// # Requests
//
// A trigger is started by POST <anything>/triggers/<id> with three headers:
//
//	Openagent-Timestamp: 1763650000000   when it was signed, in milliseconds since 1970
//	Openagent-Nonce:     <16 to 64 characters of A-Z a-z 0-9 _ ->, another for each request
//	Openagent-Signature: v1=<64 hexadecimal digits in lower case>
//
// The signature is the HMAC-SHA256 (RFC 2104), under the trigger's secret, of seven
// lines, each ended by a line feed but the last:
//
//	openagent-trigger-v1
//	POST
//	example.com:8080          host of the URL in lower case, with the port unless it is the scheme's usual one
//	/triggers/<id>            path and query as they are on the wire
//	1763650000000
//	<the nonce>
//	<SHA-256 of the body, 64 hexadecimal digits in lower case>
//
// The handler answers 401 to a request with a wrong signature, with a time outside its window,
// or that it has seen before. It answers 202 to the others, with the JSON object
// {"run":"<id of the run>"}.
package trigger

import (
	"context"
	"time"

	"github.com/openagent-go/agent/internal/triggerstore"
)

// A Trigger is something that can be started: one of ours by others, or one of
// others by us.
type Trigger struct {
	ID     string `json:"id"`               // given by [Store.Put], safe in URLs
	Name   string `json:"name"`             // 1 to 100 bytes of printable text
	Prompt string `json:"prompt,omitempty"` // what the agent is told
	// URL is where a trigger of others is started, http or https. It is empty for
	// one of ours.
	URL string `json:"url,omitempty"`
	// Schedule says when the trigger is started by itself. Its form is the host's,
	// who does the starting.
	Schedule string `json:"schedule,omitempty"`
	Enabled  bool   `json:"enabled"` // false: calls are refused
}

func (t Trigger) inner() triggerstore.Trigger {
	return triggerstore.Trigger{ID: t.ID, Name: t.Name, Prompt: t.Prompt, URL: t.URL, Schedule: t.Schedule, Enabled: t.Enabled}
}

func triggerOf(t triggerstore.Trigger) Trigger {
	return Trigger{ID: t.ID, Name: t.Name, Prompt: t.Prompt, URL: t.URL, Schedule: t.Schedule, Enabled: t.Enabled}
}

// NewSecret makes a secret of 260 random bits.
func NewSecret() string { return string(triggerstore.NewSecret()) }

// A Store keeps triggers and their secrets, at most 1,000 triggers. It is safe for concurrent
// use. Make one with [Memory] or [File]. Unknown ids give an error that matches [ErrUnknown].
type Store triggerstore.Handle

// Memory returns a store that ends with the process.
func Memory() *Store { return (*Store)(triggerstore.NewHandle(new(triggerstore.Memory))) }

// File returns a store in a JSON file of mode 0600, which several processes may share. Each
// call reads it again. It refuses a file that others may read, or that is not a regular file.
// A file for locking, named .lock, lies beside it.
func File(path string) *Store {
	return (*Store)(triggerstore.NewHandle(&triggerstore.File{Path: path}))
}

// ErrUnknown is matched by the error for a trigger that is not there.
var ErrUnknown = triggerstore.ErrUnknown

func (s *Store) records() triggerstore.Store { return (*triggerstore.Handle)(s).Records() }

// Triggers returns all triggers, the oldest first.
func (s *Store) Triggers(ctx context.Context) ([]Trigger, error) {
	found, err := s.records().List(ctx)
	var all []Trigger
	for _, r := range found {
		all = append(all, triggerOf(r.Trigger))
	}
	return all, err
}

// Put stores a trigger and returns it. Without an ID it is a new one and gets an id and a
// secret. With an ID it replaces that trigger, whose secrets stay.
func (s *Store) Put(ctx context.Context, t Trigger) (Trigger, error) {
	added := t.ID == ""
	if added {
		t.ID = triggerstore.NewID()
	}
	err := s.records().Update(ctx, t.ID, func(old *triggerstore.Record) (*triggerstore.Record, error) {
		r := &triggerstore.Record{Trigger: t.inner()}
		switch {
		case added:
			r.Created, r.Secrets = time.Now().UTC().Truncate(time.Second), []triggerstore.Secret{triggerstore.NewSecret()}
		case old == nil:
			return nil, ErrUnknown
		default:
			r.Dir, r.Created, r.Secrets = old.Dir, old.Created, old.Secrets
		}
		return r, nil
	})
	if err != nil {
		return Trigger{}, err
	}
	return t, nil
}

// Remove removes a trigger. Its runs go on.
func (s *Store) Remove(ctx context.Context, id string) error {
	return s.records().Update(ctx, id, func(old *triggerstore.Record) (*triggerstore.Record, error) {
		if old == nil {
			return nil, ErrUnknown
		}
		return nil, nil
	})
}

// Secrets returns the secrets of a trigger. Show them to nobody but the other side.
func (s *Store) Secrets(ctx context.Context, id string) ([]string, error) {
	r, err := s.records().Get(ctx, id)
	if err != nil {
		return nil, err
	}
	all := make([]string, len(r.Secrets))
	for i, secret := range r.Secrets {
		all[i] = string(secret)
	}
	return all, nil
}

// SetSecrets replaces the secrets of a trigger, 1 to 4 of 16 to 256 bytes. A request may be
// signed with any of them, and ours are signed with the first. To change a secret, put the new
// one in front, and remove the old one once both sides have the new one. A trigger of others
// has the secret that they gave you.
func (s *Store) SetSecrets(ctx context.Context, id string, secrets ...string) error {
	return s.records().Update(ctx, id, func(r *triggerstore.Record) (*triggerstore.Record, error) {
		if r == nil {
			return nil, ErrUnknown
		}
		r.Secrets = nil
		for _, secret := range secrets {
			r.Secrets = append(r.Secrets, triggerstore.Secret(secret))
		}
		return r, nil
	})
}
