package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/openagent-go/agent/engine"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/hook"
	"github.com/openagent-go/agent/internal/safecall"
	"github.com/openagent-go/agent/internal/secrets"
	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
	"github.com/openagent-go/agent/trace"
)

// An executor carries out single effects of one run. What it needs of the conversation is
// handed to it.
type executor struct {
	execConfig
	rules      atomic.Pointer[permission.Compiled]   // the agent's, and those that hooks have added
	mode       atomic.Pointer[permission.Mode]       // in force; nil before the first fact
	unreadable atomic.Pointer[permission.Unreadable] // what no call may show

	snapshots atomic.Int64 // of statuses
	mu        sync.Mutex
	models    []llm.Model   // the first of a name counts
	asking    chan struct{} // held by who has a server's question put; nil before the first
	pool      []tool.Tool
	tools     map[string]tool.Tool // of the pool, and those that calls were made of before it was another
	notifiers []notifier           // of the pool
	attempt   struct {             // the answer being written
		key    string
		drafts *partialCalls
	}
	fetched map[string]int          // how many keys each model has got, where that changes
	drafts  map[string]*partialCall // of the last answer's calls that have not run, by call
}

// An execConfig is what an executor works with.
type execConfig struct {
	driver     execDriver
	session    string
	root       string // the session at the root of the tree, "" for the root itself
	name       string // of the agent
	kind       string // of the agent, or its name
	agentID    string // of an agent that works for another
	transcript string // file of the journal
	roots      []string
	hooks      *hook.Set
	secrets    *secrets.Redactor
	log        *slog.Logger
	logs       bool       // somebody reads the log
	trace      trace.Func // nil: nobody is told

	deciders        []permission.Decider
	bypass          bool                                                                     // the agent's own mode is bypassPermissions
	allowModeChange func(permission.Mode) error                                              // nil: any
	allowRuleGrant  func(permission.Rule) error                                              // nil: any
	askUser         func(context.Context, tool.Call, []tool.Question) ([]tool.Answer, error) // nil: nobody is there

	findByName    func(string) (llm.Model, error) // of models that skills want; nil: none
	summarizes    bool                            // there is a small model
	summarizeOver int
	output        tool.Output // bounds of results
	retry         func(err *llm.APIError, failures int) execRetry
}

// An execRetry says whether a failed call is made again.
type execRetry struct {
	again bool
	after time.Duration
	class llm.Class // of the failure, unless it is what the provider says; "" then
	why   string    // added to the message
}

// An execCallback decides about a call.
type execCallback = func(ctx context.Context, call tool.Call, verdict permission.Decision) (permission.Decision, error)

// An execDriver is asked for what may change while a run goes on.
type execDriver interface {
	// canUseTool returns the callback in force, nil for none.
	canUseTool() execCallback
	// askTurn waits for the turn to ask a person.
	askTurn(ctx context.Context) (done func(), err error)
	// strictestMode is a mode, or one of an agent above that permits less.
	strictestMode(mode permission.Mode) permission.Mode
	// boundsCost reports whether there is a limit of USD.
	boundsCost() bool
	// sessionTag is the tag of the session.
	sessionTag(ctx context.Context) string
	// keepFiles takes a checkpoint. ok is false where none are kept.
	keepFiles(ctx context.Context, e engine.TakeCheckpoint) (id string, ok bool, err error)
	// services are those of a call, nil for none. end is called after the call.
	services(call tool.Call, to signals) (services tool.RunServices, end func())
}

// newExecutor makes an executor of tools and models.
func newExecutor(cfg execConfig, pool []tool.Tool, models []llm.Model) *executor {
	return &executor{execConfig: cfg, pool: pool, tools: toolsByName(pool), notifiers: notifiersOf(pool), models: models}
}

// grace is how long what ignores its cancellation is waited for.
const grace = 5 * time.Second

// tool returns the tool of a name, nil if there is none.
func (x *executor) tool(name string) tool.Tool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.tools[name]
}

// toolOf returns the tool of a job's call, nil if it is there no more.
func (x *executor) toolOf(j *effectInput) tool.Tool {
	if j.asks != nil {
		return j.asks
	}
	return x.tool(j.call.Name)
}

// takeTools makes another pool of tools that of the run. Calls of tools that are gone and
// were made before go on.
func (x *executor) takeTools(pool []tool.Tool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.pool, x.notifiers = pool, notifiersOf(pool)
	for _, t := range pool {
		x.tools[t.Spec().Name] = t
		if s, ok := t.(secrets.Holder); ok {
			x.secrets.Add(s.Secrets())
		}
	}
}

// replace puts t in the place of the tool of its name.
func (x *executor) replace(t tool.Tool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	name := t.Spec().Name
	x.tools[name] = t
	x.pool = slices.Clone(x.pool) // somebody may be going through it
	for i := range x.pool {
		if x.pool[i].Spec().Name == name {
			x.pool[i] = t
		}
	}
	x.notifiers = notifiersOf(x.pool)
	for id, d := range x.drafts {
		if d.board.name == name {
			delete(x.drafts, id) // the call is made by the new one
		}
	}
	if s, ok := t.(secrets.Holder); ok {
		x.secrets.Add(s.Secrets())
	}
}

