package usage

import (
	"testing"
	"time"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/session/view"
)

func TestEndLine(t *testing.T) {
	usd := 0.021
	const ms = time.Millisecond
	for _, c := range []struct {
		end  view.End
		want string
	}{
		{view.End{Fact: event.RunEnd{Reason: event.Completed, Turns: 2, Duration: 3140 * ms, CostUSD: &usd}, Calls: 5, Denied: 1,
			Time: view.Split{Model: 2400 * ms, Tools: 320 * ms, Waiting: 400 * ms, Other: 20 * ms}},
			"done · 2 turns · 5 calls, 1 denied · 3.1 s (model 2.4, tools 0.3, you 0.4) · $0.0210"},
		{view.End{Fact: event.RunEnd{Reason: event.MaxTurns, Turns: 1, Duration: 12 * ms}, Time: view.Split{Model: 12 * ms}},
			"ended · 1 turn · 0 calls · 0.0 s · cost unknown"},
		{view.End{Fact: event.RunEnd{Reason: event.Completed, Turns: 3, Duration: 185 * time.Second, CostUSD: &usd}, Calls: 1,
			Time: view.Split{Model: 100 * time.Second, Retry: 84600 * ms}},
			"done · 3 turns · 1 call · 3m5s (model 1m40s, retries 1m25s) · $0.0210"},
	} {
		if got := EndLine(&c.end); got != c.want {
			t.Errorf("%s\nwant %s", got, c.want)
		}
	}
}
