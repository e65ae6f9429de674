package timeline_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/internal/timeline"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
)

var start = time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)

// A journal applies facts at seconds from the start.
type journal struct {
	timeline.State
	seq  int64
	prev int64 // of the next fact; 0: the last one
}

func (j *journal) add(at int, d event.Data) int64 {
	prev := j.seq
	if j.prev > 0 {
		prev, j.prev = j.prev, 0
	}
	j.seq++
	j.Apply(event.Event{Seq: j.seq, Prev: prev, Time: start.Add(time.Duration(at) * time.Second), Session: "s", Data: d})
	return j.seq
}

// show writes a timeline as text: a line for each span, with seconds on the axis.
func show(t timeline.Timeline) string {
	var b strings.Builder
	at := func(x time.Time) string { return fmt.Sprint(t.Axis.At(x).Seconds()) }
	for _, l := range t.Lanes {
		fmt.Fprintf(&b, "%s%s rows %d", strings.Repeat("  ", l.Depth), l.Name, l.Rows)
		for _, w := range l.Work {
			fmt.Fprintf(&b, " %s-%s", at(w.Start), at(w.End))
		}
		b.WriteString("\n")
		for _, s := range l.Spans {
			fmt.Fprintf(&b, "%s- %s %s-%s row %d %s", strings.Repeat("  ", l.Depth), s.Kind, at(s.Start), at(s.End), s.Row, s.Name)
			if s.What != "" {
				fmt.Fprintf(&b, ": %s", s.What)
			}
			if s.Failed {
				b.WriteString(" FAILED")
			}
			if s.Open {
				b.WriteString(" OPEN")
			}
			fmt.Fprintf(&b, " [%s]\n", s.Item)
		}
	}
	return b.String()
}

func now(at int) time.Time { return start.Add(time.Duration(at) * time.Second) }

func prompt() event.UserMessage { return event.UserMessage{Delivery: fact.AsPrompt} }

func answer(key string, uses ...llm.ToolUse) event.AssistantMessage {
	m := event.AssistantMessage{Key: key, Model: "m"}
	for _, u := range uses {
		m.Response.Message.Content = append(m.Response.Message.Content, u)
	}
	return m
}

func use(id, name, input string) llm.ToolUse {
	return llm.ToolUse{ID: id, Name: name, Input: json.RawMessage(input)}
}

func asks(call string) fact.Authorized {
	return fact.Authorized{Call: call, Decision: permission.Decision{Behavior: permission.Asked}}
}

func answers(call string, b permission.Behavior) fact.Answered {
	return fact.Answered{Call: call, Decision: permission.Decision{Behavior: b}}
}

func check(t *testing.T, got timeline.Timeline, want string) {
	t.Helper()
	if got := show(got); got != strings.TrimPrefix(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", got, strings.TrimPrefix(want, "\n"))
	}
}

