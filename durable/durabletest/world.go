package durabletest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/durable"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
)

// A world is what the tools of the tests change. Workers that die leave it as it is.
type world struct {
	mu    sync.Mutex
	ran   map[string]int  // executions by tool and call
	slow  time.Duration   // time that each tool takes
	think time.Duration   // time that each model call takes
	wrong []string        // requests that no provider would take
	first map[string]bool // what has happened once
	// rule may answer in place of the model, for a turn after the given prompt. Nil: it never does.
	rule    func(prompt string, turn int) (step llmtest.Step, ok bool)
	more    func(session string) []tool.Tool // tools that only read, of one test
	compact *llmtest.Model                   // for summaries of all but the last message; nil: the default
}

// once reports whether it is called for the first time with this name.
func (w *world) once(name string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.first == nil {
		w.first = map[string]bool{}
	}
	before := w.first[name]
	w.first[name] = true
	return !before
}

// happened reports whether once was called with this name.
func (w *world) happened(name string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.first[name]
}

func (w *world) count(tool string, call string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ran == nil {
		w.ran = map[string]int{}
	}
	w.ran[tool+" "+call]++
}

// most returns how often a call of the tool ran at most.
func (w *world) most(tool string) (n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for key, times := range w.ran {
		if strings.HasPrefix(key, tool+" ") {
			n = max(n, times)
		}
	}
	return n
}

// total returns how many calls of the tool ran.
func (w *world) total(tool string) (n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for key := range w.ran {
		if strings.HasPrefix(key, tool+" ") {
			n++
		}
	}
	return n
}

type item struct {
	N int `json:"n"`
}

// tool returns a tool that takes its time and counts its executions.
func (w *world) tool(session string, spec tool.Spec) tool.Tool {
	return tool.New(spec, func(ctx context.Context, call tool.Call, in item) (*tool.Result, error) {
		w.count(spec.Name, session+"/"+call.ID)
		w.mu.Lock()
		slow := w.slow
		w.mu.Unlock()
		select {
		case <-time.After(slow):
			return tool.Text(fmt.Sprint(spec.Name, " ", in.N)), nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	})
}

// asking returns a tool that asks a person.
func (w *world) asking(session string) tool.Tool {
	return tool.New(tool.Spec{Name: "ask", ReadOnly: true, NeedsPerson: true, Timeout: -1}, func(_ context.Context, call tool.Call, _ item) (*tool.Result, error) {
		w.count("ask", session+"/"+call.ID)
		r := tool.Text("Nobody is there.")
		r.Questions = []tool.Question{{Text: "Which?", Options: []tool.Option{{Label: "the first"}, {Label: "the second"}}}}
		return r, nil
	})
}

// agent returns an agent with a tool of each class: lookup only reads, note may be repeated,
// charge may not, a person has to permit refund, and ask asks one.
func (w *world) agent(_ context.Context, at durable.Where) (durable.Hosted, error) {
	a := &agent.Agent{
		Program: "durabletest",
		Model:   &llmtest.Model{Rule: w.answer},
		Tools: []tool.Tool{
			w.tool(at.Session, tool.Spec{Name: "lookup", ReadOnly: true}), w.tool(at.Session, tool.Spec{Name: "note", Idempotent: true}),
			w.tool(at.Session, tool.Spec{Name: "charge"}), w.tool(at.Session, tool.Spec{Name: "refund"}),
			w.asking(at.Session),
		},
		Permissions: permission.Policy{Allow: []permission.Rule{"lookup", "note", "charge", "ask"}},
	}
	if w.compact != nil {
		a.Compaction = &agent.Compaction{Keep: 1, Model: w.compact}
	}
	if w.more != nil {
		for _, t := range w.more(at.Session) {
			a.Tools = append(a.Tools, t)
			a.Permissions.Allow = append(a.Permissions.Allow, permission.Rule(t.Spec().Name))
		}
	}
	return durable.Hosted{Agent: a}, nil
}

// answer plays the model. A prompt that names refund calls that tool, and one that names ask
// both. Others call lookup and note, then charge.
func (w *world) answer(r *llmtest.Request, _ int) llmtest.Step {
	w.check(r)
	turn, prompt := 0, ""
	for _, m := range r.Messages {
		switch {
		case m.Role == llm.Assistant:
			turn++
		case len(m.Content) > 0 && strings.HasPrefix(m.Text(), "do "):
			turn, prompt = 0, m.Text()
		}
	}
	step := llmtest.Say("done: " + prompt)
	if w.rule != nil {
		if own, ok := w.rule(prompt, turn); ok {
			own.Delay = w.think
			return own
		}
	}
	switch {
	case strings.HasPrefix(prompt, "do refund"):
		if turn == 0 {
			step = llmtest.Call(llmtest.Use("", "refund", item{1}))
		}
	case strings.HasPrefix(prompt, "do ask"):
		if turn == 0 {
			step = llmtest.Call(llmtest.Use("", "ask", item{1}), llmtest.Use("", "refund", item{2}))
		}
	case turn == 0:
		step = llmtest.Call(llmtest.Use("", "lookup", item{1}), llmtest.Use("", "note", item{2}), llmtest.Use("", "lookup", item{3}))
	case turn == 1:
		step = llmtest.Call(llmtest.Use("", "charge", item{4}))
	}
	step.Delay = w.think
	return step
}

// check holds that each call is followed by its result, as providers demand.
func (w *world) check(r *llmtest.Request) {
	for i, m := range r.Messages {
		for _, u := range m.ToolUses() {
			if i+1 < len(r.Messages) && slices.ContainsFunc(r.Messages[i+1].Content, func(b llm.Block) bool {
				res, ok := b.(llm.ToolResult)
				return ok && res.ID == u.ID
			}) {
				continue
			}
			w.mu.Lock()
			w.wrong = append(w.wrong, "no result for "+u.ID)
			w.mu.Unlock()
		}
	}
}
