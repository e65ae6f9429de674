package main

import (
	"sync"
	"time"

	"github.com/openagent-go/agent/config"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/llm/limit"
)

// rates bound the requests to a provider; 0 is what the provider says.
type rates struct{ requests, input, output, tokens, concurrent int }

func ratesOf(s *config.Settings) (r rates) {
	for key, n := range map[string]*int{
		"rate_limits.requests": &r.requests, "rate_limits.input_tokens": &r.input, "rate_limits.output_tokens": &r.output,
		"rate_limits.tokens": &r.tokens, "rate_limits.concurrent": &r.concurrent,
	} {
		s.Decode(key, n)
	}
	return r
}

// limiters are those of the program, one for each key of a provider, so that all its
// agents share what the key permits. A nil one has none.
type limiters struct {
	mu  sync.Mutex
	all map[[3]string]*limit.Limiter
}

func (l *limiters) of(p *provider) *limit.Limiter {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	at := [3]string{p.name.value, p.base.value, p.key.value}
	if l.all[at] == nil {
		if l.all == nil {
			l.all = map[[3]string]*limit.Limiter{}
		}
		r := p.rates
		l.all[at] = &limit.Limiter{Requests: r.requests, Input: r.input, Output: r.output, Tokens: r.tokens, Concurrent: r.concurrent}
	}
	return l.all[at]
}

// waitLine says that a request waits for a rate limit.
type waitLine struct {
	Type    string `json:"type"`
	Subtype string `json:"subtype"`
	Model   string `json:"model"`
	Reason  string `json:"reason"`
	Ahead   int    `json:"ahead"`
	Least   int64  `json:"wait_ms"` // as far as it is known
	origin
}

// notable is how long a wait takes at least that people are told of.
const notable = 2 * time.Second

func (r *report) waits(d event.RateLimitWait) {
	if d.Least >= notable && r.parent == nil {
		r.say("%s", waitText(d))
	}
	r.line(waitLine{Type: "system", Subtype: "rate_limit_wait", Model: d.Model, Reason: d.Reason, Ahead: d.Ahead, Least: d.Least.Milliseconds(), origin: r.sign("")})
}

func waitText(d event.RateLimitWait) string {
	return "waiting for the rate limit, at least " + d.Least.Round(100*time.Millisecond).String()
}
