package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/internal/agentview"
	"github.com/openagent-go/agent/internal/timeline"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/session/view"
	"github.com/openagent-go/agent/tool"
)

// writeTool is a tool that says that it changes something.
func writeTool() tool.Tool {
	return tool.New(tool.Spec{Name: "write", Description: "Writes."}, func(_ context.Context, _ tool.Call, in struct {
		Path string `json:"file_path"`
	}) (*tool.Result, error) {
		details, err := json.Marshal(map[string]string{"diff": "--- " + in.Path + "\n+++ " + in.Path + "\n@@ -1 +1,2 @@\n-a\n+b\n+c\n"})
		return &tool.Result{Content: tool.Text("wrote " + in.Path).Content, Details: details}, err
	})
}

// delegateTool runs an agent.
func delegateTool(helper *agent.Agent) tool.Tool {
	return tool.New(tool.Spec{Name: "delegate", Description: "Delegates.", ReadOnly: true, Timeout: -1}, func(ctx context.Context, call tool.Call, _ struct{}) (*tool.Result, error) {
		p, _ := agent.ParentOf(ctx)
		if _, err := p.Run(ctx, agent.Child{Agent: helper, Call: call.ID, Input: agent.Input{Text: "work"}}); err != nil {
			return nil, err
		}
		return tool.Text("helped"), nil
	})
}

var wrapped = regexp.MustCompile(`(?m)^<article id="[^"]*">|</article>\n`)

// conversation returns the turns of a page.
func conversation(t *testing.T, page string) string {
	t.Helper()
	_, after, found := strings.Cut(page, `<div id="items">`)
	turns, _, ended := strings.Cut(after, "</div>\n<div id=\"live\">")
	if !found || !ended {
		t.Fatalf("the page has no turns: %s", page)
	}
	return wrapped.ReplaceAllString(turns, "")
}

// The export and the page of a session show the same conversation, sub-agents included.
func TestExportIsPage(t *testing.T) {
	helper := &agent.Agent{Name: "helper", Model: llmtest.Script(llmtest.Say("I *helped*"))}
	s := newSite(t, agent.Agent{Permissions: permission.Policy{Mode: permission.Bypass}, Tools: []tool.Tool{writeTool(), delegateTool(helper)}, Model: llmtest.Script(
		llmtest.Call(llmtest.Use("", "write", map[string]string{"file_path": "a.txt"}), llmtest.Use("", "delegate", struct{}{})), llmtest.Say("**Done**\n\n| a | b |\n|---|---|\n| 1 | 2 |\n"), llmtest.Say("again"))})
	s.do("POST", "/v1/sessions", `{"session":"chat","text":"`+"go"+`"}`, 201, nil)
	r := s.open("chat", 0)
	defer r.close()
	r.until(t, isType("run_end"))
	s.do("POST", "/v1/sessions/chat/messages", `{"text":"once more"}`, 202, nil)
	r.until(t, isType("run_end"))
	_, file, _ := s.answer(s.request("GET", "/v1/sessions/chat/export?format=html", ""))
	_, file, _ = strings.Cut(file, "</header>\n")
	file, _, _ = strings.Cut(file, "</main>")
	got, want := strings.TrimSpace(conversation(t, s.page("/s/chat"))), strings.TrimSpace(file)
	if got != want || !strings.Contains(got, "I <em>helped</em>") {
		t.Errorf("the page has\n%s\n\nthe export has\n%s", got, want)
	}
}

// A rule that a page keeps holds for the rest of the session. Only rules that the question suggests
// are kept.
func TestKeepRule(t *testing.T) {
	use := func(path string) llmtest.Step {
		return llmtest.Call(llmtest.Use("", "write", map[string]string{"file_path": path}))
	}
	s := newSite(t, agent.Agent{Tools: []tool.Tool{writeTool()}, Model: llmtest.Script(use("a"), use("b"), llmtest.Say("end"))})
	s.do("POST", "/v1/sessions", `{"session":"chat","text":"go"}`, 201, nil)
	r := s.open("chat", 0)
	defer r.close()
	r.until(t, func(got received) bool { return strings.Contains(got.data, "permission_request") })
	var open questionList
	s.do("GET", "/v1/sessions/chat/pending", "", 200, &open)
	if len(open.Questions) != 1 || len(open.Questions[0].Widths) == 0 {
		t.Fatalf("%+v", open)
	}
	at := "/v1/sessions/chat/calls/" + open.Questions[0].Call + "/decision"
	s.fails("POST", at, `{"behavior":"allow","keep":["Bash"]}`, 400, "bad_request")
	s.fails("POST", at, `{"behavior":"deny","keep":["write"]}`, 400, "bad_request")
	if page := s.page("/s/chat"); !strings.Contains(page, `<option value="write"`) || !strings.Contains(page, "in this session") {
		t.Errorf("the page suggests no rule: %s", page)
	}
	s.post("/s/chat/calls/"+open.Questions[0].Call, url.Values{"behavior": {"always"}, "keep": {"write"}}, 303)
	end := r.until(t, isType("run_end"))
	if !strings.Contains(end[len(end)-1].data, `"completed"`) {
		t.Error("the second call was asked about")
	}
}

