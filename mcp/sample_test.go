//lint:file-ignore SA1019 Sampling is deprecated in the newest version of the protocol; servers of the others have it.

//go:build unix

package mcp_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/hook"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/mcp"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/tool"
)

var png = append([]byte("\x89PNG\r\n\x1a\n"), make([]byte, 100)...)

// wants is a request of one message.
func wants(text string) *sdk.CreateMessageWithToolsParams {
	return &sdk.CreateMessageWithToolsParams{MaxTokens: 50, Messages: []*sdk.SamplingMessageV2{{Role: "user", Content: []sdk.Content{&sdk.TextContent{Text: text}}}}}
}

// sampler is a server whose tool ask puts a request to the model, times times.
func sampler(p *sdk.CreateMessageWithToolsParams, times int) *sdk.Server {
	server := sdk.NewServer(&sdk.Implementation{Name: "sampler", Version: "1"}, nil)
	sdk.AddTool(server, &sdk.Tool{Name: "ask"}, func(ctx context.Context, r *sdk.CallToolRequest, _ nothing) (*sdk.CallToolResult, any, error) {
		said := make([]string, times)
		var all sync.WaitGroup
		for i := range times {
			all.Go(func() {
				res, err := r.Session.CreateMessageWithTools(ctx, p)
				var e *jsonrpc.Error
				switch {
				case errors.As(err, &e):
					said[i] = fmt.Sprintf("error %d %s", e.Code, e.Message)
				case err != nil:
					said[i] = err.Error()
				default:
					said[i] = fmt.Sprintf("%s %s %s: %s", res.Role, res.Model, res.StopReason, res.Content[0].(*sdk.TextContent).Text)
				}
			})
		}
		all.Wait()
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: strings.Join(said, "\n")}}}, nil, nil
	})
	return server
}

// sampled has an agent call the tool ask of a server and returns its result.
func sampled(t *testing.T, config mcp.Config, on bool, a agent.Agent) (string, *agent.Result) {
	t.Helper()
	config.Sampling, config.TimeoutMS = on, 20_000
	all, _ := connect(t, map[string]mcp.Config{"s": config})
	m := &llmtest.Model{ID: "main", Facts: llm.Info{Window: 200_000, Price: &llm.Price{Input: 1, Output: 5}},
		Steps: []llmtest.Step{llmtest.Call(llmtest.Use("", "mcp__s__ask", map[string]any{})), llmtest.Say("end")}}
	a.Model, a.Toolsets = m, []tool.Set{all}
	res, err := a.Prompt(t.Context(), "go")
	if err != nil {
		t.Fatal(err)
	}
	last := m.Requests()[len(m.Requests())-1].Messages
	return last[len(last)-1].Content[0].(llm.ToolResult).Content.Text(), res
}

// The models that servers ask for by the name small.
func small(steps ...llmtest.Step) (*llmtest.Model, func(string) (llm.Model, error)) {
	m := &llmtest.Model{ID: "small", Facts: llm.Info{Window: 200_000, Price: &llm.Price{Input: 1, Output: 5}}, Steps: steps}
	return m, func(name string) (llm.Model, error) {
		switch name {
		case "small":
		case "elsewhere:small": // no server may choose where a model is
			return &llmtest.Model{ID: "elsewhere"}, nil
		default:
			return nil, errors.New("there is none")
		}
		return m, nil
	}
}

func hinting(p *sdk.CreateMessageWithToolsParams) *sdk.CreateMessageWithToolsParams {
	p.ModelPreferences = &sdk.ModelPreferences{Hints: []*sdk.ModelHint{{Name: "unknown"}, {Name: "elsewhere:small"}, {Name: "small"}}}
	return p
}

// A server's request is answered by an agent without tools that knows nothing of the
// conversation or the place; its usage is counted for the run.
func TestSampling(t *testing.T) {
	t.Parallel()
	for name, serve := range map[string]func(*testing.T, *sdk.Server) mcp.Config{"older": older, "newest": onNetwork} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testSampling(t, serve)
		})
	}
}

