package faultserver_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/openagent-go/agent/internal/faultserver"
	"github.com/openagent-go/agent/internal/llmconst"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/anthropic"
	"github.com/openagent-go/agent/llm/openai"
	"github.com/openagent-go/agent/llm/responses"
)

// TestMain checks that no goroutine and no open file is left.
func TestMain(m *testing.M) {
	httptest.NewServer(http.NotFoundHandler()).Close() // the runtime opens files of its own with the first socket
	before := files()
	code := m.Run()
	left := 0
	for range 200 { // sockets are closed in the background
		if left = files() - before; left <= 0 {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if err := goleak.Find(); err != nil || left > 0 {
		fmt.Fprintf(os.Stderr, "%d open files are left, %v\n", left, err)
		code = max(code, 1)
	}
	os.Exit(code)
}

// files returns the number of open files, 0 where there is no /proc.
func files() int {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return 0
	}
	return len(entries)
}

// An api is a client with a reply that it understands.
type api struct {
	name   string
	model  func(url string, client *http.Client) llm.Model
	stream string // says "Hi é!", calls a tool and ends
	end    string // what is in the event that ends it
	hurt   string // an event that says that the service is overloaded
	novel  string // an unknown event
	long   func(text string) string
}

const text = "Hi \u00e9!"

func events(data ...string) string {
	return "data: " + strings.Join(data, "\n\ndata: ") + "\n\n"
}

var apis = []api{{
	name: "anthropic",
	model: func(url string, client *http.Client) llm.Model {
		return (&anthropic.Client{BaseURL: url, APIKey: "k", HTTP: client, HeaderTimeout: 10 * time.Second, IdleTimeout: 20 * time.Second, TotalTimeout: time.Minute}).Model("claude-sonnet-4-6")
	},
	stream: events(`{"type":"message_start","message":{"id":"m","type":"message","role":"assistant","model":"x","content":[],"usage":{"input_tokens":9}}}`,
		`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`,
		`{"type":"ping"}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hi "}}`,
		"{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"\u00e9!\"}}",
		`{"type":"content_block_stop","index":0}`,
		`{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"toolu_1","name":"write","input":{}}}`,
		`{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"n\":"}}`,
		`{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"1}"}}`,
		`{"type":"content_block_stop","index":1}`,
		`{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":5}}`,
		`{"type":"message_stop"}`),
	end:   `message_stop`,
	hurt:  events(`{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`),
	novel: events(`{"type":"novelty","index":7}`),
	long: func(s string) string {
		return events(`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"` + s + `"}}`)
	},
}, {
	name: "openai",
	model: func(url string, client *http.Client) llm.Model {
		return (&openai.Client{BaseURL: url, APIKey: "k", HTTP: client, HeaderTimeout: 10 * time.Second, IdleTimeout: 20 * time.Second, TotalTimeout: time.Minute}).Model("gpt-4.1")
	},
	stream: events(`{"id":"c","model":"x","choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}`,
		`{"id":"c","choices":[{"index":0,"delta":{"content":"Hi "}}]}`,
		"{\"id\":\"c\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"\u00e9!\"}}]}",
		`{"id":"c","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"call_1","type":"function","function":{"name":"write","arguments":"{\"n\":"}}]}}]}`,
		`{"id":"c","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"1}"}}]}}]}`,
		`{"id":"c","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}`,
		`{"id":"c","choices":[],"usage":{"prompt_tokens":9,"completion_tokens":5}}`,
		`[DONE]`),
	end:   `"finish_reason"`,
	hurt:  events(`{"error":{"type":"overloaded_error","message":"Overloaded"}}`),
	novel: events(`{"id":"c","object":"novelty","choices":[]}`),
	long: func(s string) string {
		return events(`{"id":"c","choices":[{"index":0,"delta":{"content":"` + s + `"}}]}`)
	},
}, {
	name: "responses",
	model: func(url string, client *http.Client) llm.Model {
		return (&responses.Client{BaseURL: url, APIKey: "k", HTTP: client, HeaderTimeout: 10 * time.Second, IdleTimeout: 20 * time.Second, TotalTimeout: time.Minute}).Model("gpt-4.1")
	},
	stream: events(`{"type":"response.created","response":{"id":"r","object":"response","model":"x","status":"in_progress","output":[]}}`,
		`{"type":"response.output_item.added","output_index":0,"item":{"id":"msg_1","type":"message","role":"assistant","content":[]}}`,
		`{"type":"response.output_text.delta","output_index":0,"content_index":0,"delta":"Hi "}`,
		"{\"type\":\"response.output_text.delta\",\"output_index\":0,\"content_index\":0,\"delta\":\"\u00e9!\"}",
		`{"type":"response.output_item.added","output_index":1,"item":{"id":"fc_1","type":"function_call","call_id":"call_1","name":"write","arguments":""}}`,
		`{"type":"response.function_call_arguments.delta","output_index":1,"delta":"{\"n\":"}`,
		`{"type":"response.function_call_arguments.delta","output_index":1,"delta":"1}"}`,
		`{"type":"response.output_item.done","output_index":1,"item":{"id":"fc_1","type":"function_call","call_id":"call_1","name":"write","arguments":"{\"n\":1}"}}`,
		`{"type":"response.completed","response":{"id":"r","object":"response","model":"x","status":"completed","usage":{"input_tokens":9,"output_tokens":5}}}`),
	end:   `response.completed`,
	hurt:  events(`{"type":"error","code":"server_is_overloaded","message":"Overloaded"}`),
	novel: events(`{"type":"response.novelty","output_index":7}`),
	long: func(s string) string {
		return events(`{"type":"response.output_text.delta","output_index":0,"content_index":0,"delta":"` + s + `"}`)
	},
}}

// each runs a test with both clients.
func each(t *testing.T, test func(t *testing.T, a api)) {
	for _, a := range apis {
		t.Run(a.name, func(t *testing.T) { test(t, a) })
	}
}

// split returns the complete events of the stream up to that which ends it, and
// those after it.
func (a api) split() (before []string, after string) {
	for e := range strings.SplitAfterSeq(a.stream, "\n\n") {
		before = append(before, e)
		if strings.Contains(e, a.end) {
			break
		}
	}
	return before, a.stream[len(strings.Join(before, "")):]
}

// upToText is the stream up to the first event with text.
func (a api) upToText() string {
	end := strings.Index(a.stream, "Hi ")
	return a.stream[:end+strings.Index(a.stream[end:], "\n\n")+2]
}

const stream = "text/event-stream"

// ask runs a request to its end. It checks what holds however it ends: no delta
// is shown that was not sent, and there is either an answer or an error.
func ask(t *testing.T, m llm.Model) (*llm.Response, *llm.APIError) {
	t.Helper()
	var got *llm.Response
	var failed error
	shown := ""
	tool := -1
	for d, err := range m.Stream(t.Context(), &llm.Request{Messages: []llm.Message{llm.UserText("hi")}}) {
		if got != nil || failed != nil {
			t.Errorf("something comes after the end: %+v, %v", d, err)
		}
		if err != nil {
			failed = err
			continue
		}
		if _, ok := d.Block.(llm.ToolUse); ok {
			tool = d.Index
		}
		if d.Index != tool {
			shown += d.Text
		}
		got = d.Done
	}
	if !strings.HasPrefix(text, shown) && len(shown) < 1000 {
		t.Errorf("shown is %q", shown)
	}
	if failed == nil {
		if got == nil {
			t.Fatal("neither answer nor error")
		}
		if got.Message.Text() != shown {
			t.Errorf("shown is %.100q, the answer %.100q", shown, got.Message.Text())
		}
		return got, nil
	}
	var e *llm.APIError
	if !errors.As(failed, &e) || e.RetryAfter > 0 {
		t.Fatalf("the error is %T: %v", failed, failed)
	}
	return nil, e
}

// whole checks an answer.
func whole(t *testing.T, r *llm.Response, err *llm.APIError) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	if uses := r.Message.ToolUses(); r.Message.Text() != text || r.Stop != llm.UseTools || len(uses) != 1 || string(uses[0].Input) != `{"n":1}` {
		t.Errorf("the answer is %+v", r)
	}
}

