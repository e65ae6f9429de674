package agent_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/internal/faultserver"
	"github.com/openagent-go/agent/internal/llmconst"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/anthropic"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/llm/openai"
	"github.com/openagent-go/agent/llm/responses"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/tool"
)

// A provider is a client and what its streams look like.
type provider struct {
	name  string
	model func(url string, client *http.Client) llm.Model
	text  string // comes before each piece of text
	input string // comes before each piece of a tool's input
	final string // is in the event that ends the answer
	hurt  string // an event that says that the service is overloaded
}

var providers = []provider{{
	name: "anthropic",
	model: func(url string, client *http.Client) llm.Model {
		return (&anthropic.Client{APIKey: "k", BaseURL: url, HTTP: client}).Model("claude-sonnet-4-6")
	},
	text: `"text_delta"`, input: `"input_json_delta"`, final: `"message_stop"`,
	hurt: `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`,
}, {
	name: "openai",
	model: func(url string, client *http.Client) llm.Model {
		return (&openai.Client{APIKey: "k", BaseURL: url, HTTP: client, IdleTimeout: 2 * time.Minute}).Model("gpt-4.1")
	},
	text: `"content":"`, input: `"arguments":"`, final: `"finish_reason":"`,
	hurt: `{"error":{"type":"overloaded_error","message":"Overloaded"}}`,
}, {
	name: "responses",
	model: func(url string, client *http.Client) llm.Model {
		return (&responses.Client{APIKey: "k", BaseURL: url, HTTP: client, IdleTimeout: 2 * time.Minute}).Model("gpt-4.1")
	},
	text: `response.output_text.delta"`, input: `response.function_call_arguments.delta"`, final: `response.completed"`,
	hurt: `{"type":"error","code":"server_is_overloaded","message":"Overloaded"}`,
}}

// A site is an agent that reaches a strict model server through one of faults.
type site struct {
	*testing.T
	provider
	strict  *llmtest.Server
	agent   *agent.Agent
	session *agent.Session
	store   session.Store
	healed  atomic.Bool // no faults any more
	gone    atomic.Bool // no connection can be made

	mu     sync.Mutex
	writes map[int]int
	shown  string // text of the attempt under way, or of the last one
	keys   []string
	fails  []event.ModelFailed
	facts  []event.Event
}

// said is what the model says before it calls write, and again at the end.
const said, done = "I shall write it down.", "It is written."

// newSite starts a site; in memory for synctest, else over TCP. The model says
// something, calls double and write, and is done; steps replace that.
func newSite(t *testing.T, p provider, memory bool, plan faultserver.Plan, steps ...llmtest.Step) *site {
	if steps == nil {
		steps = []llmtest.Step{
			{Text: said, Calls: []llm.ToolUse{llmtest.Use("r1", "double", number{2}), llmtest.Use("w1", "write", number{1})}},
			say(done)}
	}
	x := &site{T: t, provider: p, strict: llmtest.NewPipe(t), store: session.Memory(), writes: map[int]int{}}
	x.strict.Rule = func(r *llmtest.Request, _ int) llmtest.Step {
		n := 0
		for i, m := range r.Messages {
			if m.Role == llm.Assistant {
				n++
			}
			if i == len(r.Messages)-1 && strings.HasSuffix(m.Text(), "again") {
				return say("here again")
			}
		}
		return steps[min(n, len(steps)-1)]
	}
	start := faultserver.Start
	if memory {
		start = faultserver.Pipe
	}
	s := start(t, func(n int) faultserver.Fault {
		if x.healed.Load() {
			return faultserver.Fault{Spoil: faultserver.Fine}
		}
		return plan(n)
	}, x.strict.Client().Transport)
	client := s.Client()
	reach := client.Transport.(*http.Transport)
	dial := reach.DialContext
	if dial == nil {
		dial = new(net.Dialer).DialContext
	}
	reach.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
		if x.gone.Load() {
			return nil, &net.OpError{Op: "dial", Net: network, Err: errors.New("network is unreachable")}
		}
		return dial(ctx, network, addr)
	}
	reach.DialTLSContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := dial(ctx, network, addr)
		if err != nil || x.healed.Load() {
			return c, err
		}
		secure := tls.Client(c, &tls.Config{ServerName: "models.example"})
		if err := secure.HandshakeContext(ctx); err != nil {
			c.Close()
			return nil, err
		}
		return secure, nil
	}
	x.agent = &agent.Agent{Model: p.model(s.URL, client), Sessions: x.store, Permissions: bypass, Tools: []tool.Tool{double,
		write(func(_ context.Context, _ tool.Call, n int) (*tool.Result, error) {
			x.mu.Lock()
			defer x.mu.Unlock()
			x.writes[n]++
			return tool.Text("ok"), nil
		})}}
	if !memory {
		x.agent.Retry = &agent.Retry{Base: time.Millisecond}
	}
	return x
}

