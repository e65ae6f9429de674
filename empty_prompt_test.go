package agent_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/tool"
)

// A prompt that says nothing is refused before anything happens, wherever it is given.
func TestEmptyPrompt(t *testing.T) {
	for name, in := range map[string]agent.Input{
		"nothing": {}, "white space": {Text: " \t\n"}, "an id": {ID: "x"}, "a blank block": {Blocks: []llm.Block{llm.Text{Text: "\n"}}}, "an expansion": {Text: "/x", Expansion: &tool.Expansion{}},
	} {
		t.Run(name, func(t *testing.T) {
			m, store := llmtest.Script(), session.Memory()
			a := &agent.Agent{Model: m, Sessions: store}
			s := a.Session("s")
			defer s.Close()
			if _, err := s.Do(t.Context(), in); !errors.Is(err, agent.ErrEmptyPrompt) {
				t.Errorf("Do: %v", err)
			}
			for e, err := range s.StreamInput(t.Context(), in) {
				if !errors.Is(err, agent.ErrEmptyPrompt) {
					t.Errorf("StreamInput: %+v, %v", e, err)
				}
			}
			if in.Expansion == nil {
				for _, send := range []func(context.Context, agent.Input) (string, error){s.Steer, s.FollowUp} {
					if _, err := send(t.Context(), in); !errors.Is(err, agent.ErrEmptyPrompt) {
						t.Errorf("a message: %v", err)
					}
				}
			}
			if _, err := session.Stat(t.Context(), store, "s"); !errors.Is(err, session.ErrNotFound) || len(m.Requests()) > 0 {
				t.Errorf("a session was made: %v", err)
			}
		})
	}
	if _, err := (&agent.Agent{Model: llmtest.Script()}).Prompt(t.Context(), " "); !errors.Is(err, agent.ErrEmptyPrompt) {
		t.Errorf("Agent.Prompt: %v", err)
	}
	for _, text := range []string{"", "words"} {
		if _, err := (&agent.Agent{Model: llmtest.Script()}).Prompt(t.Context(), text, nil); err == nil || !strings.Contains(err.Error(), "block 0 of the prompt is nil") {
			t.Errorf("a block that is nil: %v", err)
		}
	}
	picture := llm.Image{MediaType: "image/png", Data: []byte("x")}
	if _, err := (&agent.Agent{Model: llmtest.Script(say("a picture"))}).Prompt(t.Context(), "", picture); err != nil {
		t.Errorf("a picture alone: %v", err)
	}
}

// The task of a sub-agent is a prompt as well.
func TestEmptyTask(t *testing.T) {
	var failed error
	helper := &agent.Agent{Name: "helper", Model: llmtest.Script(say("done"))}
	delegate := tool.New(tool.Spec{Name: "delegate"}, func(ctx context.Context, call tool.Call, _ number) (*tool.Result, error) {
		p, _ := agent.ParentOf(ctx)
		_, failed = p.Run(ctx, agent.Child{Agent: helper, Call: call.ID, Input: agent.Input{Text: " "}})
		return tool.Text("ended"), nil
	}).OnClassify(func(tool.Call, number) tool.Traits { return tool.Traits{RunsSubagents: true} })
	a := &agent.Agent{Model: llmtest.Script(delegates(1), say("end")), Tools: []tool.Tool{delegate}}
	s := a.Session("s")
	defer s.Close()
	events, err := collect(t, s, "go")
	if err != nil || !errors.Is(failed, agent.ErrEmptyPrompt) {
		t.Errorf("%v, %v", failed, err)
	}
	for _, e := range events {
		if _, ok := e.Data.(event.AgentStart); ok {
			t.Error("the sub-agent was started")
		}
	}
}

// Resuming is not a prompt.
func TestResumeWithoutPrompt(t *testing.T) {
	s := (&agent.Agent{Model: llmtest.Script()}).Session("s")
	defer s.Close()
	for _, err := range s.Resume(t.Context()) {
		if !errors.Is(err, agent.ErrNotResumable) {
			t.Error(err)
		}
	}
}