// A row of the fault matrix: the server's fault and the client's error.
type row struct {
	id, name string
	fault    func(a api) faultserver.Fault
	want     []llm.Class // one of them; none: the answer is there
	retry    bool
}

func sent(wire func(a api) []byte, end faultserver.End) func(api) faultserver.Fault {
	return func(a api) faultserver.Fault { return faultserver.Fault{Wire: wire(a), End: end} }
}

func body(status, contentType, text string) func(api) []byte {
	return func(api) []byte { return faultserver.Whole(status, contentType, text) }
}

const page = "<!doctype html><html><body>Log in, please</body></html>"

var rows = []row{
	{"N2", "closed before the header", sent(func(api) []byte { return nil }, faultserver.Close), []llm.Class{llm.Network}, true},
	{"N2", "reset before the header", sent(func(api) []byte { return nil }, faultserver.Reset), []llm.Class{llm.Network}, true},
	{"N2", "reset before the request", func(api) faultserver.Fault { return faultserver.Fault{Early: true, End: faultserver.Reset} }, []llm.Class{llm.Network}, true},
	{"N8", "last chunk without the final event", sent(func(a api) []byte { return faultserver.Chunked("200 OK", stream, a.upToText(), "\n\n") }, faultserver.Close), []llm.Class{llm.Truncated}, true},
	{"N11", "TLS alert", func(api) faultserver.Fault {
		return faultserver.Fault{Early: true, Wire: []byte("\x15\x03\x03\x00\x02\x02\x28")}
	}, []llm.Class{llmconst.TLS}, false},
	{"N12", "proxy wants a login", sent(body("407 Proxy Authentication Required", "text/html", page), faultserver.Close), []llm.Class{llm.Auth}, false},
	{"N12", "portal with status 200", sent(body("200 OK", "text/html", page), faultserver.Close), []llm.Class{llmconst.Protocol}, true},
	{"N12", "portal that says it is a stream", sent(body("200 OK", stream, "\r\n "+page), faultserver.Close), []llm.Class{llmconst.Protocol}, true},
	{"N12", "portal that says it is JSON", sent(body("200 OK", "application/json", page), faultserver.Close), []llm.Class{llmconst.Protocol}, true},
	{"N12", "not HTTP", sent(func(api) []byte { return []byte("SSH-2.0-OpenSSH_9.2\r\n") }, faultserver.Close), []llm.Class{llm.Network}, true},
	{"N12", "garbage", sent(func(api) []byte { return []byte("\x00\xff\x00\xff\r\n\r\n") }, faultserver.Close), []llm.Class{llm.Network}, true},
	{"N12", "garbage in the chunks", sent(func(a api) []byte {
		return []byte("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n" + a.stream)
	}, faultserver.Close), []llm.Class{llm.Truncated}, true},
	{"N12", "a header without end", sent(func(api) []byte {
		return []byte("HTTP/1.1 200 OK\r\nX-Long: " + strings.Repeat("x", 12<<20))
	}, faultserver.Close), []llm.Class{llm.Network}, true},
	{"L4", "500 with a page", sent(body("500 Internal Server Error", "text/html", page), faultserver.Close), []llm.Class{llm.ServerError}, true},
	{"L4", "502 with a page", sent(body("502 Bad Gateway", "text/html", page), faultserver.Close), []llm.Class{llm.ServerError}, true},
	{"L4", "503 with a page", sent(body("503 Service Unavailable", "text/html", page), faultserver.Close), []llm.Class{llm.Overloaded}, true},
	{"L4", "504 with a page", sent(body("504 Gateway Timeout", "text/html", page), faultserver.Close), []llm.Class{llm.ServerError}, true},
	{"L7", "error after 200", sent(func(a api) []byte { return faultserver.Chunked("200 OK", stream, a.upToText()+a.hurt, "\n\n") }, faultserver.Close), []llm.Class{llm.Overloaded}, true},
	{"L9", "a line of 10 MB", sent(func(a api) []byte {
		return faultserver.Whole("200 OK", stream, strings.Replace(a.stream, a.upToText(), a.upToText()+a.long(strings.Repeat("x", 10<<20)), 1))
	}, faultserver.Close), nil, false},
	{"L9", "a line of 17 MB", sent(func(a api) []byte {
		return faultserver.Whole("200 OK", stream, a.upToText()+a.long(strings.Repeat("x", 17<<20)))
	}, faultserver.Close), []llm.Class{llmconst.Protocol}, true},
	{"L10", "an event that is not JSON", sent(func(a api) []byte { return faultserver.Whole("200 OK", stream, a.upToText()+"data: {\"type\":\n\n") }, faultserver.Close), []llm.Class{llmconst.Protocol}, true},
}

