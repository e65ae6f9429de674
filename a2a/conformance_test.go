package a2aagent_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/llmtest"
)

// The tests of this file check what the conformance suite of the protocol (a2aproject/a2a-tck) checks:
// the forms of requests and answers as a client of any language sees them.

// echo is a model that answers each prompt with "ok".
func echo(n int) *llmtest.Model {
	return llmtest.Script(slices.Repeat([]llmtest.Step{llmtest.Say("ok")}, n)...)
}

// raw sends a request as it is and returns the answer.
func (s *site) raw(method, path, body string, headers ...string) (*http.Response, []byte) {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), method, s.http.URL+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	res, err := s.web(testToken).Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return res, b
}

// code returns the code of the error that a body has, 0 for a result.
func code(t *testing.T, body []byte) int {
	t.Helper()
	var out struct {
		JSONRPC string
		Result  json.RawMessage
		Error   *struct {
			Code    int
			Message string
		}
	}
	if err := json.Unmarshal(body, &out); err != nil || out.JSONRPC != "2.0" || (out.Error == nil) == (out.Result == nil) {
		t.Fatalf("no answer of JSON-RPC: %s, %v", body, err)
	}
	if out.Error == nil {
		return 0
	}
	if out.Error.Message == "" {
		t.Errorf("an error without a message: %s", body)
	}
	return out.Error.Code
}

// params returns the parameters of a message with parts and more members.
func params(id, parts, more string) string {
	return fmt.Sprintf(`{"message":{"messageId":%q,"role":"ROLE_USER","parts":%s%s}}`, id, parts, more)
}

