package responses

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/openagent-go/agent/internal/llmconst"
	"github.com/openagent-go/agent/internal/strictapi"
	"github.com/openagent-go/agent/internal/wire/wiretest"
	"github.com/openagent-go/agent/llm"
)

const events = wiretest.Events

var (
	framed  = wiretest.Framed
	class   = wiretest.Class
	collect = wiretest.Collect
)

func added(i int, item string) string {
	return fmt.Sprintf(`{"type":"response.output_item.added","sequence_number":2,"output_index":%d,"item":%s}`, i, item)
}

func finished(i int, item string) string {
	return fmt.Sprintf(`{"type":"response.output_item.done","sequence_number":9,"output_index":%d,"item":%s}`, i, item)
}

func piece(i int, text string) string {
	return fmt.Sprintf(`{"type":"response.output_text.delta","sequence_number":4,"item_id":"msg_1","output_index":%d,"content_index":0,"delta":"%s","logprobs":[],"obfuscation":"aZ0"}`, i, text)
}

func arguments(i int, text string) string {
	return fmt.Sprintf(`{"type":"response.function_call_arguments.delta","sequence_number":4,"item_id":"fc_1","output_index":%d,"delta":"%s","obfuscation":""}`, i, text)
}

func summary(i, part int, text string) string {
	return fmt.Sprintf(`{"type":"response.reasoning_summary_text.delta","sequence_number":4,"item_id":"rs_1","output_index":%d,"summary_index":%d,"delta":"%s","obfuscation":"x"}`, i, part, text)
}

func newPart(i, part int) string {
	return fmt.Sprintf(`{"type":"response.reasoning_summary_part.added","sequence_number":4,"item_id":"rs_1","output_index":%d,"summary_index":%d,"part":{"type":"summary_text","text":""}}`, i, part)
}

func end(status, more string) string {
	return `{"type":"response.` + status + `","sequence_number":20,"response":{"id":"resp_1","object":"response","model":"gpt-5.2-2025-12-11","status":"` + status + `"` + more + `,"usage":{"input_tokens":10,"input_tokens_details":{"cached_tokens":4,"cache_write_tokens":1},"output_tokens":7,"output_tokens_details":{"reasoning_tokens":3},"total_tokens":17}}}`
}

const (
	created  = `{"type":"response.created","sequence_number":0,"response":{"id":"resp_1","object":"response","status":"in_progress","model":"gpt-5.2-2025-12-11","output":[],"usage":null}}`
	message  = `{"id":"msg_1","type":"message","status":"in_progress","content":[],"role":"assistant"}`
	messageP = `{"id":"msg_1","type":"message","status":"in_progress","content":[],"role":"assistant","phase":"commentary"}`
	callF    = `{"id":"fc_1","type":"function_call","status":"in_progress","arguments":"","call_id":"call_1","name":"f"}`
	callG    = `{"id":"fc_2","type":"function_call","status":"in_progress","arguments":"","call_id":"call_2","name":"g"}`
	thinks   = `{"id":"rs_1","type":"reasoning","encrypted_content":"old","summary":[]}`
)

func said(text string) string {
	return `{"id":"msg_1","type":"message","status":"completed","content":[{"type":"output_text","annotations":[],"logprobs":[],"text":"` + text + `"}],"role":"assistant"}`
}

func called(item, args string) string {
	return strings.Replace(strings.Replace(item, `"arguments":""`, `"arguments":"`+args+`"`, 1), "in_progress", "completed", 1)
}

var (
	begun      = framed(created, added(0, message), piece(0, "Hi"), piece(0, ` \u00e9`), piece(0, "\u00e9\\n"))
	fullStream = begun + framed(finished(0, said(`Hi \u00e9é\n`)), end("completed", ""))
)

// play asks a model that answers with body, and checks that the deltas add up to the response.
func play(t *testing.T, contentType, body string, size int, end error, blocking bool) (*llm.Response, error) {
	t.Helper()
	c := &Client{BaseURL: "http://localhost", HTTP: wiretest.Replay(contentType, body, size, end)}
	req := request
	req.Blocking = blocking
	return collect(t, c.Model("m"), &req)
}

