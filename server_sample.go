package agent

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/elicitform"
	"github.com/openagent-go/agent/internal/engine"
	"github.com/openagent-go/agent/internal/executor"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/internal/toolhost"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
)

// Sample answers a server's request with an agent without tools. First the request must be
// permitted like a call of the tool q.Tool. The answer uses a share of the run's budget.
func (h *callHost) Sample(ctx context.Context, q toolhost.Sampling) (toolhost.Sampled, error) {
	ctx, number, err := h.begin(ctx)
	if err != nil {
		return toolhost.Sampled{}, err
	}
	defer h.sampling.Done()
	prompt := h.flat(q.Messages)
	model := h.sampler(q.Models)
	system := fmt.Sprintf("The MCP server %s asks you for an answer, which goes to the server. It is not your user, and you have no tools.", elicitform.Line(q.Server))
	if q.System != "" {
		system += " What follows are the server's words.\n\n" + h.x.Plain(q.System)
	}
	request := sampleRequest{Model: model.Name(), System: h.x.Plain(q.System), Prompt: prompt.Text, Images: len(prompt.Blocks), MaxTokens: min(q.MaxTokens, cmp.Or(h.x.agent.MaxTokens, defaultMaxTokens))}
	input, err := json.Marshal(request)
	if err != nil {
		return toolhost.Sampled{}, fmt.Errorf("writing the request of the MCP server %s: %w", q.Server, err)
	}
	// A call that is repeated after a crash may send other requests, so the hash is part of
	// the id. An id that ends in "." and a suffix belongs to the call before the dot, as in
	// a batch.
	hash := sha256.New()
	hash.Write(input)
	for _, b := range prompt.Blocks {
		hash.Write(b.(llm.Image).Data)
	}
	prompt.ID = fmt.Sprintf("%s.sampling%d-%x", h.call.ID, number, hash.Sum(nil)[:8])
	if err := h.permit(ctx, q, prompt.ID, input); err != nil {
		return toolhost.Sampled{}, err
	}
	var last event.AssistantMessage
	res, err := (&parentRun{h.x.owner, h.line.Host().(*activeRun)}).Run(ctx, child{
		Agent: &Agent{Name: "sampling:" + q.Server, Model: model, Fallbacks: h.x.agent.Fallbacks, System: system, Tools: []tool.Tool{},
			Context:   func(context.Context, Place) []Note { return nil }, // a server must not learn about the place
			MaxTokens: request.MaxTokens, Stop: q.Stop, Budget: Budget{Turns: 1}},
		Call: h.call.ID, Input: prompt, Apart: true,
		Watch: func(e event.Event) {
			if m, ok := e.Data.(event.AssistantMessage); ok {
				last = m
			}
		},
	})
	if err != nil {
		return toolhost.Sampled{}, fmt.Errorf("answering the MCP server %s: %w", q.Server, err)
	}
	if res.Text == "" {
		return toolhost.Sampled{}, fmt.Errorf("answering the MCP server %s: the model said nothing", q.Server)
	}
	return toolhost.Sampled{Text: h.x.Plain(res.Text), Model: cmp.Or(last.Response.Model, last.Model, model.Name()), Stop: cmp.Or(last.Response.Stop, llm.EndTurn)}, nil
}

// begin registers a request and returns its number. The end of the call cancels it.
func (h *callHost) begin(ctx context.Context) (context.Context, int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.over {
		return nil, 0, fmt.Errorf("%w: the call is over", toolhost.ErrDeclined)
	}
	ctx, cancel := context.WithCancel(ctx)
	h.cancels = append(h.cancels, cancel)
	h.sampled++
	h.sampling.Add(1)
	return ctx, h.sampled, nil
}

// end cancels the requests to the model that are in progress, and waits for them.
func (h *callHost) end() {
	h.mu.Lock()
	h.over = true
	for _, cancel := range h.cancels {
		cancel()
	}
	h.mu.Unlock()
	h.sampling.Wait()
}

