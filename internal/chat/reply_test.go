package chat

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/openagent-go/agent/internal/llmconst"
	"github.com/openagent-go/agent/internal/wire"
	"github.com/openagent-go/agent/internal/wire/wiretest"
	"github.com/openagent-go/agent/llm"
)

const (
	events = wiretest.Events
	done   = "data: [DONE]\n\n"
)

var (
	class   = wiretest.Class
	collect = wiretest.Collect
)

// framed makes a stream of events out of their data.
func framed(data ...string) string {
	var b strings.Builder
	for _, d := range data {
		fmt.Fprintf(&b, "data: %s\n\n", d)
	}
	return b.String()
}

// delta is a chunk with that delta; finish is JSON.
func delta(d, finish string) string {
	return `{"id":"c1","object":"chat.completion.chunk","model":"m1","choices":[{"index":0,"delta":` + d + `,"finish_reason":` + finish + `}]}`
}

func say(s string) string { return delta(`{"content":"`+s+`"}`, "null") }

func calls(list string) string { return delta(`{"tool_calls":[`+list+`]}`, "null") }

const usageChunk = `{"id":"c1","model":"m1","choices":[],"usage":{"prompt_tokens":10,"completion_tokens":7,"total_tokens":17,"prompt_tokens_details":{"cached_tokens":4}}}`

var (
	spoken = framed(delta(`{"role":"assistant","content":""}`, "null"), say("Hi"), say(" \\u00e9"), say("\u00e9\\n"))
	whole  = spoken + framed(delta(`{}`, `"stop"`), usageChunk) + done
)

// play asks a model that answers with body.
func play(t *testing.T, contentType, body string, piece int, err error, blocking bool) (*llm.Response, error) {
	t.Helper()
	c := &Client{BaseURL: "http://localhost", HTTP: wiretest.Replay(contentType, body, piece, err)}
	req := request
	req.Blocking = blocking
	return collect(t, c.Model("m"), &req)
}

func use(id, name, input string) llm.ToolUse {
	return llm.ToolUse{ID: id, Name: name, Input: json.RawMessage(input)}
}

