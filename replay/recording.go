package replay

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/engine"
	"github.com/openagent-go/agent/internal/executor"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/internal/policies"
	"github.com/openagent-go/agent/internal/toolrun"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
)

// future stands for the end of a decision that had not ended yet.
var future = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)

// A recording is what a replay of a session and its sub-agents shares.
type recording struct {
	models      map[string]llm.Info       // by name
	traits      map[[2]string]tool.Traits // recorded effects, by session and call
	run         func(tool.Call) bool
	watch       func(event.Event)
	differences []Difference
	current     current
}

// current is the effect that is carried out.
type current struct {
	player *player
	fact   event.Fact // its recorded outcome
	cancel func()     // cancels it
}

// learn takes in the descriptions of models.
func (r *recording) learn(d event.Data) {
	switch f := d.(type) {
	case fact.Configured:
		for name, info := range f.Models {
			r.models[name] = info
		}
	case event.ModelChanged:
		r.models[f.Model] = f.Info
	case fact.FallbacksChanged:
		for name, info := range f.Models {
			r.models[name] = info
		}
	case event.UserMessage:
		if f.Expansion != nil && f.Expansion.Scope != nil && f.Expansion.Scope.Model != "" {
			r.models[f.Expansion.Scope.Model] = f.Expansion.Scope.Info
		}
	case event.ToolResult:
		if sc := f.Result.Patch.Begin; sc != nil && sc.Model != "" {
			r.models[sc.Model] = sc.Info
		}
	}
}

// A namedModel has the name and the description of a model on record.
type namedModel struct {
	name string
	info llm.Info
	say  func(*llm.Request) iter.Seq2[llm.Delta, error]
}

func (m namedModel) Name() string   { return m.name }
func (m namedModel) Info() llm.Info { return m.info }

func (m namedModel) Stream(_ context.Context, r *llm.Request) iter.Seq2[llm.Delta, error] {
	return m.say(r)
}

// model returns a model of the record that nobody calls.
func (r *recording) model(name string) llm.Model {
	return namedModel{name: name, info: r.models[name], say: func(*llm.Request) iter.Seq2[llm.Delta, error] {
		return failing(errors.New("a model was called outside of the record"))
	}}
}

// answering returns the model that gives the recorded answer.
func (p *player) answering(j *executor.Input, f event.Fact) llm.Model {
	m := namedModel{}
	switch e := j.Effect.(type) {
	case engine.CallModel:
		m.name = e.Model
	case engine.Compact:
		m.name = e.Model
	case engine.Digest:
		m.name = e.Model
		if a, ok := f.(fact.ToolAmended); ok && a.Model == "" {
			return nil
		}
	}
	if failed, ok := f.(event.ModelFailed); ok && failed.Class == "not_found" && strings.HasPrefix(failed.Message, "the agent has no model") {
		return nil
	}
	info, known := p.session.Conversation().State.Models()[m.name]
	if m.info = info; !known { // a skill or a sub-agent has named it
		m.info = p.models[m.name]
	}
	m.say = func(*llm.Request) iter.Seq2[llm.Delta, error] { return p.outcome(j, f) }
	return m
}

// outcome streams the recorded outcome of a model call.
func (p *player) outcome(j *executor.Input, f event.Fact) iter.Seq2[llm.Delta, error] {
	switch f := f.(type) {
	case event.AssistantMessage:
		return streamed(f.Response)
	case event.ModelFailed:
		return failedAfter(f)
	case event.Compacted:
		return streamed(summaryResponse(f))
	case fact.ToolAmended:
		r, err := digestResponse(f, j.Done)
		if err != nil {
			return failing(err)
		}
		return streamed(r)
	}
	return failing(errors.New("the record has no answer of the model here"))
}

func failing(err error) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) { yield(llm.Delta{}, err) }
}

// streamed yields a response as a provider does.
func streamed(r llm.Response) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		for i, b := range r.Message.Content {
			d := llm.Delta{Index: i, Block: b}
			switch b := b.(type) {
			case llm.Text:
				d.Block, d.Text = llm.Text{}, b.Text
			case llm.ToolUse:
				input := string(b.Input)
				if b.Invalid != "" {
					input = b.Invalid
				}
				d.Block, d.Text = llm.ToolUse{ID: b.ID, Name: b.Name}, input
			case llm.Thinking:
				d.Block, d.Text = llm.Thinking{}, b.Text
			}
			if !yield(d, nil) {
				return
			}
		}
		own := r
		own.Message.Content = slices.Clone(r.Message.Content)
		yield(llm.Delta{Done: &own}, nil)
	}
}

// A recordedError is the error of a model call that failed, in the words of the record.
type recordedError struct {
	message string
	api     *llm.APIError
}

func (e *recordedError) Error() string { return e.message }
func (e *recordedError) Unwrap() error { return e.api }

