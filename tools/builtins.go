package tools

import (
	"slices"

	"github.com/openagent-go/agent/team"
	"github.com/openagent-go/agent/tool"
	"github.com/openagent-go/agent/tools/search"
)

// A Tier says how general a tool is.
type Tier string

// Core tools are for all work on files, commands and the web; advanced ones for work in
// several steps or by several agents; specialist ones for one kind of work. Extra ones
// repeat others in a form that some models are used to.
const (
	CoreTier   Tier = "core"
	Advanced   Tier = "advanced"
	Specialist Tier = "specialist"
	Extra      Tier = "extra"
)

// Tiers lists every [Tier].
var Tiers = []Tier{CoreTier, Advanced, Specialist, Extra}

// A Builtins holds the things that the tools of an agent work on. A missing one leaves out
// the tools that need it.
type Builtins struct {
	// Workspace gives the tools for files, and those for commands, background commands and
	// worktrees if it is a [Terminal] and has [Worktrees].
	Workspace Workspace
	Sandbox   Sandbox // of the commands of Workspace; nil: they are not confined
	Web       *Web    // WebFetch and WebSearch
	// Search is the engine of WebSearch. Nil: it answers how to configure one.
	Search    SearchProvider
	Languages *Languages // LSP

	// Team is for the Task tools, TeamCreate, TeamDelete and SendMessage.
	Team *team.Store
	// Background is work that TaskGet, TaskOutput and TaskStop reach, besides
	// background commands of the workspace.
	Background []Background
	Agents     Spawner // Agent
	Skills     Skills  // Skill

	Crontab   *Crontab  // the Cron tools
	Triggers  *Triggers // RemoteTrigger
	Settings  Settings  // Config
	Resources Resources // ListMcpResources and ReadMcpResource

	Completion bool // attempt_completion, with which a model ends its run
}

// A Workspace is a place with files, such as a [workspace.Workspace], or one of your own in
// a container or a database.
type Workspace interface {
	PatchFiles
	Finder
}

// A Terminal is a [Workspace] that also runs commands.
type Terminal interface {
	Shell
	Jobs
}

// An Entry is a tool of a [Builtins].
type Entry struct {
	Tool tool.Tool
	Tier Tier
}

// Tools returns the tools, in the order in which models are shown them: tier by
// tier. They belong together: those of a second call are others.
func (k Builtins) Tools() []Entry {
	tiers := [][]tool.Tool{k.core(), k.advanced(), k.specialist(), k.extra()}
	var all []Entry
	for i, tier := range Tiers {
		for _, t := range tiers[i] {
			all = append(all, Entry{t, tier})
		}
	}
	return all
}

func (k Builtins) core() []tool.Tool {
	var all []tool.Tool
	if ws := k.Workspace; ws != nil {
		all = append(all, Read(ws), Write(ws), Edit(ws), ApplyPatch(ws), Glob(ws), Grep(ws))
		if terminal, ok := ws.(Terminal); ok {
			all = append(all, k.bash(terminal), BashOutput(terminal), KillShell(terminal))
		}
	}
	all = append(all, AskUser(), ToolSearch())
	if k.Web != nil {
		all = append(all, WebFetch(*k.Web), WebSearch(k.Search))
	}
	return all
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
		background := slices.Clone(k.Background)
		if jobs, ok := k.Workspace.(Jobs); ok {
			background = append(background, Shells(jobs))
		}
		all = append(all, TaskCreate(k.Team), TaskGet(k.Team, background...), TaskList(k.Team), TaskOutput(k.Team, background...),
			TaskStop(k.Team, background...), TaskUpdate(k.Team),
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
	if k.Settings != nil {
		all = append(all, Config(k.Settings))
	}
	enter, exit := PlanMode()
	all = append(all, TodoWrite(), enter, exit)
	if files, ok := k.Workspace.(Worktrees); ok {
		all = append(all, EnterWorktree(files), ExitWorktree(files))
	}
	if k.Triggers != nil {
		all = append(all, RemoteTrigger(*k.Triggers))
	}
	if k.Resources != nil {
		all = append(all, ListMcpResources(k.Resources), ReadMcpResource(k.Resources))
	}
	return all
}

func (k Builtins) extra() []tool.Tool {
	var all []tool.Tool
	if ws := k.Workspace; ws != nil {
		all = append(all, MultiEdit(ws), CodeSearch(ws))
	}
	all = append(all, TodoRead(), Batch(), PauseForHuman())
	if k.Completion {
		all = append(all, AttemptCompletion())
	}
	return all
}

// Core returns the tools for working in ws and on the web, in the order in which
// models are shown them. The search engine is that of the environment, see
// [search.FromEnv].
func Core(ws Workspace) []tool.Tool {
	return Builtins{Workspace: ws, Web: &Web{}, Search: search.FromEnv()}.core()
}