func TestStream(t *testing.T) {
	hi := llm.Blocks{llm.Text{Text: "Hi \u00e9\u00e9\n"}}
	toolEnd := framed(delta(`{}`, `"tool_calls"`)) + done
	for _, tt := range []struct {
		name, body string
		want       llm.Blocks
		stop       llm.StopReason
	}{
		{"text", whole, hi, llm.EndTurn},
		{"crlf", strings.ReplaceAll(whole, "\n", "\r\n"), hi, llm.EndTurn},
		{"bom", "\xef\xbb\xbf" + whole, hi, llm.EndTurn},
		{"no DONE", strings.TrimSuffix(whole, done), hi, llm.EndTurn},
		{"DONE without finish_reason", spoken + done, hi, llm.EndTurn},
		{"empty", framed(delta(`{}`, `"stop"`)) + done, nil, llm.EndTurn},
		{"obfuscation", framed(obfuscated("a", "xyz"), obfuscated("b", ""), obfuscated(`c\n`, "0123456789"), obfuscated("d", `\"`)) + framed(delta(`{}`, `"stop"`)) + done, llm.Blocks{llm.Text{Text: "abc\nd"}}, llm.EndTurn},
		{"logprobs", framed(`{"id":"c1","model":"m1","choices":[{"index":0,"delta":{"content":"a"},"logprobs":{"content":[{"token":"a","logprob":-0.1,"bytes":[97],"top_logprobs":[{"token":"b","logprob":-2.5,"bytes":[98]}]}],"refusal":null},"finish_reason":null}]}`,
			`{"id":"c1","model":"m1","choices":[{"index":0,"delta":{"content":"b"},"logprobs":{"content":[{"token":"b","logprob":-0.1,"bytes":[98],"top_logprobs":[{"token":"delta\":{\"content\":\"c","logprob":-9,"bytes":null}]}],"refusal":null},"finish_reason":null}]}`,
			delta(`{}`, `"stop"`)) + done, llm.Blocks{llm.Text{Text: "ab"}}, llm.EndTurn},
		{"other choices", framed(`{"choices":[{"index":1,"delta":{"content":"no"}},{"index":0,"delta":{"content":"yes"},"finish_reason":"stop"}]}`) + done, llm.Blocks{llm.Text{Text: "yes"}}, llm.EndTurn},
		{"refusal", framed(delta(`{"refusal":"I will not"}`, "null"), delta(`{}`, `"stop"`)) + done, llm.Blocks{llm.Text{Text: "I will not"}}, llm.Refusal},
		{"parts", framed(delta(`{"content":[{"type":"thinking","thinking":[{"type":"text","text":"hm"}]},{"type":"text","text":"a"}]}`, `"stop"`)) + done, llm.Blocks{llm.Thinking{Text: "hm"}, llm.Text{Text: "a"}}, llm.EndTurn},
		{"reasoning", framed(delta(`{"reasoning_content":"h","content":null}`, "null"), delta(`{"reasoning_content":"m","content":null}`, "null"), say("a"), delta(`{}`, `"stop"`)) + done, llm.Blocks{llm.Thinking{Text: "hm"}, llm.Text{Text: "a"}}, llm.EndTurn},
		{"details", framed(
			delta(`{"reasoning":"h","reasoning_details":[{"type":"reasoning.text","index":0,"text":"h"}]}`, "null"),
			delta(`{"reasoning":"m","reasoning_details":[{"type":"reasoning.text","index":0,"text":"m","signature":"s"}]}`, "null"),
			delta(`{"reasoning_details":[{"type":"reasoning.encrypted","index":0,"data":"x"},{"type":"reasoning.encrypted","index":0,"data":"y"}]}`, `"stop"`)) + done,
			llm.Blocks{llm.Thinking{Text: "hm", Signature: "s", Extra: json.RawMessage(`[{"index":0,"signature":"s","text":"hm","type":"reasoning.text"},{"data":"x","index":0,"type":"reasoning.encrypted"},{"data":"y","index":0,"type":"reasoning.encrypted"}]`)}}, llm.EndTurn},
		{"fragments", framed(calls(`{"index":0,"id":"a","function":{"name":"f","arguments":""}}`), calls(`{"index":0,"function":{"arguments":"{\"x\":"}}`), calls(`{"index":0,"function":{"arguments":"1}"}}`)) + toolEnd, llm.Blocks{use("a", "f", `{"x":1}`)}, llm.UseTools},
		{"two calls", framed(calls(`{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}},{"index":1,"id":"b","function":{"name":"g","arguments":"{"}}`), calls(`{"index":1,"function":{"arguments":"}"}}`)) + toolEnd, llm.Blocks{use("a", "f", `{}`), use("b", "g", `{}`)}, llm.UseTools},
		{"interleaved", framed(calls(`{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\""}}`), calls(`{"index":1,"id":"b","function":{"name":"g","arguments":"{}"}}`), calls(`{"index":0,"function":{"arguments":":1}"}}`)) + toolEnd, llm.Blocks{use("a", "f", `{"x":1}`), use("b", "g", `{}`)}, llm.UseTools},
		{"without index", framed(calls(`{"id":"a","function":{"name":"f","arguments":"{"}}`), calls(`{"function":{"arguments":"}"}}`), calls(`{"id":"b","function":{"name":"g","arguments":"{}"}}`)) + toolEnd, llm.Blocks{use("a", "f", `{}`), use("b", "g", `{}`)}, llm.UseTools},
		{"all at index 0", framed(calls(`{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}`), calls(`{"index":0,"id":"b","function":{"name":"f","arguments":"{}"}}`)) + toolEnd, llm.Blocks{use("a", "f", `{}`), use("b", "f", `{}`)}, llm.UseTools},
		{"late and repeated id", framed(calls(`{"index":0,"function":{"name":"f"}}`), calls(`{"index":0,"id":"a","function":{"name":"f","arguments":"{"}}`), calls(`{"index":0,"id":"a","function":{"name":"f","arguments":"}"}}`)) + toolEnd, llm.Blocks{use("a", "f", `{}`)}, llm.UseTools},
		{"no id at all", framed(calls(`{"index":0,"function":{"name":"f","arguments":""}}`)) + toolEnd, llm.Blocks{use("call_0", "f", `{}`)}, llm.UseTools},
		{"arguments as an object", framed(calls(`{"index":0,"id":"a","function":{"name":"f","arguments":{"x":1}}}`)) + toolEnd, llm.Blocks{use("a", "f", `{"x":1}`)}, llm.UseTools},
		{"broken arguments", framed(calls(`{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":"}}`)) + toolEnd, llm.Blocks{llm.ToolUse{ID: "a", Name: "f", Input: json.RawMessage("{}"), Invalid: `{"x":`}}, llm.UseTools},
		{"function_call", framed(delta(`{"function_call":{"name":"f","arguments":"{"}}`, "null"), delta(`{"function_call":{"arguments":"}"}}`, "null"), delta(`{}`, `"function_call"`)) + done, llm.Blocks{use("call_0", "f", `{}`)}, llm.UseTools},
		{"calls that end with stop", framed(calls(`{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}`), delta(`{}`, `"stop"`)) + done, llm.Blocks{use("a", "f", `{}`)}, llm.UseTools},
		{"phantom call", framed(say("a"), calls(`{"index":0,"function":{}}`), delta(`{}`, `"tool_calls"`)) + done, llm.Blocks{llm.Text{Text: "a"}}, llm.EndTurn},
		{"finish_reason again", framed(say("a"), delta(`{}`, `"length"`), delta(`{}`, `"stop"`)) + done, llm.Blocks{llm.Text{Text: "a"}}, llm.MaxTokens},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, piece := range []int{0, 1} {
				got, err := play(t, events, tt.body, piece, nil, false)
				if err != nil {
					t.Fatal(err)
				}
				if !reflect.DeepEqual(got.Message.Content, tt.want) || got.Stop != tt.stop {
					t.Errorf("got %+v, %q, want %+v, %q", got.Message.Content, got.Stop, tt.want, tt.stop)
				}
			}
		})
	}
}

