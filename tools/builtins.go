package tools

import (
	"context"
	"encoding/json"
	"io/fs"
	"regexp"
	"time"

	"github.com/openagent-go/agent/internal/gitworktree"
	"github.com/openagent-go/agent/internal/toolapi"
	"github.com/openagent-go/agent/team"
	"github.com/openagent-go/agent/tool"
	"github.com/openagent-go/agent/tools/search"
	"github.com/openagent-go/agent/workspace"
)

// A Tier says how general a tool is: "core" tools are for all work on files, commands and the
// web, "advanced" ones for work in several steps or by several agents, "specialist" ones for
// one kind of work. "extra" ones repeat others in a form that some models are used to.
type Tier string

// The tiers.
const (
	core       Tier = "core"
	advanced   Tier = "advanced"
	specialist Tier = "specialist"
	extra      Tier = "extra"
)

// tiers lists every [Tier].
var tiers = []Tier{core, advanced, specialist, extra}

// A Builtins holds the things that the tools of an agent work on. A missing one leaves out
// the tools that need it.
type Builtins struct {
	// Workspace gives the tools for files, and those for commands and background commands if
	// it is a [Terminal]. A [workspace.Workspace] gives those for worktrees as well.
	Workspace Workspace
	Sandbox   Sandbox // of the commands of Workspace; nil: they are not confined
	Web       *Web    // WebFetch and WebSearch
	// Search is the engine of WebSearch. Nil: it answers how to configure one.
	Search    search.Client
	Languages *Languages // LSP

	// Team is for the Task tools, TeamCreate, TeamDelete and SendMessage.
	Team *team.Store
	// Agents is for Agent. TaskGet, TaskOutput and TaskStop reach its agents in the
	// background, besides background commands of the workspace.
	Agents Spawner
	Skills Skills // Skill

	Crontab   *Crontab  // the Cron tools
	Triggers  *Triggers // RemoteTrigger
	Settings  Settings  // Config
	Resources Resources // ListMcpResources and ReadMcpResource

	Completion bool // attempt_completion, with which a model ends its run
}

// A Workspace is a place with files, such as a [workspace.Workspace], or one of your own in
// a container or a database.
type Workspace interface {
	// Resolve returns the absolute path of name without symlinks. It is also asked before a
	// call is judged, so it takes no context: one that asks another machine must limit its
	// time itself.
	Resolve(dir, name string) (string, error)
	// Open opens a regular file or a folder for reading, never waiting for it. The file of
	// a folder is an [fs.ReadDirFile]. A missing file is an [fs.ErrNotExist].
	Open(ctx context.Context, dir, name string) (fs.File, error)
	// Update replaces a file as a whole; old is nil for a missing file.
	Update(ctx context.Context, dir, name string, change func(old []byte) ([]byte, error)) error
	// UpdateAll replaces several files as a whole, or none; old is nil for a missing file.
	UpdateAll(ctx context.Context, dir string, names []string, change func(old [][]byte) ([]workspace.Content, error)) error
	// OpenFolder opens the folder at name, and returns its path as Resolve does. A missing
	// folder is an [fs.ErrNotExist].
	OpenFolder(ctx context.Context, dir, name string) (workspace.Folder, string, error)
}

// A Terminal is a [Workspace] that also runs commands.
type Terminal interface {
	// Run runs a command to its end.
	Run(ctx context.Context, l workspace.CommandLine) (*workspace.Outcome, error)
	// Where returns the folder that a command starts in.
	Where(l workspace.CommandLine) string
	// StartJob starts a command in the background. Its id and state go into the session.
	StartJob(ctx context.Context, l workspace.CommandLine) (id string, state json.RawMessage, err error)
	// Job reports the new output of a background command, and its state. A filter that is not
	// nil picks lines of the output. Job waits at most wait for the command to end.
	Job(ctx context.Context, session, id string, filter *regexp.Regexp, wait time.Duration) (*workspace.Outcome, error)
	// StopJob ends a command in the background.
	StopJob(ctx context.Context, session, id string) (*workspace.Outcome, error)
	// Notices returns texts about commands in the background that have ended.
	Notices(session string) []string
	// EndSession ends the shell and the commands of a session, and waits for them.
	EndSession(session string) error
}

// A Sandbox confines the commands of a [Terminal]. A [sandbox.Sandbox] is one.
type Sandbox = toolapi.Sandbox

// A Spawner starts sub-agents. A [subagent.Manager] is one.
type Spawner interface {
	Subagents() Subagents // returns what the tools work with
}

// Subagents are what a [Spawner] has for the tools.
type Subagents toolapi.Handle[toolapi.Spawner]

// Settings are the settings that the tool Config works on, see [SettingsFile].
type Settings toolapi.Handle[toolapi.Settings]

func (s Settings) inner() toolapi.Settings { return toolapi.Handle[toolapi.Settings](s).Value() }

// Resources are the resources of MCP servers, see package mcp/resources.
type Resources toolapi.Handle[toolapi.Resources]

func (r Resources) inner() toolapi.Resources { return toolapi.Handle[toolapi.Resources](r).Value() }