// Requests of JSON-RPC that are wrong get the codes of its specification and of the protocol.
func TestConformanceRPC(t *testing.T) {
	s := newSite(t, agent.Agent{Model: echo(20)})
	done := send(t, s.client(a2a.TransportProtocolJSONRPC, testToken), message("m0", "hi", nil))
	call := func(method, params string) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":"7","method":%q,"params":%s}`, method, params)
	}
	task := func(id a2a.TaskID, more string) string { return fmt.Sprintf(`{"id":%q%s}`, id, more) }
	for _, c := range []struct {
		name, body string
		want       int
	}{
		{"malformed", `{"jsonrpc": "2.0", "method": "SendMessage", `, -32700},
		{"no version", `{"id":1,"method":"GetTask","params":{}}`, -32600},
		{"no method", `{"jsonrpc":"2.0","id":1,"params":{}}`, -32600},
		{"an object as id", `{"jsonrpc":"2.0","id":{"a":1},"method":"GetTask","params":{}}`, -32600},
		{"no such method", call("nonexistent/method", `{}`), -32601},
		{"a text as params", call("SendMessage", `"not an object"`), -32602},
		{"a text as parts", call("SendMessage", `{"message":{"parts":"invalid"}}`), -32602},
		{"no message", call("SendMessage", `{}`), -32602},
		{"null as params", call("SendMessage", `null`), -32602},
		{"no message id", call("SendMessage", params("", `[{"text":"a"}]`, "")), -32602},
		{"no parts", call("SendMessage", params("m1", `[]`, "")), -32602},
		{"null as part", call("SendMessage", params("m1", `[null]`, "")), -32602},
		{"no text", call("SendMessage", params("m1", `[{"text":" "}]`, "")), -32602},
		{"role of the agent", call("SendMessage", `{"message":{"messageId":"m1","role":"ROLE_AGENT","parts":[{"text":"a"}]}}`), -32602},
		{"context with a slash", call("SendMessage", params("m1", `[{"text":"a"}]`, `,"contextId":"../other"`)), -32602},
		{"another context", call("SendMessage", params("m1", `[{"text":"a"}]`, `,"contextId":"other","taskId":"`+string(done.ID)+`"`)), -32602},
		{"no such task for a message", call("SendMessage", params("m1", `[{"text":"a"}]`, `,"taskId":"nonexistent"`)), -32001},
		{"a task that has ended", call("SendMessage", params("m1", `[{"text":"a"}]`, `,"taskId":"`+string(done.ID)+`"`)), -32004},
		{"a type that is not supported", call("SendMessage", params("m1", `[{"raw":"AAAA","mediaType":"application/x-unknown"}]`, "")), -32005},
		{"a file without a type", call("SendMessage", params("m1", `[{"raw":"AAAA","filename":"a"}]`, "")), -32005},
		{"an address", call("SendMessage", params("m1", `[{"url":"file:///etc/passwd"}]`, "")), -32005},
		{"push notifications", call("SendMessage", `{"message":{"messageId":"m1","role":"ROLE_USER","parts":[{"text":"a"}]},"configuration":{"taskPushNotificationConfig":{"url":"http://127.0.0.1:1"}}}`), -32003},
		{"push configuration", call("CreateTaskPushNotificationConfig", `{"taskId":"x","url":"http://127.0.0.1:1"}`), -32003},
		{"push configurations", call("ListTaskPushNotificationConfigs", `{"taskId":"x"}`), -32003},
		{"extended card", call("GetExtendedAgentCard", `{}`), -32004},
		{"no task id", call("GetTask", `{}`), -32602},
		{"no such task", call("GetTask", task("nonexistent", "")), -32001},
		{"no such fact", call("GetTask", task(a2a.TaskID(done.ContextID+".99999"), "")), -32001},
		{"a fact that is no prompt", call("GetTask", task(done.ID+"0", "")), -32001},
		{"a number with a sign", call("GetTask", task(a2a.TaskID(strings.ReplaceAll(string(done.ID), ".", ".+")), "")), -32001},
		{"negative history", call("GetTask", task(done.ID, `,"historyLength":-1`)), -32602},
		{"huge history", call("GetTask", task(done.ID, `,"historyLength":2147483647`)), 0},
		{"cancel without id", call("CancelTask", `{}`), -32602},
		{"cancel no such task", call("CancelTask", task("nonexistent", "")), -32001},
		{"cancel after the end", call("CancelTask", task(done.ID, "")), -32002},
		{"a page of -1", call("ListTasks", `{"pageSize":-1}`), -32602},
		{"a page of 101", call("ListTasks", `{"pageSize":101}`), -32602},
		{"a wrong page token", call("ListTasks", `{"pageToken":"invalid"}`), -32602},
		{"a wrong status", call("ListTasks", `{"status":"TASK_STATE_DREAMING"}`), -32602},
		{"a list with a negative history", call("ListTasks", `{"historyLength":-5}`), -32602},
		{"null where a member is optional", call("SendMessage", params("m2", `[{"text":"a"}]`, `,"taskId":null,"contextId":null,"metadata":null`)), 0},
		{"members that are not known", call("SendMessage", params("m3", `[{"text":"a","more":1}]`, `,"more":{"a":[]}`)), 0},
		{"a long text", call("SendMessage", params("m4", `[{"text":"`+strings.Repeat("long ", 20000)+`"}]`, "")), 0},
	} {
		res, body := s.raw("POST", "/a2a", c.body)
		if got := code(t, body); got != c.want || res.StatusCode != 200 || !strings.HasPrefix(res.Header.Get("Content-Type"), "application/json") {
			t.Errorf("%s: status %d, code %d, want %d: %.300s", c.name, res.StatusCode, got, c.want, body)
		}
	}
	for version, want := range map[string]int{"": 0, "1.0": 0, "0.3": -32009, "99.9": -32009} {
		if _, body := s.raw("POST", "/a2a", call("GetTask", task(done.ID, "")), "A2A-Version", version); code(t, body) != want {
			t.Errorf("version %q: %s, want the code %d", version, body, want)
		}
	}
	if _, body := s.raw("POST", "/a2a?A2A-Version=0.3", call("GetTask", task(done.ID, ""))); code(t, body) != -32009 {
		t.Errorf("a version in the address: %s", body)
	}
	const strange = "Unicode: 你好, здравствуйте, مرحبا\t\b\f\r\n <&>"
	parts, err := json.Marshal([]*a2a.Part{a2a.NewTextPart(strange)})
	if err != nil {
		t.Fatal(err)
	}
	_, body := s.raw("POST", "/a2a", call("SendMessage", params("m5", string(parts), "")))
	var out struct{ Result struct{ Task *a2a.Task } }
	if err := json.Unmarshal(body, &out); err != nil || out.Result.Task == nil || out.Result.Task.History[0].Parts[0].Text() != strange {
		t.Errorf("%s, %v", body, err)
	}
}