// obfuscated is a chunk as OpenAI sends it.
func obfuscated(s, padding string) string {
	return `{"id":"c1","model":"m1","choices":[{"index":0,"delta":{"content":"` + s + `"},"logprobs":null,"finish_reason":null}],"usage":null,"obfuscation":"` + padding + `"}`
}

func TestFinishReasons(t *testing.T) {
	for reason, want := range map[string]llm.StopReason{
		"stop": llm.EndTurn, "length": llm.MaxTokens, "content_filter": llm.Refusal, "tool_calls": llm.EndTurn, "eos": llm.EndTurn, "novel": "novel",
	} {
		got, err := play(t, events, framed(say("a"), delta(`{}`, `"`+reason+`"`))+done, 0, nil, false)
		if err != nil || got.Stop != want {
			t.Errorf("%s: %+v, %v", reason, got, err)
		}
	}
}

// TestTruncated cuts a stream after every byte: without finish_reason or [DONE]
// it is never an answer, however the connection ended.
func TestTruncated(t *testing.T) {
	finish := len(spoken) + len(framed(delta(`{}`, `"stop"`)))
	for n := range len(whole) {
		for _, end := range []error{nil, io.ErrUnexpectedEOF, errors.New("connection reset by peer")} {
			got, err := play(t, events, whole[:n], 0, end, false)
			if n < finish && class(err) != llm.Truncated {
				t.Fatalf("cut after %d bytes, %v: %v", n, end, err)
			}
			if n >= finish && (err != nil || got.Message.Text() != "Hi \u00e9\u00e9\n") {
				t.Fatalf("cut after %d bytes, behind finish_reason: %+v, %v", n, got, err)
			}
		}
	}
	body := `{"id":"c","choices":[{"message":{"content":"a"},"finish_reason":"stop"}]}`
	for n := 1; n < len(body); n++ {
		if _, err := play(t, "application/json", body[:n], 0, nil, true); class(err) != llm.Truncated {
			t.Fatalf("a body cut after %d bytes: %v", n, err)
		}
	}
}