// run prompts and checks the promises of the fault matrix: nothing that was
// acknowledged is lost, no write happens twice, the conversation is valid and
// goes on, and there is one end, with a typed error if it is not a good one.
func (x *site) run() (*agent.Result, error) {
	x.Helper()
	x.session = x.agent.Session("s")
	defer x.session.Close()
	ends := 0
	var failed error
	attempt := ""
	for e, err := range x.session.Stream(x.Context(), "go") {
		if err != nil {
			failed = err
			continue
		}
		switch d := e.Data.(type) {
		case event.TextDelta:
			if d.Key != attempt {
				attempt, x.shown = d.Key, ""
			}
			x.shown += d.Text
		case fact.ModelStart:
			x.keys = append(x.keys, d.Key)
		case event.ModelFailed:
			x.fails = append(x.fails, d)
			if d.Partial != "" && d.Partial != x.shown {
				x.Errorf("partial text is %q, shown was %q", d.Partial, x.shown)
			}
		case event.RunEnd:
			ends++
		}
		if e.Seq > 0 {
			x.facts = append(x.facts, e)
		}
	}
	res := x.session.Result()
	if ends != 1 || res == nil {
		x.Fatalf("%d ends, %+v, %v", ends, res, failed)
	}
	var end *agent.EndError
	if failed != nil && (!errors.As(failed, &end) || end.Reason != res.Reason) {
		x.Errorf("%s with %T: %v", res.Reason, failed, failed)
	}
	slices.Sort(x.keys)
	if len(slices.Compact(x.keys)) != len(x.keys) {
		x.Errorf("attempts share keys: %v", x.keys)
	}
	if failed == nil && x.shown != "" && !strings.HasSuffix(res.Text, x.shown) {
		x.Errorf("shown is %q, the answer %q", x.shown, res.Text)
	}
	for n, times := range x.writes {
		if times != 1 {
			x.Errorf("write %d ran %d times", n, times)
		}
	}
	x.goesOn()
	return res, failed
}

// goesOn prompts once more without faults.
func (x *site) goesOn() {
	x.Helper()
	x.healed.Store(true)
	x.gone.Store(false)
	res, err := x.session.Prompt(x.Context(), "again")
	if err != nil || res.Text != "here again" {
		x.Fatalf("the next prompt: %+v, %v", res, err)
	}
	requests := x.strict.Requests()
	last := requests[len(requests)-1]
	if first := last.Messages[0]; !strings.HasPrefix(first.Text(), "go") {
		x.Errorf("the first message is %q", first.Text())
	}
	stored := history(x.T, x.store, "s")
	if len(stored) <= len(x.facts) {
		x.Fatalf("%d facts were shown, %d are on record", len(x.facts), len(stored))
	}
	for i, e := range x.facts {
		shown, err := json.Marshal(e)
		if err != nil {
			x.Fatal(err)
		}
		if kept, err := json.Marshal(stored[i]); err != nil || !bytes.Equal(kept, shown) {
			x.Errorf("fact %d was shown as %s and is on record as %s, %v", i, shown, kept, err)
		}
	}
}

// completed checks that the run came to its good end in spite of so many failures.
func (x *site) completed(res *agent.Result, err error, failures int, class ...llm.Class) {
	x.Helper()
	if err != nil || res.Reason != event.Completed || len(x.fails) != failures {
		x.Errorf("%+v, %v after %+v", res, err, x.fails)
	}
	x.classes(class...)
}

