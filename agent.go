// Package agent runs language models with tools, inside your process.
//
// An [Agent] is the configuration of an agent. It is plain data, and many sessions can use
// it at once. A [Session] is a conversation with it.
//
//	ws := &workspace.Workspace{Root: "."}
//	defer ws.Close()
//	a := &agent.Agent{Model: anthropic.Model("claude-sonnet-4-6"), Tools: tools.Core(ws)}
//	res, err := a.Prompt(ctx, "Why does the build fail?")
package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/hook"
	"github.com/openagent-go/agent/internal/hookrun"
	"github.com/openagent-go/agent/internal/modelcall"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/tool"
	"github.com/openagent-go/agent/trace"
)

// An Agent is the configuration of an agent. Only Model is required. A session works with
// the Agent as it was when you made the session. You may set fields for a later session,
// but do not change the elements of lists and other values that fields point to.
type Agent struct {
	Name string // shown to tools as [tool.Call].Agent
	// Program is the name of your program. It is the same after a restart and in every
	// instance. If a session's last Agent had the same Program, the session continues in
	// the permission mode in which you left it, with the rules allowed for the session.
	// With "", or after another Program, only restrictions continue: the modes plan and
	// dontAsk, and rules that ask or deny. Otherwise the session begins in the Agent's mode.
	Program   string
	Model     llm.Model
	Fallbacks []llm.Model // tried in order, for the rest of a prompt, if a model stays unavailable
	// SmallModel is a cheap model that shortens tool results. It shortens those of tools
	// that ask for it (WebFetch with a prompt), and texts of more than SummarizeOver
	// characters. Its cost counts towards the budget. Nil: results stay as they are.
	SmallModel    llm.Model
	SummarizeOver int // in characters; 0: no text is shortened for its length alone
	// Models returns the model with the given name, for skills and [Input].Model. If it is nil
	// or returns an error, skills use the agent's model, and a prompt that names a model
	// fails with [ErrConfig].
	Models         func(name string) (llm.Model, error)
	System         string   // instructions
	Dir            string   // working directory of tools; "" is the process's
	AdditionalDirs []string // more folders whose files tools may edit in mode acceptEdits

	// Tools are the tools of the agent. If two have the same name, the later one counts, so
	// put built-in tools first. At the start of each prompt, the agent asks the Toolsets
	// for more tools. Their tools replace Tools of the same name.
	Tools    []tool.Tool
	Toolsets []tool.Set
	// AllowedTools, unless empty, names the only tools that the model sees. It never sees
	// DisallowedTools. Aliases of a tool count as well. "*" in a name stands for any text,
	// and mcp__server for all tools of a server. Permissions do not depend on these lists.
	AllowedTools    []string
	DisallowedTools []string
	// DeferredTools names tools that the model does not see until a tool search among
	// the Tools finds them.
	DeferredTools []string
	// DeferAbove is a share of the context window, which counts as 200,000 tokens at most.
	// If the descriptions of the Toolsets' tools take more than this share, or there are
	// more than 100 of them, those tools are deferred. This needs a tool search among the
	// Tools. 0: a tenth; negative: never.
	DeferAbove float64

	// Context returns notes about the place in which the agent works, such as files of
	// instructions: see project.Notes. It is called before each prompt, and before a model
	// call if calls have touched files since. The model gets each note once in a session. It
	// should return soon, and when ctx ends. Nil: none.
	Context func(ctx context.Context, at Place) []Note

	Permissions permission.Policy
	// Deciders judge every call, in every mode, also in bypassPermissions. They judge it
	// again if its input changes, and right before it runs. See [permission.Decider] for
	// the effect of their answers.
	Deciders []permission.Decider
	// CanUseTool decides about every call that is not denied yet, in every mode. Nil: calls
	// that need a person's permission are denied.
	CanUseTool CanUseToolFunc
	// AskUser asks a person the questions of a tool and returns one answer for each. Only one
	// call asks at a time. It should return when ctx ends. With [ErrSuspended] it leaves the
	// questions for later: the run is suspended, [Session.Answer] answers them, and
	// [Session.Resume] continues. If it fails with another error, the model gets that as the
	// result of the call. Nil: tools learn that no person can answer.
	AskUser func(ctx context.Context, call tool.Call, questions []tool.Question) ([]tool.Answer, error)
	// Inbox passes messages to the agent of a session, before each model call and before a run
	// ends. keep returns once they are on record. It ignores a message whose ID is already on
	// record, and an empty one. Inbox should return when ctx ends. The agent logs its errors.
	// Nil: there are none.
	Inbox func(ctx context.Context, session string, keep func([]Input) error) error
	Hooks []hook.Hook
	// AllowModeChange returns an error if hooks and tools, such as ExitPlanMode, and the
	// Mode of a prompt may not change to a mode. Nil: tools may change to any mode. Hooks may change to any but
	// bypassPermissions, unless the agent has that mode itself.
	AllowModeChange func(permission.Mode) error
	// AllowRuleGrant returns an error if a hook may not add a rule that allows calls.
	// Nil: it may add any.
	AllowRuleGrant func(permission.Rule) error

	Budget Budget // limits of each prompt; the zero value has none
	// Quota limits the cost of model calls beyond one prompt, such as that of a user in a
	// day. It counts all calls of the agent and its sub-agents. For an agent that serves many
	// users, see [quota.By]. Nil: there is no such limit.
	Quota Quota
	// AwaitAgents: a run does not complete while its background agents work. It delivers
	// their results first. Prompt, Do and Stream of an Agent always wait.
	AwaitAgents      bool
	Retry            *Retry         // nil: the defaults
	Compaction       *Compaction    // nil: the defaults
	Loop             event.Loop     // when the run ends, or asks, because a call repeats itself
	MaxTokens        int            // of one answer, thinking included; 0: 16,384, or less if the model allows less
	Thinking         llm.Thought    // whether and how much the model thinks first
	Cache            llm.Cache      // how long providers keep the prompt; zero: five minutes after each use
	Temperature      *float64       // nil: the model's default
	ToolChoice       llm.ToolChoice // of the first answer to a prompt
	Stop             []string       // stop sequences
	MaxParallelCalls int            // independent calls that run at the same time; 0: 10

	// Sessions stores sessions. Nil: the Agent keeps those with an id of yours in memory, as
	// long as it lives, and others only until they are closed. A copy of the Agent keeps its
	// own, unless the Agent had kept one when you copied it.
	Sessions session.Store
	// Checkpoint saves the files before the first call of a prompt that may change some, so
	// that you can restore them. It returns the id of the checkpoint. It should return when
	// ctx ends. If it fails, the run records the error and continues. Nil: they are not
	// saved.
	Checkpoint func(ctx context.Context, at CheckpointPlace) (id string, err error)
	Output     *tool.Output // limits of tool results; nil: the defaults
	// Secrets are replaced by *** in the results of tools. So are the values of environment
	// variables whose names look secret.
	Secrets []string
	Log     *slog.Logger // nil: no logs; docs/observability.md lists the records
	// Trace gets the steps of runs and of their sub-agents as spans. Nil: no tracing.
	Trace trace.Func

	parentLink *parentLink   // of a sub-agent; nil: no other agent started it
	bound      *boundAgent   // within the options of a prompt; nil: not bound
	kept       session.Store // named sessions, without a store; guarded by keptMu
}