func TestBadStreams(t *testing.T) {
	var many strings.Builder
	for i := range maxCalls + 1 {
		many.WriteString(framed(calls(fmt.Sprintf(`{"index":%d,"id":"%d","function":{"name":"f"}}`, i, i))))
	}
	for _, tt := range []struct {
		name, contentType, body string
		want                    llm.Class
	}{
		{"error", events, framed(say("a"), `{"error":{"message":"busy","type":"server_error","code":503}}`), llm.Overloaded},
		{"error in words", events, framed(`{"error":"boom"}`), llm.ServerError},
		{"error beside a choice", events, framed(`{"error":{"code":429,"message":"slow"},"choices":[{"index":0,"delta":{"content":""},"finish_reason":"error"}]}`), llm.RateLimit},
		{"finish_reason error", events, framed(delta(`{}`, `"error"`)), llm.ServerError},
		{"no resources", events, framed(delta(`{}`, `"insufficient_system_resource"`)), llm.Overloaded},
		{"invalid JSON", events, "data: {\"id\":\n\n", llmconst.Protocol},
		{"DONE alone", events, done, llmconst.Protocol},
		{"too many calls", events, many.String(), llmconst.Protocol},
		{"web page", "text/html", "<html>", llmconst.Protocol},
		{"error as JSON with 200", "application/json", `{"error":{"message":"maximum context length is 5","code":"context_length_exceeded"}}`, llm.TooLong},
		{"error in words with 200", "application/json", `{"detail":"no such thing"}`, llm.ServerError},
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

func TestUsage(t *testing.T) {
	for usage, want := range map[string]llm.Usage{
		`{"prompt_tokens":10,"completion_tokens":7,"total_tokens":17,"prompt_tokens_details":{"cached_tokens":4,"cache_write_tokens":1}}`:   {Input: 5, Output: 7, CacheRead: 4, CacheWrite: 1},
		`{"prompt_tokens":10,"completion_tokens":7,"total_tokens":17,"completion_tokens_details":{"reasoning_tokens":5}}`:                   {Input: 10, Output: 7, Reasoning: 5},
		`{"prompt_tokens":10,"completion_tokens":7,"total_tokens":22,"completion_tokens_details":{"reasoning_tokens":5}}`:                   {Input: 10, Output: 12, Reasoning: 5},
		`{"prompt_tokens":10,"completion_tokens":7,"total_tokens":17,"completion_tokens_details":{"reasoning_tokens":50}}`:                  {Input: 10, Output: 57, Reasoning: 50},
		`{"prompt_tokens":10,"completion_tokens":7,"prompt_cache_hit_tokens":6}`:                                                            {Input: 4, Output: 7, CacheRead: 6},
		`{"prompt_tokens":10,"completion_tokens":7,"cached_tokens":6,"cache_creation_input_tokens":2}`:                                      {Input: 2, Output: 7, CacheRead: 6, CacheWrite: 2},
		`{"prompt_tokens":-3,"completion_tokens":1e99,"prompt_tokens_details":null,"completion_tokens_details":{"reasoning_tokens":"all"}}`: {Output: wire.MaxCount},
		`{"prompt_tokens":1,"completion_tokens":1,"prompt_tokens_details":{"cached_tokens":5}}`:                                             {Output: 1, CacheRead: 5},
		`null`: {},
	} {
		got, err := play(t, events, framed(say("a"), delta(`{}`, `"stop"`), `{"choices":[],"usage":`+usage+`}`)+done, 0, nil, false)
		if err != nil || got.Usage != want {
			t.Errorf("%s: %+v, %v, want %+v", usage, got, err, want)
		}
	}
}

func TestBlocking(t *testing.T) {
	body := "\n   \n" + `{"id":"c","model":"m2","choices":[{"message":{"role":"assistant","content":null,"reasoning_content":"hm","tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"f","arguments":"{\"x\":1}"}}]},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":1,"completion_tokens":2}}`
	for _, blocking := range []bool{true, false} {
		got, err := play(t, "application/json", body, 0, nil, blocking)
		want := llm.Blocks{llm.Thinking{Text: "hm"}, use("a", "f", `{"x":1}`)}
		if err != nil || !reflect.DeepEqual(got.Message.Content, want) || got.Stop != llm.UseTools || got.ID != "c" || got.Model != "m2" || got.Usage != (llm.Usage{Input: 1, Output: 2}) {
			t.Errorf("got %+v, %v", got, err)
		}
	}
}

func TestHeaders(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "sk-env")
	var got *http.Request
	s := wiretest.Handler(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if int64(len(body)) != r.ContentLength {
			t.Errorf("%d bytes, announced %d", len(body), r.ContentLength)
		}
		got = r
		w.Header().Set("X-Request-Id", "req_7")
		w.Header().Set("Content-Type", events)
		_, _ = io.WriteString(w, whole)
	})
	t.Setenv("OPENAI_BASE_URL", s.URL+"/api/paas/v4/")
	res, err := collect(t, (&Client{HTTP: s.Client()}).Model("m"), &request)
	if err != nil || res.RequestID != "req_7" || res.Usage != (llm.Usage{Input: 6, Output: 7, CacheRead: 4}) {
		t.Fatalf("%+v, %v", res, err)
	}
	if got.URL.Path != "/api/paas/v4/chat/completions" || got.Header.Get("Authorization") != "Bearer sk-env" {
		t.Errorf("%s, %v", got.URL, got.Header)
	}
	t.Setenv("OPENAI_API_KEY", "")
	if _, err := llm.Collect(t.Context(), (&Client{BaseURL: "https://models.example/v1"}).Model("m"), &request); class(err) != llm.Auth {
		t.Errorf("no key: %v", err)
	}
	if _, err := collect(t, (&Client{HTTP: s.Client()}).Model("m"), &request); err != nil || got.Header.Get("Authorization") != "" {
		t.Errorf("a loopback base needs no key: %v", err)
	}
}

