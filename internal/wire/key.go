package wire

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"

	"github.com/openagent-go/agent/llm"
)

// keptKeys is the number of keys that a [Keys] remembers. Older keys may still appear in
// outputs for a while.
const keptKeys = 8

// Keys fetches keys and remembers them, so that outputs can be masked. The zero Keys is
// ready to use.
type Keys struct {
	mu   sync.Mutex
	list []string // the newest last
	n    int      // number of different keys so far
}

// Ask returns the key for a request. again: the provider refused the last key. The error is
// the context's, an [*llm.APIError] or [ErrSame].
func (k *Keys) Ask(ctx context.Context, provider string, ask llm.KeyFunc, again bool) (string, error) {
	if last := k.last(); again && last != "" {
		ctx = llm.WithRefusedKey(ctx, last)
	}
	key, err := ask(ctx)
	key = strings.TrimSpace(key)
	fail := func(message string, cause error) error {
		known := append(k.Secrets(), key)
		e := &llm.APIError{Class: llm.Auth, Provider: provider, Message: clean(message, known), RetryAfter: -1, Err: masked(cause, known)}
		if api := (*llm.APIError)(nil); errors.As(cause, &api) {
			e.Class, e.Status, e.RetryAfter = api.Class, api.Status, api.RetryAfter
		}
		return e
	}
	switch {
	case err != nil && ctx.Err() != nil:
		return "", ctx.Err()
	case err != nil:
		return "", fail("getting the key: "+err.Error(), err)
	case key == "":
		return "", fail("the key that was got is empty", nil)
	case strings.ContainsFunc(key, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return "", fail("the key that was got is not one line of text", nil)
	}
	if again && key == llm.RefusedKey(ctx) {
		return "", ErrSame
	}
	k.Learn(key)
	return key, nil
}

func (k *Keys) last() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.list) == 0 {
		return ""
	}
	return k.list[len(k.list)-1]
}

// Learn remembers keys.
func (k *Keys) Learn(keys ...string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, key := range keys {
		if key == "" || slices.Contains(k.list, key) {
			continue
		}
		k.list = append(k.list, key)
		k.n++
	}
	k.list = slices.Delete(k.list, 0, max(0, len(k.list)-keptKeys))
}

// Secrets returns the recent keys.
func (k *Keys) Secrets() []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Clone(k.list)
}

// Count returns the number of different keys so far.
func (k *Keys) Count() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.n
}

// JWT reports whether a key is a JSON Web Token, as used by Microsoft Entra.
func JWT(key string) bool { return strings.HasPrefix(key, "eyJ") && strings.Count(key, ".") == 2 }
