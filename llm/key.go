package llm

import "context"

// A KeyFunc returns the key, or token, of a request. Clients call it for each request, from
// several goroutines at once, so an expensive one should cache its result. When a provider
// refuses a key (401) it is called once more, and [RefusedKey] returns the refused key. An
// [*APIError] keeps its class; any other error is of class [Auth], which is not retried.
type KeyFunc func(ctx context.Context) (string, error)

type refusedKey struct{}

// WithRefusedKey returns the context in which a [KeyFunc] is asked for another
// key than this one.
func WithRefusedKey(ctx context.Context, key string) context.Context {
	return context.WithValue(ctx, refusedKey{}, key)
}

// RefusedKey returns the key that the provider refused, "" when a [KeyFunc] is
// asked for the first time in a request.
func RefusedKey(ctx context.Context) string {
	key, _ := ctx.Value(refusedKey{}).(string)
	return key
}
