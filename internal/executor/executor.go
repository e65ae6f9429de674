// Package executor carries out single effects of a run: it calls models, judges calls, runs
// hooks and tools, and summarises. It takes an effect with its inputs from the
// conversation, and returns a fact. It does not know what drives the run or where facts are
// recorded. [Driver] is all that it needs of its driver.
package executor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/hook"
	"github.com/openagent-go/agent/internal/engine"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/internal/hookrun"
	"github.com/openagent-go/agent/internal/policies"
	"github.com/openagent-go/agent/internal/rules"
	"github.com/openagent-go/agent/internal/safecall"
	"github.com/openagent-go/agent/internal/secrets"
	"github.com/openagent-go/agent/internal/toolhost"
	"github.com/openagent-go/agent/internal/tooloutput"
	"github.com/openagent-go/agent/internal/toolrun"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
	"github.com/openagent-go/agent/trace"
)

// An Executor carries out single effects of one run. Each call passes in what it needs of
// the conversation.
type Executor struct {
	Config
	Rules      atomic.Pointer[policies.Compiled] // the agent's rules and those that hooks have added
	Mode       atomic.Pointer[permission.Mode]   // mode in force; nil before the first fact
	Unreadable atomic.Pointer[rules.Unreadable]  // the files that no call may show

	snapshots atomic.Int64 // number of the last status snapshot and hook id

	Models ModelSet // models that the run may call
	Drafts Drafts   // calls from their first piece until they run

	mu            sync.Mutex
	asking        chan struct{} // held while a server's question is open; nil before the first
	resolvedTools []tool.Tool
	tools         map[string]tool.Tool // resolvedTools, and removed ones for calls made before
	notifiers     []notifier           // those of resolvedTools with notices
	modelCause    cause                // of the latest failed model call
	hookCause     cause                // of the latest failed hook
}

// A Config is the configuration of an executor.
type Config struct {
	Driver     Driver
	Session    string
	Root       string // id of the session at the root of the tree, "" for the root itself
	Name       string // of the agent
	Kind       string // definition's name of the agent, or Name
	AgentID    string // id of a sub-agent
	Transcript string // file of the journal
	Roots      []string
	Hooks      *hookrun.Set
	Secrets    *secrets.Redactor
	Log        *slog.Logger
	Logs       bool       // the log is in use
	Trace      trace.Func // nil: no tracing

	Deciders        []permission.Decider
	Bypass          bool                                                                     // the agent's own mode is bypassPermissions
	AllowModeChange func(permission.Mode) error                                              // nil: any
	AllowRuleGrant  func(permission.Rule) error                                              // nil: any
	AskUser         func(context.Context, tool.Call, []tool.Question) ([]tool.Answer, error) // nil: no person can answer

	FindByName    func(string) (llm.Model, error) // finds models for skills; nil: none
	Summarizes    bool                            // the agent has a small model
	SummarizeOver int
	Output        tool.Output // limits of results
	// Checkpoint saves the files and returns the id of the checkpoint; nil: no checkpoints.
	Checkpoint func(ctx context.Context, e engine.TakeCheckpoint) (id string, err error)
	// Services returns the services of the run for a call; nil: there are none. end is
	// called after the call.
	Services func(call tool.Call, to Signals) (services toolhost.RunServices, end func())
	Retry    func(err *llm.APIError, failures int) Retry
	Meter    func(llm.Model) llm.Model // counts the calls of a model for a quota; nil: there is none
	// RunTool runs the tool of a call; nil: [toolrun.Do].
	RunTool func(ctx context.Context, t tool.Tool, call tool.Call) toolrun.Outcome
}

// metered returns the model with its calls counted.
func (c *Config) metered(m llm.Model) llm.Model {
	if c.Meter == nil {
		return m
	}
	return c.Meter(m)
}

// A Retry says whether to repeat a failed call.
type Retry struct {
	Again bool
	After time.Duration
	Class llm.Class // class of the failure; "": the provider's
	Why   string    // added to the message
}

// A Callback decides about a call.
type Callback = func(ctx context.Context, call tool.Call, verdict permission.Decision) (permission.Decision, error)