// spawnerOf returns what starts the agents of s.
func spawnerOf(s Spawner) toolapi.Spawner {
	return toolapi.Handle[toolapi.Spawner](s.Subagents()).Value()
}

// backgroundOf returns the work in the background that spawners have.
func backgroundOf(spawners ...Spawner) []toolapi.Background {
	var all []toolapi.Background
	for _, s := range spawners {
		if b, ok := spawnerOf(s).(toolapi.Background); ok {
			all = append(all, b)
		}
	}
	return all
}

// An Entry is a tool of a [Builtins].
type Entry struct {
	Tool tool.Tool // the tool itself
	Tier Tier      // how commonly it is needed
}

// Tools returns the tools, in the order in which models are shown them: tier by
// tier. They belong together: those of a second call are others.
func (k Builtins) Tools() []Entry {
	sets := [][]tool.Tool{k.core(), k.advanced(), k.specialist(), k.extra()}
	var all []Entry
	for i, tier := range tiers {
		for _, t := range sets[i] {
			all = append(all, Entry{t, tier})
		}
	}
	return all
}

func (k Builtins) core() []tool.Tool {
	var all []tool.Tool
	if ws := k.Workspace; ws != nil {
		all = append(all, Read(ws), Write(ws), Edit(ws), ApplyPatch(ws), Glob(ws), Grep(ws))
		if terminal, ok := terminalOf(ws); ok {
			all = append(all, k.bash(terminal), BashOutput(terminal), KillShell(terminal))
		}
	}
	all = append(all, AskUser(), ToolSearch())
	if k.Web != nil {
		all = append(all, WebFetch(*k.Web), WebSearch(k.Search))
	}
	return all
}

// terminalOf returns what runs the commands of a workspace.
func terminalOf(ws Workspace) (Terminal, bool) {
	if w, ok := ws.(*workspace.Workspace); ok && w.InMemory {
		return nil, false
	}
	terminal, ok := ws.(Terminal)
	return terminal, ok
}

// worktreesOf returns the files and processes of a workspace on this machine.
func worktreesOf(ws Workspace) (toolapi.Worktrees, bool) {
	if w, ok := ws.(*workspace.Workspace); ok && (w.InMemory || w.Exec != nil) {
		return nil, false
	}
	files, ok := ws.(toolapi.Worktrees)
	return files, ok
}

func (k Builtins) bash(terminal Terminal) tool.Tool {
	if k.Sandbox == nil {
		return Bash(terminal)
	}
	return Bash(terminal, k.Sandbox)
}

func (k Builtins) advanced() []tool.Tool {
	var all []tool.Tool
	if k.Agents != nil {
		all = append(all, Agent(k.Agents))
	}
	if k.Skills != nil {
		all = append(all, Skill(k.Skills))
	}
	if k.Team != nil {
		var background []toolapi.Background
		if k.Agents != nil {
			background = backgroundOf(k.Agents)
		}
		if terminal, ok := terminalOf(k.Workspace); ok {
			background = append(background, shellWork(terminal))
		}
		all = append(all, TaskCreate(k.Team), newTaskGet(k.Team, background...), TaskList(k.Team), newTaskOutput(k.Team, background...),
			newTaskStop(k.Team, background...), TaskUpdate(k.Team),
			SendMessage(k.Team), TeamCreate(k.Team), TeamDelete(k.Team))
	}
	if k.Workspace != nil {
		all = append(all, NotebookEdit(k.Workspace))
	}
	return all
}

func (k Builtins) specialist() []tool.Tool {
	var all []tool.Tool
	if k.Crontab != nil {
		all = append(all, CronCreate(*k.Crontab), CronDelete(*k.Crontab), CronList(*k.Crontab))
	}
	if k.Languages != nil {
		all = append(all, LSP(k.Languages))
	}
	if settings := k.Settings.inner(); settings != nil {
		all = append(all, newConfig(settings))
	}
	enter, exit := PlanMode()
	all = append(all, TodoWrite(), enter, exit)
	if files, ok := worktreesOf(k.Workspace); ok {
		all = append(all, gitworktree.Enter(files), gitworktree.Exit(files))
	}
	if k.Triggers != nil {
		all = append(all, newRemoteTrigger(*k.Triggers))
	}
	if resources := k.Resources.inner(); resources != nil {
		all = append(all, newListMCPResources(resources), newReadMCPResource(resources))
	}
	return all
}

func (k Builtins) extra() []tool.Tool {
	var all []tool.Tool
	if ws := k.Workspace; ws != nil {
		all = append(all, MultiEdit(ws), codeSearchTool(ws))
	}
	all = append(all, newTodoRead(), Batch(), newPauseForHuman())
	if k.Completion {
		all = append(all, newAttemptCompletion())
	}
	return all
}

// Core returns the tools for working in ws and on the web, in the order in which
// models are shown them. The search engine is that of the environment, see
// [search.FromEnv].
func Core(ws Workspace) []tool.Tool {
	return Builtins{Workspace: ws, Web: &Web{}, Search: search.FromEnv()}.core()
}