// TestFaults plays each row against both clients, over TCP.
func TestFaults(t *testing.T) {
	for _, r := range rows {
		t.Run(r.id+" "+r.name, func(t *testing.T) {
			each(t, func(t *testing.T, a api) {
				f := r.fault(a)
				s := faultserver.Start(t, faultserver.First(f), nil)
				url := s.URL
				if slices.Contains(r.want, llmconst.TLS) {
					url = strings.Replace(url, "http:", "https:", 1)
				}
				got, err := ask(t, a.model(url, s.Client()))
				if r.want == nil {
					if err != nil || !strings.Contains(got.Message.Text(), strings.Repeat("x", 10<<20)) {
						t.Fatalf("%v", err)
					}
					return
				}
				if err == nil || !slices.Contains(r.want, err.Class) || err.Retryable() != r.retry {
					t.Fatalf("got %+v, %v; want %v", got, err, r.want)
				}
				if strings.Contains(err.Error(), "<") || len(err.Error()) > 3000 {
					t.Errorf("the body is shown: %v", err)
				}
			})
		})
	}
}

// Whatever byte a reply ends at, and however, it is an answer if and only if
// its final event was there.
func TestCutAnywhere(t *testing.T) {
	each(t, func(t *testing.T, a api) {
		before, _ := a.split()
		for framing, wire := range map[string][]byte{
			"N6 chunked":           faultserver.Chunked("200 OK", stream, a.stream, "\n\n"),
			"N7 connection: close": faultserver.Whole("200 OK", stream, a.stream),
		} {
			final := strings.Index(string(wire), before[len(before)-1]) + len(before[len(before)-1])
			header := strings.Index(string(wire), "\r\n\r\n")
			for _, end := range []faultserver.End{faultserver.Close, faultserver.Reset} {
				t.Run(fmt.Sprint(framing, " ", []string{"FIN", "N3 N4 RST"}[end]), func(t *testing.T) {
					start, step := faultserver.Pipe, 1
					if strings.HasPrefix(framing, "N7") {
						step = 3
					}
					if end == faultserver.Reset { // needs a socket, which takes longer
						start, step = faultserver.Start, 11
					}
					s := start(t, func(n int) faultserver.Fault { return faultserver.Fault{Wire: wire[:n*step], End: end} }, nil)
					m := a.model(s.URL, s.Client())
					asked := 0
					for n := 0; n < len(wire); n += step {
						asked++
						got, err := ask(t, m)
						switch {
						case err == nil && n < final:
							t.Fatalf("cut after %d bytes it is an answer: %+v", n, got)
						case err == nil:
							whole(t, got, err)
						case n >= final && end == faultserver.Close:
							t.Fatalf("cut after %d bytes, %d behind the final event: %v", n, n-final, err)
						case err.Class != llm.Truncated && err.Class != llm.Network || err.Class == llm.Truncated && n < header && end == faultserver.Close:
							t.Fatalf("cut after %d bytes: %v", n, err)
						}
					}
					if s.Connections() != asked {
						t.Errorf("%d connections for %d requests: something was repeated behind the caller's back", s.Connections(), asked)
					}
				})
			}
		}
	})
}

