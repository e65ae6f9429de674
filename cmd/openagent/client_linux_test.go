package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/openagent-go/agent/client"
	"github.com/openagent-go/agent/hook"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
)

// clientOptions are those of a client whose program asks a model of the test.
func clientOptions(t *testing.T, model *llmtest.Server, o client.Options) client.Options {
	t.Helper()
	program, err := exec.LookPath("openagent")
	if err != nil {
		t.Fatal(err)
	}
	if o.Dir == "" {
		o.Dir = t.TempDir()
	}
	home := t.TempDir()
	o.Command, o.Stderr = []string{program}, t.Output()
	o.Env = append(os.Environ(), "HOME="+home, "OPENAGENT_HOME="+filepath.Join(home, ".openagent"), "GORACE="+quickEnd, "ANTHROPIC_API_KEY=k", "ANTHROPIC_BASE_URL="+model.URL)
	return o
}

func startClient(t *testing.T, o client.Options) *client.Session {
	t.Helper()
	s, err := client.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// says prompts, and returns all messages. The last is a result.
func says(t *testing.T, s *client.Session, prompt string) []client.Message {
	t.Helper()
	var all []client.Message
	for m, err := range s.Prompt(t.Context(), prompt) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, m)
	}
	return all
}

func resultOf(t *testing.T, s *client.Session, prompt string) *client.Result {
	t.Helper()
	all := says(t, s, prompt)
	return all[len(all)-1].Result
}

// callsBash is a step in which the model calls Bash.
func callsBash(id, line string) llmtest.Step {
	return llmtest.Call(llmtest.Use(id, "Bash", map[string]any{"command": line}))
}

// A Go program drives the command: prompts, permissions, control requests, continuation.
func TestClient(t *testing.T) {
	t.Parallel()
	model := llmtest.NewServer(t, callsBash("b1", "touch one"), callsBash("b2", "touch two"), llmtest.Say("both done"), llmtest.Say("second"), llmtest.Say("resumed"), llmtest.Say("forked"))
	var asked []string
	o := clientOptions(t, model, client.Options{CanUseTool: func(_ context.Context, call tool.Call, verdict permission.Decision) (permission.Decision, error) {
		asked = append(asked, fmt.Sprintf("%s %s %s %v", call.ID, call.Name, call.Input, verdict.Reason != ""))
		if strings.Contains(string(call.Input), "two") {
			return permission.Deny("not two"), nil
		}
		return permission.Allow(), nil
	}})
	s := startClient(t, o)
	all := says(t, s, "touch both")
	if i := all[0].Init; i == nil || i.Dir != o.Dir || i.Model == "" || len(i.Tools) == 0 || i.Mode != permission.Default {
		t.Errorf("%s", all[0].Raw)
	}
	if r := all[len(all)-1].Result; r.Err != nil || r.Text != "both done" || r.Turns != 3 || r.CostUSD == nil || r.Usage.Output == 0 || len(r.Denials) != 1 || r.Denials[0].ID != "b2" {
		t.Errorf("%+v", r)
	}
	if got := strings.Join(asked, "\n"); got != `b1 Bash {"command":"touch one"} true`+"\n"+`b2 Bash {"command":"touch two"} true` {
		t.Error(got)
	}
	for name, want := range map[string]bool{"one": true, "two": false} {
		if _, err := os.Stat(filepath.Join(o.Dir, name)); (err == nil) != want {
			t.Errorf("%s: %v", name, err)
		}
	}
	ctx := t.Context()
	if err := s.SetMode(ctx, permission.Plan); err != nil {
		t.Error(err)
	}
	if err := s.SetModel(ctx, "claude-haiku-4-5"); err != nil {
		t.Error(err)
	}
	if tokens, window, err := s.ContextUsage(ctx); err != nil || tokens < 1000 || window != 1_000_000 {
		t.Errorf("%d of %d tokens, %v", tokens, window, err)
	}
	if err := s.Control(ctx, "dance", nil, nil); err == nil {
		t.Error("it can dance")
	}
	all = says(t, s, "again")
	if r := all[len(all)-1].Result; r.Text != "second" || r.Err != nil {
		t.Errorf("%+v", r)
	}
	id := s.ID()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	o.Resume = id
	resumed := startClient(t, o)
	if r := resultOf(t, resumed, "go on"); r.Text != "resumed" || resumed.ID() != id {
		t.Errorf("%+v, %s", r, resumed.ID())
	}
	if err := resumed.Close(); err != nil {
		t.Error(err)
	}
	o.Fork = true
	forked := startClient(t, o)
	if r := resultOf(t, forked, "go on elsewhere"); r.Text != "forked" || forked.ID() == id || forked.ID() == "" {
		t.Errorf("%+v, %s", r, forked.ID())
	}
	requests := model.Requests()
	if body := string(requests[len(requests)-1].Body); !strings.Contains(body, "touch both") || !strings.Contains(body, "go on elsewhere") {
		t.Error(body)
	}
}

