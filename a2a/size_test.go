package a2aagent_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/openagent-go/agent"
	a2aagent "github.com/openagent-go/agent/a2a"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/session"
)

// record makes a session of facts.
func record(t *testing.T, store session.Store, id string, data ...event.Data) {
	t.Helper()
	at := time.Now().UTC()
	facts := make([]event.Event, len(data))
	for i, d := range data {
		facts[i] = event.Event{Seq: int64(i) + 1, Prev: int64(i), Time: at, Session: id, Data: d}
	}
	if err := session.Create(t.Context(), store, session.Header{Session: id, Created: at}, facts); err != nil {
		t.Fatal(err)
	}
}

func prompted(id, delivery, text string) event.Data {
	return event.UserMessage{ID: id, Delivery: event.Delivery(delivery), Message: llm.UserText(text)}
}

// Long sessions do not use up the requests of their user.
func TestLongSession(t *testing.T) {
	s := newSite(t, agent.Agent{}, func(h *a2aagent.Handler) { h.Server.UserRequests = 2 })
	var facts []event.Data
	for i := range 2000 {
		facts = append(facts, prompted(fmt.Sprint("m", i), "prompt", "hi"), event.RunEnd{Reason: event.Completed, Text: "hello"})
	}
	record(t, s.store, "long", facts...)
	out, err := s.client(a2a.TransportProtocolJSONRPC, testToken).ListTasks(t.Context(), &a2a.ListTasksRequest{PageSize: 1})
	if err != nil || out.TotalSize != 2000 || len(out.Tasks) != 1 {
		t.Errorf("%+v, %v", out, err)
	}
}

// A page of a list and the history of a task have a bounded size.
func TestLargeTasks(t *testing.T) {
	s := newSite(t, agent.Agent{})
	large := strings.Repeat("x", 3<<19)
	record(t, s.store, "a", prompted("first", "prompt", "hi"), prompted("more1", "steer", large), prompted("more2", "steer", large),
		prompted("more3", "steer", large), event.RunEnd{Reason: event.Completed, Text: "done"})
	record(t, s.store, "b", prompted("m1", "prompt", large), event.RunEnd{Reason: event.Completed, Text: "done"})
	c := s.client(a2a.TransportProtocolJSONRPC, testToken)
	seen := map[string]*a2a.Task{}
	for in := (a2a.ListTasksRequest{}); ; {
		out, err := c.ListTasks(t.Context(), &in)
		if err != nil {
			t.Fatal(err)
		}
		if len(out.Tasks) != 1 || out.TotalSize != 2 {
			t.Errorf("a page has %d tasks of %d", len(out.Tasks), out.TotalSize)
		}
		for _, task := range out.Tasks {
			seen[task.ContextID] = task
		}
		if in.PageToken = out.NextPageToken; in.PageToken == "" {
			break
		}
	}
	if len(seen) != 2 {
		t.Fatalf("the pages have %d tasks", len(seen))
	}
	var ids []string
	for _, m := range seen["a"].History {
		ids = append(ids, m.ID)
	}
	if fmt.Sprint(ids) != "[first more2 more3]" {
		t.Errorf("the history has %v", ids)
	}
}