func failedAfter(f event.ModelFailed) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		if f.Usage != (llm.Usage{}) || f.Partial != "" {
			if !yield(llm.Delta{Block: llm.Text{}, Text: f.Partial}, nil) {
				return
			}
		}
		api := &llm.APIError{Class: f.Class, Status: f.Status, RequestID: f.RequestID, RetryAfter: -1}
		yield(llm.Delta{}, &recordedError{f.Message, api})
	}
}

// retried decides about further tries as the record says.
func retried(f event.Fact) func(*llm.APIError, int) executor.Retry {
	failed, _ := f.(event.ModelFailed)
	return func(*llm.APIError, int) executor.Retry { return executor.Retry{Again: failed.Retry} }
}

// summaryResponse returns the answer that a summary was made of.
func summaryResponse(f event.Compacted) llm.Response {
	r := llm.Response{Usage: f.Usage, Stop: llm.EndTurn, Message: llm.Message{Role: llm.Assistant}}
	said := ""
	switch {
	case f.Failed == "":
		if len(f.Memory) > 0 {
			said = "<memory>\n- " + strings.Join(f.Memory, "\n- ") + "\n</memory>\n"
		}
		said += "<summary>\n" + f.Summary + "\n"
		if !f.Cut {
			said += "</summary>"
		}
	case strings.Contains(f.Failed, "called a tool"):
		r.Message.Content = append(r.Message.Content, llm.ToolUse{ID: "replay", Name: "replay", Input: []byte("{}")})
	case strings.Contains(f.Failed, "refused"):
		r.Stop = llm.Refusal
	case strings.Contains(f.Failed, "no shorter"):
		said = strings.Repeat("as long as before ", 8*max(f.Before, 1000))
	}
	if f.Cut {
		r.Stop = llm.MaxTokens
	}
	if said != "" {
		r.Message.Content = append(r.Message.Content, llm.Text{Text: said})
	}
	return r
}

// digestResponse returns the answer that a shortened result was made of.
func digestResponse(f fact.ToolAmended, done *fact.ToolDone) (llm.Response, error) {
	if f.Usage == (llm.Usage{}) {
		return llm.Response{}, errors.New("the model did not answer")
	}
	r := llm.Response{Usage: f.Usage, Stop: llm.EndTurn, Message: llm.Message{Role: llm.Assistant}}
	said := ""
	for _, b := range f.Result.Content {
		if t, ok := b.(llm.Text); ok {
			said = t.Text
			break
		}
	}
	if done != nil && f.Result.Text() == done.Result.Text() {
		return r, nil // an empty answer changes nothing
	}
	if rest, ok := strings.CutPrefix(said, "[digest of "); ok {
		if _, after, ok := strings.Cut(rest, "]\n"); ok {
			said = after
		}
	}
	r.Message.Content = llm.Blocks{llm.Text{Text: said}}
	return r, nil
}

// callback returns the callback that decides as on record, nil if none decided.
func (r *recording) callback() executor.Callback {
	var d permission.Decision
	switch f := r.current.fact.(type) {
	case fact.Authorized:
		d = f.Decision
	case fact.Answered:
		d = f.Decision
	default:
		return nil
	}
	switch d.Source {
	case policies.FromRule, policies.FromMode, policies.FromPolicy, policies.FromHook, policies.FromGuard, policies.FromDefault, "":
		return nil
	}
	if !d.Expires.IsZero() {
		d.Expires = future
	}
	return func(context.Context, tool.Call, permission.Decision) (permission.Decision, error) { return d, nil }
}

// unanswered reports whether a question was denied because nobody answered in time.
func unanswered(f event.Fact) bool {
	a, ok := f.(fact.Answered)
	return ok && strings.Contains(a.Decision.Reason, "(nobody answered until ")
}

// runTool gives the recorded result of a call.
func (r *recording) runTool(ctx context.Context, t tool.Tool, call tool.Call) toolrun.Outcome {
	if r.run != nil && r.run(call) {
		return toolrun.Do(ctx, t, call)
	}
	var result tool.Result
	var fault toolrun.Fault
	var cause event.Cause
	switch f := r.current.fact.(type) {
	case event.ToolResult:
		result, fault, cause = f.Result, toolrun.Fault(f.Fault), f.Cause
	case fact.ToolDone:
		result, fault, cause = f.Result, f.Fault, f.Cause
	default:
		result = *tool.Errorf("the record has no result of this call")
	}
	if cause == fact.ByCancel {
		r.current.cancel()
	}
	return toolrun.Outcome{Result: &result, Fault: fault}
}

// checkpoint gives the recorded checkpoint.
func (r *recording) checkpoint(context.Context, engine.TakeCheckpoint) (string, error) {
	f, ok := r.current.fact.(fact.Checkpointed)
	if !ok {
		return "", errors.New("the record has no checkpoint here")
	}
	if f.Error != "" {
		return f.ID, errors.New(f.Error)
	}
	return f.ID, nil
}