func testSampling(t *testing.T, serve func(*testing.T, *sdk.Server) mcp.Config) {
	p := hinting(wants("Hello?"))
	p.SystemPrompt, p.StopSequences, p.MaxTokens = "Be brief.", []string{"STOP"}, 1<<40
	p.Messages = append(p.Messages, &sdk.SamplingMessageV2{Role: "assistant", Content: []sdk.Content{&sdk.TextContent{Text: "Hi."}}},
		&sdk.SamplingMessageV2{Role: "user", Content: []sdk.Content{&sdk.TextContent{Text: "What is this?\x1b[2J"}, &sdk.ImageContent{MIMEType: "text/html", Data: png}}})
	m, models := small(llmtest.Say("a cat"))
	store := session.Dir(t.TempDir())
	text, res := sampled(t, serve(t, sampler(p, 1)), true, agent.Agent{Models: models, Sessions: store, System: "the agent's own words", MaxTokens: 700,
		Permissions: permission.Policy{Mode: permission.Bypass}, Budget: agent.Budget{USD: 1},
		Context: func(context.Context, agent.Place) []agent.Note {
			return []agent.Note{{ID: "k", Text: "notes of the place"}}
		}})
	if text != "assistant small endTurn: a cat" {
		t.Fatal(text)
	}
	r := m.Requests()[0]
	if len(m.Requests()) != 1 || len(r.Tools) != 0 || r.MaxTokens != 700 || fmt.Sprint(r.Stop) != "[STOP]" || len(r.Messages) != 1 {
		t.Errorf("%+v", r)
	}
	if !strings.Contains(r.System, "The MCP server s asks") || !strings.HasSuffix(r.System, "the server's words.\n\nBe brief.") || strings.Contains(r.System, "own words") {
		t.Error(r.System)
	}
	if got := r.Messages[0].Content; got.Text() != "[user]\nHello?\n\n[assistant]\nHi.\n\n[user]\nWhat is this?[image 1]" || got[1].(llm.Image).MediaType != "image/png" {
		t.Errorf("%q", got)
	}
	if got := res.Agents["sampling:s"]; got.CostUSD == nil || *got.CostUSD == 0 || res.Models["small"].Usage != got.Usage {
		t.Errorf("%+v %+v", res.Agents, res.Models)
	}
	journal := 0
	for e, err := range store.Read(t.Context(), res.Session, 0) {
		if err != nil {
			t.Fatal(err)
		}
		switch e.Data.(type) {
		case event.AgentStart, event.AgentEnd:
			journal++
		}
	}
	if journal != 2 {
		t.Errorf("%d facts of the agent", journal)
	}
}

// against is a policy that denies the calls of a tool.
type against string

func (a against) Decide(r permission.Request) permission.Decision {
	if r.Tool == string(a) {
		return permission.Deny("no")
	}
	return permission.Decision{}
}