// Hooks and tools of a Go program serve the command.
func TestClientHooksAndTools(t *testing.T) {
	t.Parallel()
	model := llmtest.NewServer(t, callsBash("b1", "touch one"), llmtest.Call(llmtest.Use("w", "mcp__sky__weather", map[string]any{"city": "Rome"})), llmtest.Say("done"))
	type place struct {
		City string `json:"city"`
	}
	weather := tool.Func(tool.Spec{Name: "weather", Description: "Tells the weather.", ReadOnly: true}, func(_ context.Context, in place) (string, error) { return "rain in " + in.City, nil })
	var saw []string
	note := func(_ context.Context, in *hook.Input) (hook.Output, error) {
		saw = append(saw, fmt.Sprintf("%s %s %s", in.Event, in.Tool, in.Call))
		if in.Tool == "Bash" && in.Event == hook.PreToolUse {
			return hook.Output{Permission: permission.Denied, Reason: "the guard says no"}, nil
		}
		return hook.Output{Context: "seen by the hook"}, nil
	}
	o := clientOptions(t, model, client.Options{Mode: permission.Bypass, Args: []string{"--allow-dangerously-skip-permissions"}, Tools: map[string][]tool.Tool{"sky": {weather}},
		Hooks: []hook.Hook{{On: hook.PreToolUse, Match: "Bash", Func: note}, {On: hook.PostToolUse, Func: note}, {On: hook.UserPromptSubmit, Func: note}}})
	s := startClient(t, o)
	if r := resultOf(t, s, "go"); r.Text != "done" || r.Err != nil {
		t.Errorf("%+v", r)
	}
	if got := strings.Join(saw, "\n"); got != "UserPromptSubmit  \nPreToolUse Bash b1\nPostToolUse mcp__sky__weather w" {
		t.Error(got)
	}
	if _, err := os.Stat(filepath.Join(o.Dir, "one")); err == nil {
		t.Error("the guard did not hold")
	}
	requests := model.Requests()
	if results := requests[1].Results(); len(results) != 1 || !strings.Contains(results[0].Text, "the guard says no") {
		t.Errorf("%+v", results)
	}
	last := requests[2]
	if results := last.Results(); !strings.Contains(results[len(results)-1].Text, "rain in Rome") || !strings.Contains(string(last.Body), "seen by the hook") {
		t.Errorf("%+v", results)
	}
	servers, err := s.MCPStatus(t.Context())
	if err != nil || len(servers) != 1 || servers[0].Name != "sky" || servers[0].Status != "connected" || len(servers[0].Tools) != 1 {
		t.Errorf("%v, %+v", err, servers)
	}
}

// A loop that is left interrupts the command's run, and questions reach their callback.
func TestClientInterrupts(t *testing.T) {
	t.Parallel()
	model := llmtest.NewServer(t, callsBash("b1", "sleep 600"), llmtest.Say("next"))
	s := startClient(t, clientOptions(t, model, client.Options{Mode: permission.Bypass, Args: []string{"--allow-dangerously-skip-permissions"}, Partial: true}))
	for m, err := range s.Prompt(t.Context(), "sleep") {
		if err != nil {
			t.Fatal(err)
		}
		if len(m.Content) > 0 && m.Type == "assistant" {
			break
		}
	}
	streamed := ""
	all := says(t, s, "next")
	for _, m := range all {
		if m.Type == "stream_event" {
			streamed += m.Text()
		}
	}
	if r := all[len(all)-1].Result; r.Err != nil || r.Text != "next" || streamed != "next" {
		t.Errorf("%+v, %q", r, streamed)
	}
}