// keptMu guards the field kept of every Agent without a store.
var keptMu sync.Mutex

// copied returns a copy of the Agent that keeps no sessions yet.
func (a *Agent) copied() Agent {
	var own Agent
	a.copyTo(&own)
	return own
}

// copyTo is copied with a place for the copy, so that callers need no deep stack.
func (a *Agent) copyTo(own *Agent) {
	if a.Sessions == nil {
		keptMu.Lock()
		defer keptMu.Unlock()
	}
	*own = *a
	own.kept = nil
}

// keptSessions returns the store of the Agent's named sessions. Without Sessions it lives
// as long as the Agent.
func (a *Agent) keptSessions() session.Store {
	if a.Sessions != nil {
		return a.Sessions
	}
	keptMu.Lock()
	defer keptMu.Unlock()
	if a.kept == nil {
		a.kept = session.Memory()
	}
	return a.kept
}

// A CanUseToolFunc decides about a call. The verdict is the result of rules, hooks and
// mode: allow, or ask. If you return the zero Decision, the verdict stands, and a call with
// verdict ask is denied. The function may be called for several calls at once, but with
// verdict ask only for one at a time. It should return when ctx ends. An error or a panic
// denies the call.
type CanUseToolFunc func(ctx context.Context, call tool.Call, verdict permission.Decision) (permission.Decision, error)

