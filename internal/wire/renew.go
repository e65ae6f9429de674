package wire

import (
	"context"
	"sync"
	"time"
)

// RenewEarly is how long before its end a value is renewed.
const RenewEarly = 5 * time.Minute

// A Renewed is a value, such as a token, that is fetched when first needed and again before
// it expires. The zero Renewed is ready to use.
type Renewed[T any] struct {
	mu      sync.Mutex
	busy    chan struct{} // closed when the running fetch ends; nil: none is running
	value   T
	expires time.Time // zero: never
	has     bool
}

// Get returns the value. It calls get if there is no value, or the value is stale or about
// to expire. stale may be nil. One caller calls get while the others wait. A failure of get
// is ignored until the old value has expired.
func (r *Renewed[T]) Get(ctx context.Context, stale func(T) bool, get func(context.Context) (T, time.Time, error)) (T, error) {
	for {
		r.mu.Lock()
		old, has := r.value, r.has && (stale == nil || !stale(r.value))
		left := time.Until(r.expires)
		switch {
		case has && (r.expires.IsZero() || left > RenewEarly):
			r.mu.Unlock()
			return old, nil
		case r.busy == nil:
			done := make(chan struct{})
			r.busy = done
			r.mu.Unlock()
			return r.renew(ctx, done, has && left > 0, old, get)
		}
		busy := r.busy
		r.mu.Unlock()
		select {
		case <-busy:
		case <-ctx.Done():
			var none T
			return none, ctx.Err()
		}
	}
}

func (r *Renewed[T]) renew(ctx context.Context, done chan struct{}, lasts bool, old T, get func(context.Context) (T, time.Time, error)) (value T, err error) {
	defer func() {
		r.mu.Lock()
		r.busy = nil
		r.mu.Unlock()
		close(done)
	}()
	value, expires, err := get(ctx)
	if err != nil {
		if lasts && ctx.Err() == nil {
			return old, nil
		}
		return value, err
	}
	r.mu.Lock()
	r.value, r.expires, r.has = value, expires, true
	r.mu.Unlock()
	return value, nil
}
