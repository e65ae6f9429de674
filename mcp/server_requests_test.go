//lint:file-ignore SA1019 Logging and roots are deprecated in the newest version of the protocol; servers of the others have them.

//go:build unix

package mcp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/hook"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/mcp"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
	"github.com/openagent-go/agent/workspace"
)

type nothing struct{}

// curious is a server that asks back.
func curious() *sdk.Server {
	server := sdk.NewServer(&sdk.Implementation{Name: "curious", Version: "1"}, nil)
	say := func(v any) *sdk.CallToolResult {
		text, _ := json.Marshal(v)
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: string(text)}}}
	}
	ask := func(name string, p *sdk.ElicitParams) {
		sdk.AddTool(server, &sdk.Tool{Name: name}, func(ctx context.Context, r *sdk.CallToolRequest, _ nothing) (*sdk.CallToolResult, any, error) {
			res, err := r.Session.Elicit(ctx, p)
			if err != nil {
				return nil, nil, err
			}
			return say(res), nil, nil
		})
	}
	ask("form", &sdk.ElicitParams{Message: "Who are you?", RequestedSchema: json.RawMessage(`{"type":"object","properties":{
		"name":{"type":"string","title":"Your name","minLength":2},"age":{"type":"integer","minimum":0},"colour":{"type":"string","enum":["r","g"],"enumNames":["red","green"]},
		"news":{"type":"boolean","default":true},"pets":{"type":"array","items":{"type":"string","enum":["cat","dog","eel"]}},"note":{"type":"string"}},"required":["name","age"]}`)})
	ask("endless", &sdk.ElicitParams{Message: "Who are you?", RequestedSchema: json.RawMessage(`{"type":"object","$ref":"#","properties":{"name":{"type":"string","title":"Your name"}}}`)})
	ask("page", &sdk.ElicitParams{Mode: "url", Message: "Log in.", URL: "https://example.com/login", ElicitationID: "e1"})
	ask("trick", &sdk.ElicitParams{Mode: "url", Message: "Log in.", URL: "javascript:alert(1)", ElicitationID: "e2"})
	sdk.AddTool(server, &sdk.Tool{Name: "nosy"}, func(ctx context.Context, r *sdk.CallToolRequest, _ nothing) (*sdk.CallToolResult, any, error) {
		accepted := 0
		for i := range 30 {
			res, err := r.Session.Elicit(ctx, &sdk.ElicitParams{Mode: "url", Message: "Log in.", URL: "https://example.com/login", ElicitationID: fmt.Sprint(i)})
			if err != nil {
				return nil, nil, err
			}
			if res.Action == "accept" {
				accepted++
			}
		}
		return say(map[string]int{"accepted": accepted}), nil, nil
	})
	sdk.AddTool(server, &sdk.Tool{Name: "roots"}, func(ctx context.Context, r *sdk.CallToolRequest, _ nothing) (*sdk.CallToolResult, any, error) {
		res, err := r.Session.ListRoots(ctx, nil)
		if err != nil {
			return nil, nil, err
		}
		return say(res), nil, nil
	})
	sdk.AddTool(server, &sdk.Tool{Name: "log"}, func(ctx context.Context, r *sdk.CallToolRequest, _ nothing) (*sdk.CallToolResult, any, error) {
		for _, level := range []sdk.LoggingLevel{"debug", "warning", "critical"} {
			if err := r.Session.Log(ctx, &sdk.LoggingMessageParams{Level: level, Logger: "l", Data: "the word is t0ken-of-mine"}); err != nil {
				return nil, nil, err
			}
		}
		return say("logged"), nil, nil
	})
	return server
}

// older serves a server to clients that know no more than 2025-11-25: only there do
// servers ask in requests of their own.
func older(t *testing.T, server *sdk.Server) mcp.Config {
	server.AddReceivingMiddleware(func(next sdk.MethodHandler) sdk.MethodHandler {
		return func(ctx context.Context, method string, r sdk.Request) (sdk.Result, error) {
			if method == "server/discover" {
				return nil, fmt.Errorf("unknown method")
			}
			return next(ctx, method, r)
		}
	})
	return onNetwork(t, server)
}

// person answers questions by their text.
type person struct {
	mu    sync.Mutex
	asked []string
	says  map[string]tool.Answer
}

func (p *person) answer(_ context.Context, _ tool.Call, questions []tool.Question) ([]tool.Answer, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var list []tool.Answer
	for _, q := range questions {
		p.asked = append(p.asked, q.Text)
		for part, a := range p.says {
			if strings.Contains(q.Text, part) {
				list = append(list, a)
				break
			}
		}
	}
	return list, nil
}

