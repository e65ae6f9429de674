package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/openagent-go/agent/internal/installed"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/mcp/server"
	"github.com/openagent-go/agent/tool"
)

// An editor is a client of the program, made with the official SDK.
type editor struct {
	t       *testing.T
	dir     string // the working folder of its sessions
	home    string
	in      io.WriteCloser
	lines   chan editorLine
	cmd     *exec.Cmd
	pid     int // of the program
	last    int
	updates []map[string]any // all so far
	asked   []editorLine     // requests of the program that are not answered yet
	results map[int]editorLine
	schema  *acpSchema
}

// An editorLine is a line of acp_client.mjs.
type editorLine struct {
	PID       int             `json:"pid"`
	N         int             `json:"n"`
	Ask       int             `json:"ask"`
	Withdrawn int             `json:"withdrawn"`
	Method    string          `json:"method"`
	Params    json.RawMessage `json:"params"`
	Result    json.RawMessage `json:"result"`
	Error     *editorError    `json:"error"`
	Update    json.RawMessage `json:"update"`
	Exit      any             `json:"exit"`
}

type editorError struct {
	Data    json.RawMessage `json:"data"`
	Code    int             `json:"code"`
	Message string          `json:"message"`
}

// newEditor starts the program for an editor, with a server that plays steps.
func newEditor(t *testing.T, home, dir string, steps []llmtest.Step, args ...string) *editor {
	t.Helper()
	return editorAt(t, llmtest.NewServer(t, steps...), home, dir, args...)
}

func editorAt(t *testing.T, server *llmtest.Server, home, dir string, args ...string) *editor {
	t.Helper()
	return editorWith(t, server.URL, home, dir, "k", args...)
}

// editorWith starts the program with the address of a model and a key in its environment.
func editorWith(t *testing.T, url, home, dir, key string, args ...string) *editor {
	t.Helper()
	program, err := exec.LookPath("openagent")
	if err != nil {
		t.Fatal(err)
	}
	return editorOf(t, append([]string{program, "acp"}, args...), home, dir, "ANTHROPIC_API_KEY="+key, "ANTHROPIC_BASE_URL="+url)
}

// editorOf starts an agent for an editor.
func editorOf(t *testing.T, command []string, home, dir string, env ...string) *editor {
	t.Helper()
	node, sdk := installed.Program(t, "node"), installed.ACPModule(t, "@agentclientprotocol/sdk/dist/v1/stable/acp.js")
	var err error
	e := &editor{t: t, dir: dir, home: home, lines: make(chan editorLine, 4096), results: map[int]editorLine{}, schema: readACPSchema(t)}
	e.cmd = exec.Command(node, append([]string{filepath.Join("testdata", "acp_client.mjs"), sdk}, command...)...)
	e.cmd.Env = append(append(os.Environ(), "OPENAGENT_HOME="+home, "GORACE="+quickEnd), env...)
	e.cmd.Stderr = os.Stderr
	e.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if e.in, err = e.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := e.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := e.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(e.lines)
		lines := bufio.NewScanner(out)
		lines.Buffer(nil, 64<<20)
		for lines.Scan() {
			var l editorLine
			if json.Unmarshal(lines.Bytes(), &l) == nil {
				e.lines <- l
			}
		}
	}()
	t.Cleanup(func() {
		e.killProgram()
		group := -e.cmd.Process.Pid
		syscall.Kill(group, syscall.SIGKILL)
		e.cmd.Wait()
		for end := time.Now().Add(10 * time.Second); syscall.Kill(group, 0) == nil && time.Now().Before(end); { // an adapter's own processes write into folders of the test
			time.Sleep(5 * time.Millisecond)
		}
	})
	for e.pid == 0 {
		e.next()
	}
	return e
}

// next handles the next line. It is false at the end.
func (e *editor) next() bool {
	e.t.Helper()
	select {
	case l, ok := <-e.lines:
		if !ok {
			return false
		}
		switch {
		case l.PID > 0:
			e.pid = l.PID
		case l.Ask > 0:
			e.schema.check(e.t, map[string]string{"session/request_permission": "RequestPermissionRequest", "elicitation/create": "CreateElicitationRequest"}[l.Method], l.Params)
			e.asked = append(e.asked, l)
		case l.Withdrawn > 0:
			e.asked = slices.DeleteFunc(e.asked, func(q editorLine) bool { return q.Ask == l.Withdrawn })
		case l.Update != nil:
			e.schema.check(e.t, "SessionUpdate", l.Update)
			var u map[string]any
			if err := json.Unmarshal(l.Update, &u); err != nil {
				e.t.Fatal(err)
			}
			e.updates = append(e.updates, u)
		case l.N > 0:
			if l.Error == nil {
				e.schema.check(e.t, responseNames[l.Method], l.Result)
			}
			e.results[l.N] = l
		case l.Exit != nil:
			e.results[-1] = l
		}
		return true
	case <-time.After(30 * time.Second):
		e.t.Fatalf("nothing comes from the program; updates so far: %v", e.updates)
		return false
	}
}

// responseNames are the names of answers in the schema.
var responseNames = map[string]string{"initialize": "InitializeResponse", "authenticate": "AuthenticateResponse", "logout": "LogoutResponse", "session/new": "NewSessionResponse",
	"session/load": "LoadSessionResponse", "session/resume": "ResumeSessionResponse", "session/list": "ListSessionsResponse", "session/delete": "DeleteSessionResponse",
	"session/close": "CloseSessionResponse", "session/set_mode": "SetSessionModeResponse", "session/set_config_option": "SetSessionConfigOptionResponse", "session/prompt": "PromptResponse"}

func (e *editor) send(o map[string]any) {
	e.t.Helper()
	data, err := json.Marshal(o)
	if err != nil {
		e.t.Fatal(err)
	}
	if _, err := e.in.Write(append(data, '\n')); err != nil {
		e.t.Fatal(err)
	}
}

