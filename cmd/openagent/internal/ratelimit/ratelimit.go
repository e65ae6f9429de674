// Package ratelimit holds the rate limiters of the process. All agents that use the same
// key of a provider share a limiter.
package ratelimit

import (
	"sync"
	"time"

	"github.com/openagent-go/agent/internal/config"
	"github.com/openagent-go/agent/llm/limit"
)

// Rates bound the requests to a provider; 0 is what the provider says.
type Rates struct{ requests, input, output, tokens, concurrent int }

// ReadRates reads the limits from the settings.
func ReadRates(s *config.Settings) (r Rates) {
	for key, n := range map[string]*int{
		"rate_limits.requests": &r.requests, "rate_limits.input_tokens": &r.input, "rate_limits.output_tokens": &r.output,
		"rate_limits.tokens": &r.tokens, "rate_limits.concurrent": &r.concurrent,
	} {
		s.Decode(key, n)
	}
	return r
}

// Limiters are those of the program, one for each key of a provider, so that all its
// agents share what the key permits. A nil one has none.
type Limiters struct {
	mu  sync.Mutex
	all map[[3]string]*limit.Limiter
}

// For returns the limiter for the key of a provider; it is made at the first call.
func (l *Limiters) For(key [3]string, r Rates) *limit.Limiter {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.all[key] == nil {
		if l.all == nil {
			l.all = map[[3]string]*limit.Limiter{}
		}
		l.all[key] = &limit.Limiter{Requests: r.requests, Input: r.input, Output: r.output, Tokens: r.tokens, Concurrent: r.concurrent}
	}
	return l.all[key]
}

// MinNoticedWait is how long a wait takes at least that people are told of.
const MinNoticedWait = 2 * time.Second
