package main

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/checkpoint"
	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cron"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/mcp"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/sandbox"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/skill"
	"github.com/openagent-go/agent/subagent"
	"github.com/openagent-go/agent/team"
	"github.com/openagent-go/agent/tools"
	"github.com/openagent-go/agent/trace"
	"github.com/openagent-go/agent/trigger"
	"github.com/openagent-go/agent/workspace"
)

// A setup is what a run, or a conversation, works with.
type setup struct {
	options   *options
	provider  provider
	project   string // the working folder
	workspace *workspace.Workspace
	outside   *workspace.Workspace // where hooks run; nil: in the workspace, or there are none
	sandbox   *sandbox.Sandbox     // nil: nothing is said of one
	languages *tools.Languages
	schedule  *cron.Scheduler                  // that of this program; nil: it runs none
	servers   *mcp.Servers                     // nil: there are none
	given     map[string]mcp.Config            // that the run began with
	told      atomic.Pointer[func(mcp.Status)] // of changes of servers
	skills    *skill.Registry                  // nil: there are none
	briefing  *briefing                        // nil: nothing is told of the folder
	triggers  *trigger.Handler                 // runs those that the model starts; nil: it can start none
	person    bool                             // somebody can be asked
	plugins   []*plugin                        // that are trusted
	kinds     []kind                           // of agents
	kind      *kind                            // that the agent is; nil: it is of none
	crew      *subagent.Manager                // puts them to work
	agent     *agent.Agent
	session   *agent.Session
	recorder  *trace.Recorder // nil: the run is not traced
	store     session.Store
	kept      *checkpoint.Store // states of files; nil where the session is not kept either
	shared    sharedTeam        // tasks, teams and mail
	tasks     team.Tasks        // those of shared, with leases where they outlive the program
	closeTeam func() error      // nil: they are in memory
	past      bool              // the session was there before
	usual     permission.Mode   // that settings name; for a session with a past it is no more than a wish
}

// setup makes what the options ask for; ask is nil where nobody can be asked.
// A missing key is found out before anything costs time.
func (h *host) setup(ctx context.Context, o *options, ask agent.AskUserFunc) (_ *setup, err error) {
	dir, err := workingDir()
	if err != nil {
		return nil, err
	}
	here := ask != nil && o.input != formatStream // a person at the terminal
	if o, err = h.configure(ctx, o, dir, here); err != nil {
		return nil, err
	}
	p, err := h.provider(o)
	if err != nil {
		return nil, err
	}
	if p.needsKey() {
		return nil, p.noKey()
	}
	h.secrets = append(p.secrets(), o.secretValues()...)
	h.warnOfSettings(o)
	s := newSetup(o, p, dir)
	defer s.closeOnError(&err)
	if err := h.keepTeam(s); err != nil {
		return nil, err
	}
	s.person = ask != nil || o.promptTool == askByStdio
	if ask != nil || o.input == formatStream {
		s.schedule, s.triggers = new(cron.Scheduler), new(trigger.Handler)
	}
	if err := h.makeAgent(ctx, s, here, true); err != nil {
		return nil, err
	}
	if o.trace != "" {
		if err := s.record(o.trace); err != nil {
			return nil, err
		}
	}
	h.brief(s)
	h.warnOfSandbox(s)
	h.warnOfBypass(s)
	h.warnOfModel(s.provider, s.agent.Model)
	if text := unthinking(s.agent.Model, s.agent.Thinking, len(s.agent.Tools)); text != "" {
		h.complain("%s", text)
	}
	if err := h.addCustomTools(ctx, s, here); err != nil {
		return nil, err
	}
	s.addServers()
	s.agent.AskUser = ask
	s.agent.AwaitAgents = ask == nil && o.input != formatStream // there is no later prompt that could hear of them
	if o.promptTool == askLater {
		s.agent.CanUseTool = deferred
	}
	chosen, err := h.choose(ctx, o, dir)
	if err != nil {
		return nil, startError(ctx, err)
	}
	s.store, s.past = chosen.store, chosen.existing
	s.keepMode()
	s.agent.Sessions = s.store
	if err := h.keepFiles(s); err != nil {
		return nil, err
	}
	s.session = s.agent.Session(chosen.id)
	if chosen.rewindTo > 0 {
		if err := s.session.Rewind(ctx, chosen.rewindTo); err != nil {
			return nil, startError(ctx, err)
		}
	}
	return s, nil
}

func newSetup(o *options, p provider, dir string) *setup {
	s := &setup{options: o, provider: p, project: dir, workspace: &workspace.Workspace{Root: dir, Dirs: o.dirs, Env: o.env, Pass: o.passed}}
	s.languages = tools.NewLanguages(s.workspace, o.servers)
	memory := new(team.Memory)
	s.shared, s.tasks = memory, memory
	return s
}