// FuzzStream checks that no stream makes the client panic, that the way the
// bytes arrive makes no difference, and that known forms of chunks are read like
// unknown ones.
func FuzzStream(f *testing.F) {
	f.Add(whole)
	f.Add(framed(obfuscated("a", "x"), obfuscated("b", "yz")) + done)
	f.Add(framed(delta(`{"reasoning":"h"}`, "null"), delta(`{"reasoning":"m"}`, "null"), calls(`{"index":0,"function":{"arguments":"1"}}`)) + done)
	f.Add(framed(delta(`{"reasoning_details":[{"type":"reasoning.text","text":"h"},{"text":1},null]}`, `"stop"`)) + done)
	f.Fuzz(func(t *testing.T, body string) {
		wiretest.SamePieces(t, func(size int) (*llm.Response, error) { return play(t, events, body, size, nil, false) })
	})
}

// FuzzForm checks that a chunk which is read by its form would have been decoded
// to the same text and nothing else.
func FuzzForm(f *testing.F) {
	f.Add(say("a"), say("b"))
	f.Add(obfuscated("a", "x"), obfuscated("b", "yy"))
	f.Add(delta(`{"content":"a","reasoning":null}`, "null"), delta(`{"content":"b","reasoning":"c"}`, "null"))
	f.Add(`{"choices":[{"delta":{"content":"a","x":{"content":"b"}}}]}`, `{"choices":[{"delta":{"content":"a","x":{"content":"c"}}}]}`)
	f.Add(`{"x":{"delta":{"content":"a"}},"choices":[{"delta":{"content":"a"}}]}`, `{"x":{"delta":{"content":"b"}},"choices":[{"delta":{"content":"a"}}]}`)
	f.Fuzz(func(t *testing.T, first, second string) {
		read := func(data string) (*llm.Response, *decoder) {
			d := &decoder{Draft: wire.Draft{Reply: &wire.Reply{}}}
			var c chunk
			if json.Unmarshal([]byte(data), &c) != nil || c.failed() || len(c.Choices) != 1 || c.Choices[0].Finish != "" || c.Choices[0].Message.Content.text != "" {
				return nil, nil
			}
			if d.chunk([]byte(data)) != nil || d.end() != nil {
				return nil, nil
			}
			return &d.Res, d
		}
		_, d := read(first)
		if d == nil {
			return
		}
		for i := range d.forms {
			text, ok := d.forms[i].match(nil, []byte(second))
			if !ok {
				continue
			}
			got, _ := read(second)
			var want llm.Blocks
			switch {
			case len(text) == 0:
			case i == 0:
				want = llm.Blocks{llm.Text{Text: string(text)}}
			default:
				want = llm.Blocks{llm.Thinking{Text: string(text)}}
			}
			if got == nil || !reflect.DeepEqual(got.Message.Content, want) {
				t.Errorf("%s\nafter\n%s\nis read as %q", second, first, text)
			}
		}
	})
}

