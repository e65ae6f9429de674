package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/openagent-go/agent/internal/toolapi"
	"github.com/openagent-go/agent/internal/toolrun"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
	"github.com/openagent-go/agent/tool/tooltest"
)

// A fakeSpawner starts agents that repeat their prompt.
type fakeSpawner struct {
	offer toolapi.Offer
	last  toolapi.Spawn
	reply func(ctx context.Context, s toolapi.Spawn) (*toolapi.Spawned, error)
}

func (n *fakeSpawner) Offer() toolapi.Offer { return n.offer }

func (n *fakeSpawner) Spawn(ctx context.Context, s toolapi.Spawn) (*toolapi.Spawned, error) {
	n.last = s
	if n.reply != nil {
		return n.reply(ctx, s)
	}
	return &toolapi.Spawned{ID: "a1", Text: "did " + s.Prompt, Turns: 3, Usage: llm.Usage{Input: 10}, Duration: time.Second}, nil
}

func newFakeSpawner() *fakeSpawner {
	return &fakeSpawner{offer: toolapi.Offer{
		Types:  []toolapi.AgentType{{Name: "general-purpose", Description: "Any work"}, {Name: "Explore", Description: "Finds\nthings", ReadOnly: true}},
		Models: []string{"small", "large"}, Isolations: []string{"worktree"}, Background: true,
	}}
}

func TestAgentTool(t *testing.T) {
	n := newFakeSpawner()
	x := newAgent(n)
	spec := x.Spec()
	if spec.Name != "Agent" || strings.Join(spec.Aliases, " ") != "Task new_task" {
		t.Errorf("%+v", spec)
	}
	if !strings.HasSuffix(spec.Description, "\n- general-purpose: Any work\n- Explore: Finds things") {
		t.Errorf("the types are not in the description: %s", spec.Description)
	}
	var schema struct {
		Properties map[string]any
		Required   []string
	}
	if err := json.Unmarshal(spec.Input, &schema); err != nil || len(schema.Properties) != 11 || strings.Join(schema.Required, " ") != "prompt description" {
		t.Errorf("schema %s, %v", spec.Input, err)
	}
	call := tool.Call{ID: "c1.0", Session: "s", Agent: "lead", Input: json.RawMessage(`{"prompt":"look","description":"Look around","subagent_type":"explore","model":"small",
		"name":"ann","max_turns":5,"run_in_background":false,"isolation":"worktree","team_name":"red","mode":"plan","resume":"a0"}`)}
	r := tooltest.RunCall(t, x, call)
	if want := "did look\n\n(agent id: a1, subagent_type: Explore)"; r.IsError || r.Text() != want || r.Title != "Explore: Look around" {
		t.Errorf("got %q, %q", r.Title, r.Text())
	}
	if want := `{"agentId":"a1","type":"Explore","status":"completed","turns":3,"usage":{"input":10},"durationMs":1000}`; string(r.Details) != want {
		t.Errorf("details %s", r.Details)
	}
	s := n.last
	if s.Call.Agent != "lead" || s.Call.Session != "s" {
		t.Errorf("called by %+v", s.Call)
	}
	s.Call = tool.Call{}
	if got, want := fmt.Sprintf("%+v", s), fmt.Sprintf("%+v", toolapi.Spawn{Prompt: "look", Description: "Look around", Type: "Explore", Model: "small", Name: "ann", MaxTurns: 5,
		Isolation: "worktree", Team: "red", Mode: permission.Plan, Resume: "a0"}); got != want {
		t.Errorf("asked for %s, want %s", got, want)
	}
}

func TestAgentToolResults(t *testing.T) {
	cost := 0.25
	for name, c := range map[string]struct {
		out   *toolapi.Spawned
		err   error
		want  string
		fails bool
		has   string // in the details
	}{
		"silent":     {out: &toolapi.Spawned{ID: "a1", Text: " \n"}, want: "(Subagent completed with no text output)\n\n(agent id: a1", has: `"status":"completed"`},
		"background": {out: &toolapi.Spawned{ID: "a1", Running: true}, want: "Agent a1 runs in the background. You are told", has: `"status":"running"`},
		"failed":     {out: &toolapi.Spawned{ID: "a1", Text: "so far", Failure: "max_turns", CostUSD: &cost}, want: "did not finish: max_turns\nIts last answer: so far", fails: true, has: `"costUSD":0.25`},
		"refused":    {err: errors.New("the name ann is taken"), want: "the name ann is taken", fails: true},
	} {
		n := newFakeSpawner()
		n.reply = func(context.Context, toolapi.Spawn) (*toolapi.Spawned, error) { return c.out, c.err }
		r := tooltest.Run(t, newAgent(n), `{"prompt":"x","description":"y","run_in_background":true}`)
		if r.IsError != c.fails || !strings.Contains(r.Text(), c.want) || !strings.Contains(string(r.Details), c.has) {
			t.Errorf("%s: %q (error: %v), %s", name, r.Text(), r.IsError, r.Details)
		}
	}
}