// classes checks the classes of the failures, the last one repeated.
func (x *site) classes(class ...llm.Class) {
	x.Helper()
	for i, f := range x.fails {
		if want := class[min(i, len(class)-1)]; f.Class != want {
			x.Errorf("failure %d is %s, want %s: %s", i, f.Class, want, f.Message)
		}
		if strings.Contains(f.Message, "<") {
			x.Errorf("the body is shown: %s", f.Message)
		}
	}
}

// leaks checks at the end of a test, when all its servers are closed, that no
// goroutine and no file is left that was not there before.
func leaks(t *testing.T) {
	t.Helper()
	httptest.NewServer(http.NotFoundHandler()).Close() // the runtime opens files of its own with the first socket
	before, goroutines := files(), goleak.IgnoreCurrent()
	t.Cleanup(func() {
		goleak.VerifyNone(t, goroutines)
		after := files()
		for range 100 { // sockets are closed in the background
			if after <= before {
				return
			}
			time.Sleep(10 * time.Millisecond)
			after = files()
		}
		t.Errorf("%d open files, before %d", after, before)
	})
}

// files returns the number of open files, 0 where there is no /proc.
func files() int {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return 0
	}
	return len(entries)
}

// cut breaks a reply off in the middle of the nth event with the marker, from 0.
func cut(marker string, n int) func([]byte) []byte {
	return func(reply []byte) []byte {
		at := 0
		for range n + 1 {
			next := bytes.Index(reply[at:], []byte(marker))
			if next < 0 {
				return append(reply[:0], "HTTP/1.1 400 No\r\nX: the marker is not there\r\n\r\n"...)
			}
			at += next + len(marker)
		}
		return reply[:at]
	}
}

// reframed rewrites the body of a reply; without chunks the end of the
// connection is its end.
func reframed(chunks bool, edit func(body string) string) func([]byte) []byte {
	return func(reply []byte) []byte {
		r, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(reply)), nil)
		if err != nil {
			panic(err)
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			panic(err)
		}
		if chunks {
			return faultserver.Chunked("200 OK", "text/event-stream", edit(string(body)), "\n\n")
		}
		return faultserver.Whole("200 OK", "text/event-stream", edit(string(body)))
	}
}

func before(marker string) func(string) string {
	return func(body string) string {
		head, _, _ := strings.Cut(body, marker)
		return head[:strings.LastIndex(head, "\n\n")+2]
	}
}

const portal = "<!doctype html><html><body>Log in, please</body></html>"

func status(line string, header ...string) faultserver.Fault {
	return faultserver.Fault{Wire: faultserver.Whole(line, "text/html", portal, header...)}
}

