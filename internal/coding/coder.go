// Package coding builds a complete coding agent for package coder and for the command, which gives it
// more options: settings that are loaded already, models, and variables.
package coding

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/checkpoint"
	"github.com/openagent-go/agent/internal/config"
	"github.com/openagent-go/agent/internal/parts"
	"github.com/openagent-go/agent/internal/wire"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/mcp"
	"github.com/openagent-go/agent/memory"
	"github.com/openagent-go/agent/project"
	"github.com/openagent-go/agent/sandbox"
	"github.com/openagent-go/agent/skill"
	"github.com/openagent-go/agent/subagent"
	"github.com/openagent-go/agent/team"
	"github.com/openagent-go/agent/tools"
	"github.com/openagent-go/agent/workspace"
)

// A Coder is a coding agent with everything that it works with. You may change its Agent before you
// make a session. Close it after the last session.
type Coder struct {
	Agent *agent.Agent
	Dir   string // the working folder, absolute and free of symlinks

	Settings      *config.Settings
	Workspace     *workspace.Workspace  // files and commands of the agent
	Sandbox       *sandbox.Sandbox      // nil: nothing is confined
	Skills        *skill.Registry       // nil: there are none
	Servers       *mcp.Servers          // nil: there are none
	ServerConfigs map[string]mcp.Config // the servers at the start
	Definitions   []Definition          // of sub-agents
	RunsAs        *Definition           // the agent's own definition; nil: it has none
	Builtins      []tools.Entry         // all built-in tools; the agent may have fewer
	Checkpoints   *checkpoint.Store     // nil: there are none
	Memory        *memory.Memory        // nil: there is none

	options   Options
	finder    *parts.Finder
	hooks     *workspace.Workspace // where hooks run; nil: in Workspace, or there are none
	languages *tools.Languages
	notes     *project.Notes // nil: the model gets no notes about the folder
	manager   *subagent.Manager
	models    Models
	team      *team.Store
	closers   []func() error // of parts that New opened, in order
	secrets   []string       // complete when New returns
}

// A Definition is a sub-agent definition and its source.
type Definition struct {
	subagent.Definition
	From string // built-in, plugin, user, project or options
}

// New builds a coding agent. It connects to MCP servers in the background.
func New(ctx context.Context, o Options) (_ *Coder, err error) {
	c := &Coder{options: o, secrets: slices.Clone(o.Agent.Secrets)}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.Close())
		}
	}()
	if err := o.check(); err != nil {
		return nil, err
	}
	if err := c.findDir(); err != nil {
		return nil, err
	}
	if err := c.loadSettings(ctx); err != nil {
		return nil, err
	}
	a := o.Agent
	c.Agent = &a
	a.Dir = c.Dir
	if err := c.applySettings(); err != nil {
		return nil, err
	}
	c.Workspace = &workspace.Workspace{Root: c.Dir, Dirs: a.AdditionalDirs}
	c.Settings.Decode("env", &c.Workspace.Env)
	c.Workspace.Env = with(c.Workspace.Env, o.Env)
	c.Settings.Decode("passEnv", &c.Workspace.Pass)
	c.hide(c.Workspace.Secrets()...)
	for _, step := range []func(context.Context) error{c.findPlugins, c.findDefinitions, c.openModels, c.findServers, c.findSkills, c.confine, c.openTeam, c.openMemory, c.buildAgent} {
		if err := step(ctx); err != nil {
			return nil, err
		}
	}
	c.addCheckpoints()
	c.addInstructions()
	c.addMemory()
	c.warnOfSandbox()
	if err := c.addTools(ctx); err != nil {
		return nil, err
	}
	c.checkNames(ctx)
	c.startServers() // after the names: nobody waits for servers, and the names of their tools count as known
	return c, nil
}