// N5: a reset after the final event changes nothing.
func TestResetAfterTheEnd(t *testing.T) {
	each(t, func(t *testing.T, a api) {
		before, _ := a.split()
		read := make(chan struct{})
		wire := faultserver.Chunked("200 OK", stream, strings.Join(before, ""), "\n\n")
		s := faultserver.Start(t, faultserver.First(faultserver.Fault{Wire: wire[:len(wire)-len("0\r\n\r\n")], End: faultserver.Reset, After: read}), nil)
		client := s.Client()
		if a.name == "openai" { // it waits for what may follow a finish_reason
			close(read)
			wire = faultserver.Chunked("200 OK", stream, a.stream, "\n\n")
			read = make(chan struct{})
			s = faultserver.Start(t, faultserver.First(faultserver.Fault{Wire: wire[:len(wire)-len("0\r\n\r\n")], End: faultserver.Reset, After: read}), nil)
			client = s.Client()
		}
		var got *llm.Response
		for d, err := range a.model(s.URL, client).Stream(t.Context(), &llm.Request{Messages: []llm.Message{llm.UserText("hi")}}) {
			if err != nil {
				t.Fatal(err)
			}
			if d.Done != nil {
				got = d.Done
				close(read)
			}
		}
		whole(t, got, nil)
	})
}