func TestAgentToolRefuses(t *testing.T) {
	for input, want := range map[string]string{
		`{"prompt":"x"}`:                   "description",
		`{"prompt":" ","description":"y"}`: "prompt is empty",
		`{"prompt":"x","description":"y","subagent_type":"Explorer"}`:                  `subagent_type "Explorer" is unknown; did you mean "Explore"?; there are general-purpose, Explore`,
		`{"prompt":"x","description":"y","model":"huge"}`:                              "there are small, large",
		`{"prompt":"x","description":"y","isolation":"vm"}`:                            "there are worktree",
		`{"prompt":"x","description":"y","mode":"yolo"}`:                               "bypassPermissions",
		`{"prompt":"x","description":"y","maxTurns":-1}`:                               "at least 1",
		`{"prompt":"x","description":"y","name":"*"}`:                                  "* stands for all",
		`{"prompt":"x","description":"y","team_name":"red"}`:                           "needs a name",
		`{"prompt":"x","description":"y","tools":["Bash"]}`:                            `tools is unknown`,
		`{"prompt":"x","description":"y","maxTurns":1,"max_turns":2}`:                  "given twice",
		`{"prompt":"x","description":"y","maxTurns":"many"}`:                           "maxTurns",
		`{"description":"y","prompt":"` + strings.Repeat("x", maxAgentPrompt+1) + `"}`: "put the rest into a file",
	} {
		n := newFakeSpawner()
		r := tooltest.Run(t, newAgent(n), input)
		if !r.IsError || !strings.Contains(r.Text(), want) || len(r.Text()) > 2000 {
			t.Errorf("%.80s: got %q, want %q", input, r.Text(), want)
		}
		if n.last.Prompt != "" {
			t.Errorf("%.80s: an agent was started", input)
		}
	}
	n := &fakeSpawner{offer: toolapi.Offer{Types: []toolapi.AgentType{{Name: "a"}}}}
	for input, want := range map[string]string{
		`{"prompt":"x","description":"y","isolation":"worktree"}`:     "there is none here",
		`{"prompt":"x","description":"y","run_in_background":true}`:   "cannot run in the background here",
		`{"prompt":"x","description":"y","model":"any","mode":"x"}`:   "unknown permission mode",
		`{"prompt":"x","description":"y","subagent_type":"Executor"}`: "there are a",
	} {
		if r := tooltest.Run(t, newAgent(n), input); !r.IsError || !strings.Contains(r.Text(), want) {
			t.Errorf("%s: got %q, want %q", input, r.Text(), want)
		}
	}
}

func TestAgentToolClass(t *testing.T) {
	n := newFakeSpawner()
	n.offer.Types = append(n.offer.Types, toolapi.AgentType{Name: "Apart", Isolated: true})
	x := newAgent(n)
	for input, want := range map[string]string{
		`{"prompt":"in a worktree","description":"y","subagent_type":"Apart"}`:              "Apart",
		`{"prompt":"x","description":"y"}`:                                                  "general-purpose delegated",
		`{"prompt":"x","description":"y","subagent_type":"explore"}`:                        "Explore read-only delegated",
		`{"prompt":"x","description":"y","subagent_type":"Explore","isolation":"worktree"}`: "Explore",
		`{"prompt":"x","description":"y","subagent_type":"what"}`:                           "what delegated",
		`{"prompt":"x","description":"y","subagentType":"Explore"}`:                         "Explore read-only delegated",
	} {
		c := toolrun.Classify(x, tool.Call{Input: json.RawMessage(input)})
		got := c.Access[0].Target
		if c.ReadOnly {
			got += " read-only"
		}
		if c.RunsSubagents {
			got += " delegated"
		}
		if got != want || c.Access[0].Kind != permission.UseName || (c.Touches != nil) != strings.Contains(input, "worktree") {
			t.Errorf("%s: %+v, want %s", input, c, want)
		}
	}
}

// An agent that is waited for ends with the call.
func TestAgentToolCancelled(t *testing.T) {
	n := newFakeSpawner()
	started := make(chan struct{})
	n.reply = func(ctx context.Context, _ toolapi.Spawn) (*toolapi.Spawned, error) {
		close(started)
		<-ctx.Done()
		return nil, ctx.Err()
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-started; cancel() }()
	out := toolrun.Run(ctx, newAgent(n), tool.Call{ID: "c1.0", Name: "Agent", Input: json.RawMessage(`{"prompt":"x","description":"y"}`)}, time.Minute)
	if !out.Result.IsError || out.Err != nil {
		t.Errorf("%+v", out)
	}
}

func TestAgentToolContract(t *testing.T) {
	n := newFakeSpawner()
	for i := range 100 {
		n.offer.Types = append(n.offer.Types, toolapi.AgentType{Name: fmt.Sprintf("type-%d", i), Description: strings.Repeat("long ", 1000)})
	}
	x := newAgent(n)
	tooltest.Check(t, x)
	if d := x.Spec().Description; len(d) > 12_000 || !strings.Contains(d, "and 62 more") {
		t.Errorf("a description of %d bytes: …%s", len(d), d[len(d)-100:])
	}
}
