package event

import "reflect"

// A Sync says when a fact must be on disk.
type Sync int

const (
	undecided  Sync = iota
	SyncLater       // with a later fact: when it is lost, the run repeats the step that it came from
	SyncNow         // before the run acts on it
	SyncEffect      // before its call runs, unless the call only reads
)

// facts is the table of all facts. A new fact is a struct in event.go and a row here.
// Tests then name each package that neither handles nor ignores it.
var facts = []struct {
	name string // in JSON
	zero Fact
	sync Sync
}{
	{"configured", Configured{}, SyncLater},
	{"user_message", UserMessage{}, SyncNow},
	{"delivered", Delivered{}, SyncLater},
	{"model_start", ModelStart{}, SyncLater},
	{"assistant_message", AssistantMessage{}, SyncLater},
	{"model_failed", ModelFailed{}, SyncLater},
	{"compaction_requested", CompactionRequested{}, SyncNow},
	{"compacted", Compacted{}, SyncNow},
	{"waited", Waited{}, SyncLater},
	{"authorized", Authorized{}, SyncLater},
	{"answered", Answered{}, SyncNow},
	{"tool_start", ToolStart{}, SyncEffect},
	{"tool_done", ToolDone{}, SyncLater},
	{"checkpointed", Checkpointed{}, SyncLater},
	{"tool_amended", ToolAmended{}, SyncNow},
	{"tool_result", ToolResult{}, SyncLater},
	{"mode_changed", ModeChanged{}, SyncNow},
	{"tool_changed", ToolChanged{}, SyncNow},
	{"tools_changed", ToolsChanged{}, SyncNow},
	{"model_changed", ModelChanged{}, SyncNow},
	{"fallbacks_changed", FallbacksChanged{}, SyncNow},
	{"budget_changed", BudgetChanged{}, SyncNow},
	{"callback_changed", CallbackChanged{}, SyncNow},
	{"stopped", Stopped{}, SyncNow},
	{"resumed", Resumed{}, SyncNow},
	{"rewound", Rewound{}, SyncLater},
	{"session_named", SessionNamed{}, SyncNow},
	{"hooked", Hooked{}, SyncNow},
	{"output_checked", OutputChecked{}, SyncNow},
	{"permissions_changed", PermissionsChanged{}, SyncNow},
	{"agent_start", AgentStart{}, SyncLater},
	{"agent_suspended", AgentSuspended{}, SyncNow},
	{"agent_end", AgentEnd{}, SyncLater},
	{"run_end", RunEnd{}, SyncNow},
}

// signals is the table of all signals. A new signal is a struct in signal.go and a row here.
var signals = []struct {
	name string // in JSON
	zero Signal
}{
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

// These find the rows of the tables.
var (
	names = map[string]Data{}
	types = map[reflect.Type]string{}
	syncs = map[reflect.Type]Sync{}
)

func init() {
	for _, r := range facts {
		names[r.name], types[reflect.TypeOf(r.zero)], syncs[reflect.TypeOf(r.zero)] = r.zero, r.name, r.sync
	}
	for _, r := range signals {
		names[r.name], types[reflect.TypeOf(r.zero)] = r.zero, r.name
	}
}

// Facts returns the zero value of every fact, so that a test can check that code
// handles all of them.
func Facts() []Fact {
	all := make([]Fact, len(facts))
	for i, r := range facts {
		all[i] = r.zero
	}
	return all
}

// SyncOf returns when f must be on disk.
func SyncOf(f Fact) Sync { return syncs[reflect.TypeOf(f)] }

// The compiler names a row whose type lacks its methods.

func (Configured) data()          {}
func (UserMessage) data()         {}
func (Delivered) data()           {}
func (ModelStart) data()          {}
func (AssistantMessage) data()    {}
func (ModelFailed) data()         {}
func (CompactionRequested) data() {}
func (Compacted) data()           {}
func (Waited) data()              {}
func (Authorized) data()          {}
func (Answered) data()            {}
func (ToolStart) data()           {}
func (ToolDone) data()            {}
func (Checkpointed) data()        {}
func (ToolAmended) data()         {}
func (ToolResult) data()          {}
func (ModeChanged) data()         {}
func (ToolChanged) data()         {}
func (ToolsChanged) data()        {}
func (ModelChanged) data()        {}
func (FallbacksChanged) data()    {}
func (BudgetChanged) data()       {}
func (CallbackChanged) data()     {}
func (Stopped) data()             {}
func (Resumed) data()             {}
func (Rewound) data()             {}
func (SessionNamed) data()        {}
func (Hooked) data()              {}
func (OutputChecked) data()       {}
func (PermissionsChanged) data()  {}
func (AgentStart) data()          {}
func (AgentSuspended) data()      {}
func (AgentEnd) data()            {}
func (RunEnd) data()              {}

func (Configured) fact()          {}
func (UserMessage) fact()         {}
func (Delivered) fact()           {}
func (ModelStart) fact()          {}
func (AssistantMessage) fact()    {}
func (ModelFailed) fact()         {}
func (CompactionRequested) fact() {}
func (Compacted) fact()           {}
func (Waited) fact()              {}
func (Authorized) fact()          {}
func (Answered) fact()            {}
func (ToolStart) fact()           {}
func (ToolDone) fact()            {}
func (Checkpointed) fact()        {}
func (ToolAmended) fact()         {}
func (ToolResult) fact()          {}
func (ModeChanged) fact()         {}
func (ToolChanged) fact()         {}
func (ToolsChanged) fact()        {}
func (ModelChanged) fact()        {}
func (FallbacksChanged) fact()    {}
func (BudgetChanged) fact()       {}
func (CallbackChanged) fact()     {}
func (Stopped) fact()             {}
func (Resumed) fact()             {}
func (Rewound) fact()             {}
func (SessionNamed) fact()        {}
func (Hooked) fact()              {}
func (OutputChecked) fact()       {}
func (PermissionsChanged) fact()  {}
func (AgentStart) fact()          {}
func (AgentSuspended) fact()      {}
func (AgentEnd) fact()            {}
func (RunEnd) fact()              {}

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
