package agent_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/tool"
)

type hangingNotices struct {
	tool.Tool
	asked *atomic.Int64
	free  chan struct{}
}

func (h hangingNotices) Notices(string) []string { h.asked.Add(1); <-h.free; return nil }

// A tool whose Notices do not return is asked once, and the run goes on without it.
func TestNoticesHang(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked, free := new(atomic.Int64), make(chan struct{})
		quiet := tool.Func(tool.Spec{Name: "Quiet"}, func(context.Context, struct{}) (string, error) { return "ok", nil })
		a := &agent.Agent{Model: llmtest.Script(say("end")), Tools: []tool.Tool{hangingNotices{quiet, asked, free}}}
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		start := time.Now()
		res, err := a.Prompt(ctx, "go")
		if err != nil || res.Text != "end" || asked.Load() != 1 {
			t.Errorf("%+v, %v; asked %d times in %v", res, err, asked.Load(), time.Since(start))
		}
		close(free)
		synctest.Wait()
	})
}