// BenchmarkDelta measures a streamed text delta, in replies of 10,000.
func BenchmarkDelta(b *testing.B) {
	chunk := framed(obfuscated(" Urbanization Prospects", "0123456789abcdef"))
	wiretest.Deltas(b, "", chunk, framed(delta(`{}`, `"stop"`), usageChunk)+done, func(body string) llm.Model {
		return (&Client{BaseURL: "http://localhost", HTTP: wiretest.Replay(events, body, 4096, nil)}).Model("m")
	})
}

// A reply in very many parts costs what its bytes cost, and one that is nested is
// not followed.
func TestManyParts(t *testing.T) {
	const n = 20_000
	parts := strings.Repeat(`{"type":"text","text":"abc"},{"type":"thinking","thinking":[{"type":"text","text":"hm"}]},`, n)
	details := strings.Repeat(`{"type":"reasoning.text","text":"x"},`, n)
	for name, body := range map[string]string{
		"parts":   `{"choices":[{"message":{"content":[` + strings.TrimSuffix(parts, ",") + `]},"finish_reason":"stop"}]}`,
		"details": `{"choices":[{"message":{"content":"a","reasoning_details":[` + strings.TrimSuffix(details, ",") + `]},"finish_reason":"stop"}]}`,
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		got, err := play(t, "application/json", body, 0, nil, true)
		runtime.ReadMemStats(&after)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		thinking := 0
		for _, b := range got.Message.Content {
			if th, ok := b.(llm.Thinking); ok {
				thinking += len(th.Text)
			}
		}
		if thinking < n {
			t.Errorf("%s: %d bytes of thinking", name, thinking)
		}
		if used := after.TotalAlloc - before.TotalAlloc; used > 60*uint64(len(body)) {
			t.Errorf("%s: %d bytes for a reply of %d", name, used, len(body))
		}
	}
	nested := framed(delta(`{"content":[{"thinking":[{"thinking":[{"text":"deep"}]},{"text":"hm"}]},{"text":"a"}]}`, `"stop"`)) + done
	got, err := play(t, events, nested, 0, nil, false)
	if want := (llm.Blocks{llm.Thinking{Text: "hm"}, llm.Text{Text: "a"}}); err != nil || !reflect.DeepEqual(got.Message.Content, want) {
		t.Errorf("nested: %+v, %v", got, err)
	}
}
