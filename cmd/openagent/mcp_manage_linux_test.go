package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/openagent-go/agent/internal/parts"
	"github.com/openagent-go/agent/llm/llmtest"
)

// Servers are added to the scopes, shown, tried and taken away; secrets are not shown.
func TestServersAreManaged(t *testing.T) {
	t.Parallel()
	node, memory := mcpServer(t, "server-memory")
	_, files := mcpServer(t, "server-filesystem")
	model := llmtest.NewServer(t, llmtest.Call(llmtest.Use("", "mcp__files__list_allowed_directories", map[string]any{})), llmtest.Say("end"))
	p := newMCPPlace(t, model.URL)
	work, err := filepath.EvalSymlinks(filepath.Join(p.top, "work"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args string // words
		code int
		want []string
	}{
		{"list", 0, []string{"There are no MCP servers"}},
		{"add files --scope project -- " + node + " " + files + " .", 0, []string{"Added files (project)"}},
		{"add memory --scope user --env MEMORY_FILE_PATH=" + filepath.Join(p.top, "m.json") + " --env API_TOKEN=hunter2hunter2 -- " + node + " " + memory, 0, []string{"Added memory (user)"}},
		{"add bad -- sh -c echo$IFS'no-database'>&2;exit$IFS'3'", 0, []string{"Added bad (local)"}},
		{"add bad -- x", 2, []string{"the server \"bad\" already exists in scope local; remove it first: openagent mcp remove 'bad' --scope local"}},
		{"add a__b -- x", 2, []string{"must not hold __"}},
		{"add web https://127.0.0.1:1/mcp --header Authorization:Bearer${NO}x --transport carrier", 2, []string{"carrier"}},
		{"add web https://127.0.0.1:1/mcp --env A=b", 2, []string{"--env needs a server that is a command"}},
		{"add-json web {\"type\":\"http\",\"url\":\"ftp://x\"}", 2, []string{"must begin with https://"}},
		{"add-json web {", 2, []string{"unexpected end of JSON"}},
		{"add web http://127.0.0.1:1/mcp?key=k3y-of-mine-1234 --header Authorization:t0ken-of-mine", 0, []string{"Added web (local)"}},
		{"get memory", 0, []string{"memory (user)", `"API_TOKEN": "***"`}},
		{"get memry", 2, []string{"memory"}},
		{"test memory", 0, []string{"memory (user): connected, 9 tools, ", "memory-server", "mcp__memory__read_graph"}},
		{"test bad", 1, []string{"bad (local): failed: the server exited with code 3; stderr: no-database"}},
		{"list", 0, []string{"NAME", "files   project", "connected, 14 tools", "memory  user", "bad     local", "web     local", "failed"}},
		{"list --output-format json", 0, []string{`"name":"files","scope":"project"`, `"status":"connected"`}},
		{"remove bad", 0, []string{"Removed bad (local)"}},
		{"remove web --scope local", 0, []string{"Removed web (local)"}},
		{"remove web", 2, []string{`there is no MCP server "web" in local, project, user`}},
		{"add-json x y", 2, []string{"mcp add-json: the JSON of server x: invalid character 'y'"}},
		{"remove", 2, []string{"openagent mcp remove needs NAME; see openagent mcp remove --help"}},
		{"get memory --scope user", 2, []string{"--scope is a flag of openagent mcp add"}},
	} {
		out, code := p.run("", append([]string{"mcp"}, strings.Fields(c.args)...)...)
		for _, want := range c.want {
			if !strings.Contains(out, want) {
				t.Errorf("%s: no %q in %s", c.args, want, out)
			}
		}
		if code != c.code || strings.Contains(out, "hunter2") || strings.Contains(out, "t0ken") || strings.Contains(out, "k3y") {
			t.Errorf("%s: %d %s", c.args, code, out)
		}
	}
	if out, code := p.run("", "-p", "--permission-mode", "bypassPermissions", "go"); code != 0 {
		t.Error(code, out)
	}
	if results := model.Requests()[1].Results(); len(results) != 1 || !strings.Contains(results[0].Text, work) {
		t.Errorf("%+v", results)
	}
	if data, err := os.ReadFile(filepath.Join(p.top, "home", parts.LocalServersName)); err != nil || strings.Contains(string(data), "bad") {
		t.Errorf("%s %v", data, err)
	}
	// A file that was not trusted as it is does not become so by an addition.
	p.write("work/.mcp.json", `{"mcpServers":{"evil":{"command":"touch","args":["evil"]}},"other":1}`)
	if out, code := p.run("", "mcp", "add", "x", "--scope", "project", "--", "true"); code != 0 {
		t.Error(code, out)
	}
	if out, code := p.run("", "mcp", "list"); code != 0 || strings.Contains(out, "evil ") || !strings.Contains(out, "openagent trust add") {
		t.Error(code, out)
	}
	if data, err := os.ReadFile(filepath.Join(work, ".mcp.json")); err != nil || !strings.Contains(string(data), `"other": 1`) || !strings.Contains(string(data), "evil") {
		t.Errorf("%s %v", data, err)
	}
	// One that cannot be used does not keep the others away.
	p.write("home/mcp.json", `{"mcpServers":{"lacking":{"command":"x","args":["${NO_SUCH_VARIABLE}"]},"plain":{"command":"true"}}}`)
	if out, code := p.run("", "mcp", "list"); code != 0 || !strings.Contains(out, `"lacking": the variable NO_SUCH_VARIABLE is not set`) || !strings.Contains(out, "plain  user") {
		t.Error(code, out)
	}
}
