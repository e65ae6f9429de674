package limit

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/openagent-go/agent/internal/pace"
	"github.com/openagent-go/agent/llm"
)

// TestAbsurd: whatever limits a server reports, no call waits for longer than three times
// Hold, including the calls that wait already.
func TestAbsurd(t *testing.T) {
	for name, h := range map[string]http.Header{
		"reset in a year":  {"X-Ratelimit-Limit": {"10"}, "X-Ratelimit-Remaining": {"0"}, "X-Ratelimit-Reset": {"31536000"}},
		"in a thousand":    {"X-Ratelimit-Limit": {"10"}, "X-Ratelimit-Remaining": {"0"}, "X-Ratelimit-Reset": {"99999999"}},
		"date far away":    {"Anthropic-Ratelimit-Requests-Limit": {"1"}, "Anthropic-Ratelimit-Requests-Remaining": {"0"}, "Anthropic-Ratelimit-Requests-Reset": {"2999-01-01T00:00:00Z"}},
		"next to no limit": {"X-Ratelimit-Limit-Requests": {"1e-9"}, "X-Ratelimit-Remaining-Requests": {"0"}, "X-Ratelimit-Reset-Requests": {"9000h"}},
		"no tokens at all": {"X-Ratelimit-Limit-Tokens": {"1e-300"}, "X-Ratelimit-Remaining-Tokens": {"0"}, "X-Ratelimit-Reset-Tokens": {"365d"}},
		"too many tokens":  {"X-Ratelimit-Limit-Tokens": {"1e15"}, "X-Ratelimit-Remaining-Tokens": {"0"}, "X-Ratelimit-Reset-Tokens": {"1e14"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := new(Limiter)
				call := pace.Call{Host: "h", Model: "m", Input: 1000, Output: 1000}
				first, err := l.Wait(t.Context(), call)
				if err != nil {
					t.Fatal(err)
				}
				ended := make(chan error)
				for range 3 { // wait for the first reply
					go func() {
						p, err := l.Wait(context.Background(), call)
						p.Done(nil)
						ended <- err
					}()
				}
				synctest.Wait()
				start := time.Now()
				first.Answered(200, h, -1)
				first.Done(&llm.Usage{Input: 1000, Output: 10})
				for range 3 {
					if err := <-ended; err != nil && !errors.Is(err, llm.ErrRateLimited) {
						t.Error(err)
					}
				}
				p, err := l.Wait(t.Context(), call)
				p.Done(nil)
				if waited := time.Since(start); waited > 10*time.Minute {
					t.Errorf("four requests waited for %v (%v)", waited, err)
				}
			})
		})
	}
}