// A server asks the person during a call: by form and by page, with hooks before and
// after; without a person it is declined.
func TestElicitation(t *testing.T) {
	t.Parallel()
	yes, no := tool.Answer{Options: []string{"Answer"}}, tool.Answer{Options: []string{"Decline"}}
	word := func(s string) tool.Answer { return tool.Answer{Text: s} }
	filled := map[string]tool.Answer{"Who are you?": yes, "Your name": word("Ada"), "age": word("36"), "colour": {Options: []string{"green"}}, "news": {}, "pets": {Options: []string{"cat", "eel"}}, "note": {}}
	wrong := map[string]tool.Answer{"Who are you?": yes, "Your name": word("A"), "age": word("old"), "colour": {}, "news": {}, "pets": {}, "note": {}}
	hooks := func(on hook.Event, out hook.Output) []hook.Hook {
		return []hook.Hook{{On: on, Match: "s", Func: func(_ context.Context, in *hook.Input) (hook.Output, error) {
			if in.Server != "s" || in.Message == "" || in.Ask == "" {
				return hook.Output{}, fmt.Errorf("%+v", in)
			}
			return out, nil
		}}}
	}
	for _, c := range []struct {
		name, tool, want string
		says             map[string]tool.Answer // nil: nobody
		hooks            []hook.Hook
		asked            int
	}{
		{"a form", "form", `{"action":"accept","content":{"age":36,"colour":"g","name":"Ada","news":true,"pets":["cat","eel"]}}`, filled, nil, 7},
		{"a form, declined", "form", `{"action":"decline"}`, map[string]tool.Answer{"Who": no}, nil, 1},
		{"a form, dismissed", "form", `{"action":"cancel"}`, map[string]tool.Answer{"Who": {}}, nil, 1},
		{"a form, wrong again and again", "form", `{"action":"cancel"}`, wrong, nil, 1 + 6 + 2 + 2},
		{"a form that is checked without end", "endless", `{"action":"decline"}`, filled, nil, 0},
		{"nobody", "form", `{"action":"decline"}`, nil, nil, 0},
		{"a page", "page", `{"action":"accept"}`, map[string]tool.Answer{"https://example.com/login": yes}, nil, 1},
		{"pages without end", "nosy", `{"accepted":20}`, map[string]tool.Answer{"https://example.com/login": yes}, nil, 20},
		{"no page", "trick", `{"action":"decline"}`, map[string]tool.Answer{"": yes}, nil, 0},
		{"a hook answers", "form", `{"action":"accept","content":{"age":1,"name":"hook","news":true}}`, filled, hooks(hook.Elicitation, hook.Output{Action: "accept", Content: []byte(`{"age":1,"name":"hook"}`)}), 0},
		{"a hook blocks", "form", `{"action":"decline"}`, filled, hooks(hook.Elicitation, hook.Output{Block: true}), 0},
		{"a hook keeps the answer", "page", `{"action":"cancel"}`, map[string]tool.Answer{"https": yes}, hooks(hook.ElicitationResult, hook.Output{Action: "cancel"}), 1},
	} {
		for _, old := range []bool{false, true} {
			t.Run(fmt.Sprint(c.name, " ", old), func(t *testing.T) {
				t.Parallel()
				config := onNetwork(t, curious())
				if old {
					config = older(t, curious())
				}
				config.TimeoutMS = 20_000
				all, _ := connect(t, map[string]mcp.Config{"s": config})
				m := llmtest.Script(llmtest.Call(llmtest.Use("", "mcp__s__"+c.tool, map[string]any{})), llmtest.Say("end"))
				a := &agent.Agent{Model: m, Toolsets: []tool.Set{all}, Hooks: c.hooks, Permissions: permission.Policy{Mode: permission.Bypass}}
				who := &person{says: c.says}
				if c.says != nil {
					a.AskUser = who.answer
				}
				if _, err := a.Prompt(t.Context(), "go"); err != nil {
					t.Fatal(err)
				}
				last := m.Requests()[1].Messages
				if got := last[len(last)-1].Content.Text() + fmt.Sprint(last[len(last)-1].Content); !strings.Contains(got, c.want) {
					t.Errorf("%s, not %s", got, c.want)
				}
				if len(who.asked) != c.asked {
					t.Errorf("%d questions: %q", len(who.asked), who.asked)
				}
			})
		}
	}
}

// Servers are told about the folders, and of a change of these; what they log is logged,
// from the level that is wanted.
func TestRootsAndLogs(t *testing.T) {
	t.Parallel()
	ws := &workspace.Workspace{Root: t.TempDir()}
	defer ws.Close()
	var mu sync.Mutex
	var logs strings.Builder
	config := older(t, curious())
	config.LogLevel, config.Headers = "warning", map[string]string{"X-Key": "t0ken-of-mine"}
	all := mcp.New(map[string]mcp.Config{"s": config, "wrong": {URL: config.URL, LogLevel: "loud"}},
		mcp.Options{Workspace: ws, Log: slog.New(slog.NewTextHandler(locked{&mu, &logs}, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	defer all.Close()
	tools := toolsOf(t, all)
	if s := statusOf(t, all, "wrong"); !strings.Contains(s.Error, `logLevel is "loud"`) {
		t.Error(s.Error)
	}
	if out := call(t, tools, "mcp__s__roots", `{}`); !strings.Contains(out.Result.Text(), "file://"+ws.Root) {
		t.Error(out.Result.Text())
	}
	all.SetRoots("/a b", "/c")
	if out := call(t, tools, "mcp__s__roots", `{}`); strings.Contains(out.Result.Text(), ws.Root) || !strings.Contains(out.Result.Text(), "file:///a%20b") {
		t.Error(out.Result.Text())
	}
	call(t, tools, "mcp__s__log", `{}`)
	for limit := time.Now().Add(soon); ; time.Sleep(10 * time.Millisecond) { // notifications come beside the answer
		mu.Lock()
		text := logs.String()
		mu.Unlock()
		if said := strings.Count(text, "an MCP server says"); said >= 2 || time.Now().After(limit) {
			if said != 2 || !strings.Contains(text, "level=WARN") || !strings.Contains(text, "level=ERROR") || strings.Contains(text, "t0ken") {
				t.Error(text)
			}
			break
		}
	}
}

type locked struct {
	mu *sync.Mutex
	b  *strings.Builder
}

func (l locked) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}