// L8: a stream in any form that the standard allows says the same.
func TestForms(t *testing.T) {
	each(t, func(t *testing.T, a api) {
		for name, form := range map[string]string{
			"plain":           a.stream,
			"CRLF":            strings.ReplaceAll(a.stream, "\n", "\r\n"),
			"CR":              strings.ReplaceAll(a.stream, "\n", "\r"),
			"BOM":             "\ufeff" + a.stream,
			"comments":        ": hello\n\n" + strings.ReplaceAll(a.stream, "\n\n", "\n\n:\n\n: PROCESSING\n\n"),
			"other fields":    strings.ReplaceAll(a.stream, "data: ", "id: 1\nretry: 5\nfoo\nevent: whatever\ndata:"),
			"unknown event":   strings.ReplaceAll(a.stream, "\n\ndata", "\n\n"+a.novel+"data"),
			"several lines":   strings.Replace(a.stream, `,"`, ",\ndata: \"", 3),
			"no blank before": strings.Replace(a.stream, "data", "\n\n\ndata", 1),
		} {
			t.Run(name, func(t *testing.T) {
				for _, piece := range []int{0, 1} {
					s := faultserver.Start(t, faultserver.First(faultserver.Fault{Wire: faultserver.Whole("200 OK", stream, form), Piece: piece}), nil)
					got, err := ask(t, a.model(s.URL, s.Client()))
					whole(t, got, err)
				}
			})
		}
	})
}

