// Package app builds the agent and the session from the settings: tools, skills, sub-agents, hooks,
// plugins, MCP servers and sandbox. The modes of the command run them.
package app

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/checkpoint"
	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/provider"
	"github.com/openagent-go/agent/cmd/openagent/internal/settings"
	"github.com/openagent-go/agent/cron"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/mcp"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/project"
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

// An App holds everything that a run or a conversation uses.
type App struct {
	Options        *settings.Options
	Provider       provider.Provider
	Project        string // the working folder
	workspace      *workspace.Workspace
	hookWorkspace  *workspace.Workspace // where hooks run; nil: in the workspace, or there are none
	Sandbox        *sandbox.Sandbox     // nil: no sandbox is configured
	languages      *tools.Languages
	Schedule       *cron.Scheduler                  // this program's schedule; nil: it runs none
	Servers        *mcp.Servers                     // nil: there are none
	InitialServers map[string]mcp.Config            // the servers at the start of the run
	OnServerChange atomic.Pointer[func(mcp.Status)] // called on changes of servers
	Skills         *skill.Registry                  // nil: there are none
	projectContext *project.Notes                   // nil: the model gets no notes about the folder
	Triggers       *trigger.Handler                 // runs triggers that the model starts; nil: the model cannot start any
	person         bool                             // a user can answer questions
	plugins        []*Plugin                        // the trusted plugins
	Definitions    []Definition                     // sub-agent definitions
	definition     *Definition                      // the main agent's definition; nil: it has none
	manager        *subagent.Manager                // starts sub-agents
	Agent          *agent.Agent
	Session        *agent.Session
	recorder       *trace.Recorder // nil: the run is not traced
	Store          session.Store
	Checkpoints    *checkpoint.Store // saved file states; nil if the session is not kept
	shared         sharedTeam        // tasks, teams and mail
	tasks          team.Tasks        // the tasks of shared, with leases if they outlive the program
	closeTeam      func() error      // nil: they are in memory
	Existing       bool              // the session existed before this run
	settingsMode   permission.Mode   // the mode from the settings; a resumed session may keep its own mode
}

// Open builds the App that the options describe; ask is nil if no user can answer. It checks for a
// missing key first, before slow steps.
func Open(ctx context.Context, h *cli.IO, o *settings.Options, ask agent.AskUserFunc) (_ *App, err error) {
	dir, err := settings.WorkingDir()
	if err != nil {
		return nil, err
	}
	here := ask != nil && o.Input != cli.FormatStream // a user is at the terminal
	if o, err = settings.Configure(ctx, h, o, dir, here); err != nil {
		return nil, err
	}
	p, err := provider.Open(h, o)
	if err != nil {
		return nil, err
	}
	if p.NeedsKey() {
		return nil, p.MissingKey()
	}
	h.Secrets = append(p.Secrets(), o.SecretValues()...)
	settings.WarnOfSettings(h, o)
	s := New(o, p, dir)
	defer s.CloseOnError(&err)
	if err := keepTeam(h, s); err != nil {
		return nil, err
	}
	s.person = ask != nil || o.PromptTool == settings.AskByStdio
	if ask != nil || o.Input == cli.FormatStream {
		s.Schedule, s.Triggers = new(cron.Scheduler), new(trigger.Handler)
	}
	if err := PrepareAgent(ctx, h, s, here, true); err != nil {
		return nil, err
	}
	if o.Trace != "" {
		if err := s.record(o.Trace); err != nil {
			return nil, err
		}
	}
	AddProjectContext(h, s)
	WarnOfSandbox(h, s)
	warnOfBypass(h, s)
	warnOfModel(h, s.Provider, s.Agent.Model)
	if text := unthinking(s.Agent.Model, s.Agent.Thinking, len(s.Agent.Tools)); text != "" {
		h.Warn("%s", text)
	}
	if err := AddCustomTools(ctx, h, s, here); err != nil {
		return nil, err
	}
	s.AddServers()
	s.Agent.AskUser = ask
	s.Agent.AwaitAgents = ask == nil && o.Input != cli.FormatStream // no later prompt could learn about them
	if o.PromptTool == settings.AskLater {
		s.Agent.CanUseTool = deferred
	}
	chosen, err := ChooseSession(ctx, h, o, dir)
	if err != nil {
		return nil, cli.StartError(ctx, err)
	}
	s.Store, s.Existing = chosen.Store, chosen.Existing
	s.keepMode()
	s.Agent.Sessions = s.Store
	if err := AddCheckpoints(h, s); err != nil {
		return nil, err
	}
	s.Session = s.Agent.Session(chosen.ID)
	if chosen.RewindTo > 0 {
		if err := s.Session.Rewind(ctx, chosen.RewindTo); err != nil {
			return nil, cli.StartError(ctx, err)
		}
	}
	return s, nil
}

