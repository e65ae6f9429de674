package agent_test

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/hook"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/tool"
)

// The model gets notes about its place before the prompt, and notes about subfolders when
// it works there. It gets none twice, also after a restart.
func TestContext(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	var ran []string
	read := probe("Read", &ran, tool.Traits{ReadOnly: true, Access: []permission.Access{{Kind: permission.ReadFile, Target: filepath.Join(dir, "sub", "a.go")}}})
	place := func(_ context.Context, at agent.Place) []agent.Note {
		if at.Dir != dir || !at.Hides(filepath.Join(dir, ".env")) || at.Hides(filepath.Join(dir, "a")) {
			t.Errorf("asked about %+v", at)
		}
		notes := []agent.Note{{ID: "top/1", Text: "the top", Files: []event.Instructions{{File: "/top", Type: "Project", Reason: "session_start"}}}}
		for _, f := range at.Touched {
			notes = append(notes, agent.Note{ID: "sub/" + f, Text: "below " + filepath.Base(f), Files: []event.Instructions{{File: f, Type: "Project", Reason: "nested_traversal"}}})
		}
		return notes
	}
	var loaded []string
	watch := hook.Hook{On: "InstructionsLoaded", Func: func(_ context.Context, in *hook.Input) (hook.Output, error) {
		loaded = append(loaded, in.Fields["memory_type"]+" "+in.Fields["load_reason"]+" "+filepath.Base(in.Fields["file_path"]))
		return hook.Output{}, nil
	}}
	store := session.Memory()
	prompt := func(id string, model ...llmtest.Step) []string {
		a := &agent.Agent{Model: llmtest.Script(model...), Dir: dir, Tools: []tool.Tool{read}, Context: place, Sessions: store, Hooks: []hook.Hook{watch},
			Permissions: permission.Policy{Deny: []permission.Rule{"Read(.env)"}}}
		s := a.Session(id)
		defer s.Close()
		if _, err := s.Prompt(t.Context(), "go"); err != nil {
			t.Fatal(err)
		}
		messages, err := s.Messages(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var texts []string
		for _, m := range messages {
			if text := m.Text(); text != "" {
				texts = append(texts, text)
			}
		}
		return texts
	}
	if got := strings.Join(prompt("s", llmtest.Call(call("Read", struct{}{})), llmtest.Call(call("Read", struct{}{})), say("end")), "|"); got != "the top|go|below a.go|end" {
		t.Errorf("told %s", got)
	}
	if got := strings.Join(prompt("s", llmtest.Call(call("Read", struct{}{})), say("again")), "|"); got != "the top|go|below a.go|end|go|again" {
		t.Errorf("told %s", got)
	}
	if want := []string{"Project session_start top", "Project nested_traversal a.go"}; !slices.Equal(loaded, want) {
		t.Errorf("hooks saw %q", loaded)
	}
}

// A Context that fails adds no notes and does not delay the run.
func TestContextFails(t *testing.T) {
	a := &agent.Agent{Model: llmtest.Script(say("end")), Context: func(context.Context, agent.Place) []agent.Note { panic("no") }}
	if res, err := a.Prompt(t.Context(), "go"); err != nil || res.Text != "end" {
		t.Error(res, err)
	}
}
