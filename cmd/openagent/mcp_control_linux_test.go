package main

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/openagent-go/agent/llm/llmtest"
)

// A host that drives the program sets, switches off and connects MCP servers, and is
// told of each change.
func TestServersByControl(t *testing.T) {
	t.Parallel()
	node, script := mcpServer(t, "server-memory")
	model := llmtest.NewServer(t, llmtest.Call(llmtest.Use("", "mcp__new__read_graph", map[string]any{})), llmtest.Say("end"))
	p := newMCPPlace(t, model.URL)
	server := map[string]any{"command": node, "args": []string{script}, "env": map[string]string{"MEMORY_FILE_PATH": filepath.Join(p.top, "memory.json")}}
	p.write("home/mcp.json", map[string]any{"mcpServers": map[string]any{"own": server}})
	cmd := exec.CommandContext(t.Context(), p.name, "-p", "--input-format", "stream-json", "--output-format", "stream-json", "--permission-mode", "bypassPermissions")
	cmd.Dir = filepath.Join(p.top, "work")
	cmd.Env = append(os.Environ(), "OPENAGENT_HOME="+filepath.Join(p.top, "home"), "GORACE="+quickEnd, "ANTHROPIC_API_KEY=k", "ANTHROPIC_BASE_URL="+model.URL)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	told := ""
	until := func(wanted string) string {
		t.Helper()
		for lines.Scan() {
			if strings.Contains(lines.Text(), `"subtype":"mcp_server"`) {
				told += lines.Text() + "\n"
			}
			if strings.Contains(lines.Text(), wanted) {
				return lines.Text()
			}
		}
		t.Fatal("there is no line with", wanted)
		return ""
	}
	send := func(id string, request map[string]any) string {
		t.Helper()
		if _, err := in.Write(append(quotedJSON(t, map[string]any{"type": "control_request", "request_id": id, "request": request}), '\n')); err != nil {
			t.Fatal(err)
		}
		return until(`"request_id":"` + id + `"`)
	}
	for _, c := range []struct {
		request map[string]any
		want    string
	}{
		{map[string]any{"subtype": "mcp_set_servers", "servers": map[string]any{"new": server, "own": server, "bad": map[string]any{}, "in": map[string]any{"type": "sdk"}}}, `"added":["bad","new"]`},
		{map[string]any{"subtype": "mcp_reconnect", "serverName": "new"}, `"subtype":"success"`},
		{map[string]any{"subtype": "mcp_toggle", "serverName": "own", "enabled": false}, `"subtype":"success"`},
		{map[string]any{"subtype": "mcp_toggle", "serverName": "own"}, "enabled is missing"},
		{map[string]any{"subtype": "mcp_reconnect", "serverName": "nobody"}, "there is no such server"},
		{map[string]any{"subtype": "mcp_set_servers"}, "servers is missing"},
		{map[string]any{"subtype": "mcp_status"}, `"name":"own","type":"stdio","status":"disabled"`},
	} {
		if line := send("r", c.request); !strings.Contains(line, c.want) {
			t.Errorf("%v: %s", c.request, line)
		}
	}
	if _, err := in.Write(append(quotedJSON(t, map[string]any{"type": "user", "message": map[string]any{"role": "user", "content": "go"}}), '\n')); err != nil {
		t.Fatal(err)
	}
	var result struct {
		IsError bool `json:"is_error"`
	}
	if line := until(`"type":"result"`); json.Unmarshal([]byte(line), &result) != nil || result.IsError {
		t.Error(line)
	}
	if results := model.Requests()[1].Results(); results[0].IsError || !strings.Contains(results[0].Text, "entities") {
		t.Errorf("%+v", results)
	}
	if line := send("r", map[string]any{"subtype": "mcp_set_servers", "servers": map[string]any{}}); !strings.Contains(line, `"removed":["bad","new"]`) {
		t.Error(line)
	}
	in.Close()
	for lines.Scan() {
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	for _, want := range []string{`"name":"new","type":"stdio","status":"pending"`, `"name":"new","type":"stdio","status":"connected"`, `"name":"own","type":"stdio","status":"disabled"`, `"name":"bad","type":"","status":"failed"`} {
		if !strings.Contains(told, want) {
			t.Errorf("nothing tells of %s:\n%s", want, told)
		}
	}
}