// makeAgent finds what the agent of a run can use, and makes it. With ask a person at
// the terminal is asked about what is not trusted; what is wrong with files of agents
// and skills is said if tell is set.
func (h *host) makeAgent(ctx context.Context, s *setup, ask, tell bool) error {
	if err := h.findPlugins(ctx, s, ask, true); err != nil {
		return err
	}
	if err := h.findKinds(ctx, s, ask, tell); err != nil {
		return err
	}
	if err := s.become(); err != nil {
		return err
	}
	var err error
	if s.kind != nil { // which may have a model of its own
		if s.provider, err = h.provider(s.options); err != nil {
			return err
		}
		if s.provider.needsKey() {
			return s.provider.noKey()
		}
	}
	if err := h.findServers(ctx, s, ask); err != nil {
		return err
	}
	if err := h.addSkills(ctx, s, ask, tell); err != nil {
		return err
	}
	s.agent, err = h.newAgent(s)
	return err
}

// fallbacks are the models to use when the first stays unavailable. Where managed
// settings name the model and no fallbacks, others are left out.
func (h *host) fallbacks(s *setup) ([]llm.Model, error) {
	said := s.options.said("fallback_models", "--fallback-model")
	_, free := s.options.managed("fallback_models")
	var list []llm.Model
	for _, name := range s.options.fallbacks {
		m, err := s.provider.llm(name)
		if err != nil {
			return nil, cli.Usagef("%s: %v", said, err)
		}
		if err := s.permitsModelNamed(name); err != nil && !free {
			h.complain("%s: %q does not count; %v", said, name, err)
			continue
		}
		list = append(list, m)
	}
	return list, nil
}

// newAgent makes the agent that the options describe.
func (h *host) newAgent(s *setup) (*agent.Agent, error) {
	o := s.options
	if err := h.confine(s); err != nil {
		return nil, err
	}
	a := &agent.Agent{
		Dir: s.project, AdditionalDirs: o.dirs,
		Permissions:   h.policy(o),
		Budget:        agent.Budget{Turns: o.turns, ModelCalls: o.modelCalls, USD: o.usd, Time: o.timeout},
		Compaction:    o.compaction,
		SummarizeOver: o.digestAbove,
		MaxTokens:     o.maxTokens,
		Thinking:      llm.Thought{Budget: o.thinking, Effort: o.effort},
		Cache:         o.promptCache(),
		Secrets:       h.secrets,
		Log:           h.logger(o),
	}
	a.Models = s.modelNamed
	a.Hooks, a.AllowModeChange, a.AllowRuleGrant = s.hooks(), o.permits, o.permitsRule
	a.Deciders = s.guard(&a.Permissions, a.Deciders)
	var err error
	if a.Model, err = s.provider.llm(s.provider.model.value); err != nil {
		return nil, cli.Usagef("%s: %v", s.provider.model.source, err)
	}
	if a.SmallModel, err = s.provider.llm(s.provider.small.value); err != nil {
		return nil, cli.Usagef("%s: %v", s.provider.small.source, err)
	}
	if a.Fallbacks, err = h.fallbacks(s); err != nil {
		return nil, err
	}
	if a.System, err = s.instructions(); err != nil {
		return nil, err
	}
	a.Tools, a.DeferredTools = h.chooseTools(s, s.withDiagnostics(h.kit(s).Tools()))
	a.Inbox = s.crew.Inbox("")
	s.narrow(a)
	return a, nil
}

// closeOnError closes what was opened for a run that does not begin.
func (s *setup) closeOnError(err *error) {
	if *err == nil {
		return
	}
	if ended := s.close(); ended != nil {
		*err = errors.Join(*err, ended)
	}
}

// close ends the session, its shells and background commands, and the servers
// of languages and of MCP.
func (s *setup) close() error {
	var ended error
	if s.session != nil {
		ended = s.session.Close()
	}
	if s.recorder != nil {
		ended = errors.Join(ended, s.recorder.Close())
	}
	if s.servers != nil {
		ended = errors.Join(ended, s.servers.Close())
	}
	if s.closeTeam != nil {
		ended = errors.Join(ended, s.closeTeam())
	}
	if s.briefing != nil {
		s.briefing.close()
	}
	ended = errors.Join(ended, s.languages.Close(), s.workspace.Close())
	if s.outside != nil {
		ended = errors.Join(ended, s.outside.Close())
	}
	if s.sandbox != nil { // what it confined has ended
		ended = errors.Join(ended, s.sandbox.Close())
	}
	return ended
}
