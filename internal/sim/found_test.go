package sim

import (
	"testing"
	"time"

	"github.com/openagent-go/agent/permission"
)

// found are programs that have broken an invariant, with the mistake that they showed.
var found = map[string]Program{
	"a fork of a fork takes an approval": {Seed: 4, Ops: []Op{
		Prompt{Name: "p1", Turns: []Turn{{Calls: []Call{{Tool: "act", Target: "x0"}, {Tool: "act", Target: "x3"}}}}},
		Sleep{200 * time.Millisecond},
		Fork{Back: 8},
		Resume{Session: newest},
		Sleep{60 * time.Millisecond},
		Fork{Session: newest, Back: 3}}},
	"an agent is stopped while it waits for a decision": {Seed: 0xf4424, With: []string{"team"}, Ops: []Op{
		Prompt{Name: "p2", Turns: []Turn{
			{Calls: []Call{{Tool: "TeamCreate", Target: "red"}}},
			{Calls: []Call{{Tool: "TaskCreate"}}},
			{Calls: []Call{{Tool: "TaskCreate"}}},
			{Calls: []Call{{Tool: "Agent", Target: "ann", Turns: []Turn{{Calls: []Call{{Tool: "Agent"}, {Tool: "fence"}}}}}}},
			{Calls: []Call{{Tool: "TaskStop", Target: "ann"}}}}}}},
	"an approval counts again after a rewind": {Seed: 4, Ops: []Op{
		Prompt{Name: "p1", Turns: []Turn{{Calls: []Call{{Tool: "act", Target: "x0"}}}}},
		Sleep{200 * time.Millisecond},
		Rewind{Back: 5}}},
	"a rewind to before a rewind": {Seed: 5, Mode: permission.Bypass, Ops: []Op{
		Prompt{Name: "p1", Turns: []Turn{{Calls: []Call{{Tool: "look"}}}}},
		Sleep{110 * time.Millisecond},
		Rewind{Back: 5},
		Rewind{Back: 1}}},
	"compactions by hand count as model calls": {Seed: 0x18ebf3b6dd026d35, With: []string{"budget"}, Ops: []Op{
		Prompt{Name: "p1"},
		Sleep{50 * time.Millisecond},
		Compact{},
		Sleep{60 * time.Millisecond},
		Rewind{Back: 2}}},
	"a program dies while it lists questions": {Seed: 0x18ebf3b6dd025a41, Disk: "fault", With: []string{"background agent"}, Ops: []Op{
		Prompt{Name: "p1", Turns: []Turn{{Calls: []Call{{Tool: "put"}}}}},
		Sleep{45 * time.Millisecond},
		DiskKill{Changes: 46},
		Prompt{Name: "p3", Turns: []Turn{{Calls: []Call{{Tool: "look", Target: "ask-x1"},
			{Tool: "aside", Turns: []Turn{{Calls: []Call{{Tool: "act"}}}}}}}}},
		Sleep{63500 * time.Microsecond},
		Resume{}}},
	"a rule names a tool that is gone": {Seed: 854, Ops: []Op{
		SetTools{Without: "deploy"},
		Prompt{Name: "p1"}}},
	"a server that is switched off is called": {Seed: 0x89596d, With: []string{"server"}, Ops: []Op{
		Prompt{Name: "p1", Turns: []Turn{{Calls: []Call{{Tool: "mcp__here__remotelook"}}}}},
		SwitchServer{}}},
	"a fallback outlives its prompt by a skill": {Seed: 0x895d57, With: []string{"settings", "skill"}, Ops: []Op{
		Prompt{Name: "p1", Turns: []Turn{
			{Calls: []Call{{Tool: "act", Target: "deny-x0"}}},
			{Fail: "down", Calls: []Call{{Tool: "Skill", Target: "thinker"}}}}},
		Sleep{62 * time.Millisecond},
		ForkCrash{}}},
	"a server answers with the code of a closed connection": {Seed: 1, Mode: permission.Bypass, With: []string{"mcp"}, Ops: []Op{
		Prompt{Name: "p1", Turns: []Turn{{Calls: []Call{{Tool: "mcp__far__do", Target: "x!error"}}}}}}},
	"a server forgets a session while it works on a call": {Seed: 58, Mode: permission.Bypass, With: []string{"mcp"}, Ops: []Op{
		Prompt{Name: "p1", Turns: []Turn{{Calls: []Call{{Tool: "mcp__far__do", Target: "x!late"}}}}},
		Sleep{200 * time.Millisecond},
		RemoteServer{Close: true},
		NewSession{},
		Prompt{Session: 1, Name: "p2", Turns: []Turn{{Calls: []Call{{Tool: "mcp__far__look", Target: "x"}}}}}}},
	"new notes are gone after a power loss": {Seed: 0x113ea, Disk: "fault", With: []string{"notes"}, Ops: []Op{
		Kill{Writes: 1},
		DiskKill{PowerLoss: true},
		Prompt{Name: "p3"}}},
	"the log shows the secret of a server": {Seed: 1, With: []string{"mcp"}, Ops: []Op{
		Prompt{Name: "p1"},
		RemoteServer{List: 4, Announce: true},
		Sleep{3 * time.Second}}},
	"files are rewound to a fact at which a call ran": {Seed: 416, Mode: permission.Bypass, With: []string{"checkpoint"}, Ops: []Op{
		Prompt{Name: "p1", Turns: []Turn{{Calls: []Call{{Tool: "Write", Target: "open/sub/new.txt"}}}}},
		RewindFiles{Back: 4}}},
	"files are rewound to a fact at which an agent ran": {Seed: 0x46a, Mode: permission.Bypass, With: []string{"sub-agent", "checkpoint"}, Ops: []Op{
		Prompt{Name: "p1", Turns: []Turn{{Calls: []Call{{Tool: "delegate", Turns: []Turn{{Calls: []Call{{Tool: "Write", Target: "open/sub/other.txt"}}}}}}}}},
		RewindFiles{Back: 5}}},
	"a rewind of files takes the work of an agent in a worktree": {Seed: 20, Mode: permission.Bypass, With: []string{"checkpoint", "worktree"}, Ops: []Op{
		Prompt{Name: "p1", Turns: []Turn{{Calls: []Call{{Tool: "Agent", Target: "apart", Turns: []Turn{{Calls: []Call{{Tool: "Write", Target: "open/new.txt"}}}}}}}}},
		RewindFiles{Back: 100}}},
	"a kind of agent makes a worktree in plan mode": {Seed: 5, Mode: permission.Plan, With: []string{"worktree"}, Ops: []Op{
		Prompt{Name: "p1", Turns: []Turn{{Calls: []Call{{Tool: "Agent", Target: "apart", Turns: []Turn{{Calls: []Call{{Tool: "Write", Target: "open/new.txt"}}}}}}}}}}},
}

func TestFound(t *testing.T) {
	for name, p := range found {
		t.Run(name, func(t *testing.T) { hold(t, p) })
	}
}