// A Quota counts the model calls of agents that share it. A call that does not fit fails
// with [llm.OverQuota], and the run ends as max_budget. [quota.Account] is one.
type Quota interface {
	// Meter returns the model with its calls counted.
	Meter(llm.Model) llm.Model
}

// A Budget limits one prompt, with all its sub-agents. A sub-agent gets a share of the
// rest, which stays reserved until it ends. So agents that work at once cannot exceed the
// budget together. Zero means no limit. A negative number is an error.
//
// A run keeps the Budget that it began with. A resumed run does too, also if the Agent has
// another Budget by then. To change it, call [Session.SetBudget] before or during the run.
type Budget struct {
	Turns      int // answers of models
	ModelCalls int // requests to models, retries included
	// USD limits the cost. A call is not made if its worst case costs more than what is
	// left. Every model's price must be known.
	USD float64
	// Time limits the wall time of a run. Waiting for a person inside the program counts.
	// If a run was suspended or its program died, the time until you resume it does not
	// count.
	Time time.Duration
}

// A Retry says how failed model calls are repeated. The zero Retry has the defaults.
type Retry struct {
	Tries    int           // more tries after the first one; 0: 3; negative: none
	Base     time.Duration // wait before the first of them, doubled for each one after it; 0: 2 s
	Cap      time.Duration // the longest wait, ±25 % jitter included; 0: 30 s
	MaxAfter time.Duration // the longest Retry-After to wait for; a longer one means no retry; 0: 60 s
	Statuses []int         // HTTP statuses to retry; nil: 408, 429, 500, 502, 503, 504, 529
}

// Prompt prompts the agent in a new session and waits for the result. See [Session.Prompt].
// Without a session store nothing of the session is kept.
func (a *Agent) Prompt(ctx context.Context, text string, more ...llm.Block) (*Result, error) {
	return a.Do(ctx, Input{Text: text, Blocks: more})
}

// Stream is like [Agent.Prompt] but yields events while they happen. See [Session.Stream].
func (a *Agent) Stream(ctx context.Context, text string, more ...llm.Block) iter.Seq2[event.Event, error] {
	s := a.Session("")
	s.definition().AwaitAgents = true
	events := s.Stream(ctx, text, more...)
	return func(yield func(event.Event, error) bool) {
		defer s.Close()
		events(yield)
	}
}

// Session returns the session with the given id, which may be new. "" makes a new id. The
// session opens at its first use. Close it when you are done: until then, another Session of
// the same id fails with [ErrBusy].
func (a *Agent) Session(id string) *Session {
	made := new(struct { // one allocation: a program may hold many idle sessions
		session Session
		agent   Agent
	})
	s, own := &made.session, &made.agent
	a.copyTo(own)
	s.ID = cmp.Or(id, session.NewID())
	if id != "" {
		own.Sessions = a.keptSessions()
	} else if own.Sessions == nil {
		own.Sessions = session.Memory()
	}
	s.agent.Store(own)
	return s
}

// ErrConfig is matched by errors about an invalid Agent, or an invalid change to a
// session's settings.
var ErrConfig = errors.New("bad configuration")

