package streamjson

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/session"
)

// stateLine reports whether the session works.
type stateLine struct {
	Type    string `json:"type"`
	Subtype string `json:"subtype"` // session_state_changed
	State   string `json:"state"`   // running, idle or requires_action
	Origin
}

// stateVariables name variables by which hosts ask for the lines about the session's state.
var stateVariables = []string{"CLAUDE_CODE_SDK_READS_SESSION_STATE", "CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS"}

// tellState reports a new state of the session to hosts that want to know it.
func (d *Session) tellState(state string) {
	if !d.claude {
		return
	}
	if slices.ContainsFunc(stateVariables, func(name string) bool { return wanted(d.H.Getenv, name) }) {
		d.out.Put(stateLine{Type: "system", Subtype: "session_state_changed", State: state, Origin: d.sign()})
	}
}

// wanted reports whether a variable is set by a host that wants more lines.
func wanted(getenv func(string) string, name string) bool {
	v := getenv(name)
	return v != "" && v != "0" && v != "false"
}

// agentPoll is how often the session looks for background agents that have ended between prompts.
const agentPoll = 50 * time.Millisecond

// background reports whether the host has to hear of background agents: some work, or have ended since
// the last prompt. Hosts of Claude Code expect a further turn about them.
func (d *Session) background() bool {
	if !d.claude {
		return false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.working == nil {
		d.working = map[string]bool{}
	}
	for _, a := range d.s.RunningAgents() {
		if a.Background {
			d.working[a.ID] = true
		}
	}
	return len(d.working) > 0
}

// noticeAgents begins a turn once a background agent has ended. The run tells the model what it said.
func (d *Session) noticeAgents(ctx context.Context) {
	still := map[string]bool{}
	for _, a := range d.s.RunningAgents() {
		still[a.ID] = true
	}
	d.mu.Lock()
	ended := map[string]bool{}
	for id := range d.working {
		if !still[id] {
			delete(d.working, id)
			ended[id] = true
		}
	}
	d.mu.Unlock()
	if len(ended) > 0 {
		d.reportEnded(ctx, ended)
		d.goOn("A background agent has ended. Go on with what it says.")
	}
}

// noticeJob begins a turn about a background command that has ended, if nothing runs. A run that works
// tells the model itself.
func (d *Session) noticeJob() {
	d.mu.Lock()
	idle := d.current == nil && len(d.queue) == 0 && !d.ended
	d.mu.Unlock()
	if idle {
		d.goOn("A background command has ended.")
	}
}

// goOn queues a message of the program itself. A full queue has turns enough.
func (d *Session) goOn(text string) {
	in := agent.Input{ID: session.NewID(), Text: text}
	d.mu.Lock()
	d.own[in.ID] = true
	d.mu.Unlock()
	_ = d.enqueue(in)
}

// reportEnded writes the lines about agents that ended between prompts: their ends are on record, and
// no run was there to report them.
func (d *Session) reportEnded(ctx context.Context, ids map[string]bool) {
	last := map[string]event.Event{}
	for e, err := range d.s.Store.Read(ctx, d.s.Session.ID, 0) {
		if err != nil {
			return // the next prompt fails with it
		}
		if end, ok := e.Data.(event.AgentEnd); ok && ids[end.Session] {
			last[end.Session] = e
		}
	}
	for _, id := range slices.Sorted(maps.Keys(last)) {
		d.report.agentEnded(last[id].Data.(event.AgentEnd))
	}
}
