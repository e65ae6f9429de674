package main

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/openagent-go/agent/llm/llmtest"
)

// An mcpPlace is a folder with a home, in which the program is run.
type mcpPlace struct {
	t    *testing.T
	top  string
	name string // of the program
	url  string // of the model
}

func newMCPPlace(t *testing.T, url string) *mcpPlace {
	t.Helper()
	program, err := exec.LookPath("openagent")
	if err != nil {
		t.Fatal(err)
	}
	p := &mcpPlace{t, t.TempDir(), program, url}
	for _, d := range []string{"work", "home"} {
		if err := os.Mkdir(filepath.Join(p.top, d), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

// run runs the program and returns what it writes, with its exit code.
func (p *mcpPlace) run(stdin string, args ...string) (out string, code int) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, p.name, args...)
	cmd.Dir = filepath.Join(p.top, "work")
	cmd.Stdin = strings.NewReader(stdin)
	cmd.Env = append(os.Environ(), "OPENAGENT_HOME="+filepath.Join(p.top, "home"), "GORACE="+quickEnd, "ANTHROPIC_API_KEY=k", "ANTHROPIC_BASE_URL="+p.url)
	data, err := cmd.CombinedOutput()
	if err != nil && cmd.ProcessState == nil {
		p.t.Fatal(err)
	}
	return string(data), cmd.ProcessState.ExitCode()
}

func (p *mcpPlace) write(name string, v any) {
	p.t.Helper()
	data, ok := v.(string)
	if !ok {
		data = string(quotedJSON(p.t, v))
	}
	if err := os.WriteFile(filepath.Join(p.top, name), []byte(data), 0o600); err != nil {
		p.t.Fatal(err)
	}
}

// everything is the configuration of the official server that has everything.
func everything(t *testing.T) map[string]any {
	node, script := mcpServer(t, "server-everything")
	return map[string]any{"mcpServers": map[string]any{"everything": map[string]any{"command": node, "args": []string{script}}}}
}

// Prompts and resources of a real server are used by the user and by the model.
func TestServerPromptsAndResources(t *testing.T) {
	t.Parallel()
	model := llmtest.NewServer(t, llmtest.Call(llmtest.Use("", "ListMcpResources", map[string]any{}),
		llmtest.Use("", "ReadMcpResource", map[string]any{"server": "everything", "uri": "demo://resource/dynamic/text/2"})), llmtest.Say("end"), llmtest.Say("end"), llmtest.Say("end"))
	p := newMCPPlace(t, model.URL)
	p.write("home/mcp.json", everything(t))
	p.write("home/settings.json", map[string]any{"hooks": map[string]any{"UserPromptExpansion": []any{map[string]any{"matcher": "mcp__everything__simple-prompt",
		"hooks": []any{map[string]any{"type": "command", "command": "cat >&2; exit 2"}}}}}})
	if out, code := p.run("", "-p", "--tools", "all", "Compare @everything:demo://resource/static/document/features.md, please"); code != 0 {
		t.Fatal(code, out)
	}
	requests := model.Requests()
	if body := string(requests[0].Body); !strings.Contains(body, `mcp-resource server=\"everything\"`) && !strings.Contains(body, `mcp-resource server=\\\"everything\\\"`) && !strings.Contains(body, "Everything Server") {
		t.Errorf("%s", body)
	}
	results := requests[1].Results()
	if len(results) != 2 || !strings.Contains(results[0].Text, "everything: demo://resource/static") || !strings.Contains(results[0].Text, "a template") || !strings.Contains(results[1].Text, "Resource 2") {
		t.Errorf("%+v", results)
	}
	if out, code := p.run("", "-p", "/mcp__everything__args-prompt Paris"); code != 0 || !strings.Contains(string(model.Requests()[2].Body), "Paris") {
		t.Error(code, out, len(model.Requests()))
	}
	if out, code := p.run("", "-p", "/mcp__everything__args-prompt"); code != 2 || !strings.Contains(out, "needs the argument city: /mcp__everything__args-prompt CITY [STATE]") {
		t.Error(code, out)
	}
	if out, code := p.run("", "-p", "/mcp__everything__simple-prompt"); code == 0 || !strings.Contains(out, `"expansion_type":"mcp_prompt"`) || len(model.Requests()) != 3 {
		t.Error(code, out, len(model.Requests()))
	}
	var line struct {
		Slash   []string `json:"slash_commands"`
		Subtype string   `json:"subtype"`
		Result  string   `json:"result"`
	}
	user := func(text string) string {
		return string(quotedJSON(t, map[string]any{"type": "user", "message": map[string]any{"role": "user", "content": text}})) + "\n"
	}
	out, code := p.run(user("/mcp__everything__nothing")+user("/mcp__everything__args-prompt Rome Latium"), "-p", "--input-format", "stream-json", "--output-format", "stream-json")
	var first, last string
	for text := range strings.Lines(out) {
		if json.Unmarshal([]byte(text), &line) == nil && strings.Contains(text, `"type":"result"`) {
			if first == "" {
				first = line.Subtype + text
			}
			last = line.Subtype
		}
	}
	if code != 0 || !strings.Contains(first, "there is no such prompt") || last != "success" || !strings.Contains(out, "mcp__everything__args-prompt") {
		t.Error(code, first, last, out)
	}
	if requests := model.Requests(); len(requests) != 4 || !strings.Contains(string(requests[3].Body), "Latium") {
		t.Error(len(requests))
	}
}

// A real server with sampling asks the model, with permission only, and what the model
// says is seen under the call.
func TestServerSampling(t *testing.T) {
	t.Parallel()
	model := llmtest.NewServer(t, llmtest.Call(llmtest.Use("", "mcp__everything__trigger-sampling-request", map[string]any{"prompt": "Who was Ada?", "maxTokens": 50})),
		llmtest.Say("a countess"), llmtest.Say("end"),
		llmtest.Call(llmtest.Use("", "mcp__everything__trigger-sampling-request", map[string]any{"prompt": "Who was Ada?", "maxTokens": 50})), llmtest.Say("end"))
	p := newMCPPlace(t, model.URL)
	p.write("home/mcp.json", samplingServer(t))
	tool := "mcp__everything__trigger-sampling-request"
	out, code := p.run("", "-p", "--allowed-tools", tool+" mcp__everything__sampling", "--output-format", "stream-json", "go")
	requests := model.Requests()
	if code != 0 || len(requests) != 3 {
		t.Fatal(code, len(requests), out)
	}
	if body := string(requests[1].Body); !strings.Contains(body, "Who was Ada?") || strings.Contains(body, `"tools":[{`) {
		t.Error(body)
	}
	if got := requests[2].Results(); len(got) != 1 || !strings.Contains(got[0].Text, "a countess") {
		t.Errorf("%+v", got)
	}
	if id := requests[2].Results()[0].Use.ID; !strings.Contains(out, `"text":"a countess"`) || !strings.Contains(out, `"parent_tool_use_id":"`+id+`"`) {
		t.Error(out)
	}
	if out, code := p.run("", "-p", "--allowed-tools", tool, "go"); code != 0 || len(model.Requests()) != 5 || !strings.Contains(model.Requests()[4].Results()[0].Text, "the request is declined") {
		t.Error(code, len(model.Requests()), out)
	}
}

// samplingServer is everything, which may ask the model.
func samplingServer(t *testing.T) map[string]any {
	config := everything(t)
	own := config["mcpServers"].(map[string]any)["everything"].(map[string]any)
	own["sampling"], own["alwaysLoad"] = true, true
	return config
}

// A program that drives the command is asked about a server's request to the model, and
// learns which call it belongs to.
func TestServerSamplingAsked(t *testing.T) {
	t.Parallel()
	model := llmtest.NewServer(t, llmtest.Call(llmtest.Use("", "mcp__everything__trigger-sampling-request", map[string]any{"prompt": "Who was Ada?", "maxTokens": 50})),
		llmtest.Say("a countess"), llmtest.Say("end"))
	p := newMCPPlace(t, model.URL)
	p.write("home/mcp.json", samplingServer(t))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, p.name, "-p", "--input-format", "stream-json", "--output-format", "stream-json", "--permission-prompt-tool", "stdio")
	cmd.Dir = filepath.Join(p.top, "work")
	cmd.Env = append(os.Environ(), "OPENAGENT_HOME="+filepath.Join(p.top, "home"), "GORACE="+quickEnd, "ANTHROPIC_API_KEY=k", "ANTHROPIC_BASE_URL="+p.url)
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
	say := func(text string) {
		if _, err := io.WriteString(in, text+"\n"); err != nil {
			t.Error(err)
		}
	}
	say(`{"type":"user","message":{"role":"user","content":"go"}}`)
	var asked []string
	for lines := bufio.NewScanner(out); lines.Scan(); {
		var line struct {
			Type    string
			ID      string `json:"request_id"`
			Request struct {
				Tool string `json:"tool_name"`
				Use  string `json:"tool_use_id"`
			}
		}
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			t.Fatal(err)
		}
		switch line.Type {
		case "control_request":
			asked = append(asked, line.Request.Use+" "+line.Request.Tool)
			say(`{"type":"control_response","response":{"subtype":"success","request_id":"` + line.ID + `","response":{"behavior":"allow"}}}`)
		case "result":
			in.Close()
		}
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
	requests := model.Requests()
	if len(requests) != 3 {
		t.Fatal(len(requests), asked)
	}
	id := requests[2].Results()[0].Use.ID
	if len(asked) != 2 || asked[1] != id+" mcp__everything__sampling" {
		t.Error(asked)
	}
}
