package fact

import (
	"fmt"
	"reflect"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/eventtable"
)

// A Sync says when a fact must be on disk.
type Sync int

const (
	undecided  Sync = iota
	SyncLater       // with a later fact: when it is lost, the run repeats the step that it came from
	SyncNow         // before the run acts on it
	SyncEffect      // before its call runs, unless the call only reads
)

// table has all facts. A new fact that programs read is a struct in event/event.go, a row in
// event/table.go and a row here. Another one is a struct in bookkeeping.go, a row here and its
// name in event/table.go. Tests then name each package that neither handles nor ignores it.
var table = []struct {
	name string // in JSON; "": package event has the row
	zero event.Fact
	sync Sync
}{
	{"configured", Configured{}, SyncLater},
	{"", event.UserMessage{}, SyncNow},
	{"delivered", Delivered{}, SyncLater},
	{"retracted", Retracted{}, SyncNow},
	{"model_start", ModelStart{}, SyncLater},
	{"", event.AssistantMessage{}, SyncLater},
	{"", event.ModelFailed{}, SyncLater},
	{"compaction_requested", CompactionRequested{}, SyncNow},
	{"", event.Compacted{}, SyncNow},
	{"waited", Waited{}, SyncLater},
	{"authorized", Authorized{}, SyncLater},
	{"answered", Answered{}, SyncNow},
	{"", event.ToolStart{}, SyncEffect},
	{"tool_done", ToolDone{}, SyncLater},
	{"checkpointed", Checkpointed{}, SyncLater},
	{"tool_amended", ToolAmended{}, SyncNow},
	{"", event.ToolResult{}, SyncLater},
	{"", event.ModeChanged{}, SyncNow},
	{"tool_changed", ToolChanged{}, SyncNow},
	{"tools_changed", ToolsChanged{}, SyncNow},
	{"", event.ModelChanged{}, SyncNow},
	{"fallbacks_changed", FallbacksChanged{}, SyncNow},
	{"budget_changed", BudgetChanged{}, SyncNow},
	{"callback_changed", CallbackChanged{}, SyncNow},
	{"stopped", Stopped{}, SyncNow},
	{"", event.Resumed{}, SyncNow},
	{"", event.Rewound{}, SyncLater},
	{"", event.SessionNamed{}, SyncNow},
	{"hooked", Hooked{}, SyncNow},
	{"output_checked", OutputChecked{}, SyncNow},
	{"", event.PermissionsChanged{}, SyncNow},
	{"", event.AgentStart{}, SyncLater},
	{"agent_suspended", AgentSuspended{}, SyncNow},
	{"", event.AgentEnd{}, SyncLater},
	{"", event.RunEnd{}, SyncNow},
}

var syncs = map[reflect.Type]Sync{}

func init() {
	for _, r := range table {
		syncs[reflect.TypeOf(r.zero)] = r.sync
		if r.name != "" {
			eventtable.Add(r.name, r.zero)
		}
	}
}

// All returns the zero value of every fact, so that a test can check that code
// handles all of them.
func All() []event.Fact {
	all := make([]event.Fact, len(table))
	for i, r := range table {
		all[i] = r.zero
	}
	return all
}

// SyncOf returns when f must be on disk.
func SyncOf(f event.Fact) Sync { return syncs[reflect.TypeOf(f)] }

// Decode makes the Data of the given type from its JSON.
func Decode(typ string, data []byte) (event.Data, error) {
	if eventtable.Zero[typ] == nil {
		return nil, fmt.Errorf("event: unknown type %q", typ)
	}
	d, err := eventtable.Decode(typ, data)
	if err != nil {
		return nil, err
	}
	return d.(event.Data), nil
}