func TestStream(t *testing.T) {
	hi := llm.Blocks{txt("Hi \u00e9\u00e9\n")}
	full := `{"id":"rs_1","type":"reasoning","encrypted_content":"new","summary":[{"type":"summary_text","text":"**A**"},{"type":"summary_text","text":"b"}],"status":null}`
	kept := `{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"**A**"},{"type":"summary_text","text":"b"}],"encrypted_content":"new"}`
	search := `{"id":"ws_1","type":"web_search_call","status":"completed","action":{"type":"search","query":"q"}}`
	cited := `{"id":"msg_1","type":"message","status":"completed","role":"assistant","content":[{"type":"output_text","text":"b","annotations":[{"type":"url_citation","url":"https://x"}]}]}`
	done := framed(end("completed", ""))
	f, g := use("call_1", "f", `{"x":1}`), use("call_2", "g", `{}`)
	for _, tt := range []struct {
		name, body string
		want       llm.Blocks
		stop       llm.StopReason
	}{
		{"text", fullStream, hi, llm.EndTurn},
		{"crlf", strings.ReplaceAll(fullStream, "\n", "\r\n"), hi, llm.EndTurn},
		{"without the names of events", strings.ReplaceAll(fullStream, "event: ", "id: "), hi, llm.EndTurn},
		{"unknown events and members", framed(created, `{"type":"response.new_thing","x":{}}`, added(0, message), `{"type":"response.output_text.annotation.added","output_index":0}`, `{"type":"response.output_text.delta","output_index":0,"delta":"a","logprobs":[{"token":"a"}],"new":{"y":1}}`, `{"type":"keepalive","sequence_number":3}`) + done, llm.Blocks{txt("a")}, llm.EndTurn},
		{"not announced", framed(piece(0, "a"), piece(0, "b")) + done, llm.Blocks{txt("ab")}, llm.EndTurn},
		{"pieces that went missing", framed(added(0, message), piece(0, "a"), finished(0, said("abc"))) + done, llm.Blocks{txt("abc")}, llm.EndTurn},
		{"only at the end", framed(created, end("completed", `,"output":[`+full+`,`+said("a")+`,`+called(callF, `{\"x\":1}`)+`]`)), llm.Blocks{llm.Thinking{Text: "**A**\n\nb", Extra: json.RawMessage(kept)}, txt("a"), f}, llm.UseTools},
		{"empty", framed(created) + done, nil, llm.EndTurn},
		{"reasoning", framed(created, added(0, thinks), newPart(0, 0), summary(0, 0, "**A"), summary(0, 0, "**"), newPart(0, 1), summary(0, 1, "b"), finished(0, full), added(1, callF), arguments(1, `{\"x\"`), arguments(1, `:1}`), finished(1, called(callF, `{\"x\":1}`))) + done, llm.Blocks{llm.Thinking{Text: "**A**\n\nb", Extra: json.RawMessage(kept)}, f}, llm.UseTools},
		{"reasoning without a summary", framed(added(0, thinks), finished(0, `{"id":"rs_1","type":"reasoning","encrypted_content":"e","summary":[]}`), added(1, message), piece(1, "a")) + done, llm.Blocks{llm.Thinking{Extra: json.RawMessage(`{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"e"}`)}, txt("a")}, llm.EndTurn},
		{"reasoning in words", framed(added(0, thinks), `{"type":"response.reasoning_text.delta","output_index":0,"content_index":0,"delta":"hm"}`, finished(0, `{"id":"rs_1","type":"reasoning","summary":[],"content":[{"type":"reasoning_text","text":"hm"}]}`)) + done, llm.Blocks{llm.Thinking{Text: "hm", Extra: json.RawMessage(`{"type":"reasoning","id":"rs_1","summary":[],"content":[{"type":"reasoning_text","text":"hm"}]}`)}}, llm.EndTurn},
		{"interleaved calls", framed(added(0, callF), arguments(0, `{\"x\"`), added(1, callG), arguments(1, `{}`), arguments(0, `:1}`), finished(1, called(callG, `{}`)), finished(0, called(callF, `{\"x\":1}`))) + done, llm.Blocks{f, g}, llm.UseTools},
		{"arguments at once", framed(added(0, callF), `{"type":"response.function_call_arguments.done","output_index":0,"arguments":"{\"x\":1}"}`) + done, llm.Blocks{f}, llm.UseTools},
		{"broken arguments", framed(added(0, callF), arguments(0, `{\"x\":`), end("incomplete", `,"incomplete_details":{"reason":"max_output_tokens"}`)), llm.Blocks{llm.ToolUse{ID: "call_1", Name: "f", Input: json.RawMessage(`{}`), Invalid: `{"x":`}}, llm.MaxTokens},
		{"all at index 0", framed(added(0, callF), arguments(0, `{\"x\":1}`), finished(0, called(callF, `{\"x\":1}`)), added(0, callG), finished(0, called(callG, `{}`))) + done, llm.Blocks{f, g}, llm.UseTools},
		{"refusal", framed(added(0, message), `{"type":"response.refusal.delta","output_index":0,"content_index":0,"delta":"I will not"}`, finished(0, `{"id":"msg_1","type":"message","role":"assistant","content":[{"type":"refusal","refusal":"I will not"}]}`)) + done, llm.Blocks{txt("I will not")}, llm.Refusal},
		{"filtered", framed(added(0, message), piece(0, "a"), end("incomplete", `,"incomplete_details":{"reason":"content_filter"}`)), llm.Blocks{txt("a")}, llm.Refusal},
		{"a new reason", framed(added(0, message), piece(0, "a"), end("incomplete", `,"incomplete_details":{"reason":"tired"}`)), llm.Blocks{txt("a")}, "tired"},
		{"search", framed(added(0, search), `{"type":"response.web_search_call.searching","output_index":0}`, finished(0, search), added(1, message), piece(1, "b"), finished(1, cited)) + done,
			llm.Blocks{own("", search), own("b", `{"type":"message","role":"assistant","content":[{"type":"output_text","text":"b","annotations":[{"type":"url_citation","url":"https://x"}]}]}`)}, llm.EndTurn},
		{"phases", framed(added(0, messageP), piece(0, "I look"), finished(0, strings.Replace(said("I look"), `"role"`, `"phase":"commentary","role"`, 1)), added(1, callF), finished(1, called(callF, `{\"x\":1}`))) + done, llm.Blocks{txt("I look"), own("", `{"type":"phase","phase":"commentary"}`), f}, llm.UseTools},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, size := range []int{0, 1} {
				got, err := play(t, events, tt.body, size, nil, false)
				if err != nil {
					t.Fatal(err)
				}
				if !reflect.DeepEqual(got.Message.Content, tt.want) || got.Stop != tt.stop {
					t.Errorf("got %+v, %q, want %+v, %q", got.Message.Content, got.Stop, tt.want, tt.stop)
				}
				if want := (llm.Usage{Input: 5, Output: 7, CacheRead: 4, CacheWrite: 1, Reasoning: 3}); got.Usage != want || got.ID != "resp_1" || got.Model != "gpt-5.2-2025-12-11" {
					t.Errorf("got %+v, %s, %s", got.Usage, got.ID, got.Model)
				}
				encoded(t, &Client{}, defaultBaseURL, "gpt-5.2", &llm.Request{Messages: append([]llm.Message{llm.UserText("a")}, got.Message, llm.UserText("b"))})
			}
		})
	}
}

