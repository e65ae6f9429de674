package event

import "github.com/openagent-go/agent/internal/eventtable"

// shown is the table of the facts that programs read, and of the signals. A new one is a struct in
// event.go or signal.go, a row here, and for a fact a row in internal/fact.
var shown = []struct {
	name string // in JSON
	zero Data
}{
	{"user_message", UserMessage{}},
	{"assistant_message", AssistantMessage{}},
	{"model_failed", ModelFailed{}},
	{"compacted", Compacted{}},
	{"tool_start", ToolStart{}},
	{"tool_result", ToolResult{}},
	{"mode_changed", ModeChanged{}},
	{"model_changed", ModelChanged{}},
	{"resumed", Resumed{}},
	{"rewound", Rewound{}},
	{"session_named", SessionNamed{}},
	{"permissions_changed", PermissionsChanged{}},
	{"agent_start", AgentStart{}},
	{"agent_end", AgentEnd{}},
	{"run_end", RunEnd{}},

	{"text_delta", TextDelta{}},
	{"thinking_delta", ThinkingDelta{}},
	{"tool_input_delta", ToolInputDelta{}},
	{"tool_progress", ToolProgress{}},
	{"permission_request", PermissionRequest{}},
	{"budget_warning", BudgetWarning{}},
	{"user_question", UserQuestion{}},
	{"cache_broken", CacheBroken{}},
	{"journal_cut", JournalCut{}},
	{"hook_started", HookStarted{}},
	{"hook_progress", HookProgress{}},
	{"hook_response", HookResponse{}},
	{"agent_event", AgentEvent{}},
	{"rate_limit_wait", RateLimitWait{}},
	{"missed", Missed{}},
	{"session_began", SessionBegan{}},
	{"session_ended", SessionEnded{}},
}

// hidden are the names of the facts of internal/fact, which adds their types to the table. A program
// that reads events without the agent does not have those types.
var hidden = []string{
	"configured",
	"delivered",
	"model_start",
	"compaction_requested",
	"waited",
	"authorized",
	"answered",
	"tool_done",
	"checkpointed",
	"tool_amended",
	"tool_changed",
	"tools_changed",
	"fallbacks_changed",
	"budget_changed",
	"callback_changed",
	"retracted",
	"stopped",
	"hooked",
	"output_checked",
	"agent_suspended",
}

func init() {
	for _, r := range shown {
		eventtable.Add(r.name, r.zero)
	}
}

// The compiler names a row whose type lacks its methods.

func (Bookkeeping) data()        {}
func (UserMessage) data()        {}
func (AssistantMessage) data()   {}
func (ModelFailed) data()        {}
func (Compacted) data()          {}
func (ToolStart) data()          {}
func (ToolResult) data()         {}
func (ModeChanged) data()        {}
func (ModelChanged) data()       {}
func (Resumed) data()            {}
func (Rewound) data()            {}
func (SessionNamed) data()       {}
func (PermissionsChanged) data() {}
func (AgentStart) data()         {}
func (AgentEnd) data()           {}
func (RunEnd) data()             {}

func (Bookkeeping) fact()        {}
func (UserMessage) fact()        {}
func (AssistantMessage) fact()   {}
func (ModelFailed) fact()        {}
func (Compacted) fact()          {}
func (ToolStart) fact()          {}
func (ToolResult) fact()         {}
func (ModeChanged) fact()        {}
func (ModelChanged) fact()       {}
func (Resumed) fact()            {}
func (Rewound) fact()            {}
func (SessionNamed) fact()       {}
func (PermissionsChanged) fact() {}
func (AgentStart) fact()         {}
func (AgentEnd) fact()           {}
func (RunEnd) fact()             {}

func (TextDelta) data()         {}
func (ThinkingDelta) data()     {}
func (ToolInputDelta) data()    {}
func (ToolProgress) data()      {}
func (PermissionRequest) data() {}
func (BudgetWarning) data()     {}
func (UserQuestion) data()      {}
func (CacheBroken) data()       {}
func (JournalCut) data()        {}
func (HookStarted) data()       {}
func (HookProgress) data()      {}
func (HookResponse) data()      {}
func (AgentEvent) data()        {}
func (RateLimitWait) data()     {}
func (Missed) data()            {}
func (SessionBegan) data()      {}
func (SessionEnded) data()      {}

func (TextDelta) signal()         {}
func (ThinkingDelta) signal()     {}
func (ToolInputDelta) signal()    {}
func (ToolProgress) signal()      {}
func (PermissionRequest) signal() {}
func (BudgetWarning) signal()     {}
func (UserQuestion) signal()      {}
func (CacheBroken) signal()       {}
func (JournalCut) signal()        {}
func (HookStarted) signal()       {}
func (HookProgress) signal()      {}
func (HookResponse) signal()      {}
func (AgentEvent) signal()        {}
func (RateLimitWait) signal()     {}
func (Missed) signal()            {}
func (SessionBegan) signal()      {}
func (SessionEnded) signal()      {}
