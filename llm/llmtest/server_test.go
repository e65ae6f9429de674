package llmtest

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
)

// post sends a body as a client would.
func post(t testing.TB, client *http.Client, url, body string, edit ...func(*http.Request)) (*http.Response, string) {
	t.Helper()
	resp, data, err := tryPost(context.Background(), client, url, body, edit...)
	if err != nil {
		t.Fatal(err)
	}
	return resp, data
}

func tryPost(ctx context.Context, client *http.Client, url, body string, edit ...func(*http.Request)) (*http.Response, string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		return nil, "", err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer k")
	req.Header.Set("Anthropic-Version", "2023-06-01")
	for _, e := range edit {
		e(req)
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, "", err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	return resp, string(data), err
}

// dataOf returns the data of each event in a stream, which must be well formed.
func dataOf(t testing.TB, stream string) []string {
	t.Helper()
	var out []string
	for part := range strings.SplitSeq(strings.TrimSuffix(stream, "\n\n"), "\n\n") {
		for line := range strings.SplitSeq(part, "\n") {
			name, value, ok := strings.Cut(line, ":")
			switch {
			case !ok || name != "" && name != "event" && name != "data":
				t.Fatalf("odd line %q", line)
			case name == "data":
				out = append(out, strings.TrimPrefix(value, " "))
			}
		}
	}
	return out
}

func decodeInto(t testing.TB, data string, v any) {
	t.Helper()
	if err := json.Unmarshal([]byte(data), v); err != nil {
		t.Fatalf("%v: %s", err, data)
	}
}

// plainClient returns a client that leaves no connection behind.
func plainClient(t testing.TB) *http.Client {
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

func TestServerRefusesBrokenRequests(t *testing.T) {
	s := NewServer(t, Say("ok"))
	s.Lenient = true // of the test, which breaks rules
	strict := &Server{Steps: s.Steps}
	defer strict.Close()
	client := strict.Client()
	none := func(name string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Del(name) }
	}
	for _, c := range []struct {
		path, body string
		edit       func(*http.Request)
		status     int
		rules      []string
		message    string
	}{
		{"/v1/messages", messages(" "), nil, 400, []string{"A03"}, "messages: at least one message is required"},
		{"/v1/messages", "{", nil, 400, []string{"A00"}, "not valid JSON"},
		{"/v1/messages", messages(""), none("Authorization"), 401, []string{"H01"}, "key"},
		{"/v1/messages", messages(""), none("Anthropic-Version"), 400, []string{"H02"}, "anthropic-version: header is required"},
		{"/v1/messages", messages(""), none("Content-Type"), 400, []string{"H03"}, "Content-Type"},
		{"/v1/messages", messages(""), func(r *http.Request) { r.ContentLength, r.Body = -1, io.NopCloser(strings.NewReader("{}")) }, 411, []string{"H04"}, "Content-Length"},
		{"/v1/chat/completions", `{"model":"m","messages":[]}`, nil, 400, []string{"O02"}, "empty array"},
		{"/api/paas/v4/chat/completions", completions(""), none("Authorization"), 401, []string{"H01"}, "key"},
		{"/v1/messages", strings.Repeat(" ", maxBody+1), nil, 413, nil, "maximum allowed number of bytes"},
		{"/v1/complete", "{}", nil, 404, nil, "not be found"},
	} {
		if c.edit == nil {
			c.edit = func(*http.Request) {}
		}
		before := len(strict.Requests())
		resp, body := post(t, client, "http://any"+c.path, c.body, c.edit)
		var got struct {
			Type  string
			Error struct{ Type, Message string }
			Rules []string
		}
		decodeInto(t, body, &got)
		if resp.StatusCode != c.status || !slices.Equal(got.Rules, c.rules) || !strings.Contains(got.Error.Message, c.message) || got.Error.Type == "" {
			t.Errorf("%s %.60s: got %d %+v", c.path, c.body, resp.StatusCode, got)
		}
		if (got.Type == "error") != !strings.HasSuffix(c.path, "/completions") {
			t.Errorf("%s: envelope of the other API: %s", c.path, body)
		}
		var rules []string
		for _, r := range strict.Requests()[before:] {
			rules = append(rules, rulesOf(r.broken)...)
		}
		if !slices.Equal(rules, c.rules) {
			t.Errorf("%s: recorded %v, want %v", c.path, rules, c.rules)
		}
	}
	if _, body := post(t, client, "http://any/v1/messages", messages("")); !strings.Contains(body, "ok") {
		t.Errorf("refused requests used up the step: %s", body)
	}
	if _, body := post(t, client, "http://any/v1/messages", messages("")); !strings.Contains(body, "llmtest: request 2 was made, but the script has 1 step") {
		t.Errorf("past the end of the script: %s", body)
	}
}

// failures is a TB that keeps what fails.
type failures struct {
	testing.TB
	mu      sync.Mutex
	said    []string
	cleanup []func()
}

func (f *failures) Errorf(format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.said = append(f.said, fmt.Sprintf(format, args...))
}

func (f *failures) Cleanup(fn func()) { f.cleanup = append(f.cleanup, fn) }

func (f *failures) end() {
	for _, fn := range slices.Backward(f.cleanup) {
		fn()
	}
}

func TestBrokenRuleFailsTheTest(t *testing.T) {
	for _, lenient := range []bool{false, true} {
		f := &failures{TB: t}
		s := NewServer(f, Say("ok"))
		s.Lenient = lenient
		_, body := post(t, plainClient(t), s.URL+"/v1/messages", messages("", `"seed":1`))
		f.end()
		if got := len(f.said) == 0; got != lenient {
			t.Errorf("lenient %v: the test failed with %q", lenient, f.said)
		}
		if answered := strings.Contains(body, "ok"); answered != lenient {
			t.Errorf("lenient %v: answer %s", lenient, body)
		}
		if !lenient && !strings.Contains(f.said[0], "request 0") || !lenient && !strings.Contains(f.said[0], "A02") {
			t.Errorf("the failure says %q", f.said)
		}
	}
}

func TestServerLimits(t *testing.T) {
	s := NewServer(t, Say("ok"))
	s.Window, s.MaxOutput, s.Keyless = 100, 1500, true
	client := plainClient(t)
	keyless := func(r *http.Request) { r.Header.Del("Authorization") }
	resp, body := post(t, client, s.URL+"/v1/messages", messages(`{"role":"user","content":"`+strings.Repeat("x", 600)+`"}`, `"max_tokens":9`), keyless)
	if resp.StatusCode != 400 || !strings.Contains(body, "prompt is too long: ") {
		t.Errorf("beyond the window: %d %s", resp.StatusCode, body)
	}
	if v := s.Violations(); v != nil {
		t.Errorf("a long prompt is no violation: %v", v)
	}
	if resp, _ := post(t, client, s.URL+"/v1/messages", messages("", `"max_tokens":1500`), keyless); resp.StatusCode != 200 {
		t.Errorf("within the limits: %d", resp.StatusCode)
	}
	s.Lenient = true // the next one breaks a rule on purpose
	post(t, client, s.URL+"/v1/messages", messages("", `"max_tokens":1501`), keyless)
	if got := s.Violations(); len(got) != 1 || !strings.HasPrefix(got[0], `request 2 to the model broke rule A52 at "max_tokens": `) {
		t.Errorf("got %v, want A52", got)
	}
}

func TestOtherEndpoints(t *testing.T) {
	s := NewServer(t)
	client := plainClient(t)
	resp, err := client.Get(s.URL + "/v1/models")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var list struct{ Data []struct{ ID string } }
	if err := json.NewDecoder(resp.Body).Decode(&list); err != nil || len(list.Data) == 0 {
		t.Errorf("models: %+v, %v", list, err)
	}
	var count struct {
		Tokens int `json:"input_tokens"`
	}
	_, body := post(t, client, s.URL+"/v1/messages/count_tokens", `{"model":"m","messages":[{"role":"user","content":"`+strings.Repeat("x", 400)+`"}]}`)
	decodeInto(t, body, &count)
	if count.Tokens < 100 || count.Tokens > 110 {
		t.Errorf("counted %d tokens in 400 bytes", count.Tokens)
	}
	if n := len(s.Requests()); n != 0 {
		t.Errorf("%d requests on record", n)
	}
}

func TestRuleSeesTheConversation(t *testing.T) {
	type seen struct {
		API, System, Prompt, Model, Transcript string
		Results                                []string
		HasAdd, HasSub                         bool
		MaxTokens, Messages                    int
	}
	var got []seen
	s := NewServer(t)
	s.Rule = func(r *Request, n int) Step {
		v := seen{
			API: r.Path, System: r.System, Prompt: r.Prompt(), Model: r.Model, Transcript: r.Transcript(),
			HasAdd: r.HasTool("add"), HasSub: r.HasTool("sub"), MaxTokens: r.MaxTokens, Messages: len(r.Messages),
		}
		for _, res := range r.Results() {
			v.Results = append(v.Results, fmt.Sprintf("%s(%s)=%s", res.Use.Name, res.Use.Input, res.Text))
		}
		got = append(got, v)
		return Say(fmt.Sprint("answer ", n))
	}
	post(t, plainClient(t), s.URL+"/v1/messages", messages(askTool+","+user(result("t1", "4"), textBlock("Go on.")), withTool, systemOf(textBlock("Be brief."))))
	post(t, plainClient(t), s.URL+"/v1/chat/completions", completions(
		`{"role":"system","content":"Be brief."},{"role":"user","content":"add"},`+
			`{"role":"assistant","tool_calls":[{"id":"t1","type":"function","function":{"name":"add","arguments":"{}"}}]},`+
			`{"role":"tool","tool_call_id":"t1","content":"4"},{"role":"user","content":[{"type":"text","text":"Go on."}]}`,
		`"tools":[{"type":"function","function":{"name":"add"}}],"max_completion_tokens":2000,"model":"claude-sonnet-4-20250514"`))
	if len(got) != 2 {
		t.Fatalf("the rule was asked %d times", len(got))
	}
	for _, v := range got {
		if v.System != "Be brief." || v.Prompt != "Go on." || !v.HasAdd || v.HasSub || v.MaxTokens != 2000 ||
			!slices.Equal(v.Results, []string{"add({})=4"}) || v.Transcript != "add\nadd {}\n4\nGo on.\n" || v.Model != "claude-sonnet-4-20250514" {
			t.Errorf("got %+v", v)
		}
	}
}

func TestRulePanicIsAnAnswer(t *testing.T) {
	s := NewServer(t)
	s.Lenient = true // the server would fail this test
	s.Rule = func(*Request, int) Step { panic("oops") }
	resp, body := post(t, plainClient(t), s.URL+"/v1/messages", messages(""))
	if resp.StatusCode != 400 || !strings.Contains(body, "panicked: oops") {
		t.Errorf("got %d %s", resp.StatusCode, body)
	}
}

func TestClientBelievesInAnyURL(t *testing.T) {
	s := NewPipe(t, Say("ok"))
	resp, body := post(t, s.Client(), "https://api.anthropic.com/v1/messages", messages(""))
	if resp.StatusCode != 200 || !strings.Contains(body, "ok") || s.Requests()[0].Path != "/v1/messages" {
		t.Errorf("got %d %s", resp.StatusCode, body)
	}
}

func TestRecordedBodiesAreBounded(t *testing.T) {
	s := &Server{}
	body := make([]byte, maxRecorded/2)
	for range 3 {
		s.record(&Request{Body: body, Model: "m"}, true)
	}
	kept := 0
	for _, r := range s.Requests() {
		kept += len(r.Body)
		if r.Model != "m" {
			t.Errorf("got %+v", r)
		}
	}
	if len(s.Requests()) != 3 || kept > maxRecorded {
		t.Errorf("%d requests, %d bytes", len(s.Requests()), kept)
	}
}