// A Driver provides what may change during a run.
type Driver interface {
	// CanUseTool returns the callback in force, nil for none.
	CanUseTool() Callback
	// AskTurn waits for the turn to ask a person.
	AskTurn(ctx context.Context) (done func(), err error)
	// StrictestMode returns mode, or the mode of an agent above if that permits less.
	StrictestMode(mode permission.Mode) permission.Mode
	// BoundsCost reports whether there is a limit in USD.
	BoundsCost() bool
	// SessionTag returns the tag of the session.
	SessionTag(ctx context.Context) string
}

// New returns an executor with the given tools and models.
func New(cfg Config, resolved []tool.Tool, models []llm.Model) *Executor {
	return &Executor{Config: cfg, resolvedTools: resolved, tools: toolsByName(resolved), notifiers: notifiersOf(resolved),
		Models: ModelSet{list: models, secrets: cfg.Secrets, find: cfg.FindByName}}
}

// Grace is how long the run waits for effects that ignore their cancellation.
const Grace = 5 * time.Second

// Tool returns the tool with the given name, nil if there is none.
func (x *Executor) Tool(name string) tool.Tool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.tools[name]
}

// toolOf returns the tool of an input's call, nil if it was removed.
func (x *Executor) toolOf(j *Input) tool.Tool {
	if j.Asks != nil {
		return j.Asks
	}
	return x.Tool(j.Call.Name)
}

// TakeTools replaces the tools of the run. Removed tools stay available to calls that were
// made before.
func (x *Executor) TakeTools(resolved []tool.Tool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.resolvedTools, x.notifiers = resolved, notifiersOf(resolved)
	for _, t := range resolved {
		x.tools[t.Spec().Name] = t
		if s, ok := t.(secrets.Holder); ok {
			x.Secrets.Add(s.Secrets())
		}
	}
}

// Replace replaces the tool with the name of t by t.
func (x *Executor) Replace(t tool.Tool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	name := t.Spec().Name
	x.tools[name] = t
	x.resolvedTools = slices.Clone(x.resolvedTools) // another goroutine may be reading it
	for i := range x.resolvedTools {
		if x.resolvedTools[i].Spec().Name == name {
			x.resolvedTools[i] = t
		}
	}
	x.notifiers = notifiersOf(x.resolvedTools)
	x.Drafts.drop(name) // the new tool runs their calls
	if s, ok := t.(secrets.Holder); ok {
		x.Secrets.Add(s.Secrets())
	}
}

// EveryTool returns all tools of the run. Do not change the list.
func (x *Executor) EveryTool() []tool.Tool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.resolvedTools
}

// Input is an effect with its inputs from the conversation.
type Input struct {
	Effect  engine.Effect
	Model   llm.Model              // CallModel, Digest: nil if the agent no longer has it
	Request *llm.Request           // CallModel
	Call    tool.Call              // effects of calls
	Asks    tool.Tool              // Authorize, Ask: used instead of the tool with the call's name; only for sampling
	ID      string                 // RunTool: the provider's id of the call
	Done    *fact.ToolDone         // AskPerson, Digest, RunHooks, GatherResults
	Class   tool.Traits            // Ask, RunTool: what the call was judged to do
	Input   *hook.Input            // CallHooks
	Answer  *Candidate             // CheckOutput
	Short   *Summary               // Compact
	Cutting *engine.TruncationPlan // Cut
	More    []event.Fact           // more facts to record, after the returned one
	Verdict *permission.Decision   // Ask
	Expires time.Time              // RunTool: when the decision that allows the call ends; zero: never
	Foreign bool                   // RunTool: the call was approved in the session that this one was forked from
	Signals Signals
}

// Complain logs an error. A panic of the log's handler has no effect.
//
//go:noinline // called from many places: every program stays smaller
func (x *Executor) Complain(text string, args ...any) {
	safecall.Or(func() bool { x.Log.Error(text, args...); return true }, false)
}

// Signals shows signals while an effect is carried out.
type Signals interface {
	Watched() bool // the signals have a reader
	Show(event.Signal)
	Text(key, text, soFar string)           // shows a piece of an answer's text; soFar ends with it
	OpenSpan(end func(trace.End)) *OpenSpan // keeps the span of the effect, so that the run can end it when it gives up the effect
}