// TestNetworkFaults plays a fault at the first request, where the model speaks
// and calls tools, and then at the second, where it ends.
func TestNetworkFaults(t *testing.T) {
	for _, row := range []struct {
		id, name string
		fault    func(p provider) faultserver.Fault
		class    llm.Class
	}{
		{"N2", "RST before the header", func(provider) faultserver.Fault { return faultserver.Fault{End: faultserver.Reset} }, llm.Network},
		{"N3", "RST in the text", func(p provider) faultserver.Fault {
			return faultserver.Fault{Spoil: cut(p.text, 1), End: faultserver.Reset}
		}, ""},
		{"N4", "RST in a tool's input", func(p provider) faultserver.Fault {
			return faultserver.Fault{Spoil: cut(p.input, 1), End: faultserver.Reset}
		}, ""},
		{"N6", "FIN in the text", func(p provider) faultserver.Fault { return faultserver.Fault{Spoil: cut(p.text, 2)} }, llm.Truncated},
		{"N6", "FIN in a tool's input", func(p provider) faultserver.Fault { return faultserver.Fault{Spoil: cut(p.input, 2)} }, llm.Truncated},
		{"N7", "end of the connection", func(p provider) faultserver.Fault {
			return faultserver.Fault{Spoil: reframed(false, before(p.final))}
		}, llm.Truncated},
		{"N8", "end of the body", func(p provider) faultserver.Fault {
			return faultserver.Fault{Spoil: reframed(true, before(p.final))}
		}, llm.Truncated},
		{"N12", "portal", func(provider) faultserver.Fault { return status("200 OK") }, llmconst.Protocol},
		{"L4", "500", func(provider) faultserver.Fault { return status("500 Internal Server Error") }, llm.ServerError},
		{"L4", "502", func(provider) faultserver.Fault { return status("502 Bad Gateway") }, llm.ServerError},
		{"L4", "503", func(provider) faultserver.Fault { return status("503 Service Unavailable") }, llm.Overloaded},
		{"L4", "504", func(provider) faultserver.Fault { return status("504 Gateway Timeout") }, llm.ServerError},
		{"L7", "error event", func(p provider) faultserver.Fault {
			return faultserver.Fault{Spoil: reframed(true, func(body string) string { return before(p.final)(body) + "data: " + p.hurt + "\n\n" })}
		}, llm.Overloaded},
		{"L9", "a line without end", func(p provider) faultserver.Fault {
			return faultserver.Fault{Spoil: reframed(false, func(body string) string { return body[:100] + strings.Repeat("x", 17<<20) })}
		}, llmconst.Protocol},
		{"L10", "no JSON", func(p provider) faultserver.Fault {
			return faultserver.Fault{Spoil: reframed(true, func(body string) string { return before(p.final)(body) + "data: {\"type\":\n\n" + body })}
		}, llmconst.Protocol},
		{"N5", "FIN after the final event", func(p provider) faultserver.Fault {
			return faultserver.Fault{Spoil: func(reply []byte) []byte { return bytes.TrimSuffix(reply, []byte("0\r\n\r\n")) }}
		}, "none"},
	} {
		for _, p := range providers {
			t.Run(row.id+" "+row.name+" "+p.name, func(t *testing.T) {
				leaks(t)
				f := row.fault(p)
				if row.class == "none" {
					x := newSite(t, p, false, faultserver.First(f, f))
					res, err := x.run()
					x.completed(res, err, 0)
					return
				}
				at := [][]int{{0}, {0, 2}} // the connections: the first answer, then the last one as well
				if strings.Contains(row.name, "input") {
					at[1][1] = 1 // there is no input in the last one: the first answer again
				}
				if row.id == "L9" {
					at = at[:1] // takes long
				}
				for _, at := range at {
					x := newSite(t, p, false, func(n int) faultserver.Fault {
						if slices.Contains(at, n) {
							return f
						}
						return faultserver.Fault{Spoil: faultserver.Fine}
					})
					res, err := x.run()
					class := row.class
					if class == "" { // what a reset leaves of the reply is up to the sockets
						class = llm.Network
						for i, f := range x.fails {
							if f.Class == llm.Truncated {
								x.fails[i].Class = class
							}
						}
					}
					x.completed(res, err, len(at), class)
					if x.writes[1] != 1 || res.Turns != 2 || res.Text != done {
						t.Errorf("%d writes, %+v", x.writes[1], res)
					}
				}
			})
		}
	}
}

// TestHopelessFaults tests faults that do not go away. The run ends with a typed error
// after its retries, or at once if retries cannot help.
func TestHopelessFaults(t *testing.T) {
	always := func(f faultserver.Fault) faultserver.Plan { return func(int) faultserver.Fault { return f } }
	for _, row := range []struct {
		id, name string
		plan     faultserver.Plan
		failures int
		class    llm.Class
		is       error
	}{
		{"N2", "RST", always(faultserver.Fault{End: faultserver.Reset}), 4, llm.Network, llm.ErrUnavailable},
		{"N12", "portal", always(status("200 OK")), 4, llmconst.Protocol, agent.ErrModel},
		{"N12", "407", always(status("407 Proxy Authentication Required")), 1, llm.Auth, llm.ErrAuth},
		{"L2", "retry-after of an hour", always(status("429 Too Many Requests", "Retry-After: 3600")), 1, llmconst.Unavailable, llm.ErrUnavailable},
		{"L3", "529", always(status("529 Overloaded")), 4, llm.Overloaded, llm.ErrUnavailable},
		{"L4", "500", always(status("500 Internal Server Error")), 4, llm.ServerError, llm.ErrUnavailable},
		{"L5", "400", always(status("400 Bad Request")), 1, llm.Invalid, agent.ErrModel},
		{"L5", "401", always(status("401 Unauthorized")), 1, llm.Auth, llm.ErrAuth},
		{"L5", "403", always(status("403 Forbidden")), 1, llm.Forbidden, llm.ErrAuth},
		{"L5", "404", always(status("404 Not Found")), 1, llmconst.NotFound, agent.ErrModel},
		{"N1", "refused", nil, 4, llm.Network, llm.ErrUnavailable},
		{"N11", "TLS", always(faultserver.Fault{Early: true, Wire: []byte("\x15\x03\x03\x00\x02\x02\x28")}), 1, llmconst.TLS, agent.ErrModel},
	} {
		for _, p := range providers {
			t.Run(row.id+" "+row.name+" "+p.name, func(t *testing.T) {
				leaks(t)
				if row.id == "N11" {
					plain := p.model
					p.model = func(url string, client *http.Client) llm.Model {
						return plain(strings.Replace(url, "http:", "https:", 1), client)
					}
				}
				x := newSite(t, p, false, row.plan)
				x.gone.Store(row.plan == nil)
				res, err := x.run()
				if !errors.Is(err, row.is) || !errors.Is(err, agent.ErrModel) || res.Reason != event.ModelError || len(x.fails) != row.failures || len(x.writes) != 0 {
					t.Errorf("%+v, %v after %d failures", res, err, len(x.fails))
				}
				x.classes(row.class)
			})
		}
	}
}

