package coding

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/internal/config"
	"github.com/openagent-go/agent/internal/mcphost"
	"github.com/openagent-go/agent/internal/trusted"
	"github.com/openagent-go/agent/mcp"
	"github.com/openagent-go/agent/memory"
	"github.com/openagent-go/agent/models"
	"github.com/openagent-go/agent/quota"
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
	// Models opens models by name. Its zero value takes keys from the environment.
	Models models.Source
	// OpenModels opens the models in place of Model and Models. The name is the model of the
	// definition that RunAs names, or "".
	OpenModels func(name string) (Models, error)
	// Minimal replaces the built-in instructions by a line, if Agent.System is empty.
	Minimal bool
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
	// Quotas keeps what the setting daily_budget_usd counts. Nil: a folder in Home.
	Quotas quota.Store
	// Person says that a person answers questions although Agent.AskUser is nil. Plan mode is
	// offered only where a person can approve a plan.
	Person bool

	// Trust decides whether parts of the project that could run programs or loosen permissions
	// count. Nil: they do not. [Recorded] trusts what the user trusts in the command openagent.
	Trust Trust
	// ConfigDir is the folder that the project's settings, servers, skills, sub-agents and custom tools
	// come from. "" is Dir.
	ConfigDir string
	// Without switches parts off.
	Without []Part
	// Layers are the files that count, of config.User, config.Project and config.Local. Nil: all.
	// Managed settings always count.
	Layers []config.Scope
	// Home is the folder of the user's own files: settings, skills, servers, checkpoints. "" is
	// $OPENAGENT_HOME, else ~/.openagent.
	Home string
	// Settings are settings that you have loaded. Nil: New loads them from Layers.
	Settings *config.Settings

	// Memory gives the agent what was learned in earlier sessions: a note and the tool Memory. Its
	// zero value has the entries of the project, in .openagent/memory, and of the user, in the
	// folder memory of Home. Entries count once they are accepted on this machine: Trust is asked
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
	// OnlyServers, unless empty, leaves out the servers of files and of definitions. It names the
	// reason for definitions that bring servers along, such as a flag of your program.
	OnlyServers string
	// ServerWait is how long a prompt waits for servers that are still connecting. 0: 10 seconds;
	// negative: not at all.
	ServerWait time.Duration
	// CallTime bounds the milliseconds of a call of servers that set no limit of their own. 0: the
	// limits of package mcp.
	CallTime int
	// DialHost connects to the servers of type sdk without tools; nil: there are none.
	DialHost mcphost.Dial
	// OnServer is called when the status of a server changes. It must return soon.
	OnServer func(mcp.Status)

	// Getenv reads variables for configurations of servers; nil is os.Getenv.
	Getenv func(string) string
	// Version is the version of your program, for MCP servers.
	Version string
	// Warn is called with mistakes in files and parts that are left out. They stop nothing. Nil:
	// they go to Agent.Log.
	Warn func(Part, error)
	// Hide is called with each value that must not be shown, such as a key of an MCP server, before
	// it is used. Agent.Secrets gets them too.
	Hide func(secret string)
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

// A Part is a part of a coding agent.
type Part string

const (
	Settings     Part = "settings"     // settings files of the user and the project
	Hooks        Part = "hooks"        // hooks of settings, plugins and definitions
	Servers      Part = "servers"      // MCP servers
	Agents       Part = "agents"       // files of sub-agents; the built-in ones stay
	Skills       Part = "skills"       // skills, the built-in ones included
	Tools        Part = "tools"        // executables as tools
	Plugins      Part = "plugins"      // plugins
	Instructions Part = "instructions" // AGENTS.md, CLAUDE.md and the state of git
	Checkpoints  Part = "checkpoints"  // snapshots of files
	Team         Part = "team"         // keeping tasks, teams and mail on disk; in memory they stay
	// Memory is the kind of entries of the memory. Options.Memory switches it on.
	Memory Part = "memory"
	// Confinement is the part of warnings about the sandbox. Options.Sandbox switches it off.
	Confinement Part = "sandbox"
)

// A Source is a file or folder of a project or a plugin that counts only if it is trusted.
type Source struct {
	Kind Part   // Settings, Servers, Agents, Skills, Tools, Plugins or Memory
	Path string // free of symlinks
	Sum  string // changes with the content; "" if the content cannot be listed
	// Content is what was read. Its type depends on the Kind: [config.File], [subagent.Found],
	// [skill.Found], [customtools.Listing], [FoundEntries], or one that is not exported. A source
	// of an entry of the memory has none: it is trusted if it is known.
	Content any
}

// Trust reports whether a source is trusted in its state. An error makes [New] fail. New calls it
// once for each source. It is also called at each prompt for folders with tools.
type Trust func(context.Context, Source) (bool, error)

// All trusts everything. Use it only for projects whose every file you wrote or reviewed.
func All(context.Context, Source) (bool, error) { return true, nil }

// An OptionError says that a field of [Options] is wrong.
type OptionError struct {
	Option string // the name of the field
	Value  string // the part of its value that is wrong; "": all of it
	Err    error
}

func (e *OptionError) Error() string {
	if e.Value != "" {
		return fmt.Sprintf("coder: Options.%s: %s: %v", e.Option, e.Value, e.Err)
	}
	return fmt.Sprintf("coder: Options.%s: %v", e.Option, e.Err)
}

// Unwrap returns the reason.
func (e *OptionError) Unwrap() error { return e.Err }

// Recorded trusts what the user trusts in the command openagent, in its recorded state. home is the
// folder of the user's own files; "" is that of [Options].
func Recorded(home string) Trust {
	return func(_ context.Context, s Source) (bool, error) {
		if home == "" {
			var err error
			if home, err = userFolder("", os.Getenv); home == "" {
				return false, err
			}
		}
		list, err := trusted.Read(home)
		return err == nil && list.Has(string(s.Kind), s.Path, s.Sum), err
	}
}

// userFolder returns the folder of the user's own files; "" if there is none.
func userFolder(given string, getenv func(string) string) (string, error) {
	if dir := cmp.Or(given, getenv("OPENAGENT_HOME")); dir != "" {
		return filepath.Abs(dir)
	}
	base, err := os.UserHomeDir()
	if err != nil {
		return "", nil // nothing is stored
	}
	return filepath.Join(base, ".openagent"), nil
}