// addSecrets takes in the secrets of a model.
func (x *executor) addSecrets(m llm.Model) {
	if s, ok := m.(secrets.Holder); ok {
		x.secrets.Add(s.Secrets())
	}
}

// addRotatedSecrets takes in the keys that a model got for its last call.
func (x *executor) addRotatedSecrets(m llm.Model) {
	k, ok := m.(secrets.Rotating)
	if !ok {
		return
	}
	n := k.Fetched()
	if n == 0 {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.fetched[m.Name()] != n {
		if x.fetched == nil {
			x.fetched = map[string]int{}
		}
		x.fetched[m.Name()] = n
		x.secrets.Add(k.Secrets())
	}
}

// addModel makes a model one of the run's, in the place of the one of its name.
func (x *executor) addModel(m llm.Model) {
	x.mu.Lock()
	defer x.mu.Unlock()
	name := m.Name()
	others := slices.DeleteFunc(slices.Clone(x.models), func(o llm.Model) bool { return o.Name() == name })
	x.models = append(others, m)
}

// everyTool returns the pool.
func (x *executor) everyTool() []tool.Tool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.pool
}

// effectInput is an effect with what the conversation adds to it. What is started for it
// and may go on when do has returned holds copies: the job is used again.
type effectInput struct {
	effect  engine.Effect
	model   llm.Model             // CallModel, Digest: nil if the agent has it no more
	request *llm.Request          // CallModel
	call    tool.Call             // effects of calls
	asks    tool.Tool             // Authorize, Ask: in place of the tool of the call's name; nil but for sampling
	id      string                // RunTool: the provider's id of the call
	done    *event.ToolDone       // AskPerson, Digest, RunHooks, GatherResults
	class   tool.Traits           // Ask, RunTool: what the call was judged to do
	input   *hook.Input           // Fire
	answer  *candidate            // CheckOutput
	short   *shortening           // Compact
	cutting engine.TruncationPlan // Cut
	more    []event.Fact          // what else is to be recorded, after the fact
	verdict permission.Decision
	signals signals
}

// complain logs an error, whatever the handler does.
func (x *executor) complain(text string, args ...any) {
	safecall.Or(func() bool { x.log.Error(text, args...); return true }, false)
}

// signals takes what is shown while an effect is carried out.
type signals interface {
	watched() bool // somebody sees what is shown
	show(event.Signal)
	text(key, text string)                  // shows a piece of an answer's text
	openSpan(end func(trace.End)) *openSpan // keeps the span of the effect, for who gives it up
}

// do carries out a job and returns what came of it.
func (x *executor) do(ctx context.Context, j *effectInput) event.Fact {
	if x.trace != nil {
		return x.observed(ctx, j)
	}
	return x.perform(ctx, j)
}

func (x *executor) perform(ctx context.Context, j *effectInput) event.Fact {
	switch e := j.effect.(type) {
	case engine.CallModel:
		return x.model(ctx, e, j)
	case engine.Authorize:
		return x.authorize(ctx, e, j)
	case engine.Ask:
		return x.question(ctx, e, j)
	case engine.RunTool:
		return x.run(ctx, e, j)
	case engine.AskPerson:
		return x.askPerson(ctx, e, j)
	case engine.Digest:
		return x.summarizeResult(ctx, e, j)
	case engine.Cut:
		return x.cut(e, &j.cutting)
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
		return x.checkOutput(e, j.answer)
	}
	panic(fmt.Sprintf("agent: unknown effect %T", j.effect))
}

// run runs a tool. Its start is on record.
func (x *executor) run(ctx context.Context, e engine.RunTool, j *effectInput) event.Fact {
	start := time.Now()
	if d, denied := x.recheck(e.Mode, x.toolOf(j), &j.call, &j.class); denied {
		return event.ToolResult{Key: e.Key(), Call: e.Call, Cause: event.ByDenial, Fault: tool.Refused,
			Result: *tool.Errorf("Permission denied: %s", d.Reason)}
	}
	t, b := x.drafted(j)
	if b != nil {
		b.start = start
		doing, signals := event.ToolProgress{Call: j.call.ID, Phase: event.ToolDoing}, j.signals
		b.show(doing, tool.Status{}, signals)
		ctx = tool.WithProgress(ctx, func(s tool.Status) { b.show(doing, s, signals) })
	}
	if services, end := x.driver.services(j.call, j.signals); services != nil {
		defer end()
		ctx = tool.WithHost(ctx, services)
	}
	out := tool.Do(ctx, t, j.call)
	cause := event.ByTool
	if ctx.Err() != nil {
		cause = event.ByCancel
	}
	question := x.summaryRequest(out.Result)
	result := x.bound(j.call, out.Result, question != "")
	if b != nil {
		p := event.ToolProgress{Call: j.call.ID, Phase: event.ToolSucceeded}
		if result.IsError {
			p.Phase, p.Error = event.ToolFailed, text.FirstLine(result.Text())
		}
		b.show(p, tool.Status{}, j.signals)
	}
	return x.conclude(e, j, &out, cause, question, result, start)
}