// stretch is a fault in virtual time.
type stretch struct {
	id, name string
	plan     func(p provider) faultserver.Plan
	retry    *agent.Retry
	budget   time.Duration
	failures int
	class    llm.Class
	reason   event.EndReason  // "" for completed
	waits    [2]time.Duration // the least and the most between each failure and the next try; 0: not looked at
	took     [2]time.Duration // of the whole run
}

// stall falls silent in the middle of the nth event with the marker.
func stall(marker string, n int) faultserver.Fault {
	return faultserver.Fault{Spoil: cut(marker, n), End: faultserver.Hang}
}

// drip sends a reply by bytes, or what begins its body by pieces that come just
// often enough.
func drip(body bool) faultserver.Fault {
	if !body {
		return faultserver.Fault{Spoil: faultserver.Fine, Piece: 1, Pause: time.Second}
	}
	return faultserver.Fault{Piece: 100, Pause: 90 * time.Second,
		Spoil: reframed(false, func(body string) string { return body[:500] })}
}

// TestFaultsOfTime has servers that ask to wait, or that just let one wait.
func TestFaultsOfTime(t *testing.T) {
	first := func(f ...faultserver.Fault) func(provider) faultserver.Plan {
		return func(provider) faultserver.Plan { return faultserver.First(f...) }
	}
	busy := status("529 Overloaded")
	limited := func(header ...string) faultserver.Fault { return status("429 Too Many Requests", header...) }
	exactly := func(d time.Duration) [2]time.Duration { return [2]time.Duration{d, d} }
	rows := []stretch{
		{id: "L1", name: "seconds", plan: first(limited("Retry-After: 7"), limited("Retry-After: 60")), failures: 2, class: llm.RateLimit, took: exactly(67 * time.Second)},
		{id: "L1", name: "milliseconds", plan: first(limited("Retry-After-Ms: 250")), failures: 1, class: llm.RateLimit, took: exactly(250 * time.Millisecond)},
		{id: "L1", name: "zero", plan: first(limited("Retry-After: 0")), failures: 1, class: llm.RateLimit, took: [2]time.Duration{1500 * time.Millisecond, 2500 * time.Millisecond}},
		{id: "L1", name: "date", plan: func(provider) faultserver.Plan {
			return func(n int) faultserver.Fault {
				if n > 0 {
					return faultserver.Fault{Spoil: faultserver.Fine}
				}
				return limited("Retry-After: " + time.Now().Add(30*time.Second).UTC().Format(http.TimeFormat))
			}
		}, failures: 1, class: llm.RateLimit, took: exactly(30 * time.Second)},
		{id: "L1", name: "absent", plan: first(limited()), failures: 1, class: llm.RateLimit, took: [2]time.Duration{1500 * time.Millisecond, 2500 * time.Millisecond}},
		{id: "L1", name: "absent, with a cap", plan: first(limited(), limited(), limited()), retry: &agent.Retry{Base: 20 * time.Second, Cap: 21 * time.Second}, failures: 3, class: llm.RateLimit,
			waits: [2]time.Duration{15 * time.Second, 21 * time.Second}, took: [2]time.Duration{45 * time.Second, 63 * time.Second}},
		{id: "L2", name: "above the cap", plan: first(limited("Retry-After: 3600")), failures: 1, class: llmconst.Unavailable, reason: event.ModelError, took: exactly(0)},
		{id: "L3", name: "three times", plan: first(busy, busy, busy), failures: 3, class: llm.Overloaded, took: [2]time.Duration{10 * time.Second, 18 * time.Second}},
		{id: "L3", name: "for ever", plan: first(busy, busy, busy, busy), failures: 4, class: llm.Overloaded, reason: event.ModelError, took: [2]time.Duration{10 * time.Second, 18 * time.Second}},
		{id: "N10", name: "all by bytes", plan: first(drip(false)), failures: 1, class: llm.Timeout, took: [2]time.Duration{3 * time.Minute, 10 * time.Minute}},
		{id: "N10", name: "no header", plan: first(faultserver.Fault{End: faultserver.Hang}), failures: 1, class: llm.Timeout, took: [2]time.Duration{300 * time.Second, 303 * time.Second}},
		{id: "N10", name: "body by bytes, within a budget", plan: func(provider) faultserver.Plan { return func(int) faultserver.Fault { return drip(true) } }, budget: 5 * time.Minute, failures: 1, class: llm.Timeout, reason: event.TimedOut, took: exactly(5 * time.Minute)},
	}
	for k := range 5 {
		rows = append(rows, stretch{id: "N9", name: fmt.Sprint("silence in the text, piece ", k), plan: func(p provider) faultserver.Plan { return faultserver.First(stall(p.text, min(k, 3))) },
			failures: 1, class: llm.Timeout, took: [2]time.Duration{121 * time.Second, 123 * time.Second}})
	}
	rows = append(rows,
		stretch{id: "N9", name: "silence in the input", plan: func(p provider) faultserver.Plan { return faultserver.First(stall(p.input, 1)) },
			failures: 1, class: llm.Timeout, took: [2]time.Duration{121 * time.Second, 123 * time.Second}},
		stretch{id: "N9", name: "silence for ever", plan: func(p provider) faultserver.Plan { return func(int) faultserver.Fault { return stall(p.text, 0) } },
			failures: 4, class: llm.Timeout, reason: event.ModelError, took: [2]time.Duration{490 * time.Second, 500 * time.Second}})
	for _, row := range rows {
		for _, p := range providers {
			t.Run(row.id+" "+row.name+" "+p.name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { row.play(t, p) })
			})
		}
	}
}