// REST has statuses for the same errors.
func TestConformanceREST(t *testing.T) {
	s := newSite(t, agent.Agent{Model: echo(20)})
	done := send(t, s.client(a2a.TransportProtocolHTTPJSON, testToken), message("m0", "hi", nil))
	at := "/a2a/v1/tasks/" + string(done.ID)
	for _, c := range []struct {
		method, path, body string
		status             int
		reason             string
	}{
		{"GET", at, "", 200, ""},
		{"GET", at + "?historyLength=0", "", 200, ""},
		{"GET", at + "?historyLength=-1", "", 400, "INVALID_PARAMS"},
		{"GET", at + "?historyLength=x", "", 400, "INVALID_REQUEST"},
		{"GET", "/a2a/v1/tasks/nonexistent", "", 404, "TASK_NOT_FOUND"},
		{"POST", at + ":cancel", "", 400, "TASK_NOT_CANCELABLE"},
		{"POST", "/a2a/v1/tasks/nonexistent:cancel", "", 404, "TASK_NOT_FOUND"},
		{"POST", at + ":explode", "", 400, "INVALID_REQUEST"},
		{"POST", "/a2a/v1/message:send", "{", 400, "PARSE_ERROR"},
		{"POST", "/a2a/v1/message:send", "{}", 400, "INVALID_PARAMS"},
		{"POST", "/a2a/v1/message:send", params("m1", `[{"text":"a"}]`, `,"taskId":"`+string(done.ID)+`"`), 400, "UNSUPPORTED_OPERATION"},
		{"POST", "/a2a/v1/message:send", params("m1", `[{"text":"a"}]`, ""), 200, ""},
		{"GET", "/a2a/v1/tasks?status=TASK_STATE_COMPLETED&includeArtifacts=true", "", 200, ""},
		{"GET", "/a2a/v1/tasks?statusTimestampAfter=yesterday", "", 400, "INVALID_PARAMS"},
		{"GET", at + "/pushNotificationConfigs", "", 400, "PUSH_NOTIFICATION_NOT_SUPPORTED"},
		{"GET", "/a2a/v1/extendedAgentCard", "", 400, "UNSUPPORTED_OPERATION"},
		{"DELETE", at, "", 405, ""},
	} {
		res, body := s.raw(c.method, c.path, c.body)
		if res.StatusCode != c.status || c.reason != "" && !strings.Contains(string(body), `"`+c.reason+`"`) {
			t.Errorf("%s %s %s: %d %s, want %d %s", c.method, c.path, c.body, res.StatusCode, body, c.status, c.reason)
		}
	}
}

// The card has all members that the protocol requires, and says what is true.
func TestConformanceCard(t *testing.T) {
	s := newSite(t, agent.Agent{Model: echo(1)})
	res, body := s.raw("GET", "/.well-known/agent-card.json", "")
	var card map[string]any
	if err := json.Unmarshal(body, &card); err != nil || res.Header.Get("Content-Type") != "application/json" {
		t.Fatalf("%s, %v", body, err)
	}
	for _, name := range []string{"name", "description", "version"} {
		if text, ok := card[name].(string); !ok || text == "" {
			t.Errorf("%s is %v", name, card[name])
		}
	}
	for _, name := range []string{"defaultInputModes", "defaultOutputModes", "skills", "supportedInterfaces", "securityRequirements"} {
		if list, ok := card[name].([]any); !ok || len(list) == 0 {
			t.Errorf("%s is %v", name, card[name])
		}
	}
	for _, name := range []string{"id", "name", "description", "tags"} {
		if v := card["skills"].([]any)[0].(map[string]any)[name]; v == nil {
			t.Errorf("the skill has no %s", name)
		}
	}
	if got := fmt.Sprint(card["capabilities"]); got != "map[streaming:true]" {
		t.Errorf("the capabilities are %s", got)
	}
	for i, want := range []string{"JSONRPC /a2a 1.0", "HTTP+JSON /a2a/v1 1.0"} {
		at := card["supportedInterfaces"].([]any)[i].(map[string]any)
		if got := fmt.Sprintf("%s %s %s", at["protocolBinding"], strings.TrimPrefix(at["url"].(string), s.http.URL), at["protocolVersion"]); got != want {
			t.Errorf("the interface is %s, want %s", got, want)
		}
	}
	if !strings.Contains(fmt.Sprint(card["securitySchemes"]), "Bearer") {
		t.Errorf("the security schemes are %v", card["securitySchemes"])
	}
}

