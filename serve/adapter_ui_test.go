package serve

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/tool"
)

// modelsOf returns a model that is another one in each call: steps, and then a slow one.
func modelsOf(steps ...llmtest.Step) (turnsOf, *llmtest.Model) {
	models, script := make(chan llm.Model, len(steps)+1), llmtest.Script(steps...)
	for range steps {
		models <- script
	}
	models <- slow{}
	return turnsOf{models}, script
}

// The AI SDK's own chat uses the agent: files, calls, questions, edits, errors, and streams that it
// comes back to.
func TestAISDK(t *testing.T) {
	write := llmtest.Call(llmtest.Use("1", "write", struct{}{}))
	m, script := modelsOf(
		llmtest.Call(llmtest.Use("1", "read", map[string]string{"file": "a.txt"}), llmtest.Use("1", "unknown", struct{}{})), llmtest.Say("I see"),
		llmtest.Say("I see better"),
		write, llmtest.Say("written"), write, llmtest.Say("not written"),
		llmtest.Fail(errors.New("out of order")),
	)
	runs := 0
	s := newSite(t, agent.Agent{Model: m, Tools: []tool.Tool{readTool(), countedWrite(&runs)}, Retry: &agent.Retry{Tries: -1}})
	got := s.runNode("aisdk.mjs", "ai/dist/index.js", "@ai-sdk/react/dist/index.js")
	same(t, "first", got["first"], `[["read","output-available","content"],["unknown","output-error","`+unknownTool(t, s)+`"],["text","I see"]]`)
	same(t, "metadata", got["metadata"], `["completed",true]`)
	same(t, "regenerated", got["regenerated"], `[2,["text","I see better"]]`)
	same(t, "asked", got["asked"], `[["write","approval-requested",null]]`)
	same(t, "allowed", got["allowed"], `[4,["write","output-available","written"],["text","written"]]`)
	same(t, "denied", got["denied"], `[["write","output-denied",null],["text","not written"]]`)
	same(t, "failed", got["failed"], `["error","out of order"]`)
	same(t, "resumed", got["resumed"], `[["text","so "]]`)
	same(t, "nothing", got["nothing"], `"ready"`)
	same(t, "stranger", got["stranger"], `["error","this server needs its token: send it as Authorization: Bearer TOKEN, or log in with the address that the server prints"]`)
	if runs != 1 {
		t.Errorf("the tool ran %d times", runs)
	}
	if again := script.Requests()[2].Transcript(); strings.Contains(again, "I see") || strings.Count(again, "look") != 1 {
		t.Errorf("the session did not go back: %s", again)
	}
	if denied := script.Requests()[6].Transcript(); !strings.Contains(denied, "because") {
		t.Errorf("the model does not learn why: %s", denied)
	}
}

// unknownTool returns what the model learned of a tool that there is not.
func unknownTool(t *testing.T, s *site) string {
	t.Helper()
	for e, err := range s.store.Read(t.Context(), "chat", 0) {
		if err != nil {
			t.Fatal(err)
		}
		if d, ok := e.Data.(event.ToolResult); ok && d.Cause == "unknown_tool" {
			return strings.ReplaceAll(d.Result.Text(), `"`, `\"`)
		}
	}
	return ""
}

// The client of the Agent-User Interaction protocol uses the agent, and checks each event.
func TestAGUI(t *testing.T) {
	write := llmtest.Call(llmtest.Use("1", "write", struct{}{}))
	m, script := modelsOf(
		llmtest.Call(llmtest.Use("1", "read", map[string]string{"file": "a.txt"})), llmtest.Say("I see"),
		write, llmtest.Say("written"), write, llmtest.Say("not written"),
		llmtest.Fail(errors.New("out of order")),
	)
	runs := 0
	s := newSite(t, agent.Agent{Model: m, Tools: []tool.Tool{readTool(), countedWrite(&runs)}, Retry: &agent.Retry{Tries: -1}})
	got := s.runNode("agui.mjs", "@ag-ui/client/dist/index.mjs")
	same(t, "first", got["first"], `[["RUN_STARTED","STATE_SNAPSHOT","TOOL_CALL_START","TOOL_CALL_ARGS","TOOL_CALL_END","TOOL_CALL_RESULT","TEXT_MESSAGE_START","TEXT_MESSAGE_CONTENT","TEXT_MESSAGE_END","STATE_SNAPSHOT","MESSAGES_SNAPSHOT","RUN_FINISHED"],"success"]`)
	same(t, "messages", got["messages"], `[["user",null],["assistant",null,"read{\"file\":\"a.txt\"}"],["tool","content"],["assistant","I see"]]`)
	same(t, "state", got["state"], `[1,"thread","completed"]`)
	same(t, "asked", got["asked"], `["RUN_FINISHED","permission",true,["approved"]]`)
	same(t, "allowed", got["allowed"], `[["RUN_STARTED","STATE_SNAPSHOT","TOOL_CALL_RESULT","TEXT_MESSAGE_START","TEXT_MESSAGE_CONTENT","TEXT_MESSAGE_END","STATE_SNAPSHOT","MESSAGES_SNAPSHOT","RUN_FINISHED"],"success",[["assistant",null,"write{}"],["tool","written"],["assistant","written"]]]`)
	same(t, "denied", got["denied"], `["success","not written"]`)
	same(t, "failed", got["failed"], `["RUN_ERROR","model_error"]`)
	same(t, "stranger", got["stranger"], `401`)
	same(t, "stopped", got["stopped"], `true`)
	if runs != 1 {
		t.Errorf("the tool ran %d times", runs)
	}
	if second := script.Requests()[2].Transcript(); strings.Count(second, "look") != 1 || !strings.Contains(second, "I see") {
		t.Errorf("the session does not go on: %s", second)
	}
	for {
		last, err := session.Last(t.Context(), s.store, "slow", 1, func(typ string) bool { return typ == "run_end" })
		if err != nil {
			t.Fatal(err)
		}
		if len(last) == 1 {
			if r := last[0].Data.(event.RunEnd).Reason; r != event.Interrupted {
				t.Errorf("the run of a client that has gone: %s", r)
			}
			break
		}
		time.Sleep(time.Millisecond)
	}
}