func (row stretch) play(t *testing.T, p provider) {
	x := newSite(t, p, true, row.plan(p))
	x.agent.Retry, x.agent.Budget.Time = row.retry, row.budget
	start := time.Now()
	res, err := x.run()
	took := res.Duration
	if took < row.took[0] || took > row.took[1] || time.Since(start) < took {
		t.Errorf("took %v, want %v", took, row.took)
	}
	if row.reason == "" {
		x.completed(res, err, row.failures, row.class)
		if x.writes[1] != 1 {
			t.Errorf("%d writes", x.writes[1])
		}
	} else if err == nil || res.Reason != row.reason || len(x.fails) != row.failures {
		t.Errorf("%+v, %v after %+v", res, err, x.fails)
	} else {
		x.classes(row.class)
	}
	if row.waits == [2]time.Duration{} {
		return
	}
	for i, e := range x.facts {
		if _, failed := e.Data.(event.ModelFailed); failed {
			for _, next := range x.facts[i:] {
				if _, again := next.Data.(fact.ModelStart); again {
					if wait := next.Time.Sub(e.Time); wait < row.waits[0] || wait > row.waits[1] {
						t.Errorf("waited %v, want %v", wait, row.waits)
					}
					break
				}
			}
		}
	}
}

// TestFallback is L3 with another model to go to.
func TestFallback(t *testing.T) {
	for _, p := range providers {
		t.Run("L3 "+p.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				x := newSite(t, p, true, func(int) faultserver.Fault { return status("529 Overloaded") })
				spare := &llmtest.Model{ID: "spare", Rule: func(r *llmtest.Request, _ int) llmtest.Step { return say("from the spare") }}
				x.agent.Fallbacks = []llm.Model{spare}
				res, err := x.run()
				if err != nil || res.Text != "from the spare" || len(x.fails) != 4 || len(spare.Requests()) != 1 {
					t.Errorf("%+v, %v", res, err)
				}
			})
		})
	}
}

