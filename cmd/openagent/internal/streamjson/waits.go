package streamjson

import (
	"time"

	"github.com/openagent-go/agent/cmd/openagent/internal/ratelimit"
	"github.com/openagent-go/agent/event"
)

// waitLine reports that a request waits for a rate limit.
type waitLine struct {
	Type    string `json:"type"`
	Subtype string `json:"subtype"`
	Model   string `json:"model"`
	Reason  string `json:"reason"`
	Ahead   int    `json:"ahead"`
	Least   int64  `json:"wait_ms"` // as far as it is known
	Origin
}

func (r *Report) waits(d event.RateLimitWait) {
	if d.Least >= ratelimit.MinNoticedWait && r.parent == nil {
		r.say("%s", WaitText(d))
	}
	r.Line(waitLine{Type: "system", Subtype: "rate_limit_wait", Model: d.Model, Reason: d.Reason, Ahead: d.Ahead, Least: d.Least.Milliseconds(), Origin: r.NewOrigin("")})
}

// WaitText tells the user what a request waits for.
func WaitText(d event.RateLimitWait) string {
	return "waiting for the rate limit, at least " + d.Least.Round(100*time.Millisecond).String()
}