// TestOutOfOrder has the second item announced before the first: the response has
// them in the order of the output.
func TestOutOfOrder(t *testing.T) {
	body := framed(added(1, message), piece(1, "b"), added(0, callF), finished(0, called(callF, `{}`)), end("completed", ""))
	c := &Client{BaseURL: "http://localhost", HTTP: wiretest.Replay(events, body, 0, nil)}
	got, err := llm.Collect(t.Context(), c.Model("m"), &request)
	if want := (llm.Blocks{use("call_1", "f", `{}`), txt("b")}); err != nil || !reflect.DeepEqual(got.Message.Content, want) {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestTruncated(t *testing.T) {
	last := len(fullStream) - 1
	for n := range len(fullStream) {
		for _, end := range []error{nil, io.ErrUnexpectedEOF, errors.New("connection reset by peer")} {
			got, err := play(t, events, fullStream[:n], 0, end, false)
			if n < last && class(err) != llm.Truncated {
				t.Fatalf("cut after %d bytes, %v: %v, %+v", n, end, err, got)
			}
		}
	}
	body := `{"id":"r","object":"response","status":"completed","output":[` + said("a") + `]}`
	for n := 1; n < len(body); n++ {
		if _, err := play(t, "application/json", body[:n], 0, nil, true); class(err) != llm.Truncated {
			t.Fatalf("a body cut after %d bytes: %v", n, err)
		}
	}
}

func TestBadStreams(t *testing.T) {
	var many strings.Builder
	for i := range maxItems + 1 {
		many.WriteString(framed(added(i, message)))
	}
	failed := func(code, message string) string {
		return framed(created, end("failed", `,"error":{"code":"`+code+`","message":"`+message+`"}`))
	}
	for _, tt := range []struct {
		name, contentType, body string
		want                    llm.Class
	}{
		{"error", events, framed(piece(0, "a"), `{"type":"error","sequence_number":3,"code":"server_error","message":"boom","param":null}`), llm.ServerError},
		{"nested error", events, framed(`{"type":"error","error":{"type":"invalid_request_error","code":"context_length_exceeded","message":"Your input exceeds the context window of this model."}}`), llm.TooLong},
		{"error without a type", events, framed(`{"error":{"message":"busy","code":"slow_down"}}`), llm.Overloaded},
		{"no credit", events, framed(`{"type":"error","code":"insufficient_quota","message":"You exceeded your current quota"}`), llmconst.Billing},
		{"failed", events, failed("server_error", "boom"), llm.ServerError},
		{"too fast", events, failed("rate_limit_exceeded", "Rate limit reached"), llm.RateLimit},
		{"overloaded", events, failed("server_is_overloaded", "busy"), llm.Overloaded},
		{"against the rules", events, failed("invalid_prompt", "flagged"), llm.Invalid},
		{"image", events, failed("invalid_image_url", "no"), llm.Invalid},
		{"too long", events, failed("context_length_exceeded", "Your input exceeds the context window"), llm.TooLong},
		{"cancelled", events, framed(end("cancelled", "")), llm.ServerError},
		{"invalid JSON", events, "data: {\"type\":\n\n", llmconst.Protocol},
		{"no event", events, framed(`{"hello":1}`), llmconst.Protocol},
		{"DONE alone", events, "data: [DONE]\n\n", llm.Truncated},
		{"arguments of nothing", events, framed(arguments(0, "{}")), llmconst.Protocol},
		{"text of a call", events, framed(added(0, callF), piece(0, "a")), llmconst.Protocol},
		{"no response", events, framed(`{"type":"response.completed"}`), llmconst.Protocol},
		{"too many items", events, many.String(), llmconst.Protocol},
		{"web page", "text/html", "<html>", llmconst.Protocol},
		{"error as JSON with 200", "application/json", `{"error":{"message":"maximum context length is 5","code":"context_length_exceeded"}}`, llm.TooLong},
		{"failed as JSON with 200", "application/json", `{"id":"r","object":"response","status":"failed","error":{"code":"rate_limit_exceeded","message":"slow"},"output":[]}`, llm.RateLimit},
		{"other JSON", "application/json", `{"hello":1}`, llmconst.Protocol},
		{"nothing", events, "", llm.Truncated},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := play(t, tt.contentType, tt.body, 0, nil, false); class(err) != tt.want {
				t.Errorf("got %v, want %s", err, tt.want)
			}
		})
	}
}

