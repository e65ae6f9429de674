package mcpauth

import (
	"context"
	"sync"
	"time"
)

// A Login is the stored data of a login to a server.
type Login struct {
	Server   string `json:"server"`
	Resource string `json:"resource"` // the resource that the tokens are for (RFC 8707)
	Issuer   string `json:"issuer"`
	// Where tokens are to be had, and withdrawn; the latter may be "".
	TokenURL  string `json:"tokenUrl"`
	RevokeURL string `json:"revokeUrl,omitempty"`
	// Method is how the client says who it is: none, client_secret_basic or client_secret_post.
	Method       string `json:"method"`
	ClientID     string `json:"clientId"`
	ClientSecret string `json:"clientSecret,omitempty"`

	Access  string    `json:"accessToken"`
	Refresh string    `json:"refreshToken,omitempty"` // "": the login ends with the access token
	Expires time.Time `json:"expires,omitzero"`       // of the access token; zero: not known
	Scopes  []string  `json:"scopes,omitempty"`       // granted
	Wanted  []string  `json:"wanted,omitempty"`       // asked for by the server since

	after string // the refresh token that it was renewed with
}

// early is how long before its end an access token is taken to have expired.
const early = 10 * time.Second

func (l *Login) expired(now time.Time) bool {
	return !l.Expires.IsZero() && !now.Before(l.Expires.Add(-early))
}

// valid reports whether a login from a store is whole.
func (l *Login) valid() bool {
	return l.Access != "" && l.ClientID != "" && secure(l.TokenURL) == nil
}

// A Store keeps logins, each under a key. It is safe for concurrent use.
type Store interface {
	// Load returns a login, nil if there is none.
	Load(ctx context.Context, key string) (*Login, error)
	// Update replaces a login by the result of change; nil stands for no login, both ways.
	// change may take as long as a request on the network. In the meantime no other process
	// or goroutine that shares the store updates the login. If change fails, nothing
	// changes. When Update returns nil, the login is stored.
	Update(ctx context.Context, key string, change func(*Login) (*Login, error)) error
}

// Memory is a [Store] that ends with the program. The zero value is ready to use.
type Memory struct {
	mu     sync.Mutex
	logins map[string]*Login
	locks  map[string]chan struct{}
}

// Load implements [Store].
func (m *Memory) Load(_ context.Context, key string) (*Login, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.logins[key], nil
}

// Update implements [Store].
func (m *Memory) Update(ctx context.Context, key string, change func(*Login) (*Login, error)) error {
	m.mu.Lock()
	if m.locks == nil {
		m.locks, m.logins = map[string]chan struct{}{}, map[string]*Login{}
	}
	lock := m.locks[key]
	if lock == nil {
		lock = make(chan struct{}, 1)
		m.locks[key] = lock
	}
	m.mu.Unlock()
	select {
	case lock <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-lock }()
	old, err := m.Load(ctx, key)
	if err != nil {
		return err
	}
	l, err := change(old)
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if l == nil {
		delete(m.logins, key)
	} else {
		m.logins[key] = l
	}
	return nil
}
