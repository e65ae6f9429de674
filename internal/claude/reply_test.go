package claude

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/openagent-go/agent/internal/llmconst"
	"github.com/openagent-go/agent/internal/wire"
	"github.com/openagent-go/agent/internal/wire/wiretest"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/llmtest"
)

const events = wiretest.Events

var (
	framed  = wiretest.Framed
	class   = wiretest.Class
	collect = wiretest.Collect
)

const (
	msgStart  = `{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"claude-x","content":[],"stop_reason":null,"usage":{"input_tokens":10,"cache_read_input_tokens":3,"output_tokens":1}}}`
	msgStop   = `{"type":"message_stop"}`
	textBlock = `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`
	stop0     = `{"type":"content_block_stop","index":0}`
)

func textDelta(s string) string {
	return `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"` + s + `"}}`
}

func ended(reason string) string {
	return `{"type":"message_delta","delta":{"stop_reason":"` + reason + `"},"usage":{"output_tokens":7}}`
}

// whole is a small complete stream.
var whole = framed(msgStart, textBlock, `{"type":"ping"}`, textDelta("Hi \\u00e9\\n"), textDelta("\u00e9"), stop0, ended("end_turn"), msgStop)

// play asks a model that answers with body.
func play(t *testing.T, contentType, body string, piece int, err error, blocking bool) (*llm.Response, error) {
	t.Helper()
	c := &Client{BaseURL: "http://localhost", HTTP: wiretest.Replay(contentType, body, piece, err)}
	req := request
	req.Blocking = blocking
	return collect(t, c.Model("m"), &req)
}

func TestStream(t *testing.T) {
	tool := func(pieces ...string) string {
		data := []string{msgStart, `{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"toolu_1","name":"f","input":{}}}`}
		for _, p := range pieces {
			q, _ := json.Marshal(p)
			data = append(data, `{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":`+string(q)+`}}`)
		}
		return framed(append(data, stop0, ended("tool_use"), msgStop)...)
	}
	for _, tt := range []struct {
		name, body string
		want       llm.Blocks
		stop       llm.StopReason
	}{
		{"text", whole, llm.Blocks{llm.Text{Text: "Hi \u00e9\n\u00e9"}}, llm.EndTurn},
		{"crlf", strings.ReplaceAll(whole, "\n", "\r\n"), llm.Blocks{llm.Text{Text: "Hi \u00e9\n\u00e9"}}, llm.EndTurn},
		{"cr", strings.ReplaceAll(whole, "\n", "\r"), llm.Blocks{llm.Text{Text: "Hi \u00e9\n\u00e9"}}, llm.EndTurn},
		{"bom and comments", "\xef\xbb\xbf: hello\n\n" + whole, llm.Blocks{llm.Text{Text: "Hi \u00e9\n\u00e9"}}, llm.EndTurn},
		{"nothing after the end counts", whole + framed(`{"type":"error","error":{"type":"api_error","message":"late"}}`), llm.Blocks{llm.Text{Text: "Hi \u00e9\n\u00e9"}}, llm.EndTurn},
		{"empty", framed(msgStart, ended("end_turn"), msgStop), nil, llm.EndTurn},
		{"empty text", framed(msgStart, textBlock, stop0, ended("end_turn"), msgStop), nil, llm.EndTurn},
		{"no stop reason", framed(msgStart, msgStop), nil, ""},
		{"unknown stop reason", framed(msgStart, ended("novel"), msgStop), nil, "novel"},
		{"unknown events", framed(msgStart, `{"type":"novelty","x":1}`, textBlock, `{"type":"content_block_delta","index":0,"delta":{"type":"novel_delta"}}`, textDelta("a"), stop0, msgStop), llm.Blocks{llm.Text{Text: "a"}}, ""},
		{"other order of members", framed(msgStart, textBlock, `{"index":0,"type":"content_block_delta","delta":{"text":"a\"b","type":"text_delta"}}`, stop0, msgStop), llm.Blocks{llm.Text{Text: `a"b`}}, ""},
		{"surrogates", framed(msgStart, textBlock, textDelta(`\ud83d\ude00\ud83d`), stop0, msgStop), llm.Blocks{llm.Text{Text: "\U0001F600\ufffd"}}, ""},
		{"redacted", framed(msgStart, `{"type":"content_block_start","index":0,"content_block":{"type":"redacted_thinking","data":"abc="}}`, stop0, ended("end_turn"), msgStop), llm.Blocks{llm.RedactedThinking{Data: "abc="}}, llm.EndTurn},
		{"thinking whose text is kept back", framed(msgStart, `{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}`, `{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"sig"}}`, stop0, msgStop), llm.Blocks{llm.Thinking{Signature: "sig"}}, ""},
		{"tool", tool("", `{"a":`, ` "b\n"}`), llm.Blocks{llm.ToolUse{ID: "toolu_1", Name: "f", Input: json.RawMessage(`{"a": "b\n"}`)}}, llm.UseTools},
		{"tool without input", tool(), llm.Blocks{llm.ToolUse{ID: "toolu_1", Name: "f", Input: json.RawMessage(`{}`)}}, llm.UseTools},
		{"interleaved blocks", framed(msgStart, textBlock, `{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"toolu_1","name":"f","input":{}}}`,
			textDelta("a"), `{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"x\""}}`, textDelta("b"), stop0,
			`{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":":1}"}}`, `{"type":"content_block_stop","index":1}`, ended("tool_use"), msgStop),
			llm.Blocks{llm.Text{Text: "ab"}, llm.ToolUse{ID: "toolu_1", Name: "f", Input: json.RawMessage(`{"x":1}`)}}, llm.UseTools},
		{"tool with broken input", tool(`{"a":`), llm.Blocks{llm.ToolUse{ID: "toolu_1", Name: "f", Input: json.RawMessage(`{}`), Invalid: `{"a":`}}, llm.UseTools},
		{"tool with input that is no object", tool(`[1]`), llm.Blocks{llm.ToolUse{ID: "toolu_1", Name: "f", Input: json.RawMessage(`{}`), Invalid: `[1]`}}, llm.UseTools},
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
				if got.Usage.Input != 10 || got.Usage.CacheRead != 3 || got.ID != "msg_1" || got.Model != "claude-x" {
					t.Errorf("got %+v", got)
				}
			}
		})
	}
}

