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
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/tool"
)

// An executor carries out single effects of one run. It keeps no state between
// them, and what it needs of the conversation is handed to it.
type executor struct {
	session    string
	agent      *Agent                                         // as it was when the run began
	def        func() *Agent                                  // as it is now
	ask        func() CanUseToolFunc                          // the callback in force
	person     func(context.Context) (done func(), err error) // waits for the turn to ask a person
	models     []llm.Model                                    // the first of a name counts; with mu, once the run goes on
	hooks      *hook.Set
	store      session.Store
	transcript string // file of the journal
	secrets    *secrets.Redactor
	rules      atomic.Pointer[permission.Compiled] // the agent's, and those that hooks have added
	mode       atomic.Pointer[permission.Mode]     // in force; nil before the first fact
	roots      []string
	unreadable atomic.Pointer[permission.Unreadable] // what no call may show
	log        *slog.Logger
	system     string   // prompt, with what the Toolsets had to say when the run began
	versions   []uint64 // of the Toolsets; the loop's
	repick     bool     // the tools are to be put together anew, for another model; the loop's
	patched    bool     // they are those of a model that writes patches; the loop's

	snapshots atomic.Int64 // of statuses
	mu        sync.Mutex
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

// grace is how long what ignores its cancellation is waited for.
const grace = 5 * time.Second

func newExecutor(ctx context.Context, s *Session) (*executor, []event.Tool, error) {
	a := s.def()
	if err := a.check(); err != nil {
		return nil, nil, err
	}
	hooks, err := hook.Compile(a.Hooks)
	if err != nil {
		return nil, nil, err
	}
	info := llm.InfoOf(a.Model)
	versions := a.versions()
	pool, err := a.poolFor(ctx, info)
	if err != nil {
		return nil, nil, err
	}
	pool, offered := a.advertise(pool, info.Window)
	dir, err := a.dir()
	if err != nil {
		return nil, nil, err
	}
	roots, err := a.roots(dir)
	if err != nil {
		return nil, nil, err
	}
	x := &executor{session: s.ID, agent: a, def: s.def, ask: s.callback, person: s.person, pool: pool, patched: info.Patches, versions: versions, system: a.instructions(), tools: toolsByName(pool), models: a.models(),
		hooks: hooks, store: a.Sessions, transcript: journalOf(a.Sessions, s.ID), secrets: secrets.Of(a.Secrets, pool, a.models()), notifiers: notifiersOf(pool), roots: roots, log: a.logger()}
	x.unreadable.Store(a.Permissions.DeniedReadPatterns(a.Deciders, roots...))
	x.rules.Store(a.Permissions.Compile())
	return x, offered, nil
}

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
	text(key, text string) // shows a piece of an answer's text
}

// do carries out a job and returns what came of it.
func (x *executor) do(ctx context.Context, j *effectInput) event.Fact {
	if x.agent.Trace != nil {
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
	if n, ok := j.signals.(*effectContext); ok && len(x.agent.Toolsets) > 0 { // no other tools have servers behind them
		host := &callHost{x: x, call: j.call, line: n}
		defer host.end()
		ctx = tool.WithHost(ctx, host)
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
	asks := len(result.Questions) > 0 && x.agent.AskUser != nil
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
	if mode == "" || mode == call.Mode || x.agent.AllowModeChange == nil {
		return r
	}
	err := safecall.Or(func() error { return x.agent.AllowModeChange(mode) }, errors.New("the host could not say whether it may change"))
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
	return x.limit(tool.Output{Lines: -1, Bytes: digestBytes, Dir: x.agent.output().Dir}, call, r)
}

// finish makes a result fit to be recorded: within the bounds of outputs,
// without secrets, and without what is no content or no JSON. r stays as it is.
func (x *executor) finish(call tool.Call, r *tool.Result) *tool.Result {
	return x.limit(x.agent.output(), call, r)
}

// output is what bounds results of tools.
func (a *Agent) output() tool.Output {
	if a.Output == nil {
		return tool.Output{}
	}
	return *a.Output
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

// notifies reports whether a tool or the inbox may have news.
func (x *executor) notifies() bool {
	if x.agent.Inbox != nil {
		return true
	}
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
