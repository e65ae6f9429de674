package subagent

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/parentrun"
	"github.com/openagent-go/agent/internal/teamstore"
	"github.com/openagent-go/agent/internal/toolapi"
	"github.com/openagent-go/agent/tool"
)

// A job is an agent that was put to work, from its start to its end.
type job struct {
	root, kind, name string
	id               string        // its session
	team             string        // that it is a member of; "" for none
	over             chan struct{} // closed at its end

	mu      sync.Mutex
	parent  parentrun.Run
	began   time.Time
	rest    chan struct{} // closed when the piece of work that continues is done
	leaving bool          // it has agreed to end
	stopped bool          // someone ends it
	rouse   func()        // ends its waiting for mail; nil: it does not wait
	waits   bool          // for a decision, or for its session to be resumed
	ends    []func()
	note    string // notes to append to its answer
	ended   bool
	jobWork
}

// A jobWork counts the work of an agent so far.
type jobWork struct {
	turns  int
	tools  map[string]int // calls that ran, by tool
	text   string         // its last answer
	result *agent.Result  // of its last piece of work
	err    error
}

// see counts a step of the agent.
func (j *job) see(e event.Event) {
	j.mu.Lock()
	defer j.mu.Unlock()
	switch d := e.Data.(type) {
	case event.AssistantMessage:
		j.turns++
		if text := d.Response.Message.Text(); strings.TrimSpace(text) != "" {
			j.text = text
		}
		for _, u := range d.Response.Message.ToolUses() {
			j.tools[u.Name]++
		}
	case event.ToolResult:
		j.leaving = j.leaving || leaves(d.Result, j.name)
	case event.UserMessage:
		j.leaving = false
	}
}

// leaves reports whether an agent has told others, by a call with this result, that it
// ends. An agent whose message reached no one stays.
func leaves(r tool.Result, name string) bool {
	var sent struct { // the answer of SendMessage about a message
		From    string                `json:"from"`
		Type    teamstore.MessageType `json:"type"`
		Reached []string              `json:"reached"`
	}
	return !r.IsError && json.Unmarshal(r.Details, &sent) == nil && sent.Type == teamstore.ShutdownResponse && sent.From == name && len(sent.Reached) > 0
}

// atEnd has something done when the agent has ended, the last first.
func (j *job) atEnd(do func()) {
	if do == nil {
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.ends = append(j.ends, do)
}

// cleanup runs the functions that are due at the end.
func (j *job) cleanup() {
	j.mu.Lock()
	ends := j.ends
	j.ends = nil
	j.mu.Unlock()
	for _, do := range slices.Backward(ends) {
		do()
	}
}

// finish is the end of the agent.
func (j *job) finish() {
	j.cleanup()
	j.mu.Lock()
	defer j.mu.Unlock()
	if !j.ended {
		j.ended = true
		close(j.over)
	}
}

// keeps takes in how a piece of work came to its end. If a resumed run continues the work,
// the agent keeps its worktree.
func (j *job) keeps(res *agent.Result, err error) (waits bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.waits = res != nil && res.Reason == event.Suspended || errors.Is(err, agent.ErrDetached)
	return j.waits
}

// paused reports whether a resumed run continues the agent's work.
func (j *job) paused() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.waits
}

// wake ends the agent's waiting for mail.
func (j *job) wake() {
	j.mu.Lock()
	rouse := j.rouse
	j.mu.Unlock()
	if rouse != nil {
		rouse()
	}
}

// last releases the resources of the agent, and returns the notes about it.
func (j *job) last() string {
	j.cleanup()
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.note
}

// resting returns a channel that is closed when the agent is idle.
func (j *job) resting() <-chan struct{} {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.rest
}

// say adds a note to the report of the agent's end.
func (j *job) say(note string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.note = strings.TrimSpace(j.note + "\n" + note)
}

// spawned is the result of the tool Agent for an agent that has ended.
func (j *job) spawned(res *agent.Result, err error) *toolapi.Spawned {
	j.keeps(res, err)
	j.cleanup()
	j.mu.Lock()
	defer j.mu.Unlock()
	s := &toolapi.Spawned{ID: res.Session, Text: res.Text, Note: j.note, Turns: res.Turns, Usage: res.Usage, CostUSD: res.CostUSD, Duration: res.Duration, Tools: map[string]int{}}
	for name, used := range res.Tools {
		s.Tools[name] = used.Calls
	}
	if err != nil {
		s.Failure = cmp.Or(strings.TrimSuffix(fmt.Sprintf("%s: %s", res.Reason, res.Message), ": "), err.Error())
	}
	return s
}

// standing says how the agent is doing.
func (j *job) standing() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	var b strings.Builder
	fmt.Fprintf(&b, "Agent %s (%s, %s)", j.name, j.kind, j.id)
	switch {
	case j.waits && !j.working():
		b.WriteString(" waits for a decision; it continues when the session is resumed")
	case j.stopped && !j.working():
		b.WriteString(" was stopped")
	case j.result != nil && !j.working():
		fmt.Fprintf(&b, " is done: %s", j.result.Reason)
	case j.err != nil && !j.working():
		fmt.Fprintf(&b, " has failed: %v", j.err)
	default:
		fmt.Fprintf(&b, " is at work, since %s", time.Since(j.began).Round(time.Second))
	}
	fmt.Fprintf(&b, "; %d turns", j.turns)
	for _, name := range slices.Sorted(maps.Keys(j.tools)) {
		fmt.Fprintf(&b, ", %s %d", name, j.tools[name])
	}
	if j.text != "" {
		b.WriteString("\n" + j.text)
	}
	if j.note != "" {
		b.WriteString("\n" + j.note)
	}
	return b.String()
}

func (j *job) begunAt() time.Time {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.began
}

// busy reports whether the agent is running, or has ended.
func (j *job) busy() bool {
	j.mu.Lock()
	p, id, ended := j.parent, j.id, j.ended
	j.mu.Unlock()
	return ended || p.Working(id)
}

// working is called with the lock.
func (j *job) working() bool { return j.result == nil && j.err == nil }