// A message that is sent during a run joins it.
func TestClientSends(t *testing.T) {
	t.Parallel()
	model := llmtest.NewServer(t, callsBash("b1", "touch one"), llmtest.Say("both"))
	var s *client.Session
	o := clientOptions(t, model, client.Options{CanUseTool: func(context.Context, tool.Call, permission.Decision) (permission.Decision, error) {
		return permission.Allow(), s.Send("and this as well")
	}})
	s = startClient(t, o)
	if r := resultOf(t, s, "do this"); r.Text != "both" || r.Err != nil {
		t.Errorf("%+v", r)
	}
	if body := string(model.Requests()[1].Body); !strings.Contains(body, "and this as well") {
		t.Error(body)
	}
}

// A program that cannot start says why.
func TestClientStart(t *testing.T) {
	t.Parallel()
	model := llmtest.NewServer(t)
	o := clientOptions(t, model, client.Options{Args: []string{"--max-turns", "none"}})
	if _, err := client.Start(t.Context(), o); err == nil || !strings.Contains(err.Error(), "exit code 2") || !strings.Contains(err.Error(), "--max-turns") {
		t.Error(err)
	}
}

// Permission for later calls, and answers to questions, are those of the program's user.
func TestClientPermits(t *testing.T) {
	t.Parallel()
	ask := llmtest.Call(llmtest.Use("q", "AskUserQuestion", map[string]any{"questions": []any{
		map[string]any{"question": "Which colour?", "header": "Colour", "multiSelect": true, "options": []any{map[string]any{"label": "Red", "description": "warm"}, map[string]any{"label": "Blue", "description": "cold"}}},
		map[string]any{"question": "Which size?", "header": "Size", "multiSelect": false, "options": []any{map[string]any{"label": "S", "description": "small"}, map[string]any{"label": "L", "description": "large"}}}}}))
	model := llmtest.NewServer(t, callsBash("b1", "touch one"), callsBash("b2", "touch two"), callsBash("b3", "mkdir three"), ask, llmtest.Say("done"))
	var asked []string
	var questions []tool.Question
	o := clientOptions(t, model, client.Options{
		Permit: func(_ context.Context, call tool.Call, verdict permission.Decision, suggested []hook.Update) (permission.Decision, []hook.Update, error) {
			if len(suggested) != 1 || suggested[0].Type != "addRules" || suggested[0].Behavior != permission.Allowed || verdict.Reason == "" {
				t.Errorf("%s: %+v, %+v", call.ID, suggested, verdict)
			}
			asked = append(asked, call.ID)
			return permission.Allow(), suggested, nil
		},
		AskUser: func(_ context.Context, _ tool.Call, asked []tool.Question) ([]tool.Answer, error) {
			questions = asked
			return []tool.Answer{{Options: []string{"Red"}, Text: "pink"}, {Options: []string{"L"}}}, nil
		}})
	s := startClient(t, o)
	if r := resultOf(t, s, "go"); r.Text != "done" || r.Err != nil {
		t.Errorf("%+v", r)
	}
	if got := strings.Join(asked, " "); got != "b1 b3" { // the rule for the first covers the second
		t.Errorf("asked about %s", got)
	}
	for _, name := range []string{"one", "two", "three"} {
		if _, err := os.Stat(filepath.Join(o.Dir, name)); err != nil {
			t.Error(err)
		}
	}
	if len(questions) != 2 || questions[0].Text != "Which colour?" || !questions[0].Multiple || questions[1].Multiple || len(questions[1].Options) != 2 || questions[1].Options[1].Label != "L" {
		t.Errorf("%+v", questions)
	}
	requests := model.Requests()
	results := requests[len(requests)-1].Results()
	if len(results) != 1 || !strings.Contains(results[0].Text, "Red") || !strings.Contains(results[0].Text, "pink") || !strings.Contains(results[0].Text, "L") {
		t.Errorf("%+v", results)
	}
}