// conclude makes the fact of a tool's result.
func (x *executor) conclude(e engine.RunTool, j *effectInput, out *tool.Outcome, cause event.Cause, question string, result *tool.Result, start time.Time) event.Fact {
	own := *result
	own.Content = slices.Clone(result.Content) // the tool may hold the other
	own.Patch.Begin = x.equipped(own.Patch.Begin)
	result = x.inBounds(j.call, &own)
	asks := len(result.Questions) > 0 && x.askUser != nil
	if asks || question != "" || x.hooks.Has(resultEvent(result), j.call.Name) {
		done := event.ToolDone{Key: e.Key(), Call: e.Call, Cause: cause, Digest: question, Result: *result, Fault: out.Fault, Duration: time.Since(start)}
		if !asks {
			done.Result.Questions = nil
		}
		return done
	}
	return event.ToolResult{Key: e.Key(), Call: e.Call, Cause: cause, Result: *result, Fault: out.Fault, Duration: time.Since(start)}
}

// inBounds is a result, or an error in its place where it would change over to a mode
// that the host does not permit: an approved plan does not lift plan mode then.
func (x *executor) inBounds(call tool.Call, r *tool.Result) *tool.Result {
	mode := r.Patch.Mode
	if mode == "" || mode == call.Mode || x.allowModeChange == nil {
		return r
	}
	err := safecall.Or(func() error { return x.allowModeChange(mode) }, errors.New("the host could not say whether it may change"))
	if err == nil {
		return r
	}
	return tool.Errorf("The permission mode stays %s: %s", call.Mode, x.secrets.Text(err.Error()))
}

// gather makes the fact of a batch's result.
func (x *executor) gather(key string, j *effectInput) event.Fact {
	result := *x.finish(j.call, &j.done.Result)
	if x.hooks.Has(resultEvent(&result), j.call.Name) {
		return event.ToolDone{Key: key, Call: j.call.ID, Cause: event.ByTool, Result: result}
	}
	return event.ToolResult{Key: key, Call: j.call.ID, Cause: event.ByTool, Result: result}
}

// bound is finish, with more room for what is to be digested.
func (x *executor) bound(call tool.Call, r *tool.Result, digest bool) *tool.Result {
	if !digest {
		return x.finish(call, r)
	}
	return x.limit(tool.Output{Lines: -1, Bytes: digestBytes, Dir: x.output.Dir}, call, r)
}

// finish makes a result fit to be recorded: within the bounds of outputs,
// without secrets, and without what is no content or no JSON. r stays as it is.
func (x *executor) finish(call tool.Call, r *tool.Result) *tool.Result {
	return x.limit(x.output, call, r)
}

func (x *executor) limit(o tool.Output, call tool.Call, r *tool.Result) *tool.Result {
	limited, err := o.Limit(call, x.secrets.Result(r))
	if err != nil {
		x.log.Warn("keeping a long output", "tool", call.Name, "error", err)
	}
	return limited
}

// A notifier is a tool that has news between its calls, such as the end of a
// background command. Each notice is returned once.
type notifier interface{ Notices(session string) []string }

// notices returns the news of tools.
func (x *executor) notices() []string {
	x.mu.Lock()
	notifiers := x.notifiers
	x.mu.Unlock()
	var out []string
	for _, n := range notifiers {
		out = append(out, safecall.Or(func() []string { return n.Notices(x.session) }, nil)...)
	}
	return out
}

// notifies reports whether a tool may have news.
func (x *executor) notifies() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return len(x.notifiers) > 0
}

// notifiersOf returns those tools of a pool that may have news.
func notifiersOf(pool []tool.Tool) []notifier {
	var out []notifier
	for _, t := range pool {
		if n, ok := t.(notifier); ok {
			out = append(out, n)
		}
	}
	return out
}

// tell logs a record if somebody reads it, whatever the handler does.
func (x *executor) tell(level slog.Level, text string, args ...any) {
	if x.logs {
		safecall.Or(func() bool { x.log.Log(context.Background(), level, text, args...); return true }, false)
	}
}

// turnToAsk has room for the one who has a server's question put.
func (x *executor) turnToAsk() chan struct{} {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.asking == nil {
		x.asking = make(chan struct{}, 1)
	}
	return x.asking
}

func toolsByName(pool []tool.Tool) map[string]tool.Tool {
	tools := make(map[string]tool.Tool, len(pool))
	for _, t := range pool {
		tools[t.Spec().Name] = t
	}
	return tools
}

// judged takes what was decided about the call.
func (j *effectInput) judged(c engine.CallStatus) { j.class, j.verdict = c.Traits, c.Decision }
