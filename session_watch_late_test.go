package agent_test

import (
	"context"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/tool"
	"github.com/openagent-go/agent/tools"
)

// underWay is what an observer knows to be under way.
type underWay struct {
	mu        sync.Mutex
	facts     int64
	texts     map[string]string
	progress  map[string]string
	questions map[string]bool
}

func (f *underWay) apply(e event.Event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if e.Seq > 0 {
		f.facts = e.Seq
	}
	for d, ok := e.Data.(event.AgentEvent); ok; d, ok = e.Data.(event.AgentEvent) {
		e = *d.Event
	}
	of := func(id string) string { return e.Session + " " + id }
	switch d := e.Data.(type) {
	case event.TextDelta:
		if d.Restart {
			f.texts[of(d.Key)] = ""
		}
		f.texts[of(d.Key)] += d.Text
	case event.AssistantMessage:
		delete(f.texts, of(d.Key))
	case event.ToolProgress:
		if d.Call != "" && d.Phase == fact.ToolDoing {
			f.progress[of(d.Call)] = d.Status.Text
		}
	case event.PermissionRequest:
		f.questions[of(d.Call.ID)] = true
	case event.UserQuestion:
		delete(f.progress, of(d.Call.ID)) // it is done
		f.questions[of(d.Call.ID)] = true
	case fact.Answered:
		delete(f.questions, of(d.Call))
	case event.ToolResult:
		delete(f.progress, of(d.Call))
		delete(f.questions, of(d.Call))
	case event.RunEnd:
		clear(f.questions)
	}
}

func (f *underWay) String() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var open []string
	for id := range f.questions {
		open = append(open, id)
	}
	slices.Sort(open)
	return fmt.Sprintf("%d texts %v progress %v questions %v", f.facts, f.texts, f.progress, open)
}

// An observer who joins at any moment knows at once what those know who have watched from the
// beginning: the text of the answer, what calls do, and the open questions, also in a sub-agent.
func TestWatchShowsWhatIsInFlight(t *testing.T) {
	for seed := range uint64(20) {
		for _, below := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) { watchInFlight(t, rand.New(rand.NewPCG(seed, 1)), below) })
		}
	}
}

func watchInFlight(t *testing.T, random *rand.Rand, below bool) {
	pause := func() { time.Sleep(time.Second) } // of the bubble: everybody waits
	slow := tool.New(tool.Spec{Name: "slow"}, func(ctx context.Context, _ tool.Call, _ number) (*tool.Result, error) {
		for i := range 3 {
			tool.Progress(ctx, tool.Status{Text: fmt.Sprint("step ", i)})
			pause()
		}
		return tool.Text("ok"), nil
	})
	model := llmtest.Script(
		llmtest.Step{Text: "I look at it.", Calls: llmtest.Call(llmtest.Use("", "slow", number{1}), llmtest.Use("", "slow", number{2})).Calls},
		llmtest.Call(llmtest.Use("", "AskUser", map[string]any{"questions": []map[string]any{{"question": "Which?", "options": []map[string]string{{"label": "a"}, {"label": "b"}}}}})),
		llmtest.Say("done"))
	store := session.Memory()
	worker := &agent.Agent{Name: "worker", Model: slowly{model}, Sessions: store, Tools: []tool.Tool{slow, tools.AskUser()},
		CanUseTool: func(_ context.Context, _ tool.Call, v permission.Decision) (permission.Decision, error) {
			if v.Behavior == permission.Asked {
				pause()
			}
			return permission.Allow(), nil
		},
		AskUser: func(context.Context, tool.Call, []tool.Question) ([]tool.Answer, error) {
			pause()
			return []tool.Answer{{Options: []string{"a"}}}, nil
		}}
	a := worker
	if below {
		a = &agent.Agent{Model: byTurn(t, delegates(1), say("end"), say("end")), Tools: []tool.Tool{delegate(worker, false)}, Sessions: store, CanUseTool: worker.CanUseTool, AskUser: worker.AskUser}
	}
	s := a.Session("s")
	defer s.Close()
	ctx, stop := context.WithCancel(t.Context())
	var all []*underWay
	join := func() {
		f := &underWay{texts: map[string]string{}, progress: map[string]string{}, questions: map[string]bool{}}
		all = append(all, f)
		go func() {
			for e, err := range a.Session("s").Watch(ctx, 0) {
				if err != nil {
					return
				}
				f.apply(e)
			}
		}()
	}
	join()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if _, err := s.Prompt(ctx, "go"); err != nil && ctx.Err() == nil {
			t.Error(err)
		}
	}()
	for over := false; !over; {
		time.Sleep(time.Duration(random.IntN(1500)) * time.Millisecond)
		join()
		synctest.Wait()
		for i, f := range all {
			if f.String() != all[0].String() {
				t.Errorf("observer %d knows\n%v\nand the first one\n%v", i, f, all[0])
				over = true
				break
			}
		}
		select {
		case <-ended:
			over = true
		default:
		}
	}
	stop()
	<-ended
	time.Sleep(time.Minute) // tools that were stopped end
}

// slowly is a model that takes a while for each piece.
type slowly struct{ llm.Model }

func (m slowly) Stream(ctx context.Context, r *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		for d, err := range m.Model.Stream(ctx, r) {
			time.Sleep(400 * time.Millisecond)
			if !yield(d, err) {
				return
			}
		}
	}
}
