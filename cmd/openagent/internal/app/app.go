// Package app builds the agent and the session from the settings: it opens a coder with the flags of
// the command. The modes of the command run them.
package app

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/provider"
	"github.com/openagent-go/agent/cmd/openagent/internal/sessionstore"
	"github.com/openagent-go/agent/cmd/openagent/internal/settings"
	"github.com/openagent-go/agent/internal/coding"
	"github.com/openagent-go/agent/internal/cronstore"
	"github.com/openagent-go/agent/internal/customtools"
	"github.com/openagent-go/agent/internal/mcpnames"
	"github.com/openagent-go/agent/internal/triggerstore"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/mcp"
	"github.com/openagent-go/agent/memory"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/tool"
	"github.com/openagent-go/agent/trace"
)

// An App holds everything that a run or a conversation uses.
type App struct {
	*coding.Coder
	Options        *settings.Options
	Provider       provider.Provider
	Project        string                           // the working folder
	Schedule       *cronstore.Scheduler             // this program's schedule; nil: it runs none
	OnServerChange atomic.Pointer[func(mcp.Status)] // called on changes of servers
	Triggers       *triggerstore.Handler            // runs triggers that the model starts; nil: the model cannot start any
	Definitions    Definitions                      // sub-agent definitions
	Session        *agent.Session
	ServerModes    ServerModes     // servers whose calls the host wants to be asked about
	recorder       *trace.Recorder // nil: the run is not traced
	Store          session.Store
	Existing       bool                  // the session existed before this run
	settingsMode   permission.Mode       // the mode from the settings; a resumed session may keep its own mode
	host           *Host                 // nil: the program that drives this one brings nothing along
	export         func(context.Context) // nil: the session is not exported; see ExportSession
}

// An AskFunc asks the user the questions of a tool, see agent.Agent.AskUser.
type AskFunc func(ctx context.Context, call tool.Call, questions []tool.Question) ([]tool.Answer, error)

// Open builds the App that the options describe; ask is nil if no user can answer. It checks for a
// missing key first, before slow steps. host is nil if no program brings parts of the agent along.
func Open(ctx context.Context, h *cli.IO, o *settings.Options, ask AskFunc, host *Host) (_ *App, err error) {
	dir, err := settings.WorkingDir()
	if err != nil {
		return nil, err
	}
	if host != nil {
		if err := host.give(o); err != nil {
			return nil, err
		}
	}
	here := ask != nil && o.Input != cli.FormatStream // a user is at the terminal
	s, err := configured(ctx, h, o, dir, here)
	if err != nil {
		return nil, err
	}
	o, s.host = s.Options, host
	defer s.CloseOnError(&err)
	if ask != nil || o.Input == cli.FormatStream {
		s.Schedule, s.Triggers = new(cronstore.Scheduler), new(triggerstore.Handler)
	}
	b := Build{Person: ask != nil || o.PromptTool != "" || o.AskTool != "", Ask: here, Tell: true}
	if !o.Ephemeral {
		if b.Sessions, err = sessionstore.Open(ctx, h, o.Place(), dir); err != nil {
			return nil, err
		}
	}
	if here {
		if err := s.offerMemory(ctx, h, b.Sessions, dir); err != nil {
			return nil, err
		}
		o = s.Options
	}
	if here || o.Input == cli.FormatStream && !o.Driven() {
		b.ServerWait = -1 // later prompts can use the servers
	}
	if o.Driven() && ask != nil {
		b.tools = questionTool(o)
	}
	if err := s.build(ctx, h, b); err != nil {
		return nil, err
	}
	if o.Trace != "" {
		if err := s.record(o.Trace); err != nil {
			return nil, err
		}
	}
	if err := s.applyHost(); err != nil {
		return nil, err
	}
	if !o.Driven() { // servers within the host cannot answer yet; the first prompt checks the names
		if err := s.checkTools(ctx, h); err != nil {
			return nil, err
		}
	}
	warnOfBypass(h, s)
	warnOfModel(h, s.Provider, s.Agent.Model)
	if text := unthinking(s.Agent.Model, s.Agent.Thinking, len(s.Agent.Tools)); text != "" {
		h.Warn("%s", text)
	}
	s.Agent.AskUser = ask
	s.Agent.AwaitAgents = ask == nil && o.Input != cli.FormatStream // no later prompt could learn about them
	if o.PromptTool == settings.AskLater {
		s.Agent.CanUseTool = deferred
		if ask == nil {
			s.Agent.AskUser = questionsDeferred
		}
	}
	chosen, err := ChooseSession(ctx, h, o, dir)
	if err != nil {
		return nil, cli.StartError(ctx, err)
	}
	s.Store, s.Existing = chosen.Store, chosen.Existing
	s.keepMode()
	s.Agent.Sessions = s.Store
	s.Session = s.Agent.Session(chosen.ID)
	if chosen.RewindTo > 0 {
		if err := s.Session.Rewind(ctx, chosen.RewindTo); err != nil {
			return nil, cli.StartError(ctx, err)
		}
	}
	if err := s.giveTitle(ctx); err != nil {
		return nil, cli.StartError(ctx, err)
	}
	s.exportsForClaude(h)
	return s, nil
}