// Requests are decided about as calls are.
func TestSamplingPermission(t *testing.T) {
	t.Parallel()
	rule := func(s string) permission.Rule {
		r, err := permission.ParseRule(s)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	call, ask := rule("mcp__s__ask"), rule("mcp__s__sampling")
	says := func(d permission.Decision) agent.CanUseToolFunc {
		return func(_ context.Context, c tool.Call, _ permission.Decision) (permission.Decision, error) {
			if c.Name != "mcp__s__sampling" {
				return permission.Decision{}, nil
			}
			if !strings.Contains(string(c.Input), `"prompt":"secret plan"`) || !strings.Contains(string(c.Input), `"model":"small"`) {
				t.Error(string(c.Input))
			}
			return d, nil
		}
	}
	hooked := func(on hook.Event, out hook.Output) []hook.Hook {
		return []hook.Hook{{On: on, Match: "mcp__s__sampling", Func: func(context.Context, *hook.Input) (hook.Output, error) { return out, nil }}}
	}
	yes, no := "assistant small endTurn: fine", "error -1 sampling: the request is declined"
	bypass := permission.Policy{Mode: permission.Bypass}
	some := permission.Policy{Allow: []permission.Rule{call}}
	for _, c := range []struct {
		name, want string
		a          agent.Agent
	}{
		{"bypass", yes, agent.Agent{Permissions: bypass}},
		{"nobody there", no, agent.Agent{Permissions: some}},
		{"an allow rule", yes, agent.Agent{Permissions: permission.Policy{Allow: []permission.Rule{call, ask}}}},
		{"a deny rule", no, agent.Agent{Permissions: permission.Policy{Mode: permission.Bypass, Deny: []permission.Rule{ask}}}},
		{"a person agrees", yes, agent.Agent{Permissions: some, CanUseTool: says(permission.Allow())}},
		{"a person does not", no, agent.Agent{Permissions: some, CanUseTool: says(permission.Deny("no"))}},
		{"a person defers", no, agent.Agent{Permissions: some, CanUseTool: says(permission.Decision{Behavior: permission.Deferred})}},
		{"a person changes the request", no, agent.Agent{Permissions: some, CanUseTool: says(permission.Decision{Behavior: permission.Allowed, Input: []byte(`{"prompt":"x"}`)})}},
		{"mode dontAsk", no, agent.Agent{Permissions: permission.Policy{Mode: permission.DontAsk, Allow: []permission.Rule{call}}, CanUseTool: says(permission.Decision{})}},
		{"a policy", no, agent.Agent{Permissions: bypass, Deciders: []permission.Decider{against("mcp__s__sampling")}}},
		{"a hook denies", no, agent.Agent{Permissions: bypass, Hooks: hooked(hook.PreToolUse, hook.Output{Permission: permission.Denied})}},
		{"a hook allows", yes, agent.Agent{Permissions: some, Hooks: hooked(hook.PermissionRequest, hook.Output{Permission: permission.Allowed})}},
		{"a hook changes the request", no, agent.Agent{Permissions: bypass, Hooks: hooked(hook.PreToolUse, hook.Output{Input: []byte(`{"prompt":"x"}`)})}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var m *llmtest.Model
			m, c.a.Models = small(llmtest.Say("fine"))
			text, _ := sampled(t, older(t, sampler(hinting(wants("secret plan")), 1)), true, c.a)
			if text != c.want || (len(m.Requests()) > 0) != (c.want == yes) {
				t.Errorf("%s, %d requests", text, len(m.Requests()))
			}
		})
	}
}

// Requests that a server may not make: any without the setting, and any beyond the bounds.
func TestSamplingBounds(t *testing.T) {
	t.Parallel()
	with := func(change func(*sdk.CreateMessageWithToolsParams)) *sdk.CreateMessageWithToolsParams {
		p := hinting(wants("x"))
		change(p)
		return p
	}
	for _, c := range []struct {
		name  string
		p     *sdk.CreateMessageWithToolsParams
		off   bool
		want  string
		times int
	}{
		{"off", wants("x"), true, "does not support", 1},
		{"huge", wants(strings.Repeat("x", 256<<10+1)), false, "error -32602 sampling: messages[0]: the texts have more", 1},
		{"a huge system prompt", with(func(p *sdk.CreateMessageWithToolsParams) { p.SystemPrompt = strings.Repeat("x", 256<<10) }), false, "the texts have more", 1},
		{"many messages", with(func(p *sdk.CreateMessageWithToolsParams) {
			for range 100 {
				p.Messages = append(p.Messages, p.Messages[0])
			}
		}), false, "there are 101 messages; the limit is 100", 1},
		{"many images", with(func(p *sdk.CreateMessageWithToolsParams) {
			for range 6 {
				p.Messages[0].Content = append(p.Messages[0].Content, &sdk.ImageContent{MIMEType: "image/png", Data: png})
			}
		}), false, "more than 5 images", 1},
		{"no image", with(func(p *sdk.CreateMessageWithToolsParams) {
			p.Messages[0].Content = []sdk.Content{&sdk.ImageContent{MIMEType: "image/png", Data: bytes.Repeat([]byte("no"), 9)}}
		}), false, "an image must be PNG", 1},
		{"audio", with(func(p *sdk.CreateMessageWithToolsParams) {
			p.Messages[0].Content = []sdk.Content{&sdk.AudioContent{MIMEType: "audio/wav", Data: []byte("x")}}
		}), false, "only texts and images", 1},
		{"a role", with(func(p *sdk.CreateMessageWithToolsParams) { p.Messages[0].Role = "system" }), false, `the role is "system"`, 1},
		{"no tokens", with(func(p *sdk.CreateMessageWithToolsParams) { p.MaxTokens = -1 }), false, "maxTokens must be", 1},
		{"stop sequences", with(func(p *sdk.CreateMessageWithToolsParams) { p.StopSequences = []string{"1", "2", "3", "4", "5"} }), false, "there are 5 stopSequences", 1},
		{"no messages", with(func(p *sdk.CreateMessageWithToolsParams) { p.Messages = nil }), false, "messages is empty", 1},
		{"a flood", hinting(wants("x")), false, "error -1 sampling: a call may ask 20 times", 100},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var steps []llmtest.Step
			for range c.times {
				steps = append(steps, llmtest.Say("fine"))
			}
			m, models := small(steps...)
			text, _ := sampled(t, older(t, sampler(c.p, c.times)), !c.off, agent.Agent{Models: models, Permissions: permission.Policy{Mode: permission.Bypass}})
			most := 0
			if c.times > 1 {
				most = 20
			}
			if !strings.Contains(text, c.want) || len(m.Requests()) != most {
				t.Errorf("%s, %d requests", text, len(m.Requests()))
			}
		})
	}
}

