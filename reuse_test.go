package agent_test

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"testing"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/tool"
)

// A clinger is a model that keeps the contexts of its calls.
type clinger struct {
	caller
	kept []context.Context
}

func (k *clinger) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	k.kept = append(k.kept, ctx)
	return k.caller.Stream(ctx, req)
}

// A tool or a model may keep its context after its work. That context has ended, and its
// reports are not shown, least of all as reports of a later call.
func TestNothingOutlivesItsWork(t *testing.T) {
	model := &clinger{caller: caller{turns: 6}}
	var kept []context.Context
	slow := tool.Func(tool.Spec{Name: "double", ReadOnly: true}, func(ctx context.Context, in number) (string, error) {
		for i, earlier := range slices.Concat(kept, model.kept) {
			if earlier.Err() == nil {
				t.Errorf("call %d: context %d of %d has not ended", in.N, i, len(kept))
			}
			tool.Progress(earlier, tool.Status{Text: "late"})
		}
		kept = append(kept, ctx)
		tool.Progress(ctx, tool.Status{Text: fmt.Sprint("call ", in.N)})
		return "ok", nil
	})
	a := &agent.Agent{Model: model, Tools: []tool.Tool{slow}}
	said := map[string]string{}
	for e, err := range a.Stream(t.Context(), "go") {
		if err != nil {
			t.Fatal(err)
		}
		if p, ok := e.Data.(event.ToolProgress); ok && p.Status.Text != "" {
			said[p.Call] = p.Status.Text
		}
	}
	if len(kept) != 5 || len(model.kept) != 6 {
		t.Fatal(len(kept), len(model.kept))
	}
	calls := map[string]bool{}
	for call, text := range said {
		if text == "late" || calls[text] {
			t.Errorf("%s shows %q", call, text)
		}
		calls[text] = true
	}
	if len(said) == 0 {
		t.Error("no call reported anything")
	}
}
