package agent

import (
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"slices"
	"time"

	"github.com/openagent-go/agent/internal/executor"
	"github.com/openagent-go/agent/internal/llmconst"
	"github.com/openagent-go/agent/llm"
)

// after decides whether to retry a call that failed with an error of its provider. failures
// is the number of earlier failures.
func (r Retry) after(api *llm.APIError, failures int) executor.Retry {
	if !api.Retryable() || api.Status != 0 && !slices.Contains(r.statuses(), api.Status) && api.Status >= 300 {
		return executor.Retry{}
	}
	if most := or(r.MaxAfter, time.Minute); api.RetryAfter > most {
		return executor.Retry{Class: llmconst.Unavailable, Why: fmt.Sprintf(" (asks to wait %v, more than the %v that are obeyed)", api.RetryAfter, most)}
	}
	delay := api.RetryAfter
	if delay <= 0 { // no Retry-After, or zero: always pause
		delay = r.backoff(failures)
	}
	return executor.Retry{Again: true, After: delay}
}

// retry returns the agent's Retry, or the defaults.
func (a *Agent) retry() Retry {
	if a.Retry == nil {
		return Retry{}
	}
	return *a.Retry
}

func (r Retry) statuses() []int {
	if r.Statuses != nil {
		return r.Statuses
	}
	return []int{408, 429, 500, 502, 503, 504, 529}
}

func (r Retry) tries() int {
	switch {
	case r.Tries < 0:
		return 0
	case r.Tries == 0:
		return 3
	}
	return r.Tries
}

// backoff returns how long to wait after the given number of earlier failures.
func (r Retry) backoff(failures int) time.Duration {
	base, most := or(r.Base, 2*time.Second), or(r.Cap, 30*time.Second)
	d := base << min(failures, 20)
	if d <= 0 || d > most {
		d = most
	}
	var b [4]byte
	_, _ = rand.Read(b[:]) // never fails; unlike math/rand, a simulation can make it repeat itself
	jitter := 0.75 + float64(binary.NativeEndian.Uint32(b[:]))/(1<<33)
	return min(time.Duration(float64(d)*jitter), most)
}

func or(d, def time.Duration) time.Duration {
	if d > 0 {
		return d
	}
	return def
}