func (a *Agent) check() error {
	if a.Model == nil {
		return configError("Model is nil; set it")
	}
	b := a.Budget
	if err := b.check(); err != nil {
		return configError("%v", err)
	}
	if a.MaxTokens < 0 || a.MaxParallelCalls < 0 {
		return configError("MaxTokens and MaxParallelCalls must not be negative")
	}
	all := a.models()
	for i, m := range all {
		if m == nil || strings.TrimSpace(m.Name()) == "" {
			return configError("a model is nil or has no name")
		}
		for _, other := range all[:i] { // the second one would never be asked
			if x, y := llm.InfoOf(other).Provider, llm.InfoOf(m).Provider; other.Name() == m.Name() && x != y {
				return configError("two models are named %q, of %q and of %q; give one another name with llm.Named", m.Name(), x, y)
			}
		}
		if b.USD > 0 && llm.InfoOf(m).Price == nil {
			return configError("the price of model %q is not known, so its cost cannot be bounded; register it in a catalog.Table or leave out the USD budget", m.Name())
		}
	}
	if slices.Contains(a.Tools, nil) || slices.Contains(a.Toolsets, nil) {
		return configError("Tools or Toolsets hold nil")
	}
	if err := modelcall.CheckThought(a.Thinking); err != nil {
		return configError("Thinking: %v", err)
	}
	if err := modelcall.CheckCache(a.Cache); err != nil {
		return configError("Cache: %v", err)
	}
	if err := modelcall.CheckToolChoice(a.ToolChoice); err != nil {
		return configError("ToolChoice: %v", err)
	}
	if a.Loop.Repeats < 0 || a.Loop.Failures < 0 {
		return configError("a Loop must not have negative numbers: %+v", a.Loop)
	}
	if err := a.Compaction.check(); err != nil {
		return configError("%v", err)
	}
	if err := a.Permissions.Check(); err != nil {
		return configError("Permissions: %v", err)
	}
	if slices.Contains(a.Deciders, nil) {
		return configError("Deciders hold nil")
	}
	if _, err := hookrun.Compile(a.Hooks); err != nil {
		return configError("Hooks: %v", err)
	}
	return nil
}

// configError returns an error of kind [ErrConfig].
//
//go:noinline // called from many places: every program stays smaller
func configError(format string, args ...any) error {
	return fmt.Errorf("agent: %w: %s", ErrConfig, fmt.Sprintf(format, args...))
}

// models returns all models of the agent: Model, Fallbacks, SmallModel, the model of
// Compaction, and its own model if a prompt has another one.
//
//go:noinline // called from many places: every program stays smaller
func (a *Agent) models() []llm.Model {
	all := append([]llm.Model{a.Model}, a.Fallbacks...)
	if a.SmallModel != nil {
		all = append(all, a.SmallModel)
	}
	if a.Compaction != nil && a.Compaction.Model != nil {
		all = append(all, a.Compaction.Model)
	}
	if a.bound != nil && a.bound.usual != nil {
		all = append(all, a.bound.usual)
	}
	return all
}

func (a *Agent) logger() *slog.Logger {
	if a.Log != nil {
		return a.Log
	}
	return slog.New(slog.DiscardHandler)
}

// dir returns the absolute working directory. It resolves symlinks if the directory exists.
func (a *Agent) dir() (string, error) {
	if a.Dir != "" {
		return realPath(a.Dir)
	}
	if dir, ok := kernelDir(); ok {
		return dir, nil
	}
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("agent: finding the working directory: %w", err)
	}
	return realPath(dir)
}

func (a *Agent) roots(dir string) ([]string, error) {
	roots := []string{dir}
	for _, d := range a.AdditionalDirs {
		p, err := realPath(d)
		if err != nil {
			return nil, err
		}
		roots = append(roots, p)
	}
	return roots, nil
}

func realPath(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("agent: %w", err)
	}
	if real, err := filepath.EvalSymlinks(abs); err == nil {
		return real, nil
	}
	return abs, nil
}