// Model calls, retries, questions and calls of tools are spans. Those at the same time have rows
// of their own.
func TestSpans(t *testing.T) {
	var j journal
	j.add(0, prompt())
	j.add(0, fact.ModelStart{Key: "k1", Model: "m"})
	j.add(2, event.ModelFailed{Key: "k1", Model: "m", Message: "connection\nreset", Retry: true})
	j.add(5, fact.ModelStart{Key: "k2", Model: "m"})
	a := j.add(8, answer("k2", use("u1", "Bash", `{"command":"go test\n./..."}`), use("u2", "Read", `{"file_path":"a.go"}`), use("u3", "Bash", `{"command":"rm x"}`)))
	call := func(i int) string { return fmt.Sprintf("c%d.%d", a, i) }
	j.add(8, asks(call(0)))
	j.add(8, event.ToolStart{Call: call(1)})
	j.add(9, event.ToolResult{Call: call(1)})
	j.add(12, answers(call(0), permission.Allowed))
	j.add(12, event.ToolStart{Call: call(0)})
	j.add(12, asks(call(2)))
	j.add(14, answers(call(2), permission.Denied))
	j.add(14, event.ToolResult{Call: call(2), Cause: fact.ByDenial, Result: tool.Result{IsError: true}})
	check(t, j.Timeline(now(15)), `
main rows 2 0-15
- model 0-2 row 0 m: connection reset FAILED [k1]
- retry 2-5 row 0 m: connection reset [k1]
- model 5-8 row 0 m [k2]
- you 8-12 row 0 Bash: go test ./... [k2/u1]
- tool 8-9 row 1 Read: a.go [k2/u2]
- tool 12-15 row 0 Bash: go test ./... OPEN [k2/u1]
- you 12-14 row 1 Bash: rm x FAILED [k2/u3]
- tool 14-14 row 1 Bash: rm x FAILED [k2/u3]
`)
	j.add(16, event.ToolResult{Call: call(0), Result: tool.Result{IsError: true}})
	j.add(16, fact.ModelStart{Key: "k3", Model: "m"})
	j.add(20, event.RunEnd{Reason: event.Interrupted})
	check(t, j.Timeline(now(99)), `
main rows 2 0-20
- model 0-2 row 0 m: connection reset FAILED [k1]
- retry 2-5 row 0 m: connection reset [k1]
- model 5-8 row 0 m [k2]
- you 8-12 row 0 Bash: go test ./... [k2/u1]
- tool 8-9 row 1 Read: a.go [k2/u2]
- tool 12-16 row 0 Bash: go test ./... FAILED [k2/u1]
- you 12-14 row 1 Bash: rm x FAILED [k2/u3]
- tool 14-14 row 1 Bash: rm x FAILED [k2/u3]
- model 16-20 row 0 m [k3]
`)
}

// The time between runs takes no place. A run that broke off ends with its last fact.
func TestAxis(t *testing.T) {
	var j journal
	j.add(0, prompt())
	j.add(0, fact.ModelStart{Key: "k1", Model: "m"})
	j.add(2, answer("k1"))
	j.add(2, event.RunEnd{Reason: event.Completed})
	j.add(7200, prompt())
	j.add(7200, fact.ModelStart{Key: "k2", Model: "m"})
	j.add(7201, event.ToolStart{Call: "unknown"})
	j.add(7203, event.ModeChanged{})
	j.add(9000, event.Resumed{})
	j.add(9000, fact.ModelStart{Key: "k2", Model: "m"})
	j.add(9004, answer("k2"))
	j.add(9004, event.RunEnd{Reason: event.Completed})
	tl := j.Timeline(now(9999))
	check(t, tl, `
main rows 2 0-2 2-5 5-9
- model 0-2 row 0 m [k1]
- model 2-5 row 0 m [k2]
- tool 3-5 row 1  []
- model 5-9 row 0 m [k2]
`)
	if got := fmt.Sprint(tl.Axis.Total, tl.Axis.Breaks(time.Minute), tl.Axis.At(now(5000))); got != "9s [{2s 1h59m58s} {5s 29m57s}] 2s" {
		t.Error(got)
	}
}

// The last run has what was done since it began, as on the whole timeline: also what was open by then.
func TestLastRun(t *testing.T) {
	var j journal
	if tl, _ := j.LastRun(now(0)); len(tl.Lanes) != 0 {
		t.Error("a session without a run has one")
	}
	j.add(0, prompt())
	j.add(0, fact.ModelStart{Key: "k1", Model: "m"})
	j.add(2, answer("k1", use("c1", "Bash", `{"command":"ls"}`)))
	j.add(3, asks("c1"))
	j.add(3, event.RunEnd{Reason: event.Suspended})
	j.add(5, event.Resumed{})
	j.add(6, answers("c1", permission.Denied))
	j.add(6, fact.ModelStart{Key: "k2", Model: "m"})
	tl, began := j.LastRun(now(8))
	check(t, tl, `
main rows 1 0-3
- you 0-1 row 0  FAILED []
- model 1-3 row 0 m OPEN [k2]
`)
	if !began.Equal(now(5)) {
		t.Errorf("it began at %v", began)
	}
	last := j.seq
	j.add(8, event.RunEnd{Reason: event.Completed})
	j.add(10, prompt())
	j.prev = last
	j.add(12, event.RunEnd{Reason: event.Completed}) // after a rewind the second run is the last one
	if _, began := j.LastRun(now(12)); !began.Equal(now(5)) {
		t.Errorf("after a rewind the last run began at %v", began)
	}
}

