package acp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
)

// A lockedBuffer is written and read by several goroutines.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

// lines returns the lines so far. Each is a JSON object.
func (b *lockedBuffer) lines(t testing.TB) (all []map[string]any) {
	t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for line := range strings.Lines(b.b.String()) {
		var m map[string]any
		if err := json.Unmarshal([]byte(line), &m); err != nil || !strings.HasSuffix(line, "\n") {
			t.Errorf("the line %q: %v", line, err)
		}
		all = append(all, m)
	}
	return all
}

func echo(r Request) (func(context.Context) (any, error), error) {
	switch r.Method {
	case "echo":
		return func(context.Context) (any, error) { return r.Params, nil }, nil
	case "wait":
		return func(ctx context.Context) (any, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}, nil
	case "panic":
		return func(context.Context) (any, error) { panic("oh") }, nil
	case "typed":
		var in Place
		return nil, r.Decode(&in)
	}
	return nil, Errorf(MethodNotFound, "there is no method %s", r.Method)
}

// served serves an input to its end.
func served(t testing.TB, input string) []map[string]any {
	t.Helper()
	var out lockedBuffer
	c := NewConn(&out)
	if err := c.Serve(t.Context(), strings.NewReader(input), echo); err != nil {
		t.Error(err)
	}
	c.Wait()
	return out.lines(t)
}

// Each line gets its answer, valid or not.
func TestLines(t *testing.T) {
	for line, want := range map[string]string{
		`{"jsonrpc":"2.0","id":1,"method":"echo","params":{"a":"<&>"}}`:               `{"id":1,"jsonrpc":"2.0","result":{"a":"<&>"}}`,
		`{"jsonrpc":"2.0","id":"x","method":"echo","params":{}}`:                      `{"id":"x","jsonrpc":"2.0","result":{}}`,
		`{"jsonrpc":"2.0","id":2,"method":"none"}`:                                    `{"error":{"code":-32601,"message":"there is no method none"},"id":2,"jsonrpc":"2.0"}`,
		`{"jsonrpc":"2.0","id":3,"method":"panic"}`:                                   `{"error":{"code":-32603,"message":"panic: oh"},"id":3,"jsonrpc":"2.0"}`,
		`{"jsonrpc":"2.0","id":4,"method":"typed","params":{"cwd":7}}`:                `{"error":{"code":-32602,"message":"typed: cwd must be a string, not number"},"id":4,"jsonrpc":"2.0"}`,
		`{"jsonrpc":"2.0","id":4,"method":"typed","params":[]}`:                       `"message":"typed: params must be an object, not array"`,
		`{"jsonrpc":"2.0","method":"none"}`:                                           ``,
		`{"jsonrpc":"2.0","method":"panic"}`:                                          ``,
		`{"jsonrpc":"2.0","id":99,"result":{}}`:                                       ``,
		`{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":"what"}}`: ``,
		`{"jsonrpc":"2.0","id":5}`:                                                    `"code":-32600`,
		`{"id":{},"method":"echo"}`:                                                   `"code":-32600`,
		`{"id":[1],"method":"echo"}`:                                                  `"code":-32600`,
		`{"method":7,"id":6}`:                                                         `"code":-32600`,
		`[{"jsonrpc":"2.0","id":1,"method":"echo"}]`:                                  `"code":-32600`,
		`"text"`:                               `"code":-32600`,
		`null`:                                 `"code":-32600`,
		`{"jsonrpc":"2.0","id":1,"method":"ec`: `"code":-32700`,
		"\xff\xfe":                             `"code":-32700`,
		" \t":                                  ``,
	} {
		got := served(t, line+"\n"+`{"jsonrpc":"2.0","id":"after","method":"echo","params":{}}`)
		if len(got) == 0 {
			t.Fatalf("%s ends the connection", line)
		}
		var before []string
		for _, m := range got {
			if m["id"] != "after" {
				data, _ := json.Marshal(m)
				before = append(before, strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&").Replace(string(data)))
			}
		}
		if all := strings.Join(before, " "); len(got) == len(before) || want == "" && all != "" || !strings.Contains(all, want) {
			t.Errorf("%s: %s, want %s", line, all, want)
		}
	}
}

// A line that is too long is passed over.
func TestLongLine(t *testing.T) {
	got := served(t, `{"jsonrpc":"2.0","id":1,"method":"echo","params":"`+strings.Repeat("x", maxLine)+"\"}\n"+`{"jsonrpc":"2.0","id":2,"method":"echo","params":{}}`+"\n")
	if len(got) != 2 || fmt.Sprint(got[0]["error"]) == "<nil>" && fmt.Sprint(got[1]["error"]) == "<nil>" {
		t.Errorf("%d answers", len(got))
	}
}

// Requests to the client, in both ways of ending.
func TestCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, client := io.Pipe()
		var out lockedBuffer
		c := NewConn(&out)
		ended := make(chan error)
		go func() { ended <- c.Serve(t.Context(), in, echo) }()
		results := make(chan string, 8)
		call := func(ctx context.Context) {
			var r struct{ A int }
			err := c.Call(ctx, "ask", struct{}{}, &r)
			results <- fmt.Sprint(r.A, " ", err)
		}
		say := func(line string) {
			io.WriteString(client, line+"\n")
			synctest.Wait()
		}
		go call(t.Context())
		synctest.Wait()
		say(`{"id":1,"result":{"a":7}}`)
		say(`{"id":1,"result":{"a":8}}`) // nobody waits for it
		if got := <-results; got != "7 <nil>" {
			t.Error(got)
		}
		go call(t.Context())
		synctest.Wait()
		say(`{"id":2,"error":{"code":1,"message":"no"}}`)
		if got := <-results; got != "0 the client refuses: no" {
			t.Error(got)
		}
		ctx, cancel := context.WithCancel(t.Context())
		go call(ctx)
		synctest.Wait()
		cancel()
		if got := <-results; got != "0 context canceled" {
			t.Error(got)
		}
		lines := out.lines(t)
		if last := lines[len(lines)-1]; last["method"] != "$/cancel_request" || fmt.Sprint(last["params"]) != "map[requestId:3]" {
			t.Errorf("the client is told %v", last)
		}
		go call(t.Context())
		synctest.Wait()
		client.Close()
		if got := <-results; got != "0 "+ErrClosed.Error() {
			t.Error(got)
		}
		if err := <-ended; err != nil {
			t.Error(err)
		}
		call(t.Context())
		if got := <-results; got != "0 "+ErrClosed.Error() {
			t.Error(got)
		}
	})
}