// A stream has the right headers. Its first event is the task, its last one the end; each is an answer
// to the request.
func TestConformanceStream(t *testing.T) {
	s := newSite(t, agent.Agent{Model: echo(2)})
	for path, body := range map[string]string{
		"/a2a":                   `{"jsonrpc":"2.0","id":"7","method":"SendStreamingMessage","params":` + params("m1", `[{"text":"a"}]`, "") + `}`,
		"/a2a/v1/message:stream": params("m2", `[{"text":"a"}]`, ""),
	} {
		res, got := s.raw("POST", path, body)
		if res.StatusCode != 200 || !strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream") || !strings.Contains(res.Header.Get("Cache-Control"), "no-cache") {
			t.Errorf("%s: %d %v", path, res.StatusCode, res.Header)
		}
		var kinds []string
		for lines := bufio.NewScanner(strings.NewReader(string(got))); lines.Scan(); {
			data, ok := strings.CutPrefix(lines.Text(), "data: ")
			if !ok {
				continue
			}
			if path == "/a2a" {
				var answer struct {
					ID      string
					JSONRPC string
					Result  json.RawMessage
				}
				if err := json.Unmarshal([]byte(data), &answer); err != nil || answer.ID != "7" || answer.JSONRPC != "2.0" {
					t.Fatalf("%s, %v", data, err)
				}
				data = string(answer.Result)
			}
			var event map[string]struct{ Status struct{ State string } }
			if err := json.Unmarshal([]byte(data), &event); err != nil || len(event) != 1 {
				t.Fatalf("%s, %v", data, err)
			}
			for kind, e := range event {
				kinds = append(kinds, strings.TrimSpace(kind+" "+strings.TrimPrefix(e.Status.State, "TASK_STATE_")))
			}
		}
		all := strings.Join(kinds, ", ")
		if !strings.HasPrefix(all, "task ") || !strings.HasSuffix(all, "statusUpdate COMPLETED") && all != "task COMPLETED" {
			t.Errorf("%s: the events are %s", path, all)
		}
	}
	_, got := s.raw("POST", "/a2a", `{"jsonrpc":"2.0","id":"7","method":"SubscribeToTask","params":{"id":"nonexistent"}}`)
	if !strings.Contains(string(got), "-32001") {
		t.Errorf("subscribing to no task: %s", got)
	}
}

// Lists have the tasks of the client in order, page by page, with filters.
func TestConformanceList(t *testing.T) {
	each(t, func(t *testing.T, transport a2a.TransportProtocol) {
		s := newSite(t, agent.Agent{Model: echo(5)})
		c := s.client(transport, testToken)
		list := func(in a2a.ListTasksRequest) *a2a.ListTasksResponse {
			t.Helper()
			out, err := c.ListTasks(t.Context(), &in)
			if err != nil {
				t.Fatal(err)
			}
			return out
		}
		if out := list(a2a.ListTasksRequest{}); out.Tasks == nil || len(out.Tasks) != 0 || out.PageSize != 0 || out.NextPageToken != "" {
			t.Errorf("an empty list is %+v", out)
		}
		var all []*a2a.Task
		context := ""
		for i := range 5 {
			in := message(fmt.Sprint("m", i), "hi", nil)
			if i == 1 || i == 4 {
				in.Message.ContextID = context
			}
			task := send(t, c, in)
			if i == 0 {
				context = task.ContextID
			}
			all = append([]*a2a.Task{task}, all...)
		}
		ids := func(tasks []*a2a.Task) (out []a2a.TaskID) {
			for _, task := range tasks {
				out = append(out, task.ID)
			}
			return out
		}
		var got []*a2a.Task
		for in := (a2a.ListTasksRequest{PageSize: 2}); ; {
			out := list(in)
			got = append(got, out.Tasks...)
			if out.TotalSize != 5 || len(out.Tasks) > 2 || out.PageSize != len(out.Tasks) {
				t.Errorf("a page is %+v", out)
			}
			if in.PageToken = out.NextPageToken; in.PageToken == "" {
				break
			}
		}
		if fmt.Sprint(ids(got)) != fmt.Sprint(ids(all)) {
			t.Errorf("the list is %v, want %v", ids(got), ids(all))
		}
		if got := list(a2a.ListTasksRequest{ContextID: context}); fmt.Sprint(ids(got.Tasks)) != fmt.Sprint(ids([]*a2a.Task{all[0], all[3], all[4]})) {
			t.Errorf("the tasks of a context are %v", ids(got.Tasks))
		}
		if got := list(a2a.ListTasksRequest{ContextID: "nonexistent"}); len(got.Tasks) != 0 {
			t.Errorf("the tasks of no context are %v", ids(got.Tasks))
		}
		if got := list(a2a.ListTasksRequest{Status: a2a.TaskStateWorking}); len(got.Tasks) != 0 {
			t.Errorf("the tasks at work are %v", ids(got.Tasks))
		}
		after := all[1].Status.Timestamp
		since := list(a2a.ListTasksRequest{StatusTimestampAfter: after, Status: a2a.TaskStateCompleted})
		if transport == a2a.TransportProtocolHTTPJSON { // the SDK's client does not send the time
			_, body := s.raw("GET", "/a2a/v1/tasks?statusTimestampAfter="+after.Format(time.RFC3339Nano), "")
			if err := json.Unmarshal(body, since); err != nil {
				t.Fatal(err)
			}
		}
		if fmt.Sprint(ids(since.Tasks)) != fmt.Sprint(ids(all[:2])) {
			t.Errorf("the tasks since %v are %v", after, ids(since.Tasks))
		}
		for length, want := range map[int]int{0: 0, 1: 1, 100: 1} {
			if got := list(a2a.ListTasksRequest{HistoryLength: &length, PageSize: 1}).Tasks[0]; len(got.History) != want || len(got.Artifacts) != 0 {
				t.Errorf("with a history of %d: %+v", length, got)
			}
		}
		if got := list(a2a.ListTasksRequest{IncludeArtifacts: true}).Tasks[0]; answer(got) != "ok" {
			t.Errorf("with artifacts: %+v", got)
		}
	})
}

