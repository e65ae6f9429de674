package coder

import (
	"context"
	"encoding/json"
	"time"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/internal/coding"
	"github.com/openagent-go/agent/internal/config"
	"github.com/openagent-go/agent/mcp"
	"github.com/openagent-go/agent/memory"
	"github.com/openagent-go/agent/models"
	"github.com/openagent-go/agent/sandbox"
	"github.com/openagent-go/agent/tools"
)

// Options describe a coding agent. The zero value works in the folder of the process, in a sandbox
// if the system has one, and uses nothing of the project that could run programs.
type Options struct {
	// Dir is the folder that the agent works in; "" is that of the process. Tools, commands,
	// sandbox, hooks, servers and sub-agents all get it from here.
	Dir string
	// Agent is the rest of the configuration: fields that you set count, and New fills in the
	// others. Tools and Hooks are added to those that New finds. Rules in Permissions are joined
	// with those of the settings, and managed settings bound all limits. System replaces the
	// built-in instructions. With Sessions from [session.Dir], sessions, checkpoints, tasks
	// and teams are kept on disk.
	Agent agent.Agent
	// Model is the name of the model, such as "anthropic/claude-sonnet-4-6"; see
	// [models.Source.Open]. "": that of the settings, else the default model of the provider whose
	// key is in the environment. It does not count if Agent.Model is set.
	Model string
	// Models opens models by name. Its zero value takes keys from the environment. What it leaves
	// out comes from the settings: base_url, apiKeyHelper, models, and proxy and certificates
	// unless HTTP is set. Variables that begin with OPENAGENT_ are for the command only.
	Models models.Source
	// AppendSystem is added to the instructions.
	AppendSystem string

	// Env are variables for the commands of tools and hooks, beside those of the settings. Their
	// values are never shown if their names look secret.
	Env map[string]string
	// Sandbox says whether the operating system has to confine commands. The zero value is
	// IfAvailable. Confined commands change only the folders of the agent, reach no network that
	// settings do not name, and need no permission; a rule in Permissions.Ask asks anyway.
	Sandbox Sandbox
	// SandboxSettings refine the sandbox: paths, hosts and memory. Their Enabled,
	// AllowUnconfined and AutoAllowBash do not count. Nil: those of the settings.
	SandboxSettings *sandbox.Settings

	// Tools are the names of built-in tools that the agent has, or one of "all", "core" and
	// "none". Empty: those of the settings, else the core and a few others; the model finds the
	// rest with ToolSearch.
	Tools []string
	// Builtins are things that built-in tools work on. New fills in the missing ones. Workspace
	// and Sandbox must be nil: they come from Dir and from the fields about the sandbox.
	Builtins tools.Builtins
	// Person says that a person answers questions although Agent.AskUser is nil. Plan mode is
	// offered only where a person can approve a plan.
	Person bool

	// Trust decides whether parts of the project that could run programs or loosen permissions
	// count. Nil: they do not. [Recorded] trusts what the user trusts in the command openagent.
	// It is called once for each source, and at each prompt for folders with tools. An error
	// makes [New] fail.
	Trust func(context.Context, Source) (bool, error)
	// Without switches parts off:
	//
	//	"settings"      settings files of the user and the project
	//	"hooks"         hooks of settings, plugins and definitions
	//	"servers"       MCP servers
	//	"agents"        files of sub-agents; the built-in ones stay
	//	"skills"        skills, the built-in ones included
	//	"tools"         executables as tools
	//	"plugins"       plugins
	//	"instructions"  AGENTS.md, CLAUDE.md and the state of git
	//	"checkpoints"   snapshots of files
	//	"team"          keeping tasks, teams and mail on disk; in memory they stay
	Without []string
	// Layers are the settings files that count: "user", "project" and "local". Nil: all. Managed
	// settings always count.
	Layers []string
	// Home is the folder of the user's own files: settings, skills, servers, checkpoints. "" is
	// $OPENAGENT_HOME, else ~/.openagent.
	Home string

	// Memory gives the agent what was learned in earlier sessions: a note and the tool Memory. Its
	// zero value has the entries of the project, in .openagent/memory, and of the user, in the
	// folder memory of Home. Entries count once they are accepted on this machine; Trust is asked
	// about those that came otherwise. Nil: there is no memory.
	Memory *memory.Memory

	// Plugins are folders of plugins. Without trust, a plugin has no effect.
	Plugins []string
	// Definitions are more sub-agents: {"NAME": {"description": …, "prompt": …}}.
	Definitions json.RawMessage
	// RunAs is the name of the sub-agent definition that the agent runs as: with its instructions,
	// tools, model and limits. "": none.
	RunAs string
	// Servers are more MCP servers. If the map is not nil, Coder.Servers exists even without
	// servers, so that you can add some later.
	Servers map[string]mcp.Config
	// ServerWait is how long a prompt waits for servers that are still connecting. 0: 10 seconds;
	// negative: not at all.
	ServerWait time.Duration
	// OnServer is called when the status of a server changes. It must return soon.
	OnServer func(mcp.Status)

	// Warn is called with mistakes in files, such as misspelt names of tools in skills and
	// sub-agents, and with what is left out. They stop nothing. The part is one of Without,
	// "sandbox" or "memory". Nil: they go to Agent.Log.
	Warn func(part string, err error)
}