// squeezed compresses text, flushed after each event.
func squeezed(t *testing.T, text string) string {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	for e := range strings.SplitAfterSeq(text, "\n\n") {
		if _, err := z.Write([]byte(e)); err != nil {
			t.Fatal(err)
		}
		if err := z.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// inflated is as much of compressed text as is there.
func inflated(text string) string {
	z, err := gzip.NewReader(strings.NewReader(text))
	if err != nil {
		return ""
	}
	data, _ := io.ReadAll(z)
	return string(data)
}

// L8: a compressed reply says the same; whatever byte it ends at, it is an answer
// if and only if its final event was there.
func TestCompressed(t *testing.T) {
	each(t, func(t *testing.T, a api) {
		before, _ := a.split()
		body := squeezed(t, a.stream)
		plan := func(n int) faultserver.Fault {
			return faultserver.Fault{Wire: faultserver.Whole("200 OK", stream, body[:n], "Content-Encoding: gzip"), Piece: 1 + 29*n%500}
		}
		s := faultserver.Pipe(t, plan, nil)
		m := a.model(s.URL, s.Client())
		for n := range len(body) + 1 {
			got, err := ask(t, m)
			switch complete := strings.Contains(inflated(body[:n]), before[len(before)-1]); {
			case complete:
				whole(t, got, err)
			case err == nil || err.Class != llm.Truncated:
				t.Fatalf("cut after %d bytes: %+v, %v", n, got, err)
			}
		}
		busy := faultserver.Whole("503 Service Unavailable", "application/json", squeezed(t, `{"error":{"message":"come back later"}}`), "Content-Encoding: gzip")
		s = faultserver.Pipe(t, faultserver.First(faultserver.Fault{Wire: busy}), nil)
		if _, err := ask(t, a.model(s.URL, s.Client())); err == nil || err.Class != llm.Overloaded || !strings.Contains(err.Message, "come back later") {
			t.Errorf("a compressed error: %v", err)
		}
		s = faultserver.Pipe(t, func(int) faultserver.Fault { return plan(len(body)) }, nil)
		client := s.Client()
		client.Transport.(*http.Transport).DisableCompression = true
		if got, err := ask(t, a.model(s.URL, client)); err == nil || err.Class != llmconst.Protocol || !strings.Contains(err.Message, "gzip") {
			t.Errorf("compressed unasked: %+v, %v", got, err)
		}
	})
}

// A lapse is how a wait of a client ends.
type lapse struct {
	id, name string
	fault    func(a api) faultserver.Fault
	took     time.Duration
	words    string
}

// TestTimeLimits has servers that keep a client waiting, in virtual time.
func TestTimeLimits(t *testing.T) {
	lapses := []lapse{
		{"N10", "no header", func(api) faultserver.Fault { return faultserver.Fault{End: faultserver.Hang} }, 10 * time.Second, "no reply within 10s"},
		{"N10", "a header by bytes", func(a api) faultserver.Fault {
			return faultserver.Fault{Wire: faultserver.Whole("200 OK", stream, a.stream), Piece: 1, Pause: time.Second}
		}, 10 * time.Second, "no reply within 10s"},
		{"N10", "a body by bytes", func(a api) faultserver.Fault {
			head := faultserver.Whole("200 OK", stream, "")
			return faultserver.Fault{Wire: append(head, a.stream...), Piece: len(head), Pause: 15 * time.Second}
		}, time.Minute, "no complete reply within 1m0s"},
		{"N9", "nothing but pings", func(a api) faultserver.Fault {
			head := faultserver.Whole("200 OK", stream, "")
			return faultserver.Fault{Wire: append(head, strings.Repeat(":"+strings.Repeat(" ", len(head)-3)+"\n\n", 10)...), Piece: len(head), Pause: 12 * time.Second}
		}, time.Minute, "no complete reply within 1m0s"},
	}
	for _, a := range apis {
		before, _ := a.split()
		for k := range before {
			lapses = append(lapses, lapse{"N9", fmt.Sprint("silence after ", k, " events of ", a.name), func(b api) faultserver.Fault {
				events, _ := b.split()
				return faultserver.Fault{Wire: faultserver.Whole("200 OK", stream, strings.Join(events[:min(k, len(events)-1)], "")), End: faultserver.Hang}
			}, 20 * time.Second, "no data for 20s"})
		}
	}
	for _, l := range lapses {
		t.Run(l.id+" "+l.name, func(t *testing.T) {
			each(t, func(t *testing.T, a api) {
				synctest.Test(t, func(t *testing.T) {
					s := faultserver.Pipe(t, faultserver.First(l.fault(a)), nil)
					start := time.Now()
					got, err := ask(t, a.model(s.URL, s.Client()))
					if took := time.Since(start); err == nil || err.Class != llm.Timeout || err.Message != l.words || took != l.took {
						t.Errorf("%+v, %v after %v; want %q after %v", got, err, took, l.words, l.took)
					}
				})
			})
		})
	}
}

// N9: the time that the caller takes to read does not count as silence of the server.
func TestSlowCaller(t *testing.T) {
	each(t, func(t *testing.T, a api) {
		synctest.Test(t, func(t *testing.T) {
			s := faultserver.Pipe(t, faultserver.First(faultserver.Fault{Wire: faultserver.Whole("200 OK", stream, a.stream), Piece: 100}), nil)
			var got *llm.Response
			slept := false
			for d, err := range a.model(s.URL, s.Client()).Stream(t.Context(), &llm.Request{Messages: []llm.Message{llm.UserText("hi")}}) {
				if err != nil {
					t.Fatal(err)
				}
				if !slept {
					slept = true
					time.Sleep(25 * time.Second) // the limit for silence is 20 s
				}
				got = d.Done
			}
			whole(t, got, nil)
		})
	})
}

// N11: a certificate that no authority vouches for.
func TestUnknownCertificate(t *testing.T) {
	secure := httptest.NewUnstartedServer(http.NotFoundHandler())
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	secure.StartTLS()
	defer secure.Close()
	each(t, func(t *testing.T, a api) {
		transport := &http.Transport{}
		defer transport.CloseIdleConnections()
		if _, err := ask(t, a.model(secure.URL, &http.Client{Transport: transport})); err == nil || err.Class != llmconst.TLS || err.Retryable() {
			t.Errorf("got %v", err)
		}
	})
}

// N1: no server listens.
func TestNobodyThere(t *testing.T) {
	s := faultserver.Start(t, faultserver.First(), nil)
	s.Close()
	each(t, func(t *testing.T, a api) {
		for _, url := range []string{s.URL, "http://nowhere.invalid"} {
			if _, err := ask(t, a.model(url, s.Client())); err == nil || err.Class != llm.Network || !err.Retryable() || !errors.Is(err, llm.ErrUnavailable) {
				t.Errorf("%s: %v", url, err)
			}
		}
	})
}
