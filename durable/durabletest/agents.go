package durabletest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/durable"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/tool"
)

// An agentTree says where an agent asks its question.
type agentTree struct {
	name       string
	depth      int  // of the agent that asks
	background bool // the agents below the root outlast their call, and the worker waits for them
	lingering  bool // its worker dies while it waits for the answer, not later
}

var agentTrees = []agentTree{
	{name: "below", depth: 1}, {name: "below-lingering", depth: 1, lingering: true},
	{name: "deep", depth: 2}, {name: "deep-lingering", depth: 2, lingering: true},
	{name: "background", depth: 1, background: true},
	{name: "background-deep", depth: 2, background: true}, // one that dies at work does not continue by itself
}

// agent returns the agent at the root of a tree, and those below it.
func (t agentTree) agent(w *world, root string) *agent.Agent {
	refund := tool.New(tool.Spec{Name: "refund"}, func(_ context.Context, call tool.Call, in item) (*tool.Result, error) {
		w.count("refund", root+"/"+call.Session+"/"+call.ID)
		return tool.Text("refunded"), nil
	})
	var below func(depth int) *agent.Agent
	below = func(depth int) *agent.Agent {
		a := &agent.Agent{Name: fmt.Sprint("agent", depth), Program: "agents", Tools: []tool.Tool{refund}, Permissions: permission.Policy{Allow: []permission.Rule{"delegate"}}}
		work := llmtest.Call(llmtest.Use("", "refund", item{1}))
		if depth < t.depth {
			work = llmtest.Call(llmtest.Use("", "delegate", item{1}))
			kind := below(depth + 1)
			a.Tools = append(a.Tools, delegate(kind, t.background && depth == 0))
		}
		a.Model = &llmtest.Model{Rule: func(r *llmtest.Request, _ int) llmtest.Step {
			w.check(r)
			step := llmtest.Say(fmt.Sprint("done at depth ", depth))
			if last := r.Messages[len(r.Messages)-1]; last.Role == llm.User && strings.HasPrefix(last.Text(), "do ") {
				step = work
			}
			step.Delay = w.think
			return step
		}}
		return a
	}
	return below(0)
}

// delegate returns a tool that lets an agent do some work.
func delegate(kind *agent.Agent, background bool) tool.Tool {
	return tool.New(tool.Spec{Name: "delegate", Idempotent: true, Timeout: -1}, func(ctx context.Context, call tool.Call, _ item) (*tool.Result, error) {
		parent, ok := agent.ParentOf(ctx)
		if !ok {
			return nil, errors.New("no run")
		}
		child := agent.Child{Agent: kind, Call: call.ID, Input: agent.Input{Text: "do work"}}
		if background {
			id, err := parent.Start(ctx, child, nil)
			return tool.Text(id), err
		}
		res, err := parent.Run(ctx, child)
		if res == nil {
			return nil, err
		}
		return tool.Text(res.Text), nil
	}).OnClassify(func(tool.Call, item) tool.Traits { return tool.Traits{RunsSubagents: true} })
}

// agents: agents ask questions, their workers die, and the answers come while there is no worker. Another
// one continues the agents, and each call that was permitted runs once.
func agents(s *suite) {
	tree := func(session string) (t agentTree) {
		for _, t = range agentTrees {
			if t.name == session {
				break
			}
		}
		return t
	}
	patient := func(lingering bool) func(*durable.Worker) {
		return func(w *durable.Worker) {
			w.Linger = s.pair.Beat / 4
			w.Agent = func(_ context.Context, at durable.Where) (durable.Hosted, error) {
				t := tree(at.Session)
				h := durable.Hosted{Agent: t.agent(s.world, at.Session)}
				if lingering && t.lingering {
					h.Agent.CanUseTool = func(ctx context.Context, _ tool.Call, verdict permission.Decision) (permission.Decision, error) {
						if verdict.Behavior == permission.Asked {
							<-ctx.Done() // its worker does not live so long
						}
						return permission.Decision{}, ctx.Err()
					}
				}
				return h, nil
			}
		}
	}
	first := s.worker(patient(true))
	calls := map[string]string{}
	for _, t := range agentTrees {
		s.send(t.name, "p", durable.Prompt{Text: "do it"})
	}
	for _, t := range agentTrees {
		calls[t.name] = s.question(t.name)
		if !t.lingering {
			s.suspended(t.name)
		}
	}
	time.Sleep(s.pair.Beat / 2)
	first.kill()
	time.Sleep(2 * s.pair.Beat)
	for _, t := range agentTrees {
		s.send(t.name, "answer", durable.Decide{Call: calls[t.name], Decision: permission.Allow()})
		s.send(t.name, "q", durable.Prompt{Text: "do more"})
	}
	s.worker(patient(false))
	for _, t := range agentTrees {
		second := s.questionAfter(t.name, calls[t.name])
		s.send(t.name, "second answer", durable.Decide{Call: second, Decision: permission.Deny("enough")})
		for _, id := range []string{"p", "q"} {
			if end := s.wait(t.name, id); end.Reason != event.Completed {
				s.Errorf("%s: prompt %s ended as %s: %s", t.name, id, end.Reason, end.Message)
			}
		}
		s.until(t.name+": the agents have ended", func() bool {
			info, err := session.Stat(s.Context(), s.client.Backend.Store("", nil), t.name)
			return err == nil && info.State == session.StateIdle
		})
		if settled, err := s.client.Settled(s.Context(), t.name, "answer"); !settled || err != nil {
			s.Errorf("%s: the answer is settled %v, %v", t.name, settled, err)
		}
		started, ended := 0, 0
		for _, e := range s.facts(t.name) {
			switch e.Data.(type) {
			case event.AgentStart:
				started++
			case event.AgentEnd:
				ended++
			}
		}
		if started != 2 || ended != 2 {
			s.Errorf("%s: %d agents began and %d ended", t.name, started, ended)
		}
	}
	unknown := 0
	if s.away < time.Hour { // in real time, a busy machine may take a living worker for dead
		for _, t := range agentTrees {
			unknown += s.unknownOutcomes(s.client.Backend.Store("", nil), t.name)
		}
	}
	if n := s.world.most("refund"); n != 1 || s.world.total("refund") > len(agentTrees) || s.world.total("refund")+unknown < len(agentTrees) {
		s.Errorf("%d refunds for %d permissions, one ran %d times; the outcome of %d calls is not known", s.world.total("refund"), len(agentTrees), n, unknown)
	}
}

// unknownOutcomes counts the calls of a session and its agents whose outcome is not known.
func (s *suite) unknownOutcomes(store session.Store, id string) (n int) {
	s.Helper()
	for e, err := range store.Read(s.Context(), id, 0) {
		if err != nil {
			s.Fatal(err)
		}
		switch f := e.Data.(type) {
		case event.AgentStart:
			n += s.unknownOutcomes(session.Under(store, id), f.Session)
		case event.ToolResult:
			if f.Cause != "" {
				n++
			}
		}
	}
	return n
}

// questionAfter waits for a question of a session that is about another call, and returns that call.
func (s *suite) questionAfter(session, before string) (call string) {
	s.Helper()
	s.until(session+": another question", func() bool {
		list, err := s.client.Questions(s.Context(), session)
		for _, q := range list {
			if q.Call != before {
				call = q.Call
			}
		}
		return err == nil && call != ""
	})
	return call
}