// Sandbox says whether the operating system has to confine commands.
type Sandbox string

const (
	// IfAvailable confines commands if the system can. Otherwise commands that may change
	// something need permission, and without a person they are refused.
	IfAvailable Sandbox = ""
	// Require makes New fail if the system cannot confine commands. The error matches
	// [sandbox.ErrUnavailable].
	Require Sandbox = "require"
	// Off confines no command. Permissions decide, and rules of SandboxSettings and of the
	// settings about paths.
	Off Sandbox = "off"
	// FromSettings does as the settings say. Without settings about the sandbox it is off.
	FromSettings Sandbox = "settings"
)

// A Source is a file or folder of a project or a plugin that counts only if it is trusted.
type Source struct {
	Kind string // "settings", "servers", "agents", "skills", "tools", "plugins" or "memory"
	Path string // free of symlinks
	Sum  string // changes with the content; "" if the content cannot be listed
}

// All, as Trust, trusts everything. Use it only for projects whose every file you wrote or reviewed.
func All(context.Context, Source) (bool, error) { return true, nil }

// Recorded returns a Trust for what the user trusts in the command openagent, in its recorded state. home is the
// folder of the user's own files; "" is that of [Options].
func Recorded(home string) func(context.Context, Source) (bool, error) {
	recorded := coding.Recorded(home)
	return func(ctx context.Context, s Source) (bool, error) {
		return recorded(ctx, coding.Source{Kind: coding.Part(s.Kind), Path: s.Path, Sum: s.Sum})
	}
}

// inner returns the options in the words of package coding.
func (o Options) inner() coding.Options {
	in := coding.Options{
		Dir: o.Dir, Agent: o.Agent, Model: o.Model, Models: o.Models, AppendSystem: o.AppendSystem,
		Env: o.Env, Sandbox: coding.Sandbox(o.Sandbox), SandboxSettings: o.SandboxSettings,
		Tools: o.Tools, Builtins: o.Builtins, Person: o.Person, Home: o.Home,
		Memory: o.Memory, Plugins: o.Plugins, Definitions: o.Definitions, RunAs: o.RunAs,
		Servers: o.Servers, ServerWait: o.ServerWait, OnServer: o.OnServer,
	}
	if o.Trust != nil {
		in.Trust = func(ctx context.Context, s coding.Source) (bool, error) {
			return o.Trust(ctx, Source{Kind: string(s.Kind), Path: s.Path, Sum: s.Sum})
		}
	}
	for _, p := range o.Without {
		in.Without = append(in.Without, coding.Part(p))
	}
	if o.Layers != nil {
		in.Layers = []config.Scope{}
		for _, l := range o.Layers {
			in.Layers = append(in.Layers, config.Scope(l))
		}
	}
	if o.Warn != nil {
		in.Warn = func(p coding.Part, err error) { o.Warn(string(p), err) }
	}
	return in
}
