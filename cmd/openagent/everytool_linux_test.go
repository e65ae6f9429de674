package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/llmtest"
)

// An exercise is a call of a tool and what comes of it.
type exercise struct {
	tool  string
	input string // JSON; ID stands for the id of the scheduled job
	gives string // regular expression for the text of the result
	fails bool
	asks  string // what the person sees, if they are asked
	says  string // and answers
}

var exercises = []exercise{
	{tool: "ToolSearch", input: `{"query":"select:TaskCreate,TaskGet,TaskList,TaskOutput,TaskStop,TaskUpdate,NotebookEdit,CronCreate,CronDelete,CronList,LSP,Config"}`, gives: "(?s)TaskCreate.*Config"},
	{tool: "ToolSearch", input: `{"query":"select:EnterWorktree,ExitWorktree,RemoteTrigger,MultiEdit,CodeSearch,TodoRead,Batch,PauseForHuman"}`, gives: "(?s)EnterWorktree.*PauseForHuman"},
	{tool: "ToolSearch", input: `{"query":"select:SendMessage,TeamCreate,TeamDelete"}`, gives: "(?s)SendMessage.*TeamDelete"},
	{tool: "Write", input: `{"file_path":"n.txt","content":"one\ntwo\nthree\n"}`, gives: "n.txt"},
	{tool: "Read", input: `{"file_path":"n.txt"}`, gives: "2→two"},
	{tool: "Edit", input: `{"file_path":"n.txt","old_string":"two","new_string":"2"}`, gives: "n.txt"},
	{tool: "MultiEdit", input: `{"file_path":"n.txt","edits":[{"old_string":"one","new_string":"1"},{"old_string":"three","new_string":"3"}]}`, gives: "n.txt"},
	{tool: "Glob", input: `{"pattern":"*.txt"}`, gives: "n.txt"},
	{tool: "Grep", input: `{"pattern":"^func","output_mode":"content"}`, gives: "main.go:3:func main"},
	{tool: "Bash", input: `{"command":"echo begun; sleep 1000","run_in_background":true}`, gives: "bash_1"},
	{tool: "BashOutput", input: `{"bash_id":"bash_1"}`, gives: "Status: running"},
	{tool: "KillShell", input: `{"shell_id":"bash_1"}`, gives: "Status: stopped"},
	{tool: "AskUser", input: `{"questions":[{"question":"Which colour?"}]}`, gives: "Red", asks: "Which colour", says: "Red"},
	{tool: "WebFetch", input: `{"url":"http://127.0.0.1:1/"}`, gives: "may not be reached: it is a loopback", fails: true},
	{tool: "WebSearch", input: `{"query":"go"}`, gives: "https://go.dev"},
	{tool: "TaskCreate", input: `{"subject":"Build"}`, gives: "task_1"},
	{tool: "TaskUpdate", input: `{"id":"task_1","status":"in_progress","output":"begun"}`, gives: "in_progress"},
	{tool: "TaskGet", input: `{"id":"task_1"}`, gives: "Build"},
	{tool: "TaskList", input: `{}`, gives: "Build"},
	{tool: "TaskOutput", input: `{"id":"task_1"}`, gives: "begun"},
	{tool: "TaskStop", input: `{"id":"task_1"}`, gives: "Task stopped"},
	{tool: "Agent", input: `{"prompt":"Look.","description":"look","subagent_type":"nobody"}`, gives: `subagent_type "nobody" is unknown.*Explore`, fails: true},
	{tool: "TeamCreate", input: `{"name":"movers","members":["ada"]}`, gives: "movers"},
	{tool: "SendMessage", input: `{"to":"ada","message":"Begin."}`, gives: "ada"},
	{tool: "TeamDelete", input: `{"id":"movers"}`, gives: "movers"},
	{tool: "Read", input: `{"file_path":"n.ipynb"}`, gives: "first"},
	{tool: "NotebookEdit", input: `{"file_path":"n.ipynb","command":"replace","cell_number":0,"source":"second"}`, gives: "cell"},
	{tool: "CronCreate", input: `{"name":"look","schedule":"@every 90m","command":"true"}`, gives: "The schedule runs while this program lives", asks: "explains: ", says: "y"},
	{tool: "CronList", input: `{}`, gives: "look"},
	{tool: "CronDelete", input: `{"id":"ID"}`, gives: "look"},
	{tool: "LSP", input: `{"operation":"documentSymbol","file_path":"main.go"}`, gives: "main"},
	{tool: "Skill", input: `{"query":"commit"}`, gives: "commit"},
	{tool: "CodeSearch", input: `{"query":"main"}`, gives: "main.go"},
	{tool: "Config", input: `{"action":"list"}`, gives: `(?s)model = "claude-sonnet-4-6" \(default\).*no_color = false`},
	{tool: "TodoWrite", input: `{"todos":[{"content":"Look","status":"pending"}]}`, gives: "Look|1"},
	{tool: "TodoRead", input: `{}`, gives: "Look"},
	{tool: "EnterPlanMode", input: `{}`, gives: "Plan mode"},
	{tool: "ExitPlanMode", input: `{"plan":"Go on."}`, gives: "mode is bypassPermissions", asks: "explains: ", says: "y"},
	{tool: "EnterWorktree", input: `{"name":"aside"}`, gives: "aside"},
	{tool: "ExitWorktree", input: `{"action":"remove"}`, gives: "Removed .*worktree-aside"},
	{tool: "RemoteTrigger", input: `{"action":"create","name":"look","prompt":"Look."}`, gives: "look", asks: "explains: ", says: "y"},
	{tool: "Batch", input: `{"tool_calls":[{"tool":"Read","parameters":{"file_path":"n.txt"}},{"tool":"Glob","parameters":{"pattern":"*.go"}}]}`, gives: "(?s)1→1.*main.go"},
	{tool: "PauseForHuman", input: `{"reason":"Look at it."}`, gives: "Continue", asks: "Look at it", says: "1"},
}