// Do carries out an effect and returns the resulting fact.
func (x *Executor) Do(ctx context.Context, j *Input) event.Fact {
	if x.Trace != nil {
		return x.observed(ctx, j)
	}
	return x.perform(ctx, j)
}

func (x *Executor) perform(ctx context.Context, j *Input) event.Fact {
	switch e := j.Effect.(type) {
	case engine.CallModel:
		return x.model(ctx, e, j)
	case engine.Authorize:
		return x.Authorize(ctx, e, j)
	case engine.RunTool:
		return x.run(ctx, e, j)
	}
	return x.performRare(ctx, j)
}

// performRare carries out an effect that not every turn has. It is a function of its own,
// because its copies of large effects make the stack deep.
func (x *Executor) performRare(ctx context.Context, j *Input) event.Fact {
	switch e := j.Effect.(type) {
	case engine.Ask:
		return x.Question(ctx, e, j)
	case engine.AskPerson:
		return x.askPerson(ctx, e, j)
	case engine.Digest:
		return x.summarizeResult(ctx, e, j)
	case engine.Cut:
		return x.cut(e, j.Cutting)
	case engine.Compact:
		return x.compact(ctx, e, j)
	case engine.RunHooks:
		return x.after(ctx, e.Key(), j)
	case engine.CallHooks:
		return x.fire(ctx, e, j)
	case engine.TakeCheckpoint:
		return x.checkpoint(ctx, e)
	case engine.GatherResults:
		return x.gather(e.Key(), j)
	case engine.CheckOutput:
		return x.checkOutput(e, j.Answer)
	}
	panic(fmt.Sprintf("agent: unknown effect %T", j.Effect))
}

// run runs a tool. Its start is on record.
func (x *Executor) run(ctx context.Context, e engine.RunTool, j *Input) event.Fact {
	start := time.Now()
	if d := x.Recheck(e.Mode, x.toolOf(j), &j.Call, &j.Class); d != nil {
		return refused(e.Key(), e.Call, d.Reason)
	}
	if j.Foreign {
		return x.askAgain(e, j, "it was approved in the session that this one was forked from, or before a rewind, and an approval is for one call")
	}
	if !j.Expires.IsZero() && !start.Before(j.Expires) {
		return x.askAgain(e, j, "the approval of this call ended at "+clock(j.Expires))
	}
	t, b := x.drafted(j)
	if b != nil {
		ctx = b.begin(ctx, j, start)
	}
	if x.Services != nil {
		services, end := x.Services(j.Call, j.Signals)
		defer end()
		ctx = toolhost.WithHost(ctx, services)
	}
	runTool := x.RunTool
	if runTool == nil {
		runTool = toolrun.Do
	}
	out := runTool(ctx, t, j.Call)
	cause := fact.ByTool
	if ctx.Err() != nil {
		cause = fact.ByCancel
	}
	question := x.summaryRequest(out.Result)
	result := x.bound(j.Call, out.Result, question != "")
	if b != nil {
		b.end(j, result)
	}
	return x.conclude(e, j, &out, cause, question, result, start)
}

// refused returns the fact of a call that was denied right before it would have run.
func refused(key, call, reason string) event.Fact {
	return brokenResult(key, call, fact.ByDenial, toolrun.Refused, 0, tool.Errorf("Permission denied: %s", reason))
}

// conclude returns the fact of a tool's result.
func (x *Executor) conclude(e engine.RunTool, j *Input, out *toolrun.Outcome, cause event.Cause, question string, result *tool.Result, start time.Time) event.Fact {
	own := *result
	own.Content = slices.Clone(result.Content) // the tool may keep the original
	own.Patch.Begin = x.Equipped(own.Patch.Begin)
	result = x.inBounds(j.Call, &own)
	asks := len(result.Questions) > 0 && x.AskUser != nil
	if asks || question != "" || x.Hooks.Has(resultEvent(result), j.Call.Name) {
		done := fact.ToolDone{Key: e.Key(), Call: e.Call, Cause: cause, Digest: question, Result: *result, Fault: out.Fault, Duration: time.Since(start)}
		if !asks {
			done.Result.Questions = nil
		}
		return done
	}
	return event.ToolResult{Key: e.Key(), Call: e.Call, Cause: cause, Result: *result, Fault: out.Fault, Duration: time.Since(start)}
}