// begin sends a request and returns its number.
func (e *editor) begin(method string, params any) int {
	e.t.Helper()
	e.last++
	e.send(map[string]any{"do": "request", "n": e.last, "method": method, "params": params})
	return e.last
}

// wait waits for the answer to a request.
func (e *editor) wait(n int) editorLine {
	e.t.Helper()
	for {
		if l, ok := e.results[n]; ok {
			return l
		}
		if !e.next() {
			e.t.Fatalf("the client ended before it answered request %d", n)
		}
	}
}

// request sends a request that must succeed.
func (e *editor) request(method string, params any, result any) {
	e.t.Helper()
	l := e.wait(e.begin(method, params))
	if l.Error != nil {
		e.t.Fatalf("%s: %+v %s", method, *l.Error, l.Error.Data)
	}
	if result != nil {
		if err := json.Unmarshal(l.Result, result); err != nil {
			e.t.Fatal(err)
		}
	}
}

// fails sends a request that must fail with a code.
func (e *editor) fails(code int, method string, params any) string {
	e.t.Helper()
	l := e.wait(e.begin(method, params))
	if l.Error == nil || l.Error.Code != code {
		e.t.Errorf("%s %v: %s %+v, want error %d", method, params, l.Result, l.Error, code)
		return ""
	}
	return l.Error.Message
}

// initialize begins with the capabilities of an editor such as Zed.
func (e *editor) initialize() {
	e.t.Helper()
	e.request("initialize", map[string]any{"protocolVersion": 1, "clientCapabilities": map[string]any{"elicitation": map[string]any{"form": map[string]any{}},
		"session": map[string]any{"notices": map[string]any{}, "compaction": map[string]any{}}, "auth": map[string]any{"terminal": true}, "_meta": map[string]any{"terminal_output": true}}}, nil)
}

type openedSession struct {
	ID    string `json:"sessionId"`
	Modes struct {
		Current string `json:"currentModeId"`
	} `json:"modes"`
	Options []struct {
		ID      string `json:"id"`
		Current string `json:"currentValue"`
	} `json:"configOptions"`
}

// open begins a session.
func (e *editor) open() string {
	e.t.Helper()
	var o openedSession
	e.request("session/new", map[string]any{"cwd": e.dir, "mcpServers": []any{}}, &o)
	return o.ID
}

func textPrompt(session, text string) map[string]any {
	return map[string]any{"sessionId": session, "prompt": []any{map[string]any{"type": "text", "text": text}}}
}

// prompt runs a prompt that asks nothing, and checks its stop reason.
func (e *editor) prompt(session, text, stop string) {
	e.t.Helper()
	e.stops(e.begin("session/prompt", textPrompt(session, text)), stop)
}

func (e *editor) stops(n int, reason string) {
	e.t.Helper()
	l := e.wait(n)
	var got struct {
		Stop string `json:"stopReason"`
	}
	if l.Error != nil || json.Unmarshal(l.Result, &got) != nil || got.Stop != reason {
		e.t.Fatalf("the prompt ended with %s %+v, want %s", l.Result, l.Error, reason)
	}
}

// question waits for a request of the program.
func (e *editor) question(method string) editorLine {
	e.t.Helper()
	for len(e.asked) == 0 {
		if !e.next() {
			e.t.Fatal("the client ended before a question")
		}
	}
	q := e.asked[0]
	e.asked = e.asked[1:]
	if q.Method != method {
		e.t.Fatalf("the program asks %s, want %s", q.Method, method)
	}
	return q
}

func (e *editor) answer(q editorLine, result any) {
	e.t.Helper()
	e.send(map[string]any{"do": "answer", "ask": q.Ask, "result": result})
}

// chooses answers a permission question.
func (e *editor) chooses(q editorLine, option string) {
	e.t.Helper()
	e.answer(q, map[string]any{"outcome": map[string]any{"outcome": "selected", "optionId": option}})
}

// leaves closes stdin and returns the exit code of the program.
func (e *editor) leaves() any {
	e.t.Helper()
	e.in.Close()
	return e.wait(-1).Exit
}

