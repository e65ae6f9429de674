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
	"time"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/hook"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/tool"
	"github.com/openagent-go/agent/trace"
)

// An Agent is the definition of an agent. Only Model is required. A session
// works with the Agent as it was when the session was made: its fields may be set
// anew for another session, while what they point to, such as the elements of lists,
// must not be changed.
type Agent struct {
	Name string // shown to tools as [tool.Call].Agent
	// Program names the program over its restarts, and over its instances. A Session that
	// an Agent of the same Program opens goes on with the permission mode in which the
	// conversation was left, and with the rules that were allowed for the session. With
	// "", or after another Program, it goes on with modes plan and dontAsk alone, and
	// begins with the Agent's mode else; rules that ask and deny stay.
	Program   string
	Model     llm.Model
	Fallbacks []llm.Model // tried in order, for the rest of a prompt, when a model stays unavailable
	// SmallModel is a cheap model that digests results: those for which a tool asks it
	// (WebFetch with a prompt), and texts of more than SummarizeOver characters. Its
	// cost counts. Nil: results stay as they are.
	SmallModel    llm.Model
	SummarizeOver int // 0: no text is digested for its length alone
	// Models returns the model of a name, for skills that want one of their own. An
	// error leaves them the agent's, as nil does for all.
	Models         func(name string) (llm.Model, error)
	System         string   // instructions
	Dir            string   // working directory of tools; "" is the process's
	AdditionalDirs []string // further folders whose files mode acceptEdits lets tools edit

	// Tools are the tools of the agent; of two with one name the later counts, so
	// that built-in ones are put first. Toolsets are asked for more at the start
	// of each prompt and replace Tools of the same name.
	Tools    []tool.Tool
	Toolsets []tool.Set
	// AllowedTools, unless empty, are the names of the only tools that the model
	// sees; DisallowedTools it never sees. A tool's other names count as well, "*" in a
	// name stands for any text and mcp__server for all tools of a server. Permissions
	// are another matter.
	AllowedTools    []string
	DisallowedTools []string
	// DeferredTools are the names of tools that the model does not see until a tool
	// search among the Tools finds them.
	DeferredTools []string
	// DeferAbove is the share of the context window, of 200,000 tokens at most, that
	// the descriptions of the Toolsets' tools may take before they are deferred, which
	// a tool search among the Tools makes possible; more than 100 tools are deferred in
	// any case. 0: a tenth; negative: they are never deferred.
	DeferAbove float64

	// Context tells the model of the place that it works in. Nil: it is told nothing.
	Context ContextFunc

	Permissions permission.Policy
	// Deciders are asked about every call, in every mode, bypassPermissions
	// included, and again about changed input and right before the call runs. See
	// [permission.Decider] for what their answers do.
	Deciders []permission.Decider
	// CanUseTool is asked about every call that is not denied yet, in every mode.
	// Nil: calls that need a person's permission are denied.
	CanUseTool CanUseToolFunc
	// AskUser puts a tool's questions to a person. Nil: tools that ask are told
	// that nobody is there.
	AskUser AskUserFunc
	// Inbox is asked for messages to the agent before each call of the model and before
	// a run ends. Nil: there are none.
	Inbox InboxFunc
	Hooks []hook.Hook
	// AllowModeChange says why hooks and tools, such as ExitPlanMode, may not change over to
	// a mode. Nil: tools may to any, hooks to any but bypassPermissions, to which they
	// may only where the agent has it itself.
	AllowModeChange func(permission.Mode) error
	// AllowRuleGrant says why a rule that a hook adds may not allow calls. Nil: any may.
	AllowRuleGrant func(permission.Rule) error

	Budget Budget
	// AwaitAgents: a run does not end as completed while agents that it started in the
	// background are at work; what they come to is delivered first. It is so for a
	// prompt outside of a session.
	AwaitAgents      bool
	Retry            *Retry      // nil: as usual
	Compaction       *Compaction // nil: as usual
	MaxTokens        int         // of an answer, thinking included; 0: 16,384 or what the model can
	Thinking         llm.Thought
	Cache            llm.Cache // how providers keep the prompt; zero: for five minutes after each use
	Temperature      *float64
	ToolChoice       llm.ToolChoice // of the first answer to a prompt
	Stop             []string       // stop sequences
	MaxParallelCalls int            // calls at a time that do not depend on each other; 0: 10

	Sessions session.Store // nil keeps each session in memory
	// Checkpoint keeps the files before the first call of a prompt that may change
	// some. Nil: they are not kept.
	Checkpoint CheckpointFunc
	Output     *tool.Output // bounds of tool results; nil: as usual
	// Secrets are replaced by *** wherever a tool's result holds them, as are the
	// values of environment variables whose names say that they are secret.
	Secrets []string
	Log     *slog.Logger // nil: no logs; docs/observability.md lists the records
	// Trace is told of what runs do, and of what agents beneath them do, as spans. Nil:
	// nobody is.
	Trace trace.Func

	parentLink *parentLink // of an agent beneath another; nil: it is nobody's
}

// A CanUseToolFunc decides about a call. The verdict is what rules, hooks and
// mode make of it: allow, or ask. Returning the zero Decision leaves it at that,
// and a call that is to be asked about is then denied. It may be called for
// several calls at once, but with a verdict of ask for one at a time. It should
// return when ctx ends. An error or a panic denies the call.
type CanUseToolFunc func(ctx context.Context, call tool.Call, verdict permission.Decision) (permission.Decision, error)