func TestStopReasons(t *testing.T) {
	for _, reason := range []llm.StopReason{llm.EndTurn, llmconst.StopSequence, llm.UseTools, llm.MaxTokens, llm.Refusal, llmconst.PauseTurn, llmconst.Overflow} {
		got, err := play(t, events, framed(msgStart, textBlock, textDelta("a"), stop0, ended(string(reason)), msgStop), 0, nil, false)
		if err != nil || got.Stop != reason || got.Usage.Output != 7 {
			t.Errorf("%s: %+v, %v", reason, got, err)
		}
	}
}

// TestTruncated cuts a stream after every byte: without its final event it is
// never an answer, however the connection ended.
func TestTruncated(t *testing.T) {
	for n := range len(whole) {
		for _, end := range []error{nil, io.ErrUnexpectedEOF, errors.New("connection reset by peer")} {
			if _, err := play(t, events, whole[:n], 0, end, false); class(err) != llm.Truncated {
				t.Fatalf("cut after %d bytes, %v: %v", n, end, err)
			}
		}
	}
	if _, err := play(t, events, whole, 0, errors.New("connection reset by peer"), false); err != nil {
		t.Errorf("a reset after message_stop: %v", err)
	}
	body := `{"type":"message","content":[{"type":"text","text":"a"}],"stop_reason":"end_turn"}`
	for n := 1; n < len(body); n++ {
		if _, err := play(t, "application/json", body[:n], 0, nil, true); class(err) != llm.Truncated {
			t.Fatalf("a body cut after %d bytes: %v", n, err)
		}
	}
}