// killProgram ends the program, which would outlive its client, and waits until it writes no
// more files.
func (e *editor) killProgram() {
	if e.pid == 0 || syscall.Kill(e.pid, syscall.SIGKILL) != nil {
		return
	}
	for range 500 {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", e.pid))
		if err != nil || strings.Contains(string(stat), ") Z ") {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// has waits for an update and returns it: its members are like those of want. A text has to be
// contained. The client may show an update after the answer that followed it.
func (e *editor) has(want map[string]any) map[string]any {
	e.t.Helper()
	for {
		for _, u := range e.updates {
			if like(u, want) {
				return u
			}
		}
		if !e.next() {
			e.t.Fatalf("the client ended before an update like %v", want)
		}
	}
}

// reads waits until the chunks of a kind form a text.
func (e *editor) reads(kind, want string) {
	e.t.Helper()
	for e.message(kind) != want {
		if got := e.message(kind); !strings.HasPrefix(want, got) || !e.next() {
			e.t.Fatalf("%s is %q, want %q", kind, got, want)
		}
	}
}

func like(got, want any) bool {
	switch want := want.(type) {
	case map[string]any:
		m, ok := got.(map[string]any)
		for k, w := range want {
			ok = ok && like(m[k], w)
		}
		return ok
	case []any:
		l, ok := got.([]any)
		if !ok || len(l) != len(want) {
			return false
		}
		for i := range want {
			if !like(l[i], want[i]) {
				return false
			}
		}
		return true
	case string:
		s, ok := got.(string)
		return ok && strings.Contains(s, want)
	}
	return fmt.Sprint(got) == fmt.Sprint(want)
}

// message joins the chunks of a kind.
func (e *editor) message(kind string) string {
	var b strings.Builder
	for _, u := range e.updates {
		if u["sessionUpdate"] == kind {
			if c, ok := u["content"].(map[string]any); ok && c["text"] != nil {
				b.WriteString(c["text"].(string))
			}
		}
	}
	return b.String()
}

// An acpSchema is the official schema.
type acpSchema struct {
	defs  map[string]*jsonschema.Schema
	ready map[string]*jsonschema.Resolved
}

func readACPSchema(t *testing.T) *acpSchema {
	t.Helper()
	data, err := os.ReadFile(installed.ACPModule(t, "@agentclientprotocol/sdk/schema/v1/schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	var s jsonschema.Schema
	if err := json.Unmarshal(data, &s); err != nil {
		t.Fatal(err)
	}
	return &acpSchema{s.Defs, map[string]*jsonschema.Resolved{}}
}

// check validates a value against a definition.
func (s *acpSchema) check(t *testing.T, name string, value json.RawMessage) {
	t.Helper()
	if name == "" {
		return
	}
	r := s.ready[name]
	if r == nil {
		if s.defs[name] == nil {
			t.Fatalf("the schema has no %s", name)
		}
		var err error
		if r, err = (&jsonschema.Schema{Ref: "#/$defs/" + name, Defs: s.defs}).Resolve(nil); err != nil {
			t.Fatal(err)
		}
		s.ready[name] = r
	}
	var v any
	if err := json.Unmarshal(value, &v); err != nil {
		t.Fatal(err)
	}
	if err := r.Validate(v); err != nil {
		t.Errorf("%s does not fit %s: %v", value, name, err)
	}
}

func bash(command string) llmtest.Step {
	return llmtest.Call(llmtest.Use("", "Bash", map[string]string{"command": command, "description": "a test"}))
}

// TestEditorTurn has a turn with text, a command that is asked about, and an edit with a diff.
func TestEditorTurn(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.txt"), []byte("one\ntwo\nthree\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "a.txt")
	e := newEditor(t, t.TempDir(), dir, []llmtest.Step{
		{Text: "Let me see.", Thinking: "hm", Calls: llmtest.Call(llmtest.Use("", "Read", map[string]any{"file_path": file, "offset": 1, "limit": 2})).Calls},
		bash("touch made && echo '# done'"),
		llmtest.Call(llmtest.Use("", "Edit", map[string]string{"file_path": file, "old_string": "two", "new_string": "2"})),
		bash("touch again"),
		llmtest.Say("All done."),
	})
	e.initialize()
	id := e.open()
	e.has(map[string]any{"sessionUpdate": "available_commands_update"})
	n := e.begin("session/prompt", textPrompt(id, "Do it"))

	q := e.question("session/request_permission")
	if !like(decoded(t, q.Params), map[string]any{"toolCall": map[string]any{"title": "touch made && echo '# done'", "kind": "execute", "rawInput": map[string]any{"command": "touch made"}},
		"options": []any{map[string]any{"kind": "allow_once"}, map[string]any{"kind": "allow_always", "name": "Always allow Bash(touch"}, map[string]any{"kind": "reject_once"}}}) {
		t.Errorf("the question is %s", q.Params)
	}
	e.chooses(q, "allow_always")
	q = e.question("session/request_permission")
	if !like(decoded(t, q.Params), map[string]any{"toolCall": map[string]any{"title": "Edit a.txt", "kind": "edit", "content": []any{map[string]any{"type": "diff", "path": file, "newText": "one\n2\n"}}}}) {
		t.Errorf("the question is %s", q.Params)
	}
	e.chooses(q, "allow_once")
	e.stops(n, "end_turn") // the second touch is covered by the rule
	e.reads("agent_message_chunk", "Let me see.All done.")
	e.reads("agent_thought_chunk", "hm")
	read := e.has(map[string]any{"sessionUpdate": "tool_call_update", "title": "Read a.txt (1–2)", "kind": "read", "locations": []any{map[string]any{"path": file, "line": 1}}})
	e.has(map[string]any{"toolCallId": read["toolCallId"], "status": "completed", "content": []any{map[string]any{"type": "content", "content": map[string]any{"text": "```"}}}})
	command := e.has(map[string]any{"title": "touch made", "content": []any{map[string]any{"type": "terminal"}}, "_meta": map[string]any{"terminal_info": map[string]any{"cwd": dir}}})
	e.has(map[string]any{"toolCallId": command["toolCallId"], "status": "completed", "_meta": map[string]any{"terminal_output": map[string]any{"data": "# done"}, "terminal_exit": map[string]any{"exit_code": 0}}})
	e.has(map[string]any{"sessionUpdate": "tool_call_update", "status": "completed", "content": []any{map[string]any{"type": "diff", "oldText": "one\ntwo\n", "newText": "one\n2\n"}}})
	e.has(map[string]any{"sessionUpdate": "usage_update", "cost": map[string]any{"currency": "USD"}})
	e.has(map[string]any{"sessionUpdate": "session_info_update", "title": "Do it"})
	if code := e.leaves(); code != 0.0 {
		t.Error("exit code", code)
	}
}

func decoded(t *testing.T, raw json.RawMessage) (v any) {
	t.Helper()
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// TestEditorContinues lists, loads, resumes, forks, closes and deletes a session, which began in an
// editor, continues in the terminal and comes back.
func TestEditorContinues(t *testing.T) {
	t.Parallel()
	home, dir := t.TempDir(), t.TempDir()
	steps := []llmtest.Step{llmtest.Say("In the editor."), llmtest.Say("In the terminal."), bash("echo hello"), llmtest.Say("Back again."), llmtest.Say("Of the fork.")}
	server := llmtest.NewServer(t, steps...)
	e := editorAt(t, server, home, dir)
	e.initialize()
	id := e.open()
	e.prompt(id, "First", "end_turn")
	if code := e.leaves(); code != 0.0 {
		t.Error("exit code", code)
	}
	program, err := exec.LookPath("openagent")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "-p", "--resume", id, "Second")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "OPENAGENT_HOME="+home, "ANTHROPIC_API_KEY=k", "ANTHROPIC_BASE_URL="+server.URL, "GORACE="+quickEnd)
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "In the terminal.") {
		t.Fatalf("%v: %s", err, out)
	}

	e = editorAt(t, server, home, dir)
	e.initialize()
	var list struct {
		Sessions []struct {
			ID    string `json:"sessionId"`
			Cwd   string `json:"cwd"`
			Title string `json:"title"`
		} `json:"sessions"`
	}
	for _, params := range []map[string]any{{}, {"cwd": dir}} {
		e.request("session/list", params, &list)
		if len(list.Sessions) != 1 || list.Sessions[0].ID != id || list.Sessions[0].Cwd != dir || list.Sessions[0].Title != "First" {
			t.Errorf("%v: the list is %+v", params, list)
		}
	}
	place := map[string]any{"sessionId": id, "cwd": dir, "mcpServers": []any{}}
	e.request("session/load", place, nil)
	e.reads("user_message_chunk", "FirstSecond")
	e.reads("agent_message_chunk", "In the editor.In the terminal.")
	e.updates = nil
	e.prompt(id, "Third", "end_turn")
	e.reads("agent_message_chunk", "Back again.")

	// A fork, and resuming without the past.
	var fork openedSession
	e.request("session/fork", place, &fork)
	e.prompt(fork.ID, "Fourth", "end_turn")
	e.request("session/close", map[string]any{"sessionId": id}, nil)
	e.fails(-32002, "session/prompt", textPrompt(id, "nobody"))
	e.updates = nil
	e.request("session/resume", place, nil)
	if got := e.message("agent_message_chunk"); got != "" {
		t.Errorf("resuming shows %q", got)
	}
	e.request("session/close", map[string]any{"sessionId": id}, nil)
	e.request("session/close", map[string]any{"sessionId": id}, nil)
	e.request("session/delete", map[string]any{"sessionId": id}, nil)
	e.request("session/delete", map[string]any{"sessionId": id}, nil)
	e.fails(-32002, "session/load", place)
	e.fails(-32602, "session/new", map[string]any{"cwd": "relative", "mcpServers": []any{}})
	e.fails(-32002, "session/load", map[string]any{"sessionId": "../x", "cwd": dir, "mcpServers": []any{}})
	e.request("session/list", map[string]any{"cwd": dir}, &list)
	if len(list.Sessions) != 1 || list.Sessions[0].ID != fork.ID {
		t.Errorf("the list is %+v", list)
	}
	if code := e.leaves(); code != 0.0 {
		t.Error("exit code", code)
	}
}

// TestEditorCancels cancels prompts: never with an error.
func TestEditorCancels(t *testing.T) {
	t.Parallel()
	home, dir := t.TempDir(), t.TempDir()
	var steps []llmtest.Step
	for range 8 {
		steps = append(steps, bash("sleep 1000 # of the test"))
	}
	e := newEditor(t, home, dir, steps, "--allowed-tools", "Bash(sleep *)")
	e.initialize()
	id := e.open()

	// While a command runs. A prompt that waits ends, too.
	n := e.begin("session/prompt", textPrompt(id, "run"))
	e.has(map[string]any{"status": "in_progress"})
	second := e.begin("session/prompt", textPrompt(id, "wait"))
	e.send(map[string]any{"do": "notify", "method": "session/cancel", "params": map[string]any{"sessionId": id}})
	e.stops(n, "cancelled")
	e.stops(second, "cancelled")
	e.has(map[string]any{"sessionUpdate": "tool_call_update", "status": "failed"})

	// Before it has begun.
	n = e.begin("session/prompt", textPrompt(id, "soon"))
	e.send(map[string]any{"do": "notify", "method": "session/cancel", "params": map[string]any{"sessionId": id}})
	e.stops(n, "cancelled")

	// By its request.
	e.updates = nil
	n = e.begin("session/prompt", textPrompt(id, "run"))
	e.has(map[string]any{"status": "in_progress"})
	e.send(map[string]any{"do": "abort", "n": n})
	e.stops(n, "cancelled")

	// By closing, while the session is loaded again.
	e.updates = nil
	n = e.begin("session/prompt", textPrompt(id, "run"))
	e.has(map[string]any{"status": "in_progress"})
	closing := e.begin("session/close", map[string]any{"sessionId": id})
	e.request("session/load", map[string]any{"sessionId": id, "cwd": dir, "mcpServers": []any{}}, nil)
	e.stops(n, "cancelled")
	e.wait(closing)

	// By the end of the input: the command is gone, and the session holds.
	e.updates = nil
	e.begin("session/prompt", textPrompt(id, "run"))
	e.has(map[string]any{"status": "in_progress"})
	if code := e.leaves(); code != 0.0 {
		t.Error("exit code", code)
	}
	if left := commandIn(t, dir); left != "" {
		t.Errorf("a command still runs: %s", left)
	}
	e = newEditor(t, home, dir, []llmtest.Step{llmtest.Say("Here.")})
	e.initialize()
	e.request("session/load", map[string]any{"sessionId": id, "cwd": dir, "mcpServers": []any{}}, nil)
	e.prompt(id, "again", "end_turn")
}

// TestEditorRestarts loads a session while another program still has it.
func TestEditorRestarts(t *testing.T) {
	t.Parallel()
	home, dir := t.TempDir(), t.TempDir()
	old := newEditor(t, home, dir, []llmtest.Step{llmtest.Say("Here.")})
	old.initialize()
	id := old.open()
	old.prompt(id, "begin", "end_turn")
	e := newEditor(t, home, dir, []llmtest.Step{llmtest.Say("There.")})
	e.initialize()
	n := e.begin("session/load", map[string]any{"sessionId": id, "cwd": dir, "mcpServers": []any{}})
	e.request("session/list", map[string]any{"cwd": dir}, nil) // it is being loaded now
	old.leaves()
	if l := e.wait(n); l.Error != nil {
		t.Fatalf("loading: %+v", *l.Error)
	}
	e.prompt(id, "go on", "end_turn")
}

// commandIn returns a sleep that runs in a folder, or "".
func commandIn(t *testing.T, dir string) string {
	t.Helper()
	t.Helper()
	processes, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range processes {
		data, _ := os.ReadFile(filepath.Join(p, "cmdline"))
		cwd, _ := os.Readlink(filepath.Join(p, "cwd"))
		if cwd == dir && strings.Contains(strings.ReplaceAll(string(data), "\x00", " "), "sleep 1000") {
			return p + ": " + string(data)
		}
	}
	return ""
}

// TestEditorKilled kills the program in the middle of turns and loads the session again.
func TestEditorKilled(t *testing.T) {
	t.Parallel()
	home, dir := t.TempDir(), t.TempDir()
	e := newEditor(t, home, dir, []llmtest.Step{bash("echo first > first"), bash("touch second")})
	e.initialize()
	id := e.open()
	e.begin("session/prompt", textPrompt(id, "begin"))
	e.chooses(e.question("session/request_permission"), "allow_once")
	e.question("session/request_permission")
	if err := syscall.Kill(e.pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	e.leaves()
	e = newEditor(t, home, dir, []llmtest.Step{llmtest.Say("I go on.")})
	e.initialize()
	e.request("session/load", map[string]any{"sessionId": id, "cwd": dir, "mcpServers": []any{}}, nil)
	e.has(map[string]any{"title": "echo first > first"})
	e.has(map[string]any{"sessionUpdate": "tool_call_update", "status": "completed"})
	e.has(map[string]any{"sessionUpdate": "tool_call_update", "status": "failed"}) // the one that was asked about
	e.prompt(id, "go on", "end_turn")
	if _, err := os.Stat(filepath.Join(dir, "second")); err == nil {
		t.Error("a call ran that nobody allowed")
	}
}

// TestEditorChoices changes mode, model and effort, and goes through plan mode.
func TestEditorChoices(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	e := newEditor(t, t.TempDir(), dir, []llmtest.Step{
		llmtest.Call(llmtest.Use("", "ExitPlanMode", map[string]string{"plan": "1. Write the file"})),
		writeStep(filepath.Join(dir, "n.txt")),
		llmtest.Say("Done."),
	}, "--tools", "all")
	e.initialize()
	var o openedSession
	e.request("session/new", map[string]any{"cwd": dir, "mcpServers": []any{}}, &o)
	if o.Modes.Current != "default" || len(o.Options) != 3 {
		t.Errorf("opened: %+v", o)
	}
	set := func(option, value string) {
		t.Helper()
		var now openedSession
		e.request("session/set_config_option", map[string]any{"sessionId": o.ID, "configId": option, "value": value}, &now)
		if !slices.ContainsFunc(now.Options, func(c struct {
			ID      string `json:"id"`
			Current string `json:"currentValue"`
		}) bool {
			return c.ID == option && c.Current == value
		}) {
			t.Errorf("%s is not %s: %+v", option, value, now)
		}
	}
	set("model", "claude-opus-4-6")
	set("effort", "high")
	set("mode", "acceptEdits")
	e.has(map[string]any{"sessionUpdate": "current_mode_update", "currentModeId": "acceptEdits"})
	e.fails(-32602, "session/set_config_option", map[string]any{"sessionId": o.ID, "configId": "mode", "value": "all"})
	e.fails(-32602, "session/set_config_option", map[string]any{"sessionId": o.ID, "configId": "colour", "value": "red"})
	e.fails(-32602, "session/set_mode", map[string]any{"sessionId": o.ID, "modeId": "yolo"})
	e.fails(-32601, "session/dance", map[string]any{"sessionId": o.ID})
	e.updates = nil
	e.request("session/set_mode", map[string]any{"sessionId": o.ID, "modeId": "plan"}, nil)
	e.has(map[string]any{"sessionUpdate": "config_option_update"})
	n := e.begin("session/prompt", textPrompt(o.ID, "plan it"))
	q := e.question("session/request_permission")
	if !like(decoded(t, q.Params), map[string]any{"toolCall": map[string]any{"kind": "switch_mode", "content": []any{map[string]any{"content": map[string]any{"text": "1. Write the file"}}}},
		"options": []any{map[string]any{"optionId": "allow_edits"}, map[string]any{"optionId": "allow_once"}, map[string]any{"optionId": "reject_once"}}}) {
		t.Errorf("the question is %s", q.Params)
	}
	e.chooses(q, "allow_edits")
	e.stops(n, "end_turn") // the write is not asked about
	e.has(map[string]any{"sessionUpdate": "current_mode_update", "currentModeId": "acceptEdits"})
	if _, err := os.Stat(filepath.Join(dir, "n.txt")); err != nil {
		t.Error(err)
	}
}

// TestEditorContent sends an image, a link and a file, calls a slash command, and follows a plan.
func TestEditorContent(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	server := llmtest.NewServer(t,
		llmtest.Call(llmtest.Use("", "TodoWrite", map[string]any{"todos": []any{map[string]any{"content": "Look", "status": "in_progress", "activeForm": "Looking"}, map[string]any{"content": "Fix", "status": "pending", "activeForm": "Fixing"}}})),
		llmtest.Say("I see."), llmtest.Say("Reviewed."))
	e := editorAt(t, server, t.TempDir(), dir, "--tools", "all")
	e.initialize()
	id := e.open()
	const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
	n := e.begin("session/prompt", map[string]any{"sessionId": id, "prompt": []any{
		map[string]any{"type": "text", "text": "Look at "},
		map[string]any{"type": "resource_link", "name": "b.go", "uri": "file:///src/b.go"},
		map[string]any{"type": "image", "mimeType": "image/png", "data": pixel},
		map[string]any{"type": "resource", "resource": map[string]any{"uri": "file:///src/c.go", "mimeType": "text/x-go", "text": "package c // EMBEDDED"}},
	}})
	e.stops(n, "end_turn")
	asked := string(server.Requests()[0].Body)
	for _, want := range []string{"Look at /src/b.go", `"type":"image"`, "EMBEDDED", "/src/c.go"} {
		if !strings.Contains(asked, want) {
			t.Errorf("the model is not sent %q", want)
		}
	}
	e.has(map[string]any{"sessionUpdate": "plan", "entries": []any{map[string]any{"content": "Look", "status": "in_progress", "priority": "medium"}, map[string]any{"content": "Fix", "status": "pending"}}})
	e.prompt(id, "/review HEAD", "end_turn")
	e.fails(-32602, "session/prompt", map[string]any{"sessionId": id, "prompt": []any{}})
	e.fails(-32602, "session/prompt", map[string]any{"sessionId": id, "prompt": []any{map[string]any{"type": "audio", "mimeType": "audio/wav", "data": ""}}})

	e.request("session/close", map[string]any{"sessionId": id}, nil)
	e.updates = nil
	e.request("session/load", map[string]any{"sessionId": id, "cwd": dir, "mcpServers": []any{}}, nil)
	e.has(map[string]any{"sessionUpdate": "user_message_chunk", "content": map[string]any{"type": "image"}})
	e.has(map[string]any{"sessionUpdate": "user_message_chunk", "content": map[string]any{"type": "text", "text": "/review HEAD"}})
	e.has(map[string]any{"sessionUpdate": "plan"})
}

// TestEditorWatches shows the output of a command while it runs, and the tasks as a plan.
func TestEditorWatches(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	e := newEditor(t, t.TempDir(), dir, []llmtest.Step{
		llmtest.Call(llmtest.Use("", "TaskCreate", map[string]string{"subject": "Look", "description": "at it"})),
		llmtest.Call(llmtest.Use("", "TaskUpdate", map[string]string{"id": "task_1", "status": "in_progress"})),
		bash("while sleep 0.1; do echo tick; done & read line < pipe; kill %1; echo $line; exit 3"), llmtest.Say("Done.")}, "--tools", "all", "--permission-mode", "bypassPermissions", "--allow-dangerously-skip-permissions")
	e.initialize()
	id := e.open()
	n := e.begin("session/prompt", textPrompt(id, "go"))
	e.has(map[string]any{"sessionUpdate": "plan", "entries": []any{map[string]any{"content": "Look", "status": "in_progress", "priority": "medium"}}})
	e.has(map[string]any{"status": "in_progress", "_meta": map[string]any{"terminal_output": map[string]any{"data": "tick"}}}) // it still runs
	if err := os.WriteFile(pipe, []byte("the end\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	e.stops(n, "end_turn")
	last := e.has(map[string]any{"_meta": map[string]any{"terminal_exit": map[string]any{"exit_code": 3}}})
	var shown strings.Builder
	for _, u := range e.updates {
		if m, ok := u["_meta"].(map[string]any); ok && u["toolCallId"] == last["toolCallId"] {
			if out, ok := m["terminal_output"].(map[string]any); ok {
				shown.WriteString(out["data"].(string))
			}
		}
	}
	if text := shown.String(); strings.Count(text, "the end") != 1 || !strings.HasPrefix(text, "tick\ntick\n") || strings.Contains(strings.ReplaceAll(text, "tick\n", ""), "tick") {
		t.Errorf("the terminal shows %q", text)
	}
}

// TestEditorQuestions has the agent ask the user with a form, and in its answer where the editor has
// no forms. The second editor has no optional capability at all.
func TestEditorQuestions(t *testing.T) {
	t.Parallel()
	ask := llmtest.Call(llmtest.Use("", "AskUser", map[string]any{"questions": []any{
		map[string]any{"question": "Which colour?", "header": "Colour", "options": []any{map[string]any{"label": "Red", "description": "warm"}, map[string]any{"label": "Blue"}}},
		map[string]any{"question": "Which sizes?", "multiple": true, "options": []any{map[string]any{"label": "S"}, map[string]any{"label": "L"}}},
		map[string]any{"question": "What name?"}}}))
	server := llmtest.NewServer(t, ask, llmtest.Say("Thanks."))
	e := editorAt(t, server, t.TempDir(), t.TempDir())
	e.initialize()
	id := e.open()
	n := e.begin("session/prompt", textPrompt(id, "ask me"))
	q := e.question("elicitation/create")
	if !like(decoded(t, q.Params), map[string]any{"mode": "form", "message": "Which colour?", "requestedSchema": map[string]any{"properties": map[string]any{
		"question_1": map[string]any{"type": "string", "title": "Colour", "oneOf": []any{map[string]any{"const": "Red", "description": "warm"}, map[string]any{"const": "Blue"}}},
		"question_2": map[string]any{"type": "array"}, "question_3": map[string]any{"type": "string"}}}}) {
		t.Errorf("the form is %s", q.Params)
	}
	e.answer(q, map[string]any{"action": "accept", "content": map[string]any{"question_1": "Blue", "question_2": []any{"S", "L"}, "question_2_own": "XL", "question_3": "Ada"}})
	e.stops(n, "end_turn")
	if asked := string(server.Requests()[1].Body); !strings.Contains(asked, "Blue") || !strings.Contains(asked, "XL") || !strings.Contains(asked, "Ada") {
		t.Errorf("the model is sent %s", asked)
	}

	server = llmtest.NewServer(t, ask, bash("echo '# title'"), llmtest.Say("Which colour do you like?"))
	e = editorAt(t, server, t.TempDir(), t.TempDir(), "--allowed-tools", "Bash(echo *)")
	e.request("initialize", map[string]any{"protocolVersion": 99}, nil)
	id = e.open()
	e.prompt(id, "ask me", "end_turn")
	if asked := string(server.Requests()[1].Body); !strings.Contains(asked, "write them into your answer") {
		t.Errorf("the model is sent %s", asked)
	}
	e.has(map[string]any{"sessionUpdate": "tool_call_update", "status": "completed", "content": []any{map[string]any{"content": map[string]any{"text": "```\n# title\n```"}}}})
	e.reads("agent_message_chunk", "Which colour do you like?")
}

// TestEditorSubagent shows the steps of a sub-agent in its call, and its question by its name.
func TestEditorSubagent(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	e := newEditor(t, t.TempDir(), dir, []llmtest.Step{
		llmtest.Call(llmtest.Use("", "Agent", map[string]any{"subagent_type": "general-purpose", "description": "make it", "prompt": "Make the file."})),
		bash("touch made"), llmtest.Say("Made."), llmtest.Say("It is made."),
	})
	e.initialize()
	id := e.open()
	n := e.begin("session/prompt", textPrompt(id, "delegate"))
	q := e.question("session/request_permission")
	if !like(decoded(t, q.Params), map[string]any{"toolCall": map[string]any{"title": "general-purpose: touch made"}}) {
		t.Errorf("the question is %s", q.Params)
	}
	var asked struct {
		Call struct {
			ID string `json:"toolCallId"`
		} `json:"toolCall"`
	}
	if err := json.Unmarshal(q.Params, &asked); err != nil {
		t.Fatal(err)
	}
	e.has(map[string]any{"sessionUpdate": "tool_call", "toolCallId": asked.Call.ID})
	e.chooses(q, "allow_once")
	e.stops(n, "end_turn")
	call := e.has(map[string]any{"title": "general-purpose: make it", "kind": "think"})
	e.has(map[string]any{"toolCallId": call["toolCallId"], "status": "in_progress", "content": []any{map[string]any{"content": map[string]any{"text": "- general-purpose: touch made"}}}})
	e.has(map[string]any{"toolCallId": call["toolCallId"], "status": "completed"})
	e.has(map[string]any{"toolCallId": asked.Call.ID, "status": "completed"})
	e.reads("agent_message_chunk", "It is made.")
}

// TestEditorServers has the editor hand over an MCP server, and one that fails, in a project that the
// user does not trust.
func TestEditorServers(t *testing.T) {
	t.Parallel()
	program, err := exec.LookPath("openagent")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.txt"), []byte("CONTENT"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Mkdir(filepath.Join(dir, ".openagent"), 0o700), os.WriteFile(filepath.Join(dir, ".openagent", "settings.json"), []byte(`{"apiKeyHelper":"touch run"}`), 0o600)); err != nil {
		t.Fatal(err)
	}
	e := newEditor(t, t.TempDir(), dir, []llmtest.Step{llmtest.Call(llmtest.Use("", "mcp__files__Read", map[string]any{"file_path": filepath.Join(dir, "a.txt")})), llmtest.Say("Read.")}, "--allowed-tools", "mcp__files")
	e.initialize()
	var o openedSession
	e.request("session/new", map[string]any{"cwd": dir, "mcpServers": []any{
		map[string]any{"name": "files", "command": program, "args": []string{"mcp", "serve", "--tools", "Read"}, "env": []any{map[string]any{"name": "OPENAGENT_HOME", "value": t.TempDir()}, map[string]any{"name": "ANTHROPIC_API_KEY", "value": "k"}}},
		map[string]any{"name": "broken", "command": "/does/not/exist", "args": []string{}, "env": []any{}},
	}}, &o)
	e.has(map[string]any{"sessionUpdate": "notice", "severity": "warning", "title": "settings.json is not trusted"})
	e.prompt(o.ID, "read", "end_turn")
	e.has(map[string]any{"sessionUpdate": "tool_call_update", "status": "completed", "content": []any{map[string]any{"content": map[string]any{"text": "CONTENT"}}}})
	e.has(map[string]any{"sessionUpdate": "notice", "title": "the MCP server broken"})
	e.fails(-32602, "session/new", map[string]any{"cwd": dir, "mcpServers": []any{map[string]any{"type": "carrier-pigeon", "name": "x"}}})
	e.fails(-32602, "session/new", map[string]any{"cwd": filepath.Join(dir, "none"), "mcpServers": []any{}})
}

// TestEditorServersByHTTP has the editor hand over servers that run elsewhere, with headers.
func TestEditorServersByHTTP(t *testing.T) {
	t.Parallel()
	type place struct {
		City string `json:"city"`
	}
	weather := tool.Func(tool.Spec{Name: "weather", Description: "Tells the weather.", ReadOnly: true}, func(_ context.Context, in place) (string, error) { return "rain in " + in.City, nil })
	served, err := server.New(server.Options{Name: "sky", Tools: []tool.Tool{weather}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { served.Close() })
	old := sdk.NewServer(&sdk.Implementation{Name: "old", Version: "1"}, nil)
	sdk.AddTool(old, &sdk.Tool{Name: "tide", Description: "Tells the tide.", Annotations: &sdk.ToolAnnotations{ReadOnlyHint: true}}, func(_ context.Context, _ *sdk.CallToolRequest, in place) (*sdk.CallToolResult, any, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "low tide in " + in.City}}}, nil, nil
	})
	known := func(h http.Handler) string {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") != "Bearer sesame" {
				http.Error(w, "who are you?", http.StatusForbidden)
				return
			}
			h.ServeHTTP(w, r)
		}))
		t.Cleanup(s.Close)
		t.Cleanup(s.CloseClientConnections)
		return s.URL
	}
	key := []any{map[string]any{"name": "Authorization", "value": "Bearer sesame"}}
	sky, sea := known(served), known(sdk.NewSSEHandler(func(*http.Request) *sdk.Server { return old }, nil))
	model := llmtest.NewServer(t, llmtest.Call(llmtest.Use("", "mcp__sky__weather", map[string]any{"city": "Rome"}), llmtest.Use("", "mcp__sea__tide", map[string]any{"city": "Brest"})), llmtest.Say("Told."))
	e := editorAt(t, model, t.TempDir(), t.TempDir(), "--allowed-tools", "mcp__sky,mcp__sea")
	e.initialize()
	var o openedSession
	e.request("session/new", map[string]any{"cwd": e.dir, "mcpServers": []any{
		map[string]any{"type": "http", "name": "sky", "url": sky, "headers": key},
		map[string]any{"type": "sse", "name": "sea", "url": sea, "headers": key},
		map[string]any{"type": "http", "name": "stranger", "url": sky, "headers": []any{}},
	}}, &o)
	e.prompt(o.ID, "tell", "end_turn")
	e.has(map[string]any{"sessionUpdate": "tool_call_update", "status": "completed", "content": []any{map[string]any{"content": map[string]any{"text": "rain in Rome"}}}})
	e.has(map[string]any{"sessionUpdate": "tool_call_update", "status": "completed", "content": []any{map[string]any{"content": map[string]any{"text": "low tide in Brest"}}}})
	e.has(map[string]any{"sessionUpdate": "notice", "title": "the MCP server stranger"})
	e.request("session/close", map[string]any{"sessionId": o.ID}, nil)
	if code := e.leaves(); code != 0.0 {
		t.Error("exit code", code)
	}
	for _, u := range e.updates {
		if text := fmt.Sprint(u); strings.Contains(text, "sesame") {
			t.Errorf("a header is shown: %s", text)
		}
	}
}