// configured returns an App with the options and the provider of a folder's settings. here says that
// a user at the terminal can be asked about them.
func configured(ctx context.Context, h *cli.IO, o *settings.Options, dir string, here bool) (*App, error) {
	o, err := settings.Configure(ctx, h, o, dir, here)
	if err != nil {
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
	return &App{Options: o, Provider: p, Project: dir}, nil
}

// A Build says how to build an App.
type Build struct {
	Without    []coding.Part
	Person     bool                  // a user can answer questions
	Ask        bool                  // ask the user on the terminal about untrusted files
	Tell       bool                  // report invalid and untrusted agent and skill files, and a missing sandbox
	Quiet      bool                  // report only what stops the command
	Sessions   session.Store         // nil: sessions are not kept
	ServerWait time.Duration         // see [coding.Options]
	Servers    map[string]mcp.Config // more MCP servers
	trust      coding.Trust          // nil: a Truster of Ask and Tell
	model      llm.Model             // nil: that of the provider
	tools      []tool.Tool           // further ones
	private    []string              // files and folders that the agent must not see
	system     string                // replaces the instructions; "": those of the options
	sandbox    coding.Sandbox        // "": as the settings say
	memory     []memory.Named        // the stores of the memory, if there is one; nil: those of project and user
}

// New builds an App for a folder with configured options. It has no session.
func New(ctx context.Context, h *cli.IO, o *settings.Options, p provider.Provider, dir string, schedule *cronstore.Scheduler, b Build) (_ *App, err error) {
	s := &App{Options: o, Provider: p, Project: dir, Schedule: schedule}
	defer s.CloseOnError(&err)
	if err := s.build(ctx, h, b); err != nil {
		return nil, err
	}
	return s, nil
}

// build opens the coder that the options describe.
func (s *App) build(ctx context.Context, h *cli.IO, b Build) error {
	o := s.Options
	servers, err := s.servers(h)
	if err != nil {
		return err
	}
	if len(b.Servers) > 0 {
		servers = maps.Clone(servers)
		if servers == nil {
			servers = map[string]mcp.Config{}
		}
		maps.Copy(servers, b.Servers)
	}
	system, more, err := s.texts()
	if err != nil {
		return err
	}
	if b.trust == nil {
		t := &Truster{h, b.Ask, b.Tell}
		defer func() { t.ask = false }() // nobody is asked in the middle of a run
		b.trust = t.ofCoder
	}
	options := coding.Options{
		Dir: s.Project, ConfigDir: o.ConfigDir,
		Agent: agent.Agent{
			Model: b.model, Tools: b.tools, System: system, Sessions: b.Sessions,
			Budget:  agent.Budget{ModelCalls: o.ModelCalls},
			Secrets: h.Secrets, Log: settings.Logger(h, o),
		},
		Minimal:    o.Minimal,
		Quotas:     sessionstore.Quotas(b.Sessions),
		OpenModels: s.opener(h), AppendSystem: more,
		Sandbox: cmp.Or(b.sandbox, coding.FromSettings), Settings: o.Settings, Builtins: s.builtins(h), Person: b.Person,
		Trust: b.trust, Without: b.Without, Layers: o.Scopes(),
		Memory:  o.Memory(),
		Plugins: o.Plugins, Definitions: json.RawMessage(o.Agents), RunAs: o.Agent,
		Servers: servers, ServerWait: b.ServerWait, CallTime: CallTime(h), OnServer: s.serverChanged,
		Getenv: h.Getenv, Version: cli.Version(),
		Warn: func(part coding.Part, err error) { b.warn(h, part, err) },
		Hide: func(secret string) { h.Secrets = append(h.Secrets, secret) },
	}
	options.Agent.Permissions.Private = append(sessionstore.PasswordFiles(h, b.Sessions), b.private...)
	if b.system != "" {
		options.Agent.System = b.system
	}
	if options.Memory != nil {
		options.Memory.Stores = b.memory
	}
	if !slices.Contains(b.Without, coding.Team) {
		options.Builtins.Team = sessionstore.Team(b.Sessions)
	}
	if k := s.host; k != nil {
		options.Agent.Hooks, options.DialHost = k.Hooks, k.Dial
		options.Minimal = options.Minimal || k.Minimal
		maps.Copy(options.Servers, k.Servers)
	}
	for name, c := range options.Servers { // a prompt waits for the servers within the host
		if c.Type == mcpnames.InProcess {
			c.AlwaysLoad = true
			options.Servers[name] = c
		}
	}
	if o.MCPStrict {
		options.OnlyServers = "--strict-mcp-config"
	}
	options.Home, _ = h.Home() // without one, nothing is stored
	if s.Coder, err = coding.New(ctx, options); err != nil {
		return openError(ctx, err)
	}
	s.queueReviews(b.Sessions)
	for _, d := range s.Coder.Definitions {
		if d.From == "options" {
			d.From = optionsSource
		}
		s.Definitions = append(s.Definitions, Definition(d))
	}
	if s.RunsAs != nil {
		o.Mode = string(s.Agent.Permissions.Mode)
	}
	return nil
}

// serverChanged passes changes of servers on to the mode that wants to know of them.
func (s *App) serverChanged(st mcp.Status) {
	if tell := s.OnServerChange.Load(); tell != nil {
		(*tell)(st)
	}
}

// servers returns the servers of the flags. A stream-json host may set servers later, so for it the
// map is not nil.
func (s *App) servers(h *cli.IO) (map[string]mcp.Config, error) {
	found, err := flagServers(h, s.Options)
	if len(found) == 0 && s.Options.Input != cli.FormatStream {
		found = nil
	}
	return found, err
}

// texts returns the texts of --system-prompt and --append-system-prompt.
func (s *App) texts() (system, more string, err error) {
	o := s.Options
	if o.System != "" {
		if system, err = settings.TextOrFile("--system-prompt", o.System); err != nil {
			return "", "", err
		}
	}
	if o.Append != "" {
		more, err = settings.TextOrFile("--append-system-prompt", o.Append)
	}
	if k := s.host; k != nil {
		if k.System != "" {
			system = k.System
		}
		more = strings.TrimSpace(more + "\n\n" + k.Append)
	}
	return system, more, err
}

// openError returns the error of a coder in the words of the command.
func openError(ctx context.Context, err error) error {
	var e *cli.ExitError
	var wrong *coding.OptionError
	switch {
	case errors.As(err, &e), ctx.Err() != nil:
		return err
	case errors.As(err, &wrong):
		return cli.Usagef("%s: %w", flagOf(wrong), wrong.Err)
	}
	return cli.Usagef("%w", err)
}

// flagOf returns the flag that sets an option.
func flagOf(wrong *coding.OptionError) string {
	flag := map[string]string{"RunAs": "--agent", "Plugins": "--plugin-dir", "Definitions": "--agents"}[wrong.Option]
	return strings.TrimSpace(flag + " " + wrong.Value)
}

// warn tells the user of a mistake that stops nothing.
func (b Build) warn(h *cli.IO, part coding.Part, err error) {
	if b.Quiet && part != "" || !b.Tell && (part == coding.Agents || part == coding.Skills || part == coding.Confinement) {
		return
	}
	var wrong *coding.OptionError
	var untrusted *customtools.UntrustedError
	switch {
	case errors.As(err, &untrusted):
		warnOfTools(h, err)
	case errors.As(err, &wrong):
		h.Warn("%s: %v", flagOf(wrong), wrong.Err)
	default:
		h.Warn("%v", err)
	}
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
		ctx, cancel := context.WithTimeout(context.Background(), exporting)
		s.ExportSession(ctx)
		cancel()
	}
	if s.recorder != nil {
		ended = errors.Join(ended, s.recorder.Close())
	}
	if s.Coder != nil {
		ended = errors.Join(ended, s.Coder.Close())
	}
	return ended
}