func TestBadStreams(t *testing.T) {
	long := strings.Repeat("x", 17<<20)
	for _, tt := range []struct {
		name, contentType, body string
		want                    llm.Class
	}{
		{"error", events, framed(msgStart, textBlock, `{"type":"error","error":{"type":"overloaded_error","message":"busy"}}`), llm.Overloaded},
		{"unknown error", events, framed(`{"type":"error","error":{"type":"strange","message":"?"}}`), llm.ServerError},
		{"too long", events, framed(`{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 5 tokens > 4 maximum"}}`), llm.TooLong},
		{"invalid JSON", events, framed(msgStart) + "data: {\"type\":\n\n", llmconst.Protocol},
		{"block out of order", events, framed(msgStart, `{"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}`), llmconst.Protocol},
		{"block twice", events, framed(msgStart, textBlock, textBlock), llmconst.Protocol},
		{"negative index", events, framed(msgStart, `{"type":"content_block_start","index":-1,"content_block":{"type":"text"}}`), llmconst.Protocol},
		{"block without type", events, framed(msgStart, `{"type":"content_block_start","index":0,"content_block":{}}`), llmconst.Protocol},
		{"delta before the block", events, framed(msgStart, textDelta("a")), llmconst.Protocol},
		{"delta after the block", events, framed(msgStart, textBlock, stop0, textDelta("a")), llmconst.Protocol},
		{"delta of another kind", events, framed(msgStart, textBlock, `{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{"}}`), llmconst.Protocol},
		{"line without end", events, "data: " + long, llmconst.Protocol},
		{"web page", "text/html; charset=utf-8", "<!doctype html><p>log in", llmconst.Protocol},
		{"web page in disguise", events, "\n <html>", llmconst.Protocol},
		{"error as JSON with 200", "application/json", `{"type":"error","error":{"type":"rate_limit_error","message":"slow"}}`, llm.RateLimit},
		{"other JSON", "application/json", `{"hello":1}`, llmconst.Protocol},
		{"nothing", events, "", llm.Truncated},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := play(t, tt.contentType, tt.body, 0, nil, false)
			if class(err) != tt.want {
				t.Errorf("got %v, want %s", err, tt.want)
			}
			if err != nil && (strings.Contains(err.Error(), "<") || len(err.Error()) > 3000) {
				t.Errorf("the body is shown: %v", err)
			}
		})
	}
}

func TestBigEvent(t *testing.T) {
	text := strings.Repeat("0123456789", 1<<20)
	got, err := play(t, events, framed(msgStart, textBlock, textDelta(text), stop0, ended("end_turn"), msgStop), 0, nil, false)
	if err != nil || got.Message.Text() != text {
		t.Errorf("an event of 10 MB: %v", err)
	}
}

func TestBlocking(t *testing.T) {
	body := "\n\n  " + `{"type":"message","id":"msg_2","model":"m2","content":[{"type":"thinking","thinking":"t","signature":"s"},{"type":"text","text":""},{"type":"text","text":"a"},{"type":"tool_use","id":"i","name":"f","input":{"x":1}}],"stop_reason":"tool_use","usage":{"input_tokens":1,"output_tokens":2,"cache_creation_input_tokens":4,"output_tokens_details":{"thinking_tokens":1}}}`
	want := llm.Blocks{llm.Thinking{Text: "t", Signature: "s"}, llm.Text{Text: "a"}, llm.ToolUse{ID: "i", Name: "f", Input: json.RawMessage(`{"x":1}`)}}
	for _, blocking := range []bool{true, false} { // some hosts answer whole although a stream was asked for
		got, err := play(t, "application/json", body, 0, nil, blocking)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got.Message.Content, want) || got.Usage != (llm.Usage{Input: 1, Output: 2, CacheWrite: 4, Reasoning: 1}) || got.Stop != llm.UseTools || got.ID != "msg_2" {
			t.Errorf("got %+v", got)
		}
	}
}

func TestAbsurdUsage(t *testing.T) {
	for in, want := range map[string]int{"-5": 0, "1e300": wire.MaxCount, "1e999": wire.MaxCount, `"x"`: 0, "null": 10, "12.0": 12, "[1]": 0} {
		got, err := play(t, events, framed(msgStart, `{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"input_tokens":`+in+`}}`, msgStop), 0, nil, false)
		if err != nil || got.Usage.Input != want {
			t.Errorf("%s: %+v, %v", in, got, err)
		}
	}
}