// TestEditorLogin begins without a key.
func TestEditorLogin(t *testing.T) {
	t.Parallel()
	home, dir := t.TempDir(), t.TempDir()
	program, err := exec.LookPath("openagent")
	if err != nil {
		t.Fatal(err)
	}
	e := editorWith(t, "", home, dir, "") // nothing is sent to a model
	var i struct {
		Methods []struct{ ID, Type string } `json:"authMethods"`
	}
	e.request("initialize", map[string]any{"protocolVersion": 1, "clientCapabilities": map[string]any{"auth": map[string]any{"terminal": true}}}, &i)
	if len(i.Methods) != 2 || i.Methods[0].Type != "terminal" || i.Methods[1].Type != "" {
		t.Errorf("the methods are %+v", i.Methods)
	}
	place := map[string]any{"cwd": dir, "mcpServers": []any{}}
	e.fails(-32000, "session/new", place)
	e.fails(-32000, "authenticate", map[string]any{"methodId": "login"})
	store := exec.Command(program, "auth", "login", "--file")
	store.Env = append(os.Environ(), "OPENAGENT_HOME="+home, "ANTHROPIC_API_KEY=")
	store.Stdin = strings.NewReader("sk-stored\n")
	if out, err := store.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	e.request("authenticate", map[string]any{"methodId": "login"}, nil)
	e.request("authenticate", map[string]any{"methodId": "environment"}, nil)
	for _, bad := range []any{map[string]any{"methodId": "other"}, map[string]any{}} {
		if said := e.fails(-32602, "authenticate", bad); !strings.Contains(said, "methodId") {
			t.Errorf("%v: %s", bad, said)
		}
	}
	e.open()
	e.request("logout", map[string]any{}, nil)
	e.fails(-32000, "session/new", place)

	e = newEditor(t, home, dir, []llmtest.Step{{Err: &llm.APIError{Status: 401, Message: "bad key"}}, llmtest.Say("Hello.")})
	e.initialize()
	id := e.open()
	if l := e.wait(e.begin("session/prompt", textPrompt(id, "hi"))); l.Error == nil || l.Error.Code != -32000 || !strings.Contains(l.Error.Message, "bad key") {
		t.Errorf("a refused key: %s %+v", l.Result, l.Error)
	}
	e.prompt(id, "again", "end_turn")
}