// New returns an App for a folder. It has no agent and no session yet.
func New(o *settings.Options, p provider.Provider, dir string) *App {
	s := &App{Options: o, Provider: p, Project: dir, workspace: &workspace.Workspace{Root: dir, Dirs: o.Dirs, Env: o.Env, Pass: o.Passed}}
	s.languages = tools.NewLanguages(s.workspace, o.Servers)
	memory := new(team.Memory)
	s.shared, s.tasks = memory, memory
	return s
}

// PrepareAgent finds the parts of a run's agent and builds the agent. With ask, it asks the user on
// the terminal about untrusted files. With tell, it reports invalid agent and skill files.
func PrepareAgent(ctx context.Context, h *cli.IO, s *App, ask, tell bool) error {
	if err := FindPlugins(ctx, h, s, ask, true); err != nil {
		return err
	}
	if err := FindDefinitions(ctx, h, s, ask, tell); err != nil {
		return err
	}
	if err := s.become(); err != nil {
		return err
	}
	var err error
	if s.definition != nil { // the agent may have its own model
		if s.Provider, err = provider.Open(h, s.Options); err != nil {
			return err
		}
		if s.Provider.NeedsKey() {
			return s.Provider.MissingKey()
		}
	}
	if err := FindServers(ctx, h, s, ask); err != nil {
		return err
	}
	if err := AddSkills(ctx, h, s, ask, tell); err != nil {
		return err
	}
	s.Agent, err = NewAgent(h, s)
	return err
}

// fallbacks returns the models to use if the first stays unavailable. If managed settings name a
// model but no fallbacks, it leaves out other models.
func fallbacks(h *cli.IO, s *App) ([]llm.Model, error) {
	said := s.Options.SourceOf("fallback_models", "--fallback-model")
	_, free := s.Options.Managed("fallback_models")
	var list []llm.Model
	for _, name := range s.Options.Fallbacks {
		m, err := s.Provider.FindModel(name)
		if err != nil {
			return nil, cli.Usagef("%s: %v", said, err)
		}
		if err := s.permitsModelNamed(name); err != nil && !free {
			h.Warn("%s: %q has no effect; %v", said, name, err)
			continue
		}
		list = append(list, m)
	}
	return list, nil
}

// NewAgent builds the agent that the options describe.
func NewAgent(h *cli.IO, s *App) (*agent.Agent, error) {
	o := s.Options
	if err := confine(h, s); err != nil {
		return nil, err
	}
	a := &agent.Agent{
		Dir: s.Project, AdditionalDirs: o.Dirs,
		Permissions:   Policy(h, o),
		Budget:        agent.Budget{Turns: o.Turns, ModelCalls: o.ModelCalls, USD: o.USD, Time: o.Timeout},
		Compaction:    o.Compaction,
		Loop:          o.Loop,
		SummarizeOver: o.DigestAbove,
		MaxTokens:     o.MaxTokens,
		Thinking:      llm.Thought{Budget: o.Thinking, Effort: o.Effort},
		Cache:         o.PromptCache(),
		Secrets:       h.Secrets,
		Log:           settings.Logger(h, o),
	}
	a.Models = s.modelNamed
	a.Hooks, a.AllowModeChange, a.AllowRuleGrant = s.Hooks(), o.Permits, o.PermitsRule
	a.Deciders = s.AddSandboxDecider(&a.Permissions, a.Deciders)
	var err error
	if a.Model, err = s.Provider.FindModel(s.Provider.Model.Value); err != nil {
		return nil, cli.Usagef("%s: %v", s.Provider.Model.Source, err)
	}
	if a.SmallModel, err = s.Provider.FindModel(s.Provider.Small.Value); err != nil {
		return nil, cli.Usagef("%s: %v", s.Provider.Small.Source, err)
	}
	if a.Fallbacks, err = fallbacks(h, s); err != nil {
		return nil, err
	}
	if a.System, err = s.instructions(); err != nil {
		return nil, err
	}
	a.Tools, a.DeferredTools = ChooseTools(h, s, s.withDiagnostics(Builtins(h, s).Tools()))
	a.Inbox = s.manager.Inbox("")
	s.narrow(a)
	return a, nil
}

// CloseOnError closes everything opened for a run that fails to start.
func (s *App) CloseOnError(err *error) {
	if *err == nil {
		return
	}
	if ended := s.Close(); ended != nil {
		*err = errors.Join(*err, ended)
	}
}

// Close ends the session, its shells and background commands, and its language and MCP servers.
func (s *App) Close() error {
	var ended error
	if s.Session != nil {
		ended = s.Session.Close()
	}
	if s.recorder != nil {
		ended = errors.Join(ended, s.recorder.Close())
	}
	if s.Servers != nil {
		ended = errors.Join(ended, s.Servers.Close())
	}
	if s.closeTeam != nil {
		ended = errors.Join(ended, s.closeTeam())
	}
	if s.projectContext != nil {
		s.projectContext.Close()
	}
	ended = errors.Join(ended, s.languages.Close(), s.workspace.Close())
	if s.hookWorkspace != nil {
		ended = errors.Join(ended, s.hookWorkspace.Close())
	}
	if s.Sandbox != nil { // all confined commands have ended
		ended = errors.Join(ended, s.Sandbox.Close())
	}
	return ended
}
