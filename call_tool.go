package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/tool"
)

// CallTool runs one tool as if the model had called it: with the same hooks, rules, mode,
// callback and limits. The call is a run of its own, in a session that is not kept. It
// reports the tool's progress with [tool.Progress] on ctx. A failure that the model would
// see, such as a denial, is a Result. An error means that the run itself failed. If a
// question is deferred, the error matches [ErrSuspended], and the call cannot be continued.
func (a *Agent) CallTool(ctx context.Context, name string, input json.RawMessage) (*tool.Result, error) {
	if !json.Valid(input) {
		return nil, errors.New("agent: calling " + name + ": the input is not JSON")
	}
	b := a.copied()
	b.Model, b.Fallbacks, b.Sessions = direct{name, input}, nil, nil
	b.Budget = Budget{Time: a.Budget.Time}
	s := b.Session("")
	defer s.Close()
	var result *tool.Result
	for e, err := range s.Stream(ctx, "call "+name) {
		if err != nil {
			return result, err
		}
		switch d := e.Data.(type) {
		case event.ToolProgress:
			tool.Progress(ctx, d.Status)
		case event.ToolResult:
			result = &d.Result
		}
	}
	if result == nil {
		return nil, fmt.Errorf("agent: calling %s: the run ended without a result", name)
	}
	return result, nil
}

// direct is a model that makes one call and then ends its turn.
type direct struct {
	tool  string
	input json.RawMessage
}

func (direct) Name() string   { return "direct" }
func (direct) Info() llm.Info { return llm.Info{Price: new(llm.Price)} }

func (d direct) Stream(_ context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		done := llm.Response{Stop: llm.EndTurn, Message: llm.Message{Role: llm.Assistant, Content: llm.Blocks{llm.Text{Text: "done"}}}}
		asked := slices.ContainsFunc(req.Messages, func(m llm.Message) bool { return m.Role == llm.Assistant })
		if !asked {
			done.Stop = llm.UseTools
			done.Message.Content = llm.Blocks{llm.ToolUse{ID: "direct", Name: d.tool, Input: d.input}}
		}
		yield(llm.Delta{Done: &done}, nil)
	}
}