// Many clients at once get the tasks of their messages, and a message that many send runs once.
func TestConformanceConcurrent(t *testing.T) {
	m := echo(11)
	s := newSite(t, agent.Agent{Model: m})
	c := s.client(a2a.TransportProtocolJSONRPC, testToken)
	var wg sync.WaitGroup
	ids := make([]a2a.TaskID, 20)
	for i := range ids {
		wg.Go(func() {
			id := fmt.Sprint("m", min(i, 10)) // ten clients send the same message
			res, err := c.SendMessage(t.Context(), message(id, "hi", nil))
			if err != nil {
				t.Error(err)
				return
			}
			task := res.(*a2a.Task)
			if task.Status.State != a2a.TaskStateCompleted || task.History[0].ID != id {
				t.Errorf("%s: %+v", id, task)
			}
			ids[i] = task.ID
		})
	}
	wg.Wait()
	if n := len(m.Requests()); n != 11 {
		t.Errorf("there were %d requests to the model, want 11", n)
	}
	for _, id := range ids[10:] {
		if id != ids[10] {
			t.Errorf("the same message has the tasks %s and %s", ids[10], id)
		}
	}
}

// A text that is withdrawn because the attempt failed does not stay in the artifact.
func TestWithdrawn(t *testing.T) {
	broken := llmtest.Say("a beginning that does not count")
	broken.CutAfter = 3
	m := llmtest.Script(broken, llmtest.Say("the answer"))
	c := newSite(t, agent.Agent{Model: m, Retry: &agent.Retry{Tries: 3, Base: time.Millisecond}}).client(a2a.TransportProtocolJSONRPC, testToken)
	f := follow(t, c.SendStreamingMessage(t.Context(), message("m1", "hi", nil)), nil)
	wants(t, f.task, a2a.TaskStateCompleted, "the answer")

	broken.CutAfter = 3
	c = newSite(t, agent.Agent{Model: llmtest.Script(broken, llmtest.Fail(&llm.APIError{Class: llm.Auth, Message: "no"})), Retry: &agent.Retry{Tries: 3, Base: time.Millisecond}}).client(a2a.TransportProtocolJSONRPC, testToken)
	f = follow(t, c.SendStreamingMessage(t.Context(), message("m1", "hi", nil)), nil)
	got, err := c.GetTask(t.Context(), &a2a.GetTaskRequest{ID: f.task.ID})
	if err != nil || answer(got) != answer(f.task) {
		t.Errorf("the stream ends with %q, the task has %q, %v", answer(f.task), answer(got), err)
	}

	c = newSite(t, agent.Agent{Model: llmtest.Script(llmtest.Fail(&llm.APIError{Class: llm.Auth, Message: "no"})), Retry: &agent.Retry{Tries: -1}}).client(a2a.TransportProtocolJSONRPC, testToken)
	f = follow(t, c.SendStreamingMessage(t.Context(), message("m1", "hi", nil)), nil)
	wants(t, f.task, a2a.TaskStateFailed, "")
	if _, err := c.SendMessage(t.Context(), message("m2", "hi", f.task)); !errors.Is(err, a2a.ErrUnsupportedOperation) {
		t.Errorf("a message to a task that has failed: %v", err)
	}
}
