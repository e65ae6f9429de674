package mcpserver_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/openagent-go/agent/internal/mcpserver"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
)

// asks is a tool whose call needs permission and has a question.
func asks() (mcpserver.Options, mcpserver.Callbacks) {
	return mcpserver.Options{Tools: []tool.Tool{tool.New(tool.Spec{Name: "asks"}, func(context.Context, tool.Call, none) (*tool.Result, error) { return nil, nil })}},
		mcpserver.Callbacks{Call: func(ctx context.Context, c *mcpserver.Client, call tool.Call) (*tool.Result, error) {
			d, err := c.CanUseTool(ctx, tool.Call{Name: "Bash", Input: json.RawMessage(`{"command":"ls \u001b[2J"}`)}, permission.Decision{Behavior: permission.Asked, Reason: "it is not read-only"})
			if err != nil {
				return nil, err
			}
			if d.Behavior != permission.Allowed {
				return tool.Errorf("denied: %s", d.Reason), nil
			}
			answers, err := c.AskUser(ctx, call, []tool.Question{{Text: "Which?", Options: []tool.Option{{Label: "one"}, {Label: "two"}}}, {Text: "Many?", Multiple: true, Options: []tool.Option{{Label: "x"}, {Label: "y"}}}, {Text: "Name?"}})
			if err != nil {
				return nil, err
			}
			data, err := json.Marshal(answers)
			return tool.Text(string(data)), err
		}}
}

// Questions reach the client's person, whichever way its protocol has them.
func TestElicitation(t *testing.T) {
	t.Parallel()
	answer := func(decision string) *sdk.ClientOptions {
		return &sdk.ClientOptions{ElicitationHandler: func(_ context.Context, r *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
			if strings.Contains(r.Params.Message, "\x1b") {
				return nil, errors.New("it steers the terminal")
			}
			switch {
			case decision == "":
				return &sdk.ElicitResult{Action: "decline"}, nil
			case strings.Contains(r.Params.Message, "Bash") && strings.Contains(r.Params.Message, "read-only"):
				return &sdk.ElicitResult{Action: "accept", Content: map[string]any{"decision": decision, "reason": "bad day"}}, nil
			}
			return &sdk.ElicitResult{Action: "accept", Content: map[string]any{"answer1": "two", "answer1_other": "or one", "answer2": []any{"x", "y"}, "answer3": "Bo"}}, nil
		}}
	}
	for _, c := range []struct {
		name   string
		client *sdk.ClientOptions
		want   string
	}{
		{"allowed", answer("allow"), `[{"options":["two"],"text":"or one"},{"options":["x","y"]},{"text":"Bo"}]`},
		{"denied", answer("deny"), "denied: refused by the person at the MCP client: bad day"},
		{"declined", answer(""), "denied: refused by the person at the MCP client"},
		{"nobody", nil, "denied: it needs a person's permission"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			o, callbacks := asks()
			each(t, o, c.client, func(t *testing.T, _ *mcpserver.Server, s *sdk.ClientSession) {
				if r := call(t, s, "asks", nil); !strings.HasPrefix(said(r), c.want) || r.IsError != strings.HasPrefix(c.want, "denied") {
					t.Errorf("%s", said(r))
				}
			}, callbacks)
		})
	}
}

