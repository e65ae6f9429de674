// Package hookconst holds values of package hook that programs rarely name. Its constants
// are untyped: they fit hook.Event and hook.Update.
package hookconst

// Events that report changes around a run.
const (
	// TeammateIdle: a member of a team is done and waits for messages.
	TeammateIdle = "TeammateIdle"
	// CwdChanged: a call changed the working directory.
	CwdChanged = "CwdChanged"
	// FileChanged: a call changed a file. Files that commands change are not seen.
	FileChanged = "FileChanged"
	// DirectoryAdded: a prompt has one more working folder than the one before it.
	DirectoryAdded = "DirectoryAdded"
	// ConfigChange: a call changed a setting.
	ConfigChange = "ConfigChange"
	// WorktreeCreate: a call made a worktree.
	WorktreeCreate = "WorktreeCreate"
	// WorktreeRemove: a call removed a worktree.
	WorktreeRemove = "WorktreeRemove"
	// TaskCreated: a call added a task to the list.
	TaskCreated = "TaskCreated"
	// TaskCompleted: a call completed a task of the list.
	TaskCompleted = "TaskCompleted"
	// InstructionsLoaded: the model receives a file of instructions, such as AGENTS.md.
	InstructionsLoaded = "InstructionsLoaded"
)

// Types of updates of permissions.
const (
	AddRules     = "addRules"     // adds rules
	ReplaceRules = "replaceRules" // those that hooks have added with the behavior
	RemoveRules  = "removeRules"  // of those that hooks have added with the behavior
	SetMode      = "setMode"      // sets the permission mode
)

// A Field is a member of a hook's input that hook.Input has in its Fields.
type Field struct {
	Name  string // in JSON
	About string // the events that have it, and its values
}

// Fields lists all of them.
var Fields = []Field{
	{"expansion_type", "UserPromptExpansion: slash_command or mcp_prompt"},
	{"command_name", "UserPromptExpansion"},
	{"command_args", "UserPromptExpansion"},
	{"old_cwd", "CwdChanged"},
	{"new_cwd", "CwdChanged"},
	{"file_path", "FileChanged, ConfigChange, InstructionsLoaded"},
	{"event", "FileChanged: change"},
	{"directory", "DirectoryAdded"},
	{"memory_type", "InstructionsLoaded: User, Project or Local"},
	{"load_reason", "InstructionsLoaded: session_start, nested_traversal or include"},
	{"name", "WorktreeCreate, WorktreeRemove; ConfigChange: the setting"},
	{"worktree_path", "WorktreeCreate, WorktreeRemove"},
	{"task_id", "TaskCreated, TaskCompleted"},
	{"task_subject", "TaskCreated, TaskCompleted"},
	{"task_description", "TaskCreated, TaskCompleted"},
	{"teammate_name", "TeammateIdle"},
	{"team_name", "TeammateIdle"},
}

// Known returns a copy of texts that has only those which [Fields] names, nil if none is
// left. An empty text is left out.
func Known(texts map[string]string) map[string]string {
	var known map[string]string
	for _, f := range Fields {
		if text := texts[f.Name]; text != "" {
			if known == nil {
				known = map[string]string{}
			}
			known[f.Name] = text
		}
	}
	return known
}
