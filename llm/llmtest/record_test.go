package llmtest_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/openagent-go/agent/internal/httptape"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/anthropic"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/llm/openai"
)

// recorded are the clients that recordings are made with.
var recorded = map[string]func(url string, client *http.Client) llm.Model{
	"anthropic": func(url string, client *http.Client) llm.Model {
		return (&anthropic.Client{APIKey: plain, BaseURL: url, HTTP: client}).Model("claude-sonnet-4-6")
	},
	"openai": func(url string, client *http.Client) llm.Model {
		return (&openai.Client{APIKey: plain, BaseURL: url + "/v1", HTTP: client}).Model("gpt-4.1")
	},
}

const (
	mail   = "jane.doe@example.com"
	plain  = "opensesame7" // a key that does not look like one
	secret = "correct \"horse\" battery"
	org    = "org-AbCdEfGhIjKlMnOpQrSt"
)

// talk is a conversation in which the model is told secrets, calls a tool and is
// told the result. It returns all deltas and errors as text.
func talk(t *testing.T, m llm.Model, question string) string {
	t.Helper()
	var out strings.Builder
	tools := []llm.Tool{{Name: "look", Description: "looks", Input: json.RawMessage(`{"type":"object"}`)}}
	msgs := []llm.Message{llm.UserText(question)}
	for range 4 {
		for _, blocking := range []bool{false, true} {
			var answer llm.Message
			for d, err := range m.Stream(t.Context(), &llm.Request{Messages: msgs, Tools: tools, Blocking: blocking}) {
				var e *llm.APIError
				if errors.As(err, &e) {
					fmt.Fprintf(&out, "%s %d %v %s\n", e.Class, e.Status, e.RetryAfter, e.Message)
					continue
				}
				if err != nil {
					t.Fatal(err)
				}
				if d.Done != nil {
					answer = d.Done.Message
					d.Done.RequestID = "" // is not kept
				}
				line, _ := json.Marshal(d)
				fmt.Fprintf(&out, "%s\n", line)
			}
			if uses := answer.ToolUses(); len(uses) > 0 && blocking {
				msgs = append(msgs, answer, llm.Message{Role: llm.User, Content: llm.Blocks{llm.ToolResult{ID: uses[0].ID, Content: llm.Blocks{llm.Text{Text: "found " + secret + " of " + mail}}}}})
			}
		}
	}
	return out.String()
}

func steps() []llmtest.Step {
	return []llmtest.Step{
		{Text: "Let me look.", Calls: []llm.ToolUse{llmtest.Use("call_1", "look", map[string]string{"what": "h\u00e9"})}, Pieces: 3},
		{Calls: []llm.ToolUse{llmtest.Use("call_2", "look", map[string]string{"what": mail})}},
		{Text: "It is " + secret + ".", Pieces: 1},
		{Thinking: "hm", Text: "Yes."},
		llmtest.Fail(&llm.APIError{Class: llm.RateLimit, Message: "slow down, " + org, RetryAfter: 7 * time.Second}),
		{Text: "half of an answer", CutAfter: 3},
		{Text: "never", CutAfter: -1},
		llmtest.Say("Bye \U0001F600."),
	}
}

// A conversation with a server is recorded and played again, without the server:
// the client sees the same deltas, and no secret is in the file.
func TestRecordAndReplay(t *testing.T) {
	for name, model := range recorded {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "new", "talk.json")
			server := llmtest.NewServer(t, steps()...)
			recorder := &httptape.Recorder{Transport: new(http.Transport), Secrets: []string{secret}}
			question := "My key is " + plain + ", my secret is " + secret + ", I am " + mail + " of " + org
			live := talk(t, model(server.URL, &http.Client{Transport: recorder}), question)
			if err := recorder.Save(file); err != nil {
				t.Fatal(err)
			}
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, hidden := range []string{plain, secret, "horse", mail, org, server.URL, "Authorization", "Api-Key"} {
				if strings.Contains(strings.ToLower(string(data)), strings.ToLower(hidden)) {
					t.Errorf("%q is in the recording", hidden)
				}
			}
			replayer, err := httptape.Open(file, secret)
			if err != nil {
				t.Fatal(err)
			}
			again := talk(t, model("http://nowhere.invalid", &http.Client{Transport: replayer}), question)
			if err := replayer.Err(); err != nil {
				t.Fatal(err)
			}
			for _, s := range []string{strings.Trim(fmt.Sprintf("%q", secret), `"`), mail, org, plain} {
				live = strings.ReplaceAll(live, s, "[redacted]")
			}
			if live != again {
				t.Errorf("live it was\n%s\nand replayed\n%s", live, again)
			}
		})
	}
}

