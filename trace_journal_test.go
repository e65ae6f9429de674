package agent_test

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/tracefile"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/tool"
	"github.com/openagent-go/agent/trace"
)

// A trace built from the journal has the spans of the live trace, with their times.
func TestTraceOfJournal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		rec := trace.NewRecorder(&out)
		slow := func(d time.Duration) func(context.Context, tool.Call, struct{}) (*tool.Result, error) {
			return func(context.Context, tool.Call, struct{}) (*tool.Result, error) {
				time.Sleep(d)
				return tool.Text("ok"), nil
			}
		}
		store := session.Memory()
		kind := &agent.Agent{Name: "helper", Model: llmtest.Script(say("done"))}
		a := &agent.Agent{Sessions: store, Trace: rec.Trace,
			Model: llmtest.Script(
				llmtest.Step{Err: &llm.APIError{Class: llm.Overloaded, Status: 529, Message: "busy", RetryAfter: time.Second}},
				llmtest.Call(llmtest.Use("", "look", nil), llmtest.Use("", "gaze", nil)),
				llmtest.Call(llmtest.Use("", "change", nil)),
				llmtest.Call(llmtest.Use("", "delegate", number{1})),
				say("end"), say("again")),
			Tools: []tool.Tool{
				tool.New(tool.Spec{Name: "look", ReadOnly: true}, slow(time.Second)), tool.New(tool.Spec{Name: "gaze", ReadOnly: true}, slow(2*time.Second)),
				tool.New(tool.Spec{Name: "change"}, slow(3*time.Second)), delegate(kind, false)},
			CanUseTool: func(_ context.Context, _ tool.Call, d permission.Decision) (permission.Decision, error) {
				time.Sleep(4 * time.Second)
				return permission.Allow(), nil
			},
		}
		s := a.Session("s")
		defer s.Close()
		for range 2 {
			if _, err := s.Prompt(t.Context(), "go"); err != nil {
				t.Fatal(err)
			}
		}
		built := tracefile.Build("s", history(t, store, "s"), func(above, id string) []event.Event { return history(t, session.Under(store, above), id) })
		live := records(t, out.Bytes())
		shape := func(rs []tracefile.Record) map[string]int {
			names := map[string]string{"": ""}
			for _, r := range rs {
				names[r.Span] = r.Kind + " " + r.Name
			}
			all := map[string]int{}
			for _, r := range rs {
				all[names[r.Parent]+" > "+names[r.Span]+" "+r.Error+" "+time.Duration(r.Duration*1e6).Round(time.Second).String()]++
			}
			return all
		}
		if got, want := shape(built), shape(live); !maps.Equal(got, want) {
			t.Errorf("built\n%s\nlive\n%s", strings.Join(slices.Sorted(maps.Keys(got)), "\n"), strings.Join(slices.Sorted(maps.Keys(want)), "\n"))
		}
		again := tracefile.Build("s", history(t, store, "s"), nil)
		if again[0].Span != built[0].Span || len(again) >= len(built) {
			t.Error("ids of spans do not follow from the facts, or agents are not left out")
		}
		cut := tracefile.Build("s", history(t, store, "s")[:8], nil)
		if cut[0].Error != "unfinished" {
			t.Errorf("a run that was cut short: %+v", cut[0])
		}

		var page bytes.Buffer
		if err := tracefile.WriteChrome(&page, built); err != nil {
			t.Fatal(err)
		}
		var chrome struct {
			TraceEvents []struct {
				Name     string
				Ph       string
				TS, Dur  float64
				PID, TID int
			}
		}
		if err := json.Unmarshal(page.Bytes(), &chrome); err != nil {
			t.Fatal(err)
		}
		for i, a := range chrome.TraceEvents {
			for _, b := range chrome.TraceEvents[:i] {
				if a.Ph == "X" && b.Ph == "X" && a.PID == b.PID && a.TID == b.TID && a.TS < b.TS+b.Dur && a.TS+a.Dur > b.TS+b.Dur+1 {
					t.Errorf("%s and %s overlap in a lane", b.Name, a.Name)
				}
			}
		}
		if len(chrome.TraceEvents) != len(built)+2 {
			t.Errorf("%d events of %d spans in two sessions", len(chrome.TraceEvents), len(built))
		}
	})
}
