// Package toolnames lists the names of tools that rules and lists may use, although an
// agent does not have the tools.
package toolnames

import (
	"slices"
	"strings"
)

// builtin are the names and aliases of the built-in tools of package tools, and of the tool
// that takes an answer of a schema.
const builtin = "Agent ApplyPatch AskUser Bash BashOutput Batch CodeSearch Config CronCreate CronDelete CronList Edit " +
	"EnterPlanMode EnterWorktree ExitPlanMode ExitWorktree Glob Grep KillShell LSP ListMcpResources MultiEdit NotebookEdit " +
	"PauseForHuman Read ReadMcpResource RemoteTrigger SendMessage Skill StructuredOutput Task TaskCreate TaskGet TaskList TaskOutput " +
	"TaskStop TaskUpdate TeamCreate TeamDelete TodoRead TodoWrite ToolSearch WebFetch WebSearch Write apply_patch " +
	"attempt_completion new_task"

// elsewhere are the names of further tools of Claude Code, whose settings, skills and
// sub-agents programs read.
const elsewhere = "AgentOutputTool AskUserQuestion KillBash LS ListMcpResourcesTool Monitor NotebookRead PowerShell " +
	"ReadMcpResourceTool SlashCommand"

// others are the names of tools of other packages.
const others = "Memory"

// All returns the names. The list is the caller's.
func All() []string {
	return slices.Concat(strings.Fields(builtin), strings.Fields(elsewhere), strings.Fields(others))
}

// Builtin returns the names and aliases of the built-in tools.
func Builtin() []string { return strings.Fields(builtin) }
