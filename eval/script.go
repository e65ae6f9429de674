package eval

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/replay"
	"github.com/openagent-go/agent/session"
)

// A stepSpec is an answer of a scripted model: a text, calls, or both; or a failure.
type stepSpec struct {
	Line  int        `yaml:",line" json:"-"`
	Say   string     `yaml:"say"`
	Calls []callSpec `yaml:"calls"`
	Fail  string     `yaml:"fail"`
}

type callSpec struct {
	Tool  string          `yaml:"tool"`
	Input json.RawMessage `yaml:"input"`
}

// model returns the function Model of a case with a script or a recorded session.
func (l *loader) model(spec caseSpec, within string) func() (llm.Model, error) {
	if len(spec.Script) > 0 && spec.Session != "" {
		l.fault(spec.Line, "write script or session, not both")
	}
	if spec.Session != "" {
		folder := filepath.Join(l.dir, within, filepath.FromSlash(spec.Session))
		return func() (llm.Model, error) { return recorded(folder) }
	}
	for _, s := range spec.Script {
		if s.Say == "" && len(s.Calls) == 0 && s.Fail == "" {
			l.fault(s.Line, "a step of a script needs one of the keys say, calls and fail")
		}
		for _, c := range s.Calls {
			if c.Tool == "" {
				l.fault(s.Line, "calls: add the key tool to each call")
			}
		}
	}
	return func() (llm.Model, error) { return scripted(spec.Script), nil }
}

// scripted returns a model that answers by a script.
func scripted(steps []stepSpec) llm.Model {
	var list []llmtest.Step
	id := 0
	for _, s := range steps {
		step := llmtest.Step{Text: s.Say}
		for _, c := range s.Calls {
			id++
			input := c.Input
			if input == nil {
				input = json.RawMessage("{}")
			}
			step.Calls = append(step.Calls, llm.ToolUse{ID: fmt.Sprintf("call_%d", id), Name: c.Tool, Input: input})
		}
		if s.Fail != "" {
			step = llmtest.Fail(errors.New(s.Fail))
		}
		list = append(list, step)
	}
	return llmtest.Script(list...)
}

// recorded returns a model that answers as in a session, from its folder in a store.
func recorded(folder string) (llm.Model, error) {
	store, id := session.Dir(filepath.Dir(folder)), filepath.Base(folder)
	facts, children, err := sessionFacts(store, id)
	if err != nil {
		return nil, fmt.Errorf("eval: reading the recorded session %s: %w", folder, err)
	}
	return replay.Model(facts, children...), nil
}

// sessionFacts returns the facts of a session and those of its sub-agents.
func sessionFacts(store session.Store, id string) (facts []event.Event, children [][]event.Event, err error) {
	for e, err := range store.Read(context.Background(), id, 0) {
		if err != nil {
			return nil, nil, err
		}
		facts = append(facts, e)
	}
	for _, e := range facts {
		start, ok := e.Data.(event.AgentStart)
		if !ok {
			continue
		}
		own, below, err := sessionFacts(session.Under(store, id), start.Session)
		if errors.Is(err, session.ErrNotFound) {
			continue // it died before its first fact
		}
		if err != nil {
			return nil, nil, err
		}
		children = append(append(children, own), below...)
	}
	return facts, children, nil
}