// A call that waits for an answer cannot be taken over with other names,
// arguments, or answers that do not fit, and ends when the answer is late.
func TestParked(t *testing.T) {
	t.Parallel()
	o, callbacks := asks()
	ended := endOf(&callbacks)
	o.Tools = append(o.Tools, fixed("other", tool.Text("x")))
	o.Patience = time.Hour
	s := serve(t, o, callbacks)
	client := &sdk.ClientOptions{Capabilities: &sdk.ClientCapabilities{Elicitation: &sdk.ElicitationCapabilities{}}, MultiRoundTrip: &sdk.MultiRoundTripOptions{Disabled: true},
		ElicitationHandler: func(context.Context, *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
			return nil, errors.New("not asked")
		}}
	c := connect(t, s, client, "2026-07-28", false)
	stranger := connect(t, s, client, "2026-07-28", true)
	first := call(t, c, "asks", map[string]any{})
	if first.RequestState == "" || len(first.InputRequests) != 1 {
		t.Fatalf("%+v", first)
	}
	try := func(c *sdk.ClientSession, p sdk.CallToolParams) (*sdk.CallToolResult, error) {
		return c.CallTool(t.Context(), &p)
	}
	right := sdk.InputResponseMap{"answer": &sdk.ElicitResult{Action: "accept", Content: map[string]any{"decision": "allow"}}}
	state := first.RequestState
	for name, p := range map[string]sdk.CallToolParams{
		"state":     {Name: "asks", Arguments: map[string]any{}, RequestState: state + "x", InputResponses: right},
		"tool":      {Name: "other", Arguments: map[string]any{}, RequestState: state, InputResponses: right},
		"arguments": {Name: "asks", Arguments: map[string]any{"a": 1}, RequestState: state, InputResponses: right},
	} {
		if _, err := try(c, p); err == nil || !strings.Contains(err.Error(), "requestState") {
			t.Errorf("%s: %v", name, err)
		}
	}
	good := sdk.CallToolParams{Name: "asks", Arguments: map[string]any{}, RequestState: state, InputResponses: right}
	if _, err := try(stranger, good); err == nil {
		t.Error("another session goes on with the call")
	}
	bad := good
	bad.InputResponses = sdk.InputResponseMap{"answer": &sdk.ElicitResult{Action: "accept", Content: map[string]any{"decision": "perhaps"}}}
	again, err := try(c, bad)
	if err != nil || again.RequestState == "" || again.RequestState == state {
		t.Fatalf("%+v, %v", again, err)
	}
	if _, err := try(c, good); err == nil {
		t.Error("a state serves twice")
	}
	good.RequestState = again.RequestState
	second, err := try(c, good)
	if err != nil || second.RequestState == "" || slices.Equal(keys(second.InputRequests), nil) {
		t.Fatalf("%+v, %v", second, err)
	}
	select {
	case <-ended:
		t.Fatal("the call has ended")
	default:
	}
	_ = s.Close()
	<-ended
}

// endOf returns a channel that is closed once the call of a server's tool has ended.
func endOf(o *mcpserver.Callbacks) <-chan struct{} {
	ended := make(chan struct{})
	inner := o.Call
	o.Call = func(ctx context.Context, c *mcpserver.Client, call tool.Call) (*tool.Result, error) {
		defer close(ended)
		return inner(ctx, c, call)
	}
	return ended
}

func keys(m sdk.InputRequestMap) (all []string) {
	for k := range m {
		all = append(all, k)
	}
	return all
}

// A question without an answer does not wait for ever.
func TestPatience(t *testing.T) {
	t.Parallel()
	o, callbacks := asks()
	ended := endOf(&callbacks)
	o.Patience = time.Millisecond
	c := connect(t, serve(t, o, callbacks), &sdk.ClientOptions{Capabilities: &sdk.ClientCapabilities{Elicitation: &sdk.ElicitationCapabilities{}}, MultiRoundTrip: &sdk.MultiRoundTripOptions{Disabled: true}}, "2026-07-28", true)
	call(t, c, "asks", nil)
	select {
	case <-ended:
	case <-time.After(soon):
		t.Fatal("the call waits")
	}
}

// Tools keep their state over a session, and sessions are separate.
func TestState(t *testing.T) {
	t.Parallel()
	counts := tool.New(tool.Spec{Name: "counts", State: "n"}, func(_ context.Context, call tool.Call, _ none) (*tool.Result, error) {
		r := tool.Text(string(call.State) + call.Dir)
		r.Patch.State = json.RawMessage(`{"a":1,"b":null}`)
		return r, nil
	})
	each(t, mcpserver.Options{Tools: []tool.Tool{counts}, Dir: "/d"}, nil, func(t *testing.T, s *mcpserver.Server, c *sdk.ClientSession) {
		if got := said(call(t, c, "counts", nil)); got != "/d" {
			t.Errorf("%s", got)
		}
		if got := said(call(t, c, "counts", nil)); got != `{"a":1}/d` {
			t.Errorf("%s", got)
		}
		if got := said(call(t, connect(t, s, nil, "2025-11-25", true), "counts", nil)); got != "/d" {
			t.Errorf("another session knows %s", got)
		}
	})
}