// A rule that the host does not permit is not kept, and the call is not allowed with it.
func TestKeepNothingTheHostRefuses(t *testing.T) {
	s := newSite(t, agent.Agent{Tools: []tool.Tool{writeTool()}, AllowRuleGrant: func(permission.Rule) error { return errors.New("the host permits no such rule") },
		Model: llmtest.Script(llmtest.Call(llmtest.Use("", "write", map[string]string{"file_path": "a"})), llmtest.Say("end"))})
	s.do("POST", "/v1/sessions", `{"session":"chat","text":"go"}`, 201, nil)
	r := s.open("chat", 0)
	defer r.close()
	r.until(t, func(got received) bool { return strings.Contains(got.data, "permission_request") })
	var open questionList
	s.do("GET", "/v1/sessions/chat/pending", "", 200, &open)
	at := "/v1/sessions/chat/calls/" + open.Questions[0].Call + "/decision"
	s.fails("POST", at, `{"behavior":"allow","keep":["write"]}`, 403, "rule_not_permitted")
	if s.do("GET", "/v1/sessions/chat/pending", "", 200, &open); len(open.Questions) != 1 {
		t.Errorf("the question was answered: %+v", open)
	}
	s.do("POST", at, `{"behavior":"allow"}`, 200, nil)
	r.until(t, isType("run_end"))
}

// A page shows the newest items, and older ones in pieces that do not overlap.
func TestOlderItems(t *testing.T) {
	s := newSite(t, agent.Agent{Model: llmtest.Script()})
	longSession(t, s.store, 150) // 450 items
	page := s.page("/s/chat")
	if strings.Contains(page, "/shares?session=") {
		t.Error("the page leads to shares, which this server does not have")
	}
	if !strings.Contains(page, "250 earlier items") || strings.Contains(page, ">prompt 82<") || !strings.Contains(page, ">prompt 149<") {
		t.Error("the page does not have the newest 200 items alone")
	}
	all := conversation(t, page)
	for before := 250; before > 0; before -= 200 {
		part := s.page(fmt.Sprintf("/s/chat/part?before=%d", before))
		_, after, _ := strings.Cut(part, `<div class="items">`)
		piece, _, _ := strings.Cut(after, "</div></div>")
		all = wrapped.ReplaceAllString(piece, "") + all
	}
	if whole := conversation(t, s.page("/s/chat?all=1")); all != whole {
		t.Error("the pieces are not the whole conversation")
	}
}

// What beside the conversation comes from the facts: agents, files, money and time.
func TestSide(t *testing.T) {
	helper := &agent.Agent{Name: "helper", Model: llmtest.Script(llmtest.Say("helped"))}
	s := newSite(t, agent.Agent{Permissions: permission.Policy{Mode: permission.Bypass}, Tools: []tool.Tool{writeTool(), delegateTool(helper)}, Model: llmtest.Script(
		llmtest.Call(llmtest.Use("", "write", map[string]string{"file_path": "a<b>.txt"}), llmtest.Use("", "delegate", struct{}{})), llmtest.Say("done"), llmtest.Say("again"))})
	s.do("POST", "/v1/sessions", `{"session":"chat","text":"first"}`, 201, nil)
	r := s.open("chat", 0)
	defer r.close()
	r.until(t, isType("run_end"))
	s.do("POST", "/v1/sessions/chat/messages", `{"text":"second"}`, 202, nil)
	r.until(t, isType("run_end"))
	page := s.page("/s/chat")
	for _, want := range []string{`<span>helper</span>`, `1 · first`, `2 · second`, `a&lt;b&gt;.txt</a>`, `+2</span>`, `−1</span>`, `<rect class="model"`, "Money $"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %s:\n%s", want, page)
		}
	}
	// The page of a running session reads agents fact by fact. In the end it has what one reading has.
	var whole view.State
	var times timeline.State
	if err := agentview.Read(t.Context(), s.store, "chat", &whole); err != nil {
		t.Fatal(err)
	}
	if err := agentview.Fill(t.Context(), s.store, "chat", &whole); err != nil {
		t.Fatal(err)
	}
	if err := agentview.ReadTimeline(t.Context(), s.store, "chat", &times); err != nil {
		t.Fatal(err)
	}
	l := s.server.live(place{"", "chat"})
	defer l.leave()
	if err := l.fold(t.Context(), func(f *folded) {
		a, b := f.state.Agents[0].Data.(*view.Agent).View, whole.Agents[0].Data.(*view.Agent).View
		if len(a.Items) == 0 || len(a.Items) != len(b.Items) {
			t.Errorf("the agent has %d items, want %d", len(a.Items), len(b.Items))
		}
		end := now()
		if got, want := len(f.time.Timeline(end).Lanes), len(times.Timeline(end).Lanes); got != want || got != 2 {
			t.Errorf("%d lanes, want %d", got, want)
		}
	}); err != nil {
		t.Fatal(err)
	}
}
