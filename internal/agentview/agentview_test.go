package agentview_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/internal/agentview"
	"github.com/openagent-go/agent/internal/timeline"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/session/view"
	"github.com/openagent-go/agent/tool"
)

// An agent with a sub-agent gives the same timeline in its stream and in its journals, also if
// these are read while they grow. The spans name items of the view.
func TestTimelineOfRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		counter := &agent.Agent{Name: "counter", Model: llmtest.Script(llmtest.Call(llmtest.Use("x", "Wait", map[string]int{"Seconds": 2})), llmtest.Say("four"))}
		wait := tool.Func(tool.Spec{Name: "Wait", ReadOnly: true}, func(_ context.Context, in struct{ Seconds int }) (string, error) {
			time.Sleep(time.Duration(in.Seconds) * time.Second)
			return "waited", nil
		})
		counter.Tools = []tool.Tool{wait}
		helper := tool.New(tool.Spec{Name: "Helper"}, func(ctx context.Context, call tool.Call, _ struct{}) (*tool.Result, error) {
			p, ok := agent.ParentOf(ctx)
			if !ok {
				return nil, errors.New("no parent")
			}
			r, err := p.Run(ctx, agent.Child{Agent: counter, Call: call.ID, Input: agent.Input{Text: "count"}})
			if r == nil {
				return nil, err
			}
			return tool.Text(r.Text), nil
		}).OnClassify(func(tool.Call, struct{}) tool.Traits { return tool.Traits{RunsSubagents: true} })
		store := session.Memory()
		a := agent.Agent{Sessions: store, Tools: []tool.Tool{wait, helper},
			Model: llmtest.Script(llmtest.Step{Calls: []llm.ToolUse{llmtest.Use("1", "Helper", nil), llmtest.Use("2", "Wait", map[string]int{"Seconds": 1})}}, llmtest.Say("Done."))}
		s := a.Session("one")
		defer s.Close()
		var live, grown, whole timeline.State
		var v view.State
		for e, err := range s.Stream(t.Context(), "Go.") {
			if err != nil {
				t.Fatal(err)
			}
			live.Apply(e)
			v.Apply(e)
			if err := agentview.ReadTimeline(t.Context(), store, "one", &grown); err != nil {
				t.Fatal(err)
			}
		}
		for _, st := range []*timeline.State{&grown, &whole} {
			if err := agentview.ReadTimeline(t.Context(), store, "one", st); err != nil {
				t.Fatal(err)
			}
		}
		want := show(whole.Timeline(time.Now()))
		for _, st := range []*timeline.State{&live, &grown} {
			if got := show(st.Timeline(time.Now())); got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		}
		if want != "main 3s: model Helper 0s-2s Wait 2s-3s model\ncounter 2s: model Wait 0s-2s model\n" {
			t.Error(want)
		}
		items := map[string]bool{}
		for _, it := range append(v.Items, v.Agents[0].Data.(*view.Agent).View.Items...) {
			items[it.ID] = true
		}
		for _, l := range whole.Timeline(time.Now()).Lanes {
			for _, sp := range l.Spans {
				if !items[sp.Item] {
					t.Errorf("no item %q for %+v", sp.Item, sp)
				}
			}
		}
	})
}

func show(t timeline.Timeline) string {
	var b strings.Builder
	for _, l := range t.Lanes {
		fmt.Fprintf(&b, "%s %v:", l.Name, l.Work[0].Took())
		for _, s := range l.Spans {
			if s.Kind == timeline.Model {
				b.WriteString(" model")
				continue
			}
			fmt.Fprintf(&b, " %s %v-%v", s.Name, t.Axis.At(s.Start), t.Axis.At(s.End))
		}
		b.WriteString("\n")
	}
	return b.String()
}
