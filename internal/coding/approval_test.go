//go:build unix

package coding_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/internal/coding"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/sandbox"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/tool"
)

// An approved command is still confined, when the program that runs it is another one and in a
// fork, which asks for itself.
func TestApprovedCommandIsConfined(t *testing.T) {
	home(t)
	dir, user, outside := t.TempDir(), t.TempDir(), t.TempDir()
	store := session.Dir(t.TempDir())
	var said string
	open := func() *coding.Coder {
		m := &llmtest.Model{Rule: func(r *llmtest.Request, _ int) llmtest.Step {
			if last, ok := r.Messages[len(r.Messages)-1].Content[0].(llm.ToolResult); ok {
				said = last.Content.Text()
				return llmtest.Say("done")
			}
			return llmtest.Call(llmtest.Use("", "Bash", map[string]any{"command": "touch made; touch " + outside + "/made; echo ran"}))
		}}
		c, err := coding.New(t.Context(), coding.Options{Dir: dir, Home: user, Sandbox: coding.Require, Agent: agent.Agent{
			Model: m, Sessions: store, Permissions: permission.Policy{Ask: []permission.Rule{"Bash(touch *)"}},
			CanUseTool: func(_ context.Context, _ tool.Call, v permission.Decision) (permission.Decision, error) {
				if v.Behavior == permission.Asked {
					return permission.Defer(), nil
				}
				return permission.Decision{}, nil
			}}})
		if errors.Is(err, sandbox.ErrUnavailable) {
			t.Skip(err)
		} else if err != nil {
			t.Fatal(err)
		}
		return c
	}
	c := open()
	s := c.Agent.Session("s")
	if _, err := s.Prompt(t.Context(), "go"); !errors.Is(err, agent.ErrSuspended) {
		t.Fatalf("the run ended with %v", err)
	}
	s.Close()
	c.Close()
	if err := session.Fork(t.Context(), store, "s", "fork", 0); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"s", "fork"} {
		said = ""
		c := open()
		s := c.Agent.Session(id)
		questions, err := s.Pending(t.Context())
		if err != nil || len(questions) != 1 {
			t.Fatalf("%s: %d questions, %v", id, len(questions), err)
		}
		if err := s.Decide(t.Context(), questions[0].Call.ID, permission.Decision{Behavior: permission.Allowed, By: "ann"}); err != nil {
			t.Fatal(err)
		}
		for _, err := range s.Resume(t.Context()) {
			if err != nil {
				t.Errorf("%s: %v", id, err)
			}
		}
		if !strings.Contains(said, "ran") {
			t.Errorf("%s: the command printed %q", id, said)
		}
		if err := os.Remove(filepath.Join(dir, "made")); err != nil {
			t.Errorf("%s: in the folder: %v", id, err)
		}
		if _, err := os.Stat(filepath.Join(outside, "made")); err == nil {
			t.Errorf("%s: the command has written outside", id)
		}
		s.Close()
		c.Close()
	}
}