// inBounds returns r, or an error result if r would change to a mode that the host does not
// permit. So an approved plan does not lift plan mode then.
func (x *Executor) inBounds(call tool.Call, r *tool.Result) *tool.Result {
	mode := r.Patch.Mode
	if mode == "" || mode == call.Mode || x.AllowModeChange == nil {
		return r
	}
	err := safecall.Or(func() error { return x.AllowModeChange(mode) }, errors.New("the callback AllowModeChange failed"))
	if err == nil {
		return r
	}
	return tool.Errorf("The permission mode stays %s: %s", call.Mode, x.Secrets.Text(err.Error()))
}

// gather returns the fact of a batch's result.
func (x *Executor) gather(key string, j *Input) event.Fact {
	result := *x.Finish(j.Call, &j.Done.Result)
	if x.Hooks.Has(resultEvent(&result), j.Call.Name) {
		return fact.ToolDone{Key: key, Call: j.Call.ID, Cause: fact.ByTool, Result: result}
	}
	return event.ToolResult{Key: key, Call: j.Call.ID, Cause: fact.ByTool, Result: result}
}

// bound is Finish, with a higher limit for a result that the small model will shorten.
func (x *Executor) bound(call tool.Call, r *tool.Result, digest bool) *tool.Result {
	if !digest {
		return x.Finish(call, r)
	}
	return x.limit(tool.Output{Lines: -1, Bytes: digestBytes, Dir: x.Output.Dir}, call, r)
}

// Finish prepares a result for the record: it applies the output limits, and removes
// secrets, invalid content and invalid JSON. It does not change r.
func (x *Executor) Finish(call tool.Call, r *tool.Result) *tool.Result {
	return x.limit(x.Output, call, r)
}

func (x *Executor) limit(o tool.Output, call tool.Call, r *tool.Result) *tool.Result {
	limited, err := tooloutput.Limit(o, call, x.Secrets.Result(r))
	if err != nil {
		x.Log.Warn("keeping a long output", "tool", call.Name, "error", err)
	}
	return limited
}

// A notifier is a tool that has notices between its calls, such as the end of a background
// command. It returns each notice once.
type notifier interface{ Notices(session string) []string }

// Notices returns the notices of tools.
func (x *Executor) Notices() []string {
	x.mu.Lock()
	notifiers := x.notifiers
	x.mu.Unlock()
	var out []string
	for _, n := range notifiers {
		out = append(out, safecall.Or(func() []string { return n.Notices(x.Session) }, nil)...)
	}
	return out
}

// Notifies reports whether a tool may have notices.
func (x *Executor) Notifies() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return len(x.notifiers) > 0
}

// notifiersOf returns the tools that may have notices.
//
//go:noinline // called from many places: every program stays smaller
func notifiersOf(resolved []tool.Tool) []notifier {
	var out []notifier
	for _, t := range resolved {
		if n, ok := t.(notifier); ok {
			out = append(out, n)
		}
	}
	return out
}

// Tell logs a record if the log is in use. A panic of the log's handler has no effect.
func (x *Executor) Tell(level slog.Level, text string, args ...any) {
	if x.Logs {
		safecall.Or(func() bool { x.Log.Log(context.Background(), level, text, args...); return true }, false)
	}
}

// TurnToAsk returns a channel with capacity one. Send to it to get the turn to ask a
// server's question, and receive from it when done.
func (x *Executor) TurnToAsk() chan struct{} {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.asking == nil {
		x.asking = make(chan struct{}, 1)
	}
	return x.asking
}

func toolsByName(resolved []tool.Tool) map[string]tool.Tool {
	tools := make(map[string]tool.Tool, len(resolved))
	for _, t := range resolved {
		tools[t.Spec().Name] = t
	}
	return tools
}
