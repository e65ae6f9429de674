//go:build unix

package mcp_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/internal/mcpnames"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/mcp"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
	"github.com/openagent-go/agent/workspace"
)

// Twenty servers that are slow to start do not delay the first request: they do
// not start before it was made. Their tools are there later.
func TestFirstRequestDoesNotWait(t *testing.T) {
	t.Parallel()
	const slow = 20
	gate := filepath.Join(t.TempDir(), "gate")
	configs := map[string]mcp.Config{"here": {Tools: []tool.Tool{weather()}}}
	for i := range slow {
		c := with("gate good")
		c.AlwaysLoad, c.Env["MCP_TEST_GATE"] = false, gate
		configs[fmt.Sprintf("slow%02d", i)] = c
	}
	var mu sync.Mutex
	var order []string
	note := func(what string) {
		mu.Lock()
		defer mu.Unlock()
		order = append(order, what)
	}
	ready := make(chan struct{}, slow+1)
	ws := &workspace.Workspace{Root: t.TempDir()}
	defer ws.Close()
	all := mcp.New(configs, mcp.Options{Workspace: ws, Changed: func(s mcp.Status) {
		if s.State == mcpnames.Connected && s.Name != "here" {
			note("connected")
			ready <- struct{}{}
		}
	}})
	defer all.Close()
	first := true
	model := &llmtest.Model{ID: "m", Rule: func(r *llmtest.Request, _ int) llmtest.Step {
		if !first {
			return llmtest.Say(fmt.Sprint(len(r.Tools)))
		}
		first = false
		note("request")
		if err := os.WriteFile(gate, nil, 0o600); err != nil { // now they may start
			t.Error(err)
		}
		return llmtest.Say(fmt.Sprint(len(r.Tools)))
	}}
	a := &agent.Agent{Model: model, Toolsets: []tool.Set{all}, Permissions: permission.Policy{Mode: permission.Bypass}}
	s := a.Session("")
	defer s.Close()
	res, err := s.Prompt(t.Context(), "go")
	if err != nil || res.Text != "1" {
		t.Fatalf("%+v %v", res, err)
	}
	for range slow {
		<-ready
	}
	if res, err = s.Prompt(t.Context(), "and now?"); err != nil || res.Text == "1" {
		t.Errorf("%+v %v", res, err)
	}
	mu.Lock()
	defer mu.Unlock()
	if slices.Index(order, "request") != 0 || strings.Count(strings.Join(order, " "), "connected") != slow {
		t.Errorf("%q", order)
	}
}
