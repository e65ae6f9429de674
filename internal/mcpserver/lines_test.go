package mcpserver_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/openagent-go/agent/internal/mcpserver"
	"github.com/openagent-go/agent/tool"
)

// Lines that are not messages are answered and spoil nothing; requests from before the end
// of the input are answered.
func TestLines(t *testing.T) {
	t.Parallel()
	s := serve(t, mcpserver.Options{Tools: []tool.Tool{fixed("a", tool.Text("fine"))}})
	in := strings.Join([]string{"hello", "", initialize, `{"no":"message"}`, `{"jsonrpc":"2.0","method":"notifications/initialized"}`, strings.Repeat("x", 17<<20),
		strings.Repeat("[", 20_000), `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"a"}}`}, "\n") // the last line has no end
	var out bytes.Buffer
	if err := s.Serve(t.Context(), strings.NewReader(in), &out); err != nil {
		t.Fatal(err)
	}
	var codes []int
	answered := map[string]bool{}
	for line := range strings.Lines(out.String()) {
		var m struct {
			ID     any
			Result json.RawMessage
			Error  *struct{ Code int }
		}
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		if m.Error != nil {
			codes = append(codes, m.Error.Code)
		} else if m.ID == 7.0 {
			answered[string(m.Result)] = strings.Contains(line, "fine")
		}
	}
	if len(codes) != 4 || codes[0] != -32700 || codes[1] != -32600 || codes[2] != -32600 || codes[3] != -32700 {
		t.Errorf("errors %v", codes)
	}
	if len(answered) != 1 {
		t.Errorf("%s", out.String())
	}
}

// The end of the input ends calls that do not end by themselves.
func TestEnd(t *testing.T) {
	t.Parallel()
	began, ended := make(chan struct{}), make(chan struct{})
	hangs := tool.New(tool.Spec{Name: "hangs"}, func(ctx context.Context, _ tool.Call, _ none) (*tool.Result, error) {
		close(began)
		<-ctx.Done()
		close(ended)
		return nil, ctx.Err()
	})
	s := serve(t, mcpserver.Options{Tools: []tool.Tool{hangs}})
	r, w := io.Pipe()
	served := make(chan error, 1)
	go func() { served <- s.Serve(t.Context(), r, io.Discard) }()
	if _, err := io.WriteString(w, initialize+"\n"+`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"hangs"}}`+"\n"); err != nil {
		t.Fatal(err)
	}
	<-began
	_ = w.Close()
	select {
	case <-ended:
	case <-time.After(soon):
		t.Fatal("the call goes on")
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
}

// The end of the context ends a session whose client says nothing.
func TestStopped(t *testing.T) {
	t.Parallel()
	s := serve(t, mcpserver.Options{})
	r, _ := io.Pipe()
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(time.Millisecond, cancel)
	if err := s.Serve(ctx, r, io.Discard); err != context.Canceled {
		t.Errorf("%v", err)
	}
}
