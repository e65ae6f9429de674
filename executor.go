package agent

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/openagent-go/agent/engine"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
)

// An executor carries out single effects of one run. It keeps no state between
// them, and what it needs of the conversation is handed to it.
type executor struct {
	session    string
	agent      *Agent
	ask        func() CanUseToolFunc // the callback in force
	pool       []tool.Tool
	tools      map[string]tool.Tool // of the pool, by name
	models     map[string]llm.Model // the loop's: SetModel adds to it
	hooks      hooks
	secrets    secrets
	roots      []string
	unreadable []string // patterns of the deny rules for reading
	memo       *llm.Memo
	log        *slog.Logger

	snapshots atomic.Int64 // of statuses
	mu        sync.Mutex
	attempt   struct { // the answer being written
		key    string
		drafts *drafts
	}
	drafts map[string]*draft // of the last answer's calls that have not run, by call
}

// grace is how long what ignores its cancellation is waited for.
const grace = 5 * time.Second

func newExecutor(ctx context.Context, s *Session) (*executor, []event.Tool, error) {
	a := s.agent
	if err := a.check(); err != nil {
		return nil, nil, err
	}
	pool, err := a.Pool(ctx)
	if err != nil {
		return nil, nil, err
	}
	s.mu.Lock()
	current := s.currentModel()
	s.mu.Unlock()
	pool, offered := a.offer(pool, llm.InfoOf(current).Window)
	dir, err := a.dir()
	if err != nil {
		return nil, nil, err
	}
	roots, err := a.roots(dir)
	if err != nil {
		return nil, nil, err
	}
	x := &executor{session: s.ID, agent: a, ask: s.callback, pool: pool, tools: map[string]tool.Tool{}, models: map[string]llm.Model{},
		hooks: compileHooks(a.Hooks), secrets: newSecrets(a.Secrets, pool, append(a.models(), current)), roots: roots, unreadable: a.Permissions.Unreadable(roots...), memo: &s.memo, log: a.logger()}
	for _, t := range pool {
		x.tools[t.Spec().Name] = t
	}
	for _, m := range a.models() {
		if x.models[m.Name()] == nil {
			x.models[m.Name()] = m
		}
	}
	return x, offered, nil
}

// job is an effect with what the conversation adds to it.
type job struct {
	effect  engine.Effect
	model   llm.Model           // CallModel, Digest: nil if the agent has it no more
	request *llm.Request        // CallModel
	call    tool.Call           // effects of calls
	class   tool.Class          // Ask
	id      string              // RunTool: the provider's id of the call
	done    *event.ToolDone     // AskPerson, Digest, RunHooks
	verdict permission.Decision // Ask
	emit    func(event.Signal)
}

// do carries out a job and returns what came of it.
func (x *executor) do(ctx context.Context, j job) event.Fact {
	switch e := j.effect.(type) {
	case engine.CallModel:
		return x.model(ctx, e, j)
	case engine.Wait:
		return x.wait(ctx, e)
	case engine.Authorize:
		return x.authorize(ctx, e, j.call)
	case engine.Ask:
		return x.question(ctx, e, j)
	case engine.RunTool:
		return x.run(ctx, e, j)
	case engine.AskPerson:
		return x.askPerson(ctx, e, j)
	case engine.Digest:
		return x.digest(ctx, e, j)
	case engine.RunHooks:
		return x.after(ctx, e.Key(), j.call, *j.done)
	}
	panic(fmt.Sprintf("agent: unknown effect %T", j.effect))
}

// wait returns nil when ctx ends first: nobody waits for the time then.
func (x *executor) wait(ctx context.Context, e engine.Wait) event.Fact {
	t := time.NewTimer(time.Until(e.Until))
	defer t.Stop()
	select {
	case <-t.C:
		return event.Waited{Key: e.Key()}
	case <-ctx.Done():
		return nil
	}
}