// A question that was deferred is open until it is answered, in a later run.
func TestSuspended(t *testing.T) {
	var j journal
	j.add(0, prompt())
	j.add(0, fact.ModelStart{Key: "k1", Model: "m"})
	a := j.add(1, answer("k1", use("u1", "Bash", `{"command":"ls"}`)))
	call := fmt.Sprintf("c%d.0", a)
	j.add(1, asks(call))
	j.add(3, event.RunEnd{Reason: event.Suspended})
	j.add(100, event.Resumed{})
	j.add(102, answers(call, permission.Allowed))
	j.add(102, event.ToolStart{Call: call})
	j.add(103, event.ToolResult{Call: call})
	j.add(104, event.RunEnd{Reason: event.Completed})
	check(t, j.Timeline(now(104)), `
main rows 1 0-3 3-7
- model 0-1 row 0 m [k1]
- you 1-5 row 0 Bash: ls [k1/u1]
- tool 5-6 row 0 Bash: ls [k1/u1]
`)
}

// Summaries and digests are spans of the model. Questions of tools are a person's time, and the
// calls of a batch have spans of their own.
func TestSideCalls(t *testing.T) {
	var j journal
	j.add(0, fact.CompactionRequested{})
	j.add(0, fact.ModelStart{Key: "s", Model: "m", Compacts: "manual"})
	j.add(2, event.Compacted{Key: "s", Failed: "too short"})
	j.add(2, event.RunEnd{})
	j.add(2, prompt())
	j.add(2, fact.ModelStart{Key: "k", Model: "m"})
	a := j.add(3, answer("k", use("u1", "WebFetch", `{"url":"https://example.com"}`), use("u2", "AskUser", `{"question":"Which?"}`),
		use("u3", "Batch", `{"tool_calls":"[{\"tool\":\"Read\",\"parameters\":{\"file_path\":\"b.go\"}}]"}`)))
	call := func(i int) string { return fmt.Sprintf("c%d.%d", a, i) }
	j.add(3, event.ToolStart{Call: call(0)})
	j.add(4, fact.ToolDone{Call: call(0), Digest: "what?"})
	j.add(4, fact.ModelStart{Key: "d", Call: call(0), Model: "small"})
	j.add(5, fact.ToolAmended{Key: "d", Call: call(0)})
	j.add(5, event.ToolResult{Call: call(0)})
	j.add(5, event.ToolStart{Call: call(1)})
	j.add(5, fact.ToolDone{Call: call(1), Result: tool.Result{Questions: []tool.Question{{Text: "Which?"}}}})
	j.add(9, fact.ToolAmended{Key: "q", Call: call(1)})
	j.add(9, event.ToolResult{Call: call(1)})
	j.add(9, event.ToolStart{Call: call(2)})
	j.add(9, event.ToolStart{Call: call(2) + ".1"})
	j.add(10, event.ToolResult{Call: call(2) + ".1"})
	j.add(10, event.ToolResult{Call: call(2)})
	check(t, j.Timeline(now(10)), fmt.Sprintf(`
main rows 2 0-2 2-10
- model 0-2 row 0 m: too short FAILED [3]
- model 2-3 row 0 m [k]
- tool 3-4 row 0 WebFetch: https://example.com [k/u1]
- model 4-5 row 0 small: reads a result [k/u1]
- tool 5-5 row 0 AskUser: Which? [k/u2]
- you 5-9 row 0 AskUser: Which? [k/u2]
- tool 9-10 row 0 Batch [k/u3]
- tool 9-10 row 1 Read: b.go [c%d.2.1]
`, a))
}

