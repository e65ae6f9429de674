//go:build unix

package mcp_test

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/openagent-go/agent/internal/mcpnames"
	"github.com/openagent-go/agent/mcp"
	"github.com/openagent-go/agent/tool"
)

// Servers change while the agent lives: what stays is not touched, unknown names
// are errors.
func TestChanges(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "pids")
	stays := with("good")
	stays.Env["MCP_TEST_PID"] = file
	all, tools := connect(t, map[string]mcp.Config{"stays": stays, "goes": with("good")})
	change, err := all.Set(map[string]mcp.Config{"stays": stays, "comes": with("banner"), "wrong": {}})
	if err != nil || !slices.Equal(change.Added, []string{"comes", "wrong"}) || !slices.Equal(change.Removed, []string{"goes"}) || len(change.Errors) != 1 || change.Errors["wrong"] == "" {
		t.Errorf("%+v %v", change, err)
	}
	if out := call(t, tools, "mcp__goes__echo", `{"text":"x"}`); !out.Result.IsError || !strings.Contains(out.Result.Text(), "the server was removed") {
		t.Errorf("%s", out.Result.Text())
	}
	if out := call(t, toolsOf(t, all), "mcp__comes__echo", `{"text":"x"}`); out.Result.Text() != "x" {
		t.Errorf("%s", out.Result.Text())
	}
	if n := len(pids(t, file)); n != 1 {
		t.Errorf("what stays was started %d times", n)
	}
	if err := all.Toggle(t.Context(), "stays", false); err != nil {
		t.Error(err)
	}
	gone(t, pids(t, file))
	if s := statusOf(t, all, "stays"); s.State != mcpnames.Disabled || len(s.Tools) != 0 {
		t.Errorf("%+v", s)
	}
	for range 2 { // enabled, and once more
		if err := all.Reconnect(t.Context(), "stays"); err != nil {
			t.Error(err)
		}
	}
	if n := len(pids(t, file)); n != 3 {
		t.Errorf("it was started %d times", n)
	}
	if err := all.Reconnect(t.Context(), "nobody"); !errors.Is(err, mcp.ErrNoServer) {
		t.Error(err)
	}
	if err := all.Reconnect(t.Context(), "wrong"); err == nil || !strings.Contains(err.Error(), "needs a command") {
		t.Error(err)
	}
	if err := all.Close(); err != nil {
		t.Error(err)
	}
	gone(t, pids(t, file))
	if _, err := all.Set(nil); err == nil {
		t.Error("closed servers can be set")
	}
}

// Servers that take their time do not delay a prompt, unless that is wished.
func TestSlowServersHoldUpNothing(t *testing.T) {
	t.Parallel()
	configs := map[string]mcp.Config{"here": {Tools: []tool.Tool{weather()}}}
	for _, name := range []string{"a", "b", "c", "d"} {
		c := with("silent")
		c.AlwaysLoad, c.StartTimeoutMS = false, 120_000
		configs[name] = c
	}
	all, tools := connect(t, configs) // for less than the time to start
	if len(tools) != 1 {
		t.Errorf("%d tools", len(tools))
	}
	if s := statusOf(t, all, "a"); s.State != mcpnames.Pending {
		t.Errorf("%+v", s)
	}
}