// model streams one request, turning deltas into signals.
func (x *executor) model(ctx context.Context, e engine.CallModel, j job) event.Fact {
	start := time.Now()
	var first time.Duration
	var text strings.Builder
	streamed, began := 0, false
	var uses map[int]llm.ToolUse // made when they are needed
	var thinking map[int]bool
	m := j.model
	if m == nil {
		return event.ModelFailed{Key: e.Key(), Model: e.Model, Class: llm.NotFound, Message: fmt.Sprintf("the agent has no model %q", e.Model)}
	}
	price := llm.InfoOf(m).Price
	calls := &drafts{emit: j.emit}
	defer calls.end()
	x.keep(e.Key(), calls)
	fail := func(err error) event.Fact {
		f := x.failure(e, err)
		f.Partial, f.Duration = text.String(), time.Since(start)
		if began {
			f.Usage = llm.Usage{Input: j.request.Estimate(), Output: (streamed + 3) / 4}
			f.CostUSD = cost(price, f.Usage)
		}
		return f
	}
	for d, err := range m.Stream(ctx, j.request) {
		if err != nil {
			return fail(err)
		}
		if !began {
			began, first = true, time.Since(start)
		}
		if d.Done != nil {
			response := *d.Done
			response.Message.Content = tidy(response.Message.Content)
			return event.AssistantMessage{Key: e.Key(), Model: e.Model, Response: response,
				CostUSD: cost(price, d.Done.Usage), Duration: time.Since(start), First: first}
		}
		streamed += len(d.Text)
		switch b := d.Block.(type) {
		case llm.ToolUse:
			if uses == nil {
				uses = map[int]llm.ToolUse{}
			}
			uses[d.Index] = b
			calls.begin(ctx, x, d.Index, b)
			calls.add(d.Index, d.Text)
			j.emit(event.ToolInputDelta{Key: e.Key(), ID: b.ID, Tool: b.Name, Text: d.Text})
			continue
		case llm.Thinking:
			if thinking == nil {
				thinking = map[int]bool{}
			}
			thinking[d.Index] = true
			if d.Text == "" {
				d.Text = b.Text
			}
		case llm.Text:
			if d.Text == "" {
				d.Text = b.Text
			}
		}
		u, isUse := uses[d.Index]
		switch {
		case d.Text == "":
		case isUse:
			calls.add(d.Index, d.Text)
			j.emit(event.ToolInputDelta{Key: e.Key(), ID: u.ID, Tool: u.Name, Text: d.Text})
		case thinking[d.Index]:
			j.emit(event.ThinkingDelta{Key: e.Key(), Text: d.Text})
		default:
			text.WriteString(d.Text)
			j.emit(event.TextDelta{Key: e.Key(), Text: d.Text})
		}
	}
	return fail(&llm.APIError{Class: llm.Truncated, Message: "the stream ended without a final event", RetryAfter: -1})
}

// tidy gives raw JSON the form in which it comes back from a journal, so that a
// resumed run makes the same requests, byte for byte.
// What a model's client should not have let through, and no journal takes, is
// left out.
func tidy(content llm.Blocks) llm.Blocks {
	var out llm.Blocks
	for _, b := range content {
		switch t := b.(type) {
		case nil:
			continue
		case llm.ToolUse:
			if input, ok := compact(t.Input); ok {
				t.Input = input
			} else {
				t.Input, t.Invalid = json.RawMessage("{}"), cmp.Or(t.Invalid, string(t.Input))
			}
			b = t
		case llm.Thinking:
			t.Extra, _ = compact(t.Extra)
			b = t
		case llm.Verbatim:
			raw, ok := compact(t.Raw)
			if t.Raw = raw; !ok {
				b = llm.Text{Text: t.Shown}
				break
			}
			b = t
		}
		out = append(out, b)
	}
	return out
}

// compact returns raw without needless space, nil where it is nil or no JSON.
func compact(raw json.RawMessage) (compacted json.RawMessage, ok bool) {
	var b bytes.Buffer
	if raw == nil {
		return nil, true
	}
	if json.Compact(&b, raw) != nil {
		return nil, false
	}
	return b.Bytes(), true
}

func cost(p *llm.Price, u llm.Usage) *float64 {
	if p == nil {
		return nil
	}
	return new(p.Cost(u))
}

