package agentserver_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/mcp"
	"github.com/openagent-go/agent/mcp/agentserver"
	"github.com/openagent-go/agent/mcp/server"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/tool"
)

// Another agent of the program prompts the served one through Config, and continues its session.
// An outcome is what clients read of the structured result.
type outcome struct {
	Session string `json:"session"`
}

func TestPromptsDirectly(t *testing.T) {
	inner := llmtest.Script(llmtest.Say("One."), llmtest.Say("Two."))
	s, err := agentserver.Prompts(&agent.Agent{Model: inner, Sessions: session.Memory()}, "", server.Options{Name: "bot"})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	config := s.Config()
	config.AlwaysLoad = true
	servers := mcp.New(map[string]mcp.Config{"bot": config}, mcp.Options{})
	defer servers.Close()
	call := func(in map[string]any) (text string, out outcome) {
		t.Helper()
		a := &agent.Agent{Model: llmtest.Script(llmtest.Call(llmtest.Use("", "mcp__bot__prompt", in)), llmtest.Say("Done.")),
			Toolsets: []tool.Set{servers}, Permissions: permission.Policy{Allow: []permission.Rule{"mcp__bot"}}}
		for e, err := range a.Stream(t.Context(), "Go.") {
			if err != nil {
				t.Fatal(err)
			}
			if r, ok := e.Data.(event.ToolResult); ok {
				text = r.Result.Text()
				if len(r.Result.Details) > 0 {
					if err := json.Unmarshal(r.Result.Details, &out); err != nil {
						t.Fatal(err)
					}
				}
			}
		}
		return text, out
	}
	one, first := call(map[string]any{"prompt": "Begin."})
	two, second := call(map[string]any{"prompt": "Go on.", "session": first.Session})
	if one != "One." || two != "Two." || first.Session == "" || second.Session != first.Session {
		t.Errorf("%q %+v, %q %+v", one, first, two, second)
	}
	if text, _ := call(map[string]any{"prompt": " "}); !strings.Contains(text, "the prompt is empty") {
		t.Error(text)
	}
	if text, _ := call(map[string]any{"prompt": "Go on.", "session": "another"}); !strings.Contains(text, "there is no session") {
		t.Error(text)
	}
	if requests := inner.Requests(); len(requests) != 2 || !strings.Contains(requests[1].Transcript(), "Begin.") {
		t.Errorf("the session was not continued: %d requests", len(requests))
	}
}