// A request that the client cancels ends with its code.
func TestCancelRequest(t *testing.T) {
	got := served(t, `{"jsonrpc":"2.0","id":1,"method":"wait"}`+"\n"+`{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":1}}`+"\n")
	if data, _ := json.Marshal(got); !strings.Contains(string(data), "-32800") {
		t.Errorf("%s", data)
	}
}

// A client that is gone ends nothing but what is written to it.
func TestGone(t *testing.T) {
	c := NewConn(failing{})
	if err := c.Update("s", &Chunk{}); err == nil {
		t.Error("writing does not fail")
	}
	if err := c.Call(t.Context(), "ask", nil, nil); !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

// FuzzLines cuts and changes lines. The connection answers what comes afterwards.
func FuzzLines(f *testing.F) {
	for _, line := range []string{`{"jsonrpc":"2.0","id":1,"method":"echo","params":{"a":1}}`, `{"id":"1","method":"typed","params":{"cwd":"/","mcpServers":[{"name":"a"}]}}`,
		`{"id":1,"result":{}}`, `{"method":"$/cancel_request","params":{"requestId":1}}`, `[]`, `{"id":null,"method":"echo"}`} {
		f.Add(line, uint64(1))
	}
	f.Fuzz(func(t *testing.T, line string, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 1))
		b := []byte(line)
		for range r.IntN(4) {
			if len(b) > 0 {
				b[r.IntN(len(b))] = byte(r.Uint32())
			}
		}
		b = b[:r.IntN(len(b)+1)]
		if bytes.Contains(b, []byte(`"wait"`)) {
			return
		}
		got := served(t, string(b)+"\n"+`{"jsonrpc":"2.0","id":"after the fuzz","method":"echo","params":{}}`+"\n")
		for _, m := range got {
			if m["id"] == "after the fuzz" {
				return
			}
		}
		t.Errorf("%q ends the connection", b)
	})
}

// BenchmarkTextChunk is the way of a piece of text from its event to the line.
func BenchmarkTextChunk(b *testing.B) {
	c, e := NewConn(bufio.NewWriter(io.Discard)), &Encoder{}
	ev := textDelta()
	b.ReportAllocs()
	for b.Loop() {
		for _, u := range e.Event(ev) {
			if err := c.Update("01a21a0c-6058-7fb1-ac49-b17ea0078de5", u); err != nil {
				b.Fatal(err)
			}
		}
	}
}