// flat joins messages into one prompt.
func (h *callHost) flat(messages []llm.Message) (in Input) {
	var text strings.Builder
	for i, m := range messages {
		if len(messages) > 1 {
			if i > 0 {
				text.WriteString("\n\n")
			}
			fmt.Fprintf(&text, "[%s]\n", m.Role)
		}
		text.WriteString(h.x.Plain(m.Content.Text()))
		for _, b := range m.Content {
			if img, ok := b.(llm.Image); ok {
				in.Blocks = append(in.Blocks, img)
				fmt.Fprintf(&text, "[image %d]", len(in.Blocks))
			}
		}
	}
	in.Text = text.String()
	return in
}

// sampler returns the first named model that is available and, with a cost limit, has a
// known price. If there is none, it returns the run's model.
func (h *callHost) sampler(names []string) llm.Model {
	for _, name := range names {
		if m := h.x.Models.Named(name); m != nil && (h.x.definition().Budget.USD == 0 || llm.InfoOf(m).Price != nil) {
			return m
		}
	}
	return h.x.definition().Model
}

// A sampleRequest is the input of the call that stands for a request, for the permission
// decision.
type sampleRequest struct {
	Model     string `json:"model"`
	System    string `json:"system,omitempty"`
	Prompt    string `json:"prompt"`
	Images    int    `json:"images,omitempty"`
	MaxTokens int    `json:"max_tokens"`
}

// sampling is the tool that stands for a server's requests to the model in permission
// decisions.
type sampling struct{ name string }

func (s sampling) Spec() tool.Spec { return tool.Spec{Name: s.name, OpenWorld: true} }

func (s sampling) Run(context.Context, tool.Call) (*tool.Result, error) {
	return nil, errors.New("no model calls it")
}

// judging is the effect under which a server's request is authorized.
type judging string

func (j judging) Key() string      { return string(j) }
func (judging) Intent() event.Fact { return nil }

// permit decides about a request as if it were a call.
func (h *callHost) permit(ctx context.Context, q toolhost.Sampling, key string, input json.RawMessage) error {
	x := h.x
	if x.Tool(q.Tool) != nil {
		return fmt.Errorf("%w: the server has a tool of the name %s, so that rules for it would permit requests to the model", toolhost.ErrDeclined, q.Tool)
	}
	call := h.call
	call.ID, call.Name, call.Input, call.State = key, q.Tool, input, nil
	run := h.x.owner
	if err := run.withRun(ctx, func(l *activeRun) error { call.Mode = l.conv.State.Mode(); return nil }); err != nil {
		return err
	}
	j := &executor.Input{Effect: judging(key), Call: call, Asks: sampling{q.Tool}, Signals: h.line}
	d := h.decide(ctx, j)
	if len(j.More) > 0 {
		if err := run.withRun(ctx, func(l *activeRun) error { return l.Commit(j.More...) }); err != nil {
			return err
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if d.Behavior == permission.Allowed && d.Input != nil && !sameJSON(d.Input, input) {
		d = permission.Deny("the input was changed, which is not possible here")
	}
	if d.Behavior == permission.Allowed {
		if again := x.Recheck(call.Mode, j.Asks, &call, &j.Class); again != nil {
			d = *again
		}
	}
	if d.Behavior != permission.Allowed {
		x.Log.Info("a request of an MCP server to the model is declined", "server", q.Server, "reason", d.Reason)
		return fmt.Errorf("%w: permission denied: %s", toolhost.ErrDeclined, cmp.Or(d.Reason, "no reason is given"))
	}
	return nil
}

// decide runs the whole decision about a call. It asks a person if needed.
func (h *callHost) decide(ctx context.Context, j *executor.Input) permission.Decision {
	judged, _ := h.x.Authorize(ctx, engine.Authorize{Mode: j.Call.Mode}, j).(fact.Authorized)
	if judged.Stop != "" {
		j.More = append(j.More, fact.Stopped{Reason: event.HookStopped, Message: judged.Stop})
		return permission.Deny(judged.Stop)
	}
	d := judged.Decision
	if d.Behavior != permission.Asked {
		return d
	}
	j.Class, j.Verdict = judged.Class, &d
	if d.Input != nil {
		j.Call.Input = d.Input
	}
	answered, _ := h.x.Question(ctx, engine.Ask{}, j).(fact.Answered) // nil if ctx has ended
	if changed := d.Input; answered.Decision.Input == nil {
		answered.Decision.Input = changed
	}
	return answered.Decision
}

// sameJSON reports whether two JSON texts have the same value.
func sameJSON(a, b json.RawMessage) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}