// A request with tools is refused although the SDK's server would not send one.
func TestSamplingWithTools(t *testing.T) {
	t.Parallel()
	p := wants("x")
	p.Tools = []*sdk.Tool{{Name: "t", InputSchema: map[string]any{"type": "object"}}}
	text, _ := sampled(t, older(t, sampler(p, 1)), true, agent.Agent{Permissions: permission.Policy{Mode: permission.Bypass}})
	if !strings.Contains(text, "tools") || strings.Contains(text, "assistant") {
		t.Error(text)
	}
}

// A tool of the server that has the name of its requests makes these impossible: a
// rule for the one would be one for the other.
func TestSamplingName(t *testing.T) {
	t.Parallel()
	server := sampler(wants("x"), 1)
	sdk.AddTool(server, &sdk.Tool{Name: "sampling"}, func(context.Context, *sdk.CallToolRequest, nothing) (*sdk.CallToolResult, any, error) {
		return &sdk.CallToolResult{}, nil, nil
	})
	text, _ := sampled(t, older(t, server), true, agent.Agent{Permissions: permission.Policy{Mode: permission.Bypass}})
	if !strings.HasPrefix(text, "error -1 ") {
		t.Error(text)
	}
}

// The end of a call ends its requests, and one outside of a call is refused.
func TestSamplingOutside(t *testing.T) {
	t.Parallel()
	server := sdk.NewServer(&sdk.Implementation{Name: "late", Version: "1"}, nil)
	late := make(chan error, 1)
	m, models := small(llmtest.Step{Text: "late", Delay: time.Hour})
	sdk.AddTool(server, &sdk.Tool{Name: "ask"}, func(ctx context.Context, r *sdk.CallToolRequest, _ nothing) (*sdk.CallToolResult, any, error) {
		go func() {
			_, err := r.Session.CreateMessageWithTools(context.WithoutCancel(ctx), hinting(wants("x")))
			late <- err
		}()
		for limit := time.Now().Add(soon); len(m.Requests()) == 0 && time.Now().Before(limit); {
			time.Sleep(5 * time.Millisecond)
		}
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "done"}}}, nil, nil
	})
	text, _ := sampled(t, older(t, server), true, agent.Agent{Models: models, Permissions: permission.Policy{Mode: permission.Bypass}})
	if text != "done" {
		t.Error(text)
	}
	for r := range server.Sessions() {
		_, err := r.CreateMessageWithTools(t.Context(), wants("x"))
		var e *jsonrpc.Error
		if !errors.As(err, &e) || e.Code != -1 || !strings.Contains(e.Message, "belongs to a call") {
			t.Error(err)
		}
	}
	select {
	case err := <-late:
		if err == nil {
			t.Error("a request was answered after its call")
		}
	case <-time.After(soon):
		t.Error("the request hangs")
	}
}
