package app

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/provider"
	"github.com/openagent-go/agent/cmd/openagent/internal/settings"
	"github.com/openagent-go/agent/internal/coding"
	"github.com/openagent-go/agent/internal/policies"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
)

// agentFor makes the agent of a conversation of a person who has a search
// engine, with a server that ends the first answer at once.
func agentFor(t *testing.T, o *settings.Options) (*agent.Agent, *llmtest.Server) {
	t.Helper()
	server := llmtest.NewServer(t, llmtest.Say("end"))
	env := map[string]string{"ANTHROPIC_API_KEY": "k", "ANTHROPIC_BASE_URL": server.URL, "BRAVE_API_KEY": "b", "OPENAGENT_HOME": t.TempDir()}
	h := &cli.IO{Getenv: func(name string) string { return env[name] }, Err: io.Discard}
	s := appFor(t, h, o)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	s.Agent.AskUser = func(context.Context, tool.Call, []tool.Question) ([]tool.Answer, error) {
		return nil, errors.New("nobody")
	}
	return s.Agent, server
}

// appFor builds an App without skills and files.
func appFor(t *testing.T, h *cli.IO, o *settings.Options) *App {
	t.Helper()
	dir := t.TempDir()
	o, err := settings.Configure(t.Context(), h, o, dir, false)
	if err != nil {
		t.Fatal(err)
	}
	p, err := provider.Open(h, o)
	if err != nil {
		t.Fatal(err)
	}
	s, err := New(t.Context(), h, o, p, dir, nil, Build{Person: true, Without: []coding.Part{coding.Skills, coding.Tools, coding.Instructions}})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Every request pays for the tools at hand.
func TestDefaultSetSize(t *testing.T) {
	const most = 10<<10 + 512 // bytes
	a, server := agentFor(t, new(settings.Options))
	if _, err := a.Prompt(t.Context(), "hi"); err != nil {
		t.Fatal(err)
	}
	var body struct {
		Tools []struct {
			Name        string          `json:"name"`
			Description string          `json:"description"`
			Input       json.RawMessage `json:"input_schema"`
		} `json:"tools"`
	}
	if err := json.Unmarshal(server.Requests()[0].Body, &body); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tl := range body.Tools {
		names = append(names, tl.Name)
	}
	const want = "Read Write Edit Glob Grep Bash BashOutput KillShell AskUser ToolSearch WebFetch WebSearch Agent TodoWrite EnterPlanMode ExitPlanMode"
	if got := strings.Join(names, " "); got != want {
		t.Errorf("at hand are %s", got)
	}
	var text strings.Builder
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(body.Tools); err != nil {
		t.Fatal(err)
	}
	if n := text.Len(); n > most {
		t.Errorf("the tools at hand take %d bytes of a request, more than %d", n, most)
	} else {
		t.Logf("%d bytes", n)
	}
}

func TestChooseTools(t *testing.T) {
	const (
		core = "Read Write Edit Glob Grep Bash BashOutput KillShell AskUser ToolSearch WebFetch WebSearch"
		more = "TaskCreate TaskGet TaskList TaskOutput TaskStop TaskUpdate SendMessage TeamCreate TeamDelete NotebookEdit CronCreate CronDelete CronList LSP Config"
		rest = "EnterWorktree ExitWorktree RemoteTrigger MultiEdit CodeSearch TodoRead Batch PauseForHuman"
		hand = "TodoWrite EnterPlanMode ExitPlanMode"
	)
	for _, c := range []struct{ tools, pool, deferred string }{
		{"", core + " Agent " + more + " " + hand + " " + rest, more + " " + rest},
		{"all", core + " Agent " + more + " " + hand + " " + rest, ""},
		{"core", core, ""},
		{"none", "", ""},
		{"LSP,Read", "Read LSP", ""},
		{"core,LSP", core + " LSP", ""},
	} {
		o := new(settings.Options)
		if err := cli.List(&o.Tools)(c.tools); c.tools != "" && err != nil {
			t.Fatal(err)
		}
		a, _ := agentFor(t, o)
		pool, err := a.ResolveTools(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, tl := range pool {
			names = append(names, tl.Spec().Name)
		}
		if got := strings.Join(names, " "); got != c.pool {
			t.Errorf("--tools %s: %s", c.tools, got)
		}
		if got := strings.Join(slices.DeleteFunc(a.DeferredTools, func(n string) bool { return n == "ApplyPatch" }), " "); got != c.deferred {
			t.Errorf("--tools %s: deferred are %s", c.tools, got)
		}
	}
}

// What a person allowed for good answers no question that asks for this very
// call.
func TestGrantsKnowAsks(t *testing.T) {
	a, _ := agentFor(t, new(settings.Options))
	g := &SessionRules{Agent: a, permits: new(settings.Options).PermitsRule}
	g.Add("Bash(git *)", "ExitPlanMode")
	asked := permission.Decision{Behavior: permission.Asked, Source: policies.FromMode}
	if !g.Covers(t.Context(), tool.Call{Name: "Bash", Input: json.RawMessage(`{"command":"git commit"}`), Dir: t.TempDir()}, asked) {
		t.Error("an allowed command is asked about")
	}
	if g.Covers(t.Context(), tool.Call{Name: "ExitPlanMode", Input: json.RawMessage(`{"plan":"x"}`), Mode: permission.Plan}, asked) {
		t.Error("a plan is approved by a rule")
	}
}
