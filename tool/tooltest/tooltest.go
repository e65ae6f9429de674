// Package tooltest helps you to test your tools.
//
//	func TestWeather(t *testing.T) {
//		tooltest.Check(t, weather)
//		res := tooltest.Run(t, weather, map[string]string{"city": "Paris"})
//	}
package tooltest

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/openagent-go/agent/internal/toolrun"
	"github.com/openagent-go/agent/tool"
)

// grace is how long a tool may take to stop.
const grace = 10 * time.Second

// Run calls a tool as an agent does. It fails the test if the tool panics, does not stop in
// time or returns a result that cannot be recorded. input is a [json.RawMessage], a string
// or []byte holding JSON, or a value that is encoded as JSON; nil is {}. The result may be
// an error result.
func Run(t testing.TB, tl tool.Tool, input any) *tool.Result {
	t.Helper()
	return RunCall(t, tl, tool.Call{Input: Input(t, input)})
}

// RunCall is like [Run] for a call with a directory, a state or an id; the
// tool's name, and an id if there is none, are filled in.
func RunCall(t testing.TB, tl tool.Tool, call tool.Call) *tool.Result {
	t.Helper()
	call.Name = tl.Spec().Name
	if call.ID == "" {
		call.ID = "c1.0"
	}
	if call.Input == nil {
		call.Input = json.RawMessage(`{}`)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	out := toolrun.Run(ctx, tl, call, grace)
	switch out.Fault {
	case toolrun.Panicked, toolrun.Stuck:
		t.Fatalf("%s: %s", call.Name, out.Result.Text())
	}
	checkResult(t, call.Name, out.Result)
	return out.Result
}

// Input encodes the input of a call as [Run] does.
func Input(t testing.TB, input any) json.RawMessage {
	t.Helper()
	var data []byte
	switch in := input.(type) {
	case nil:
		data = []byte(`{}`)
	case json.RawMessage:
		data = in
	case []byte:
		data = in
	case string:
		data = []byte(in)
	default:
		var err error
		if data, err = json.Marshal(in); err != nil {
			t.Fatalf("encoding the input: %v", err)
		}
	}
	return data
}

// Check fails the test unless the tool keeps the contract of [tool.Tool]: a legal name, a
// description and a schema that providers accept; the same Spec each time; Classify,
// Preview and Run answer {}, broken and hostile inputs without a panic; Run returns when
// its context has ended. The inputs may fit its schema, so the tool must not work on
// anything of value.
func Check(t *testing.T, tl tool.Tool) {
	t.Helper()
	spec := tl.Spec()
	if err := spec.Check(); err != nil {
		t.Errorf("tool %q: %v", spec.Name, err)
	}
	if spec.Description == "" {
		t.Errorf("%s has no description: the model cannot know what it is for", spec.Name)
	}
	again, _ := json.Marshal(tl.Spec())
	if first, _ := json.Marshal(spec); string(first) != string(again) {
		t.Errorf("%s: Spec differs between calls", spec.Name)
	}
	for _, input := range []string{`{}`, ``, `null`, `[]`, `"{}"`, `{`, `{"\u0000":1}`, `{"a":{"b":[{}]}}`} {
		call := tool.Call{ID: "c1.0", Name: spec.Name, Input: json.RawMessage(input)}
		look(t, tl, call)
		out := toolrun.Run(context.Background(), limited{tl}, call, grace)
		if out.Fault == toolrun.Panicked || out.Fault == toolrun.Stuck {
			t.Errorf("%s with input %q: %s", spec.Name, input, out.Result.Text())
		}
		checkResult(t, spec.Name, out.Result)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if out := toolrun.Run(ctx, tl, tool.Call{ID: "c1.1", Name: spec.Name, Input: json.RawMessage(`{}`)}, grace); out.Err != nil {
		t.Errorf("%s does not return when its context has ended: %v", spec.Name, out.Err)
	}
}

// look asks about a call without running it.
func look(t *testing.T, tl tool.Tool, call tool.Call) {
	t.Helper()
	defer func() {
		if v := recover(); v != nil {
			t.Errorf("%s: classifying or previewing input %q panicked: %v", call.Name, call.Input, v)
		}
	}()
	toolrun.Classify(tl, call)
	if p, ok := tl.(tool.Previewer); ok {
		p.Preview(call)
	}
}

// limited is a tool that must be done soon.
type limited struct{ tool.Tool }

func (l limited) Spec() tool.Spec {
	s := l.Tool.Spec()
	s.Timeout = grace
	return s
}

func checkResult(t testing.TB, name string, r *tool.Result) {
	t.Helper()
	if _, err := json.Marshal(r); err != nil {
		t.Errorf("%s: the result cannot be recorded: %v", name, err)
	}
	for what, data := range map[string]json.RawMessage{"Details": r.Details, "Patch.State": r.Patch.State} {
		var object map[string]json.RawMessage
		if len(data) > 0 && json.Unmarshal(data, &object) != nil {
			t.Errorf("%s: the %s of the result are not a JSON object: %s", name, what, data)
		}
	}
}