// Adapters refuse what they cannot do, before anything runs.
func TestAdaptersRefuse(t *testing.T) {
	s := newSite(t, agent.Agent{Model: llmtest.Script()})
	for _, at := range []struct {
		path, body string
		status     int
	}{
		{"/ai-sdk/chat", `{"id":"../x","messages":[{"role":"user","parts":[{"type":"text","text":"x"}]}]}`, 400},
		{"/ai-sdk/chat", `{"id":"c","messages":[]}`, 400},
		{"/ai-sdk/chat", `{"id":"c","messages":[{"role":"assistant","parts":[{"state":"approval-responded","approval":{"id":"c1.0","approved":true}}]}]}`, 404},
		{"/ai-sdk/chat", `{"id":"c","messages":[{"role":"user","parts":[{"type":"file","mediaType":"image/png","url":"http://x.test/a"}]}]}`, 400},
		{"/ai-sdk/chat", `{`, 400},
		{"/agui", `{"threadId":"../x","runId":"r","messages":[{"role":"user","content":"x"}]}`, 400},
		{"/agui", `{"threadId":"x","messages":[{"role":"user","content":"x"}]}`, 400},
		{"/agui", `{"threadId":"x","runId":"r","state":[],"messages":[{"role":"user","content":"x"}]}`, 400},
		{"/agui", `{"threadId":"x","runId":"r","messages":[]}`, 400},
		{"/agui", `{"threadId":"x","runId":"r","messages":[],"resume":[{"interruptId":"c1.0","status":"resolved","payload":{"approved":true}}]}`, 404},
		{"/agui", `{"threadId":"x","runId":"r","messages":[{"role":"user","content":[{"type":"image","source":{"type":"url","value":"http://x.test"}}]}]}`, 400},
		{"/openai/v1/chat/completions", `{"n":2,"messages":[{"role":"user","content":"x"}]}`, 400},
		{"/openai/v1/chat/completions", `{"messages":[{"role":"robot","content":"x"}]}`, 400},
		{"/openai/v1/chat/completions", `{"messages":[{"role":"assistant","content":"x"}]}`, 400},
		{"/openai/v1/chat/completions", `{"metadata":{"session_id":"../x"},"messages":[{"role":"user","content":"x"}]}`, 400},
	} {
		s.do("POST", at.path, at.body, at.status, nil)
	}
	if infos, err := s.store.List(t.Context()); err != nil || len(infos) != 0 {
		t.Errorf("%d sessions, %v", len(infos), err)
	}
}

// A telling tells each text once, however it comes: in pieces, again from the beginning, or whole.
func TestTelling(t *testing.T) {
	answer := llm.Message{Role: llm.Assistant, Content: llm.Blocks{llm.Thinking{Text: "hmm"}, llm.Text{Text: "abcdef"}, llm.ToolUse{ID: "x", Name: "read"}}}
	call := tool.Call{ID: "c7.0", Name: "read"}
	events := []event.Event{
		{Seq: 5, Data: event.RunEnd{}}, // of another run
		{Seq: 6, Data: event.UserMessage{ID: "m"}},
		{Data: event.ThinkingDelta{Key: "k", Text: "hm"}},
		{Data: event.TextDelta{Key: "k", Text: "ab"}},
		{Data: event.TextDelta{Key: "k", Text: "abcd", Restart: true}},
		{Seq: 7, Data: event.AssistantMessage{Key: "k", Response: llm.Response{Message: answer}}},
		{Data: event.PermissionRequest{Call: call}},
		{Data: event.PermissionRequest{Call: call}},
		{Seq: 8, Data: event.ToolResult{Call: "c7.0", Result: *tool.Text("content")}},
		{Data: event.TextDelta{Key: "l", Text: "lost"}},
		{Seq: 9, Data: event.ModelFailed{Key: "l", Message: "broken"}},
		{Seq: 10, Data: event.RunEnd{Reason: event.Completed}},
	}
	told := &telling{prompt: "m"}
	var got strings.Builder
	for _, e := range events {
		for _, p := range told.apply(e) {
			got.WriteString([]string{"said", "thought", "withdrawn", "answered", "called", "returned", "asks", "ended"}[p.kind] + " " + p.call + " " + p.text + "\n")
		}
	}
	want := "thought  hm\nsaid  ab\nsaid  cd\nthought  m\nsaid  ef\ncalled c7.0 \nanswered  \nasks c7.0 \nreturned c7.0 content\nsaid  lost\nwithdrawn  broken\nended  \n"
	if got.String() != want {
		t.Errorf("got\n%s, want\n%s", got.String(), want)
	}
}