func TestBlocking(t *testing.T) {
	body := `{"id":"r","object":"response","model":"m2","status":"completed","output":[` + thinks + `,` + said("a") + `,` + called(callF, `{}`) + `],"usage":{"input_tokens":1,"output_tokens":2}}`
	for _, blocking := range []bool{true, false} {
		got, err := play(t, "application/json", body, 0, nil, blocking)
		want := llm.Blocks{llm.Thinking{Extra: json.RawMessage(`{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"old"}`)}, txt("a"), use("call_1", "f", `{}`)}
		if err != nil || !reflect.DeepEqual(got.Message.Content, want) || got.Stop != llm.UseTools || got.ID != "r" || got.Model != "m2" || got.Usage != (llm.Usage{Input: 1, Output: 2}) {
			t.Errorf("got %+v, %v", got, err)
		}
	}
}

func TestHeaders(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "sk-env")
	var got *http.Request
	s := wiretest.Handler(t, func(w http.ResponseWriter, r *http.Request) {
		got = r
		w.Header().Set("X-Request-Id", "req_7")
		w.Header().Set("Content-Type", events)
		_, _ = io.WriteString(w, fullStream)
	})
	t.Setenv("OPENAI_BASE_URL", s.URL+"/v1/")
	res, err := collect(t, (&Client{HTTP: s.Client()}).Model("m"), &request)
	if err != nil || res.RequestID != "req_7" || got.URL.Path != "/v1/responses" || got.Header.Get("Authorization") != "Bearer sk-env" {
		t.Fatalf("%+v, %v, %v", res, err, got)
	}
	at := new(Client).place("https://me.openai.azure.com/openai/v1", host{own: true, azure: true})
	azure, err := at.Exchange(false, nil, nil)
	if err != nil || azure.URL != "https://me.openai.azure.com/openai/v1/responses" || azure.Header.Get("Api-Key") != "sk-env" || azure.Header.Get("Authorization") != "" {
		t.Errorf("%+v, %v", azure, err)
	}
	t.Setenv("OPENAI_API_KEY", "")
	if _, err := llm.Collect(t.Context(), (&Client{BaseURL: compatible}).Model("m"), &request); class(err) != llm.Auth {
		t.Errorf("no key: %v", err)
	}
	if _, err := collect(t, (&Client{HTTP: s.Client()}).Model("m"), &request); err != nil || got.Header.Get("Authorization") != "" {
		t.Errorf("a loopback base needs no key: %v", err)
	}
}