// with returns a map with the entries of another one added.
func with[V any](m, more map[string]V) map[string]V {
	if len(more) == 0 {
		return m
	}
	out := maps.Clone(more)
	for k, v := range m {
		if _, said := more[k]; !said {
			out[k] = v
		}
	}
	return out
}

// findDir finds the working folder and the folders of the user.
func (c *Coder) findDir() error {
	o := &c.options
	dir := o.Dir
	if dir == "" {
		dir = "."
	}
	abs, err := filepath.Abs(dir)
	if err == nil {
		abs, err = filepath.EvalSymlinks(abs)
	}
	if err == nil {
		var info os.FileInfo
		if info, err = os.Stat(abs); err == nil && !info.IsDir() {
			err = fmt.Errorf("%s is not a folder; name the folder that contains it", abs)
		}
	}
	if err != nil {
		return &OptionError{Option: "Dir", Err: err}
	}
	c.Dir = abs
	if o.Getenv == nil {
		o.Getenv = os.Getenv
	}
	c.finder = &parts.Finder{Project: cmp.Or(o.ConfigDir, c.Dir), Getenv: o.Getenv, Layers: o.Layers, Folders: o.Plugins, Trust: c.trusts, Warn: func(kind string, err error) { c.warn(Part(kind), err) }}
	c.finder.UserHome, _ = os.UserHomeDir()
	c.finder.Home, err = userFolder(o.Home, o.Getenv)
	if err != nil {
		return &OptionError{Option: "Home", Err: err}
	}
	return nil
}

func (c *Coder) without(p Part) bool { return slices.Contains(c.options.Without, p) }

// warn reports a mistake that stops nothing. It redacts secrets.
func (c *Coder) warn(part Part, err error) {
	err = &maskedError{wire.Mask(err.Error(), c.secrets), err}
	switch {
	case c.options.Warn != nil:
		c.options.Warn(part, err)
	case c.options.Agent.Log != nil:
		c.options.Agent.Log.Warn(err.Error())
	}
}

// A maskedError is an error whose text shows no secrets.
type maskedError struct {
	text string
	error
}

func (e *maskedError) Error() string { return e.text }
func (e *maskedError) Unwrap() error { return e.error }

// hide registers values that must not be shown.
func (c *Coder) hide(secrets ...string) {
	for _, s := range secrets {
		if slices.Contains(c.secrets, s) {
			continue
		}
		c.secrets = append(c.secrets, s)
		if c.options.Hide != nil {
			c.options.Hide(s)
		}
	}
}

// Session returns a session of the agent; "" is a new one. See [agent.Agent.Session].
func (c *Coder) Session(id string) *agent.Session { return c.Agent.Session(id) }

// Prompt runs a prompt in a new session. See [agent.Agent.Prompt].
func (c *Coder) Prompt(ctx context.Context, text string, more ...llm.Block) (*agent.Result, error) {
	return c.Agent.Prompt(ctx, text, more...)
}

// Stream runs a prompt in a new session and shows its events. See [agent.Agent.Stream].
func (c *Coder) Stream(ctx context.Context, text string, more ...llm.Block) iter.Seq2[event.Event, error] {
	return c.Agent.Stream(ctx, text, more...)
}

// Close ends all commands, MCP servers and language servers of the agent, and removes its temporary
// files. Close the sessions first.
func (c *Coder) Close() error {
	var errs []error
	if c.Servers != nil {
		errs = append(errs, c.Servers.Close())
	}
	for _, end := range c.closers {
		errs = append(errs, end())
	}
	if c.notes != nil {
		c.notes.Close()
	}
	if c.languages != nil {
		errs = append(errs, c.languages.Close())
	}
	for _, ws := range []*workspace.Workspace{c.Workspace, c.hooks} {
		if ws != nil {
			errs = append(errs, ws.Close())
		}
	}
	if c.Sandbox != nil { // all confined commands have ended
		errs = append(errs, c.Sandbox.Close())
	}
	return errors.Join(errs...)
}