// failure says what a failed call means: what kind it is, and whether and when
// to try again.
func (x *executor) failure(e engine.CallModel, err error) event.ModelFailed {
	f := event.ModelFailed{Key: e.Key(), Model: e.Model, Message: x.secrets.text(err.Error())}
	var api *llm.APIError
	if !errors.As(err, &api) {
		f.Class = llm.Network
		if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
			f.Class = llm.Timeout
		}
		return f
	}
	f.Class, f.Status, f.RequestID = api.Class, api.Status, api.RequestID
	r := x.agent.Retry
	if !api.Retryable() || api.Status != 0 && !slices.Contains(r.statuses(), api.Status) && api.Status >= 300 {
		return f
	}
	if most := or(r.MaxAfter, time.Minute); api.RetryAfter > most {
		f.Class = llm.Unavailable
		f.Message += fmt.Sprintf(" (asks to wait %v, more than the %v that are obeyed)", api.RetryAfter, most)
		return f
	}
	delay := api.RetryAfter
	if delay <= 0 { // not said, or at once: never without a pause
		delay = r.backoff(e.Tries)
	}
	f.Retry, f.RetryAt = true, time.Now().Add(delay)
	return f
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
	jitter := 0.75 + rand.Float64()/2
	return min(time.Duration(float64(d)*jitter), most)
}

func or(d, def time.Duration) time.Duration {
	if d > 0 {
		return d
	}
	return def
}

// run runs a tool. Its start is on record.
func (x *executor) run(ctx context.Context, e engine.RunTool, j job) event.Fact {
	start := time.Now()
	t, b := x.drafted(j.call, j.id)
	show := func(phase event.ToolPhase, s tool.Status, failure string) {
		b.show(event.ToolProgress{Call: j.call.ID, Phase: phase, Error: failure, Elapsed: time.Since(start)}, s, j.emit)
	}
	ctx = tool.WithProgress(ctx, func(s tool.Status) { show(event.ToolDoing, s, "") })
	show(event.ToolDoing, tool.Status{}, "")
	out := tool.Run(ctx, t, j.call, grace)
	if out.Err != nil {
		x.log.Error("tool did not return", "error", out.Err)
	}
	cause := event.ByTool
	if ctx.Err() != nil {
		cause = event.ByCancel
	}
	question := x.digestOf(out.Result)
	result := *x.bound(j.call, out.Result, question != "")
	if result.IsError {
		show(event.ToolFailed, tool.Status{}, firstLine(result.Text()))
	} else {
		show(event.ToolSucceeded, tool.Status{}, "")
	}
	asks := len(result.Questions) > 0 && x.agent.AskUser != nil
	if asks || question != "" || len(x.hooks.on(PostToolUse, j.call.Name)) > 0 {
		if !asks {
			result.Questions = nil
		}
		return event.ToolDone{Key: e.Key(), Call: e.Call, Cause: cause, Digest: question, Result: result, Fault: out.Fault, Duration: time.Since(start)}
	}
	return event.ToolResult{Key: e.Key(), Call: e.Call, Cause: cause, Result: result, Fault: out.Fault, Duration: time.Since(start)}
}

func firstLine(s string) string {
	s, _, _ = strings.Cut(strings.TrimSpace(s), "\n")
	return s
}

// bound is finish, with more room for what is to be digested.
func (x *executor) bound(call tool.Call, r *tool.Result, digest bool) *tool.Result {
	if !digest {
		return x.finish(call, r)
	}
	clean := x.secrets.result(*r)
	limited, err := tool.Output{Lines: -1, Bytes: digestBytes, Dir: x.agent.Output.Dir}.Limit(call, &clean)
	if err != nil {
		x.log.Warn("keeping a long output", "tool", call.Name, "error", err)
	}
	return limited
}

// finish makes a result fit to be recorded: within the bounds of outputs,
// without secrets, and without what is no content or no JSON.
func (x *executor) finish(call tool.Call, r *tool.Result) *tool.Result {
	clean := x.secrets.result(*r)
	limited, err := x.agent.Output.Limit(call, &clean)
	if err != nil {
		x.log.Warn("keeping a long output", "tool", call.Name, "error", err)
	}
	return limited
}

// A notifier is a tool that has news between its calls, such as the end of a
// background command. Each notice is returned once.
type notifier interface{ Notices(session string) []string }

func (x *executor) notices() []string {
	var out []string
	for _, t := range x.pool {
		if n, ok := t.(notifier); ok {
			out = append(out, n.Notices(x.session)...)
		}
	}
	return out
}