// TestNetworkGone is N13: the line is cut in the middle of an answer, and no
// connection can be made for half a minute.
func TestNetworkGone(t *testing.T) {
	for _, p := range providers {
		t.Run(p.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var x *site
				x = newSite(t, p, true, func(n int) faultserver.Fault {
					if n > 0 {
						return faultserver.Fault{Spoil: faultserver.Fine}
					}
					return faultserver.Fault{Spoil: func(reply []byte) []byte {
						x.gone.Store(true)
						time.AfterFunc(30*time.Second, func() { x.gone.Store(false) })
						return cut(p.text, 1)(reply)
					}}
				})
				x.agent.Retry = &agent.Retry{Tries: 6}
				res, err := x.run()
				x.completed(res, err, len(x.fails), llm.Truncated, llm.Network)
				if len(x.fails) < 4 || res.Duration < 30*time.Second || res.Duration > 70*time.Second || x.writes[1] != 1 {
					t.Errorf("%+v after %d failures", res, len(x.fails))
				}
			})
		})
	}
}

// TestOddAnswers has complete replies with contents that no provider should send.
func TestOddAnswers(t *testing.T) {
	call := func(id string) llm.ToolUse { return llmtest.Use(id, "write", number{1}) }
	var many []llm.ToolUse
	for i := range 200 {
		many = append(many, llmtest.Use("", "double", number{i}))
	}
	for _, row := range []struct {
		id, name string
		steps    []llmtest.Step
		spoil    func(p provider) func(string) string // of the first reply
		check    func(x *site, res *agent.Result, err error)
	}{
		{id: "L11", name: "input cut at max_tokens", steps: []llmtest.Step{{Text: said, Calls: []llm.ToolUse{{ID: "w1", Name: "write", Invalid: `{"n":1`}}, Stop: llm.MaxTokens}, say(done)}, check: func(x *site, res *agent.Result, err error) {
			x.completed(res, err, 0)
			if r := x.strict.Requests()[1].Results(); len(x.writes) != 0 || len(r) != 1 || !failed(r[0]) || !strings.Contains(r[0].Text, "cut off") {
				x.Errorf("%v, results %+v", x.writes, r)
			}
		}},
		{id: "L12", name: "one id twice", steps: []llmtest.Step{llmtest.Call(llmtest.Use("w", "write", number{1}), llmtest.Use("w", "write", number{2})), say(done)}, check: func(x *site, res *agent.Result, err error) {
			x.completed(res, err, 0)
			if r := x.strict.Requests()[1].Results(); len(r) != 2 || len(x.writes) != 2 {
				x.Errorf("%v, results %+v", x.writes, r)
			}
		}},
		{id: "L13", name: "unknown tool, broken input", steps: []llmtest.Step{llmtest.Call(llmtest.Use("", "nope", number{1}), llmtest.Use("", "write", map[string]string{"n": "many"}), llm.ToolUse{Name: "write", Invalid: "{oops"}), say(done)}, check: func(x *site, res *agent.Result, err error) {
			x.completed(res, err, 0)
			r := x.strict.Requests()[1].Results()
			if len(r) != 3 || len(x.writes) != 0 || !failed(r[0]) || !failed(r[1]) || !failed(r[2]) {
				x.Errorf("%v, results %+v", x.writes, r)
			}
		}},
		{id: "L14", name: "200 calls", steps: []llmtest.Step{llmtest.Call(many...), say(done)}, check: func(x *site, res *agent.Result, err error) {
			x.completed(res, err, 0)
			for i, r := range x.strict.Requests()[1].AllResults() {
				if r.Text != fmt.Sprint(2*i) {
					x.Errorf("result %d is %q", i, r.Text)
				}
			}
		}},
		{id: "L15", name: "empty message", steps: []llmtest.Step{{}}, check: func(x *site, res *agent.Result, err error) {
			x.completed(res, err, 0)
			if n := len(x.strict.Requests()); n > 3 { // the last one is that of goesOn
				x.Errorf("%d requests", n)
			}
		}},
		{id: "L15", name: "unknown reason to stop", steps: []llmtest.Step{{Text: done, Stop: "novel"}}, check: func(x *site, res *agent.Result, err error) {
			if res.Text != done || len(x.fails) != 0 || len(x.strict.Requests()) > 3 {
				x.Errorf("%+v, %v", res, err)
			}
		}},
		{id: "L15", name: "calls with an unknown reason to stop", steps: []llmtest.Step{{Calls: []llm.ToolUse{call("")}, Stop: "novel"}, say(done)}, check: func(x *site, res *agent.Result, err error) {
			x.completed(res, err, 0)
			if x.writes[1] > 1 || len(x.strict.Requests()) > 4 {
				x.Errorf("%d writes", x.writes[1])
			}
		}},
		{id: "L15", name: "calls with the reason end_turn", steps: []llmtest.Step{{Calls: []llm.ToolUse{call("")}, Stop: llm.EndTurn}, say(done)}, check: func(x *site, res *agent.Result, err error) {
			x.completed(res, err, 0)
		}},
		{id: "L17", name: "block index twice", spoil: func(p provider) func(string) string {
			return func(body string) string { return strings.ReplaceAll(body, `"index":1`, `"index":0`) }
		}, check: func(x *site, res *agent.Result, err error) {
			if x.name == "anthropic" { // the index of a choice is another thing
				x.completed(res, err, 1, llmconst.Protocol)
			}
		}},
		{id: "L17", name: "block index that leaps", spoil: func(p provider) func(string) string {
			return func(body string) string { return strings.ReplaceAll(body, `"index":1`, `"index":9`) }
		}, check: func(x *site, res *agent.Result, err error) {
			if x.name == "anthropic" {
				x.completed(res, err, 1, llmconst.Protocol)
			}
		}},
		{id: "L18", name: "negative usage", spoil: usage("-7"), check: func(x *site, res *agent.Result, err error) {
			x.completed(res, err, 0)
			if res.Usage.Input < 0 || res.Usage.Output < 0 || *res.CostUSD < 0 {
				x.Errorf("%+v", res)
			}
		}},
		{id: "L18", name: "huge usage", spoil: usage("1e300"), check: func(x *site, res *agent.Result, err error) {
			if int64(res.Usage.Input) > 1<<42 || *res.CostUSD > 1e9 {
				x.Errorf("%+v, %v", res, err)
			}
		}},
		{id: "L18", name: "no usage", spoil: func(provider) func(string) string {
			return func(body string) string { return strings.ReplaceAll(body, `"usage"`, `"abusage"`) }
		}, check: func(x *site, res *agent.Result, err error) { x.completed(res, err, 0) }},
	} {
		for _, p := range providers {
			t.Run(row.id+" "+row.name+" "+p.name, func(t *testing.T) {
				leaks(t)
				var faults []faultserver.Fault
				if row.spoil != nil {
					faults = append(faults, faultserver.Fault{Spoil: reframed(true, row.spoil(p))})
				}
				x := newSite(t, p, false, faultserver.First(faults...), row.steps...)
				res, err := x.run()
				row.check(x, res, err)
			})
		}
	}
}

// failed reports whether a result says that it is an error: OpenAI's has no flag.
func failed(r llmtest.Result) bool { return r.IsError || strings.HasPrefix(r.Text, "Error: ") }

// usage replaces the counts of tokens.
func usage(n string) func(provider) func(string) string {
	counts := regexp.MustCompile(`("[a-z]+_tokens": ?)\d+`)
	return func(provider) func(string) string {
		return func(body string) string { return counts.ReplaceAllString(body, "${1}"+n) }
	}
}

// TestHugeUsageEndsABudget is L18: what a provider claims cannot overflow a budget.
func TestHugeUsageEndsABudget(t *testing.T) {
	for _, p := range providers {
		x := newSite(t, p, false, faultserver.First(faultserver.Fault{Spoil: reframed(true, usage("99999999999999999999")(p))}))
		x.agent.Budget.USD = 5
		s := x.agent.Session("")
		res, err := s.Prompt(t.Context(), "go")
		if !errors.Is(err, agent.ErrLimit) || res.Reason != event.MaxBudget || res.Turns != 1 {
			t.Errorf("%s: %+v, %v", p.name, res, err)
		}
		s.Close()
	}
}