// An AskUserFunc puts questions to a person and returns an answer to each. One
// call asks at a time. It should return when ctx ends. An error is told to the
// model.
type AskUserFunc func(ctx context.Context, call tool.Call, questions []tool.Question) ([]tool.Answer, error)

// An InboxFunc hands messages for the session's agent to keep, which returns once they
// are on record; a message whose ID is on record already is not recorded again. It
// should return when ctx ends. An error is logged.
type InboxFunc func(ctx context.Context, session string, keep func([]Input) error) error

// A Budget bounds one prompt, with all agents below it. An agent that is started gets a
// share of what is left, which stays reserved until it ends: agents that work at once
// cannot exceed the budget together. Zero means no limit, a negative number is an error.
type Budget struct {
	Turns      int // answers of models
	ModelCalls int // requests to models, retries included
	// USD bounds the cost: a call whose worst case does not fit what is left is not
	// made. Every model's price must be known.
	USD float64
	// Time bounds the wall time of a run. The time between the latest fact of a run that
	// was suspended, or whose program died, and its resumption does not count. Waiting
	// for a person inside the program does.
	Time time.Duration
}

// A Retry says how failed model calls are repeated. The zero Retry is the usual one.
type Retry struct {
	Tries    int           // further tries, 0: 3; negative: none
	Base     time.Duration // wait before the first, doubled for each further one; 0: 2 s
	Cap      time.Duration // the most to wait, ±25 % jitter included; 0: 30 s
	MaxAfter time.Duration // the longest retry-after that is obeyed; 0: 60 s
	Statuses []int         // HTTP statuses to retry; nil: 408, 429, 500, 502, 503, 504, 529
}

// Prompt asks the agent something in a new session and waits for the result.
// See [Session.Prompt]. Without a session store nothing of the session is kept.
func (a *Agent) Prompt(ctx context.Context, text string, more ...llm.Block) (*Result, error) {
	return a.Do(ctx, Input{Text: text, Blocks: more})
}

// Stream is like [Agent.Prompt] but yields events while they happen. See [Session.Stream].
func (a *Agent) Stream(ctx context.Context, text string, more ...llm.Block) iter.Seq2[event.Event, error] {
	s := a.Session("")
	s.def().AwaitAgents = true
	events := s.Stream(ctx, text, more...)
	return func(yield func(event.Event, error) bool) {
		defer s.Close()
		events(yield)
	}
}

// Session returns the session with the given id, which need not exist yet; ""
// makes a new id. It is opened at its first use and should be closed.
func (a *Agent) Session(id string) *Session {
	made := &struct { // in one piece: there may be many, most of them at rest
		session Session
		agent   Agent
	}{agent: *a}
	s, own := &made.session, &made.agent
	s.ID = cmp.Or(id, session.NewID())
	if own.Sessions == nil {
		own.Sessions = new(session.Memory)
	}
	s.agent.Store(own)
	return s
}

// ErrConfig is matched by errors about what an Agent is made of.
var ErrConfig = errors.New("bad configuration")

func (a *Agent) check() error {
	bad := func(format string, args ...any) error {
		return fmt.Errorf("agent: %w: %s", ErrConfig, fmt.Sprintf(format, args...))
	}
	if a.Model == nil {
		return bad("Model is nil")
	}
	b := a.Budget
	if b.Turns < 0 || b.ModelCalls < 0 || b.USD < 0 || b.Time < 0 || b.USD != b.USD {
		return bad("a Budget must not be negative: %+v", b)
	}
	if a.MaxTokens < 0 || a.MaxParallelCalls < 0 {
		return bad("MaxTokens and Parallel must not be negative")
	}
	all := a.models()
	for i, m := range all {
		if m == nil || strings.TrimSpace(m.Name()) == "" {
			return bad("a model is nil or has no name")
		}
		for _, other := range all[:i] { // the second one would never be asked
			if x, y := llm.InfoOf(other).Provider, llm.InfoOf(m).Provider; other.Name() == m.Name() && x != y {
				return bad("two models are named %q, of %q and of %q; give one another name with llm.Named", m.Name(), x, y)
			}
		}
		if b.USD > 0 && llm.InfoOf(m).Price == nil {
			return bad("the price of model %q is not known, so its cost cannot be bounded; register it in a catalog.Table or leave out the USD budget", m.Name())
		}
	}
	if slices.Contains(a.Tools, nil) || slices.Contains(a.Toolsets, nil) {
		return bad("Tools or Toolsets hold nil")
	}
	if err := a.Thinking.Check(); err != nil {
		return bad("Thinking: %v", err)
	}
	if err := a.Cache.Check(); err != nil {
		return bad("Cache: %v", err)
	}
	if err := a.Compaction.check(); err != nil {
		return bad("%v", err)
	}
	if err := a.Permissions.Check(); err != nil {
		return bad("Permissions: %v", err)
	}
	if slices.Contains(a.Deciders, nil) {
		return bad("Policies hold nil")
	}
	if _, err := hook.Compile(a.Hooks); err != nil {
		return bad("Hooks: %v", err)
	}
	return nil
}

// models returns the model, its fallbacks, the small one and that of summaries.
func (a *Agent) models() []llm.Model {
	all := append([]llm.Model{a.Model}, a.Fallbacks...)
	if a.SmallModel != nil {
		all = append(all, a.SmallModel)
	}
	if a.Compaction != nil && a.Compaction.Model != nil {
		all = append(all, a.Compaction.Model)
	}
	return all
}

func (a *Agent) logger() *slog.Logger {
	if a.Log != nil {
		return a.Log
	}
	return slog.New(slog.DiscardHandler)
}

// dir returns the working directory, absolute and without symlinks, as far as
// it exists.
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