// FuzzStream checks that no stream makes the client panic, that the way the bytes
// arrive makes no difference, and that what comes of it can be sent back.
func FuzzStream(f *testing.F) {
	f.Add(fullStream)
	f.Add(framed(added(0, thinks), summary(0, 0, "a"), finished(0, thinks), added(1, callF), arguments(1, "{}"), end("completed", "")))
	f.Add(framed(added(1, message), piece(1, "b"), added(0, callF), piece(0, "x"), end("incomplete", "")))
	f.Fuzz(func(t *testing.T, body string) {
		var got *llm.Response
		wiretest.SamePieces(t, func(size int) (*llm.Response, error) {
			c := &Client{BaseURL: "http://localhost", HTTP: wiretest.Replay(events, body, size, nil)}
			res, err := llm.Collect(t.Context(), c.Model("m"), &request)
			if res != nil {
				got = res
			}
			return res, err
		})
		if got == nil {
			return
		}
		for _, base := range []string{"https://api.openai.com/v1", "http://localhost"} {
			c := &Client{BaseURL: base}
			pieces, err := c.Model("m").(*model).encode(&llm.Request{Messages: wiretest.Next(got.Message), Tools: []llm.Tool{{Name: "f"}}}, hostOf(base))
			for _, v := range strictapi.CheckResponses(wiretest.Body(t, pieces, err)) {
				if v.Rule != "R03" { // items of a new kind go back as they came
					t.Errorf("sent back to %s: %v", base, v)
				}
			}
		}
	})
}

// FuzzQuick checks that an event which is read quickly would have been decoded to the same.
func FuzzQuick(f *testing.F) {
	f.Add(piece(3, "a"))
	f.Add(arguments(0, `{\"x\":\u00e9`))
	f.Add(`{"type":"response.output_text.delta","delta":"a","output_index":1,"delta":"b"}`)
	f.Add(`{"type":"response.output_text.delta","delta":"a","output_index":1,"Delta":"b"}`)
	f.Add(`{"type":"response.output_text.delta","delta":"a","output_index":01}`)
	f.Fuzz(func(t *testing.T, data string) {
		kind, index, text, ok := newDecoder().quick([]byte(data))
		if !ok {
			return
		}
		var e streamEvent
		var want string
		if err := json.Unmarshal([]byte(data), &e); err != nil || json.Unmarshal(e.Delta, &want) != nil {
			t.Fatalf("%s is read as %q and is not valid: %v", data, text, err)
		}
		if want != string(text) || e.Index != index || deltaOf([]byte(e.Type)) != kind {
			t.Errorf("%s is read as %q at %d", data, text, index)
		}
	})
}

// BenchmarkDelta measures a streamed text delta, in replies of 10,000.
func BenchmarkDelta(b *testing.B) {
	chunk := framed(piece(0, " Urbanization Prospects"))
	wiretest.Deltas(b, framed(created, added(0, message)), chunk, framed(end("completed", "")), func(body string) llm.Model {
		return (&Client{BaseURL: "http://localhost", HTTP: wiretest.Replay(events, body, 4096, nil)}).Model("m")
	})
}