// A request that was not recorded says where it differs.
func TestReplayDifference(t *testing.T) {
	for name, model := range recorded {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "x.json")
			server := llmtest.NewServer(t, llmtest.Say("one"), llmtest.Say("two"))
			recorder := &httptape.Recorder{Transport: new(http.Transport)}
			ask := func(client *http.Client, r llm.Request) error {
				_, err := llm.Collect(t.Context(), model(server.URL, client), &r)
				return err
			}
			first := llm.Request{System: "Be brief.", Messages: []llm.Message{llm.UserText("What is the weather like in Oslo today?")}, MaxTokens: 50}
			second := llm.Request{Messages: []llm.Message{llm.UserText("And now?")}}
			for _, r := range []llm.Request{first, second} {
				if err := ask(&http.Client{Transport: recorder}, r); err != nil {
					t.Fatal(err)
				}
			}
			if err := recorder.Save(file); err != nil {
				t.Fatal(err)
			}
			text := map[string]string{"anthropic": "body.messages[0].content[0].text", "openai": "body.messages[1].content"}[name]
			limit := map[string]string{"anthropic": "body.max_tokens", "openai": "body.max_completion_tokens"}[name]
			for _, tt := range []struct {
				change func(r *llm.Request)
				want   string
			}{
				{func(r *llm.Request) {
					r.Messages = []llm.Message{llm.UserText("What is the weather like in Bergen today?")}
				},
					text + ` differs at byte 28: it was "What is the weather like in Oslo today?", now it is "What is the weather like in Bergen today?"`},
				{func(r *llm.Request) { r.MaxTokens = 51 }, limit + " was 50, now it is 51"},
				{func(r *llm.Request) { r.Temperature = new(float64) }, "body.temperature is new: 0"},
				{func(r *llm.Request) {
					r.Tools = []llm.Tool{{Name: "look", Input: json.RawMessage(`{"type":"object"}`)}}
				}, `body.tools is new: [{"`},
			} {
				replayer, err := httptape.Open(file)
				if err != nil {
					t.Fatal(err)
				}
				r := first
				tt.change(&r)
				err = ask(&http.Client{Transport: replayer}, r)
				if err == nil || replayer.Err() == nil || !strings.Contains(replayer.Err().Error(), tt.want) {
					t.Errorf("%v\n%v\nwant %s", err, replayer.Err(), tt.want)
				}
			}
			replayer, err := httptape.Open(file)
			if err != nil {
				t.Fatal(err)
			}
			client := &http.Client{Transport: replayer}
			if err := ask(client, second); err != nil { // in any order
				t.Error(err)
			}
			if err := replayer.Err(); err == nil || !strings.Contains(err.Error(), "1 requests of the recording") {
				t.Errorf("a request that is not made: %v", err)
			}
			if err := ask(client, first); err != nil || replayer.Err() != nil {
				t.Error(err, replayer.Err())
			}
			if err := ask(client, first); err == nil || !strings.Contains(replayer.Err().Error(), "no request left") {
				t.Errorf("a request too many: %v", replayer.Err())
			}
		})
	}
}

// The whole of it as a test uses it: recorded once, then replayed.
func TestReplayHelper(t *testing.T) {
	file := filepath.Join(t.TempDir(), "testdata", "helper.json")
	server := llmtest.NewServer(t, llmtest.Say("recorded"))
	ask := func(t *testing.T, want string) {
		client := llmtest.Replay(t, file, new(http.Transport))
		res, err := llm.Collect(t.Context(), recorded["anthropic"](server.URL, client), &llm.Request{Messages: []llm.Message{llm.UserText("hi")}})
		if err != nil || res.Message.Text() != want {
			t.Errorf("%+v, %v", res, err)
		}
	}
	t.Run("record", func(t *testing.T) {
		t.Setenv("LLMTEST_RECORD", "1")
		ask(t, "recorded")
	})
	server.Close()
	t.Run("replay", func(t *testing.T) {
		t.Setenv("LLMTEST_RECORD", "")
		ask(t, "recorded")
	})
	failed := &watched{TB: t}
	llmtest.Replay(failed, file, nil)
	failed.end()
	if !strings.Contains(failed.text, "were not made") {
		t.Errorf("a test that asks nothing fails with %q", failed.text)
	}
}

// watched is a test whose errors are looked at.
type watched struct {
	testing.TB
	text    string
	cleanup []func()
}

func (w *watched) Errorf(format string, args ...any) { w.text += fmt.Sprintf(format, args...) }
func (w *watched) Cleanup(fn func())                 { w.cleanup = append(w.cleanup, fn) }
func (w *watched) end() {
	for _, fn := range w.cleanup {
		fn()
	}
}