// TestEditorCancelsQuestion cancels while a question is open, and by the answer to it. Another session
// in another folder runs meanwhile.
func TestEditorCancelsQuestion(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	server := llmtest.NewServer(t)
	server.Rule = func(r *llmtest.Request, _ int) llmtest.Step {
		if strings.Contains(string(r.Body), "quick one") {
			return llmtest.Say("Quick.")
		}
		return bash("touch made")
	}
	e := editorAt(t, server, t.TempDir(), dir)
	e.initialize()
	id := e.open()
	n := e.begin("session/prompt", textPrompt(id, "ask"))
	e.question("session/request_permission") // nobody answers it
	var other openedSession
	e.request("session/new", map[string]any{"cwd": t.TempDir(), "mcpServers": []any{}}, &other)
	e.prompt(other.ID, "quick one", "end_turn")
	e.send(map[string]any{"do": "notify", "method": "session/cancel", "params": map[string]any{"sessionId": id}})
	e.stops(n, "cancelled")

	n = e.begin("session/prompt", textPrompt(id, "ask again"))
	e.answer(e.question("session/request_permission"), map[string]any{"outcome": map[string]any{"outcome": "cancelled"}})
	e.stops(n, "cancelled")
	if _, err := os.Stat(filepath.Join(dir, "made")); err == nil {
		t.Error("a call ran that nobody allowed")
	}
}