func TestCitations(t *testing.T) {
	got, err := play(t, events, framed(msgStart, textBlock, `{"type":"content_block_delta","index":0,"delta":{"type":"citations_delta","citation":{"url":"u"}}}`, textDelta("cited"), stop0, ended("end_turn"), msgStop), 0, nil, false)
	want := llm.Blocks{llm.Verbatim{Provider: "anthropic", Shown: "cited", Raw: json.RawMessage(`{"type":"text","text":"cited","citations":[{"url":"u"}]}`)}}
	if err != nil || !reflect.DeepEqual(got.Message.Content, want) {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestServerTool(t *testing.T) {
	got, err := play(t, events, framed(msgStart,
		`{"type":"content_block_start","index":0,"content_block":{"type":"server_tool_use","id":"s","name":"web_search","input":{}}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"query\":\"q\"}"}}`,
		stop0, ended("pause_turn"), msgStop), 0, nil, false)
	if err != nil || got.Stop != llmconst.PauseTurn || len(got.Message.ToolUses()) != 0 {
		t.Fatalf("got %+v, %v", got, err)
	}
	v, _ := got.Message.Content[0].(llm.Verbatim)
	if !wiretest.SameJSON(v.Raw, []byte(`{"type":"server_tool_use","id":"s","name":"web_search","input":{"query":"q"}}`)) {
		t.Errorf("got %s", v.Raw)
	}
}

func TestLeaving(t *testing.T) {
	c := &Client{BaseURL: "http://localhost", HTTP: wiretest.Replay(events, whole, 1, nil)}
	n := 0
	for _, err := range c.Model("m").Stream(t.Context(), &request) {
		if err != nil {
			t.Fatal(err)
		}
		if n++; n == 2 {
			break
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := llm.Collect(ctx, c.Model("m"), &request); err != context.Canceled {
		t.Errorf("a cancelled request: %v", err)
	}
}

// TestHeaders checks what the API demands beside the body.
func TestHeaders(t *testing.T) {
	t.Setenv("ANTHROPIC_API_KEY", " sk-ant-env\n")
	var got *http.Request
	var length int64
	s := wiretest.Handler(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got, length = r, int64(len(body))
		w.Header().Set("Request-Id", "req_7")
		w.Header().Set("Content-Type", events)
		_, _ = io.WriteString(w, whole)
	})
	t.Setenv("ANTHROPIC_BASE_URL", s.URL+"/")
	res, err := collect(t, (&Client{HTTP: s.Client(), Header: http.Header{"anthropic-beta": {"b"}}}).Model("m"), &request)
	if err != nil || res.RequestID != "req_7" {
		t.Fatalf("%+v, %v", res, err)
	}
	h := got.Header
	if got.URL.Path != "/v1/messages" || got.Method != http.MethodPost || got.ContentLength != length || length == 0 ||
		h.Get("X-Api-Key") != "sk-ant-env" || h.Get("Anthropic-Version") != "2023-06-01" || h.Get("Content-Type") != "application/json" || h.Get("Anthropic-Beta") != "b" {
		t.Errorf("%s %s, %d of %d bytes, %v", got.Method, got.URL, got.ContentLength, length, h)
	}
	t.Setenv("ANTHROPIC_API_KEY", "")
	if _, err := llm.Collect(t.Context(), (&Client{BaseURL: "https://models.example"}).Model("m"), &request); class(err) != llm.Auth {
		t.Errorf("no key: %v", err)
	}
}

// FuzzStream checks that no stream makes the client panic, and that the way
// the bytes arrive makes no difference.
func FuzzStream(f *testing.F) {
	f.Add(whole)
	f.Add(framed(msgStart, `{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","input":{"a":1}}}`, msgStop))
	f.Add(framed(msgStart, `{"type":"content_block_start","index":0,"content_block":{"type":"x"}}`, `{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"1"}}`, msgStop))
	f.Add(`{"type":"message","content":[{"type":"text","text":"a"}]}`)
	f.Fuzz(func(t *testing.T, body string) {
		wiretest.SamePieces(t, func(size int) (*llm.Response, error) { return play(t, events, body, size, nil, false) })
	})
}

// BenchmarkDelta measures a streamed text delta, in replies of 10,000.
func BenchmarkDelta(b *testing.B) {
	delta := framed(strings.Replace(textDelta(" Urbanization Prospects"), "}}", "}   }", 1))
	wiretest.Deltas(b, framed(msgStart, textBlock), delta, framed(stop0, ended("end_turn"), msgStop), func(body string) llm.Model {
		return (&Client{BaseURL: "http://localhost", HTTP: wiretest.Replay(events, body, 4096, nil)}).Model("m")
	})
}

// What is kept for an hour is told from the rest, in a stream and in one piece.
func TestUsageOfAnHour(t *testing.T) {
	want := llm.Usage{Input: 7, Output: 3, CacheRead: 30, CacheWrite: 20, CacheWriteHour: 8}
	s := llmtest.NewServer(t, llmtest.Step{Text: "a", Usage: want}, llmtest.Step{Text: "a", Usage: want})
	m := (&Client{APIKey: "k", BaseURL: s.URL}).Model("claude-sonnet-4-6")
	for _, blocking := range []bool{false, true} {
		got, err := llm.Collect(t.Context(), m, &llm.Request{Messages: []llm.Message{llm.UserText("hi")}, Blocking: blocking, Cache: llm.Cache{TTL: time.Hour}})
		if err != nil || got.Usage != want {
			t.Errorf("blocking %v: %v, %v", blocking, got, err)
		}
	}
}