// answering returns a client that records what a handler answers, and the
// function that saves it.
func answering(t *testing.T, contentType string, pieces ...string) (get func() string, save func(file string) error) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", contentType)
		w.Header().Set("Set-Cookie", "session=cookie-of-the-provider")
		for _, p := range pieces {
			io.WriteString(w, p)
			w.(http.Flusher).Flush()
			time.Sleep(2 * time.Millisecond) // so that it is likely to be a piece of its own
		}
	}))
	t.Cleanup(s.Close)
	r := &httptape.Recorder{Transport: new(http.Transport), Secrets: []string{"swordfish"}}
	get = func() string {
		resp, err := (&http.Client{Transport: r}).Post(s.URL, "application/json", strings.NewReader(`{"token":"cookie-of-the-provider"}`))
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return string(body)
	}
	return get, r.Save
}

// What cannot be redacted is not written.
func TestSecretsInPieces(t *testing.T) {
	data := func(s string) string { return `data: {"delta":{"text":"` + s + `"}}` + "\n\n" }
	for _, tt := range []struct {
		name, contentType string
		pieces            []string
		saved             bool
	}{
		{"in a piece", "text/event-stream", []string{data("the swordfish"), data("!")}, true},
		{"over pieces of the body", "text/event-stream", []string{`data: {"delta":{"text":"the swo`, `rdfish"}}` + "\n\n"}, true},
		{"over events", "text/event-stream; charset=utf-8", []string{data("the swo"), data("rdfish")}, false},
		{"a key over events", "text/event-stream", []string{data("sk-ant-"), data("api03-abcdefgh")}, false},
		{"escaped", "application/json", []string{`{"a":"sword\u0066ish"}`}, false},
		{"nothing", "text/event-stream", []string{data("the sword"), data("is no fish")}, true},
		{"not text", "application/octet-stream", []string{"\xff\xfe", "swordfish", "\x00"}, true},
		{"cookie", "text/plain", []string{"cookie-of-the-provider"}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "x.json")
			get, save := answering(t, tt.contentType, tt.pieces...)
			if got := get(); got != strings.Join(tt.pieces, "") {
				t.Errorf("the caller sees %q", got)
			}
			err := save(file)
			data, missing := os.ReadFile(file)
			if tt.saved != (err == nil) || tt.saved != (missing == nil) {
				t.Fatalf("%v, %v", err, missing)
			}
			if strings.Contains(string(data), "swordfish") || strings.Contains(string(data), "cookie-of") || err != nil && strings.Contains(err.Error(), "fish") {
				t.Errorf("the secret is shown: %v\n%s", err, data)
			}
			if !tt.saved {
				return
			}
			r, err := httptape.Open(file)
			if err != nil {
				t.Fatal(err)
			}
			resp, err := (&http.Client{Transport: r}).Post("http://nowhere.invalid/", "application/json", strings.NewReader(`{"token":"[redacted]"}`))
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(resp.Body)
			want := strings.NewReplacer("swordfish", "[redacted]", "cookie-of-the-provider", "[redacted]").Replace(strings.Join(tt.pieces, ""))
			if string(body) != want || err != nil {
				t.Errorf("replayed is %q, %v; want %q", body, err, want)
			}
		})
	}
}

// Replies that are still being read are not written down by halves.
func TestSaveTooEarly(t *testing.T) {
	server := llmtest.NewServer(t, llmtest.Step{Text: "one", Stall: time.Hour, StallAfter: 4})
	recorder := &httptape.Recorder{Transport: new(http.Transport)}
	file := filepath.Join(t.TempDir(), "x.json")
	for d, err := range recorded["anthropic"](server.URL, &http.Client{Transport: recorder}).Stream(t.Context(), &llm.Request{Messages: []llm.Message{llm.UserText("hi")}}) {
		if err != nil {
			t.Fatal(err)
		}
		if d.Block != nil {
			if err := recorder.Save(file); err == nil {
				t.Error("it was saved")
			}
			break // the client leaves
		}
	}
	if err := recorder.Save(file); err != nil {
		t.Error(err)
	}
}

func TestOpenFails(t *testing.T) {
	dir := t.TempDir()
	for name, data := range map[string]string{"none": "", "json": "{", "version": `{"version":9}`} {
		file := filepath.Join(dir, name)
		if data != "" {
			if err := os.WriteFile(file, []byte(data), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := httptape.Open(file); err == nil || !strings.Contains(err.Error(), "recording") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := httptape.Open(filepath.Join(dir, "none")); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}