// Without bookkeeping, spans of the model begin as long before their ends as they took.
func TestWithoutBookkeeping(t *testing.T) {
	var j journal
	j.add(0, prompt())
	j.add(2, event.ModelFailed{Key: "k1", Model: "m", Message: "reset", Retry: true, Duration: 2 * time.Second})
	m := answer("k2", use("u1", "Bash", `{"command":"ls"}`))
	m.Duration = 3 * time.Second
	a := j.add(8, m)
	j.add(9, event.ToolStart{Call: fmt.Sprintf("c%d.0", a)})
	j.add(10, event.ToolResult{Call: fmt.Sprintf("c%d.0", a)})
	j.add(10, event.RunEnd{})
	check(t, j.Timeline(now(10)), `
main rows 1 0-10
- model 0-2 row 0 m: reset FAILED [k1]
- retry 2-5 row 0 m: reset [k1]
- model 5-8 row 0 m [k2]
- tool 9-10 row 0 Bash: ls [k2/u1]
`)
}

// What a rewind took away is not on the timeline.
func TestRewound(t *testing.T) {
	var j journal
	j.add(0, prompt())
	j.add(0, fact.ModelStart{Key: "k1", Model: "m"})
	j.add(2, answer("k1"))
	end := j.add(2, event.RunEnd{})
	j.add(10, prompt())
	j.add(10, fact.ModelStart{Key: "k2", Model: "m"})
	j.add(11, event.AgentStart{Key: "a", Session: "c", Agent: "gone"})
	j.add(12, event.RunEnd{})
	j.prev = end
	j.add(20, event.Rewound{})
	j.add(21, prompt())
	j.add(21, fact.ModelStart{Key: "k3", Model: "m"})
	check(t, j.Timeline(now(23)), `
main rows 1 0-2 2-4
- model 0-2 row 0 m [k1]
- model 2-4 row 0 m OPEN [k3]
`)
}

// Agents have lanes, from their journals or from the stream. Without either, a lane says when the
// agent worked.
func TestAgents(t *testing.T) {
	child := func(at int, seq int64, d event.Data) event.Event {
		return event.Event{Seq: seq, Prev: seq - 1, Time: now(at), Session: "c1", Data: d}
	}
	facts := []event.Event{
		child(1, 1, prompt()), child(1, 2, fact.ModelStart{Key: "k1", Model: "small"}), child(3, 3, answer("k1")),
		child(3, 4, event.AgentStart{Key: "b", Session: "c3", Agent: "deep"}), child(4, 5, event.AgentEnd{Key: "b", Session: "c3"}), child(5, 6, event.RunEnd{}),
	}
	for _, how := range []string{"journal", "stream"} {
		var j journal
		j.add(0, prompt())
		j.add(1, event.AgentStart{Key: "a1", Session: "c1", Agent: "reader", Call: "c2.0"})
		j.add(1, event.AgentStart{Key: "a2", Session: "c2", Agent: "writer", Background: true})
		for _, e := range facts {
			if how == "stream" {
				j.Apply(event.Event{Time: e.Time, Session: "s", Data: event.AgentEvent{Agent: "reader", Event: &e}})
				continue
			}
			j.Agents()[0].State.Apply(e)
			j.Agents()[0].State.Apply(e)
		}
		j.add(6, event.AgentEnd{Key: "a1", Session: "c1"})
		j.add(6, event.RunEnd{})
		j.add(9, event.AgentEnd{Key: "a2", Session: "c2"})
		check(t, j.Timeline(now(20)), `
main rows 0 0-6
  reader rows 1 1-5
  - model 1-3 row 0 small [k1]
    deep rows 0 3-4
  writer rows 0 1-9
`)
	}
}
