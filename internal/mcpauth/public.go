package mcpauth

import (
	"context"
	"encoding/json"
	"errors"
)

// A PublicStore is the Store of package mcp/oauth: its logins are JSON.
type PublicStore interface {
	Load(ctx context.Context, key string) ([]byte, error)
	Update(ctx context.Context, key string, change func([]byte) ([]byte, error)) error
}

// Logins returns the logins that a program keeps in s. Nil: in memory.
func Logins(s PublicStore) Store {
	switch s := s.(type) {
	case nil:
		return new(Memory)
	case public:
		return s.Store
	}
	return ofProgram{s}
}

// Public returns a store as programs see it.
func Public(s Store) PublicStore { return public{s} }

type public struct{ Store }

func (p public) Load(ctx context.Context, key string) ([]byte, error) {
	l, err := p.Store.Load(ctx, key)
	if err != nil {
		return nil, err
	}
	return encodeLogin(l)
}

func (p public) Update(ctx context.Context, key string, change func([]byte) ([]byte, error)) error {
	return p.Store.Update(ctx, key, func(l *Login) (*Login, error) {
		old, err := encodeLogin(l)
		if err != nil {
			return nil, err
		}
		data, err := change(old)
		if err != nil {
			return nil, err
		}
		return decodeLogin(data)
	})
}

// ofProgram is a store that a program has written.
type ofProgram struct{ store PublicStore }

func (o ofProgram) Load(ctx context.Context, key string) (*Login, error) {
	data, err := o.store.Load(ctx, key)
	if err != nil {
		return nil, err
	}
	return decodeLogin(data)
}

func (o ofProgram) Update(ctx context.Context, key string, change func(*Login) (*Login, error)) error {
	return o.store.Update(ctx, key, func(old []byte) ([]byte, error) {
		l, err := decodeLogin(old)
		if err != nil {
			return nil, err
		}
		if l, err = change(l); err != nil {
			return nil, err
		}
		return encodeLogin(l)
	})
}

func encodeLogin(l *Login) ([]byte, error) {
	if l == nil {
		return nil, nil
	}
	return json.Marshal(l)
}

func decodeLogin(data []byte) (l *Login, err error) {
	if data == nil {
		return nil, nil
	}
	if json.Unmarshal(data, &l) != nil { // the error might quote the login
		return nil, errors.New("the stored login is damaged; remove it and log in again")
	}
	return l, nil
}