var patched = exercise{tool: "ApplyPatch", input: `{"input":"*** Begin Patch\n*** Add File: p.txt\n+p\n*** End Patch"}`, gives: "p.txt"}

var jobID = regexp.MustCompile(`Scheduled "look" as (\S+)\. `)

// step makes the call; the id of a job is in the results before it.
func (e exercise) step() llmtest.Step {
	return llmtest.Step{Reply: func(r *llm.Request) llm.Response {
		input := e.input
		for _, m := range r.Messages {
			for _, b := range m.Content {
				if found, ok := b.(llm.ToolResult); ok {
					if id := jobID.FindStringSubmatch((llm.Message{Content: found.Content}).Text()); id != nil {
						input = strings.ReplaceAll(input, `"ID"`, `"`+id[1]+`"`)
					}
				}
			}
		}
		return llm.Response{Message: llm.Message{Role: llm.Assistant, Content: llm.Blocks{llmtest.Use("", e.tool, json.RawMessage(input))}}, Stop: llm.UseTools}
	}}
}

// check judges what came of the calls, in the requests after the first.
func (e exercise) check(t *testing.T, r *llmtest.Request) {
	t.Helper()
	results := r.Results()
	if len(results) != 1 {
		t.Errorf("%s has %d results", e.tool, len(results))
		return
	}
	got := results[0]
	if got.IsError != e.fails || !regexp.MustCompile(e.gives).MatchString(got.Text) {
		t.Errorf("%s: is an error: %v, %q", e.tool, got.IsError, got.Text)
	}
}

// Every tool of the command is used once, in a conversation of a person who is
// asked what only a person decides. The server refuses what breaks its rules.
func TestEveryTool(t *testing.T) {
	t.Parallel()
	var list, errs bytes.Buffer
	h := &cli.IO{In: strings.NewReader(""), Out: &list, Err: &errs, Getenv: func(name string) string {
		return map[string]string{"OPENAGENT_HOME": t.TempDir(), "SEARXNG_URL": "https://example.com"}[name]
	}}
	if code := execute(h, []string{"tools", "list", "--output-format", "json"}); code != 0 {
		t.Fatalf("tools list: exit code %d: %s", code, &errs)
	}
	var all []struct{ Name string }
	if err := json.Unmarshal(list.Bytes(), &all); err != nil || len(all) == 0 {
		t.Fatalf("tools list: %v\n%s", err, &list)
	}
	used := []string{patched.tool}
	for _, e := range exercises {
		used = append(used, e.tool)
	}
	for _, tl := range all {
		if !slices.Contains(used, tl.Name) {
			t.Errorf("%s is not used", tl.Name)
		}
	}

	dir, home := t.TempDir(), t.TempDir()
	for name, text := range map[string]string{"main.go": "package main\n\nfunc main() {}\n",
		"n.ipynb": `{"cells":[{"cell_type":"code","execution_count":null,"id":"a","metadata":{},"outputs":[],"source":["first"]}],"metadata":{},"nbformat":4,"nbformat_minor":5}`} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{{"init", "-q"}, {"add", "."}, {"-c", "user.name=n", "-c", "user.email=n@example.com", "commit", "-qm", "begin"}} {
		if out, err := exec.Command("git", append([]string{"-C", dir}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v: %s", args, err, out)
		}
	}
	engine := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"results":[{"title":"Go","url":"https://go.dev","content":"A language."}]}`)
	}))
	defer engine.Close()

	var steps []llmtest.Step
	for _, e := range exercises {
		steps = append(steps, e.step())
	}
	server := llmtest.NewServer(t, append(steps, llmtest.Say("all used"))...)
	// Without a language server in the path the text is searched.
	env := []string{"OPENAGENT_HOME=" + home, "SEARXNG_URL=" + engine.URL, "PATH=/usr/bin:/bin"}
	p := sitAt(t, server, dir, env, []string{"--dangerously-skip-permissions", "use them"})
	for _, e := range exercises {
		if e.asks != "" {
			p.sees(regexp.QuoteMeta(e.asks))
			if e.asks != "explains: " {
				p.sees(`\): `)
			}
			p.answers(e.says + "\n")
		}
	}
	p.sees("all used")
	p.sees("> ")
	p.types("/quit\n")
	if code := p.leaves(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	requests := server.Requests()
	if len(requests) != len(exercises)+1 {
		t.Fatalf("%d requests", len(requests))
	}
	for i, e := range exercises {
		e.check(t, requests[i+1])
	}
	for _, kept := range []string{"triggers.json", "cron/jobs.json"} {
		if info, err := os.Stat(filepath.Join(home, kept)); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v", kept, err)
		}
	}

	// Patches are for models that write them, or where nothing else is there.
	server = llmtest.NewServer(t, patched.step(), llmtest.Say("end"))
	p = sitAt(t, server, dir, nil, []string{"-p", "--tools", "ApplyPatch", "--permission-mode", "acceptEdits", "patch"})
	if code := p.leaves(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	patched.check(t, server.Requests()[1])
}
