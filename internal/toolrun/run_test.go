package toolrun

import (
	"context"
	"encoding/json"
	"errors"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/openagent-go/agent/tool"
)

func returns(timeout time.Duration, fn func(ctx context.Context) (*tool.Result, error)) tool.Tool {
	return tool.New(tool.Spec{Name: "T", Timeout: timeout}, func(ctx context.Context, _ tool.Call, _ struct{}) (*tool.Result, error) { return fn(ctx) })
}

type rude struct{}

func (rude) Error() string { panic("in Error") }

func TestRunOutcomes(t *testing.T) {
	var nilMap map[string]int
	for name, c := range map[string]struct {
		fn    func(ctx context.Context) (*tool.Result, error)
		want  string
		fault Fault
	}{
		"result":  {func(context.Context) (*tool.Result, error) { return tool.Text("fine"), nil }, "fine", NoFault},
		"error":   {func(context.Context) (*tool.Result, error) { return nil, errors.New("broken") }, "T: broken", NoFault},
		"both":    {func(context.Context) (*tool.Result, error) { return tool.Text("x"), errors.New("broken") }, "T: broken", NoFault},
		"late":    {func(context.Context) (*tool.Result, error) { return tool.Errorf("half"), tool.ErrTimeout }, "half", TimedOut},
		"neither": {func(context.Context) (*tool.Result, error) { return nil, nil }, "T returned no result", NoFault},
		"panic":   {func(context.Context) (*tool.Result, error) { panic("boom") }, "T panicked: boom", Panicked},
		"runtime": {func(context.Context) (*tool.Result, error) { nilMap["a"] = 1; return nil, nil }, "assignment to entry in nil map", Panicked},
		"nil":     {func(context.Context) (*tool.Result, error) { panic(nil) }, "panic called with nil argument", Panicked},
		"goexit":  {func(context.Context) (*tool.Result, error) { runtime.Goexit(); return nil, nil }, "Goexit", Panicked},
		"rude":    {func(context.Context) (*tool.Result, error) { return nil, rude{} }, "T", NoFault},
		"input": {func(context.Context) (*tool.Result, error) {
			return nil, &tool.InputError{Tool: "T", Problems: []string{"x is odd"}}
		}, "invalid input for T: x is odd", InvalidInput},
		"details": {func(context.Context) (*tool.Result, error) {
			return &tool.Result{Details: json.RawMessage(`{`), Content: tool.Text("kept").Content}, nil
		}, "kept", NoFault},
	} {
		out := Run(t.Context(), returns(0, c.fn), tool.Call{Name: "T"}, time.Minute)
		if out.Result == nil || !strings.Contains(out.Result.Text(), c.want) || out.Fault != c.fault || out.Err != nil {
			t.Errorf("%s: got %+v", name, out)
			continue
		}
		if out.Result.IsError != (name != "result" && name != "details") {
			t.Errorf("%s: IsError is %v", name, out.Result.IsError)
		}
		if _, err := json.Marshal(out.Result); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// typed declares a whole number n in its results, and returns the given one.
type typed struct{ details, schema string }

func (o typed) Spec() tool.Spec {
	return tool.Spec{Name: "T", Output: json.RawMessage(o.schema)}
}

func (o typed) Run(context.Context, tool.Call) (*tool.Result, error) {
	r := tool.Text("kept")
	r.Details = json.RawMessage(o.details)
	return r, nil
}

// The details of a result keep their schema, for any kind of tool: they are repaired if
// possible, else the result is an error.
func TestRunOutputSchema(t *testing.T) {
	const schema = `{"type":"object","properties":{"n":{"type":"integer"},"s":{"type":"string"}},"required":["n"],"additionalProperties":false}`
	for _, c := range []struct{ schema, details, want string }{
		{schema, `{"n":1}`, `{"n":1}`},
		{schema, `{"n":"1"}`, `{"n":1}`},
		{schema, `{"n":1,"s":null}`, `{"n":1}`},
		{schema, `{"n":"x"}`, ""},
		{schema, `{"n":1,"x":2}`, ""},
		{schema, ``, ""},
		{schema, `{`, ""},
		{`{"type":"object"}`, ``, ``},
		{`{"type":3}`, `{"n":1}`, ""},
		{`{"type":"object","$ref":"#"}`, `{"n":1}`, ""},
	} {
		tools := map[string]tool.Tool{"plain": typed{c.details, c.schema}}
		if c.schema != `{"type":3}` && c.schema != `{"type":"object","$ref":"#"}` { // which New refuses
			tools["made by New"] = tool.New(typed{schema: c.schema}.Spec(), func(ctx context.Context, call tool.Call, in struct {
				N int `json:"n,omitempty"`
			}) (*tool.Result, error) {
				return typed{details: c.details}.Run(ctx, call)
			})
		}
		for name, tl := range tools {
			for _, input := range []string{`{}`, `{"n":"7"}`} { // the second one is repaired
				out := Run(t.Context(), tl, tool.Call{Name: "T", Input: json.RawMessage(input)}, time.Minute)
				if c.want == "" && c.schema != `{"type":"object"}` {
					if !out.Result.IsError || !strings.Contains(out.Result.Text(), "output schema") {
						t.Errorf("%s, %s: %+v", name, c.details, out.Result)
					}
					continue
				}
				want := c.want
				if input != `{}` && name != "plain" && c.schema != schema {
					want = `{"repaired":["n"]}`
				}
				if out.Result.IsError || string(out.Result.Details) != want || out.Result.Text() != "kept" {
					t.Errorf("%s, %s: %s, want %s", name, c.details, out.Result.Details, want)
				}
			}
		}
	}
}

func TestRunPanicShowsWhere(t *testing.T) {
	out := Run(t.Context(), returns(0, func(context.Context) (*tool.Result, error) { panic("boom") }), tool.Call{Name: "T"}, time.Minute)
	text := out.Result.Text()
	if !strings.Contains(text, "run_test.go:") || strings.Contains(text, "/run_test.go") || len(text) > 2000 {
		t.Errorf("got %s", text)
	}
}

func TestRunBadInput(t *testing.T) {
	out := Run(t.Context(), returns(0, nil), tool.Call{Name: "T", Input: json.RawMessage(`{"a":1}`)}, time.Minute)
	if out.Fault != InvalidInput || !out.Result.IsError || !strings.Contains(out.Result.Text(), "a is unknown") {
		t.Errorf("got %+v", out)
	}
}

func TestRunTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wait := func(ctx context.Context) (*tool.Result, error) { <-ctx.Done(); return nil, ctx.Err() }
		start := time.Now()
		out := Run(t.Context(), returns(3*time.Second, wait), tool.Call{Name: "T"}, time.Minute)
		if out.Fault != TimedOut || out.Result.Text() != "T timed out after 3s" || time.Since(start) != 3*time.Second {
			t.Errorf("got %+v after %v", out, time.Since(start))
		}
		start = time.Now()
		if out := Run(t.Context(), returns(0, wait), tool.Call{Name: "T"}, time.Minute); out.Fault != TimedOut || time.Since(start) != DefaultTimeout {
			t.Errorf("got %+v after %v", out, time.Since(start))
		}
		partial := func(ctx context.Context) (*tool.Result, error) { <-ctx.Done(); return tool.Errorf("half"), nil }
		if out := Run(t.Context(), returns(time.Second, partial), tool.Call{Name: "T"}, time.Minute); out.Fault != TimedOut || out.Result.Text() != "half\nT timed out after 1s" {
			t.Errorf("got %+v", out)
		}
		whole := func(ctx context.Context) (*tool.Result, error) { <-ctx.Done(); return tool.Text("done"), nil }
		if out := Run(t.Context(), returns(time.Second, whole), tool.Call{Name: "T"}, time.Minute); out.Fault != NoFault || out.Result.Text() != "done" {
			t.Errorf("got %+v", out)
		}
		slow := func(context.Context) (*tool.Result, error) { time.Sleep(24 * time.Hour); return tool.Text("done"), nil }
		if out := Run(t.Context(), returns(-1, slow), tool.Call{Name: "T"}, time.Minute); out.Fault != NoFault || out.Result.Text() != "done" {
			t.Errorf("got %+v", out)
		}
	})
}

func TestRunCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		wait := func(ctx context.Context) (*tool.Result, error) { <-ctx.Done(); return nil, ctx.Err() }
		out := Run(ctx, returns(0, wait), tool.Call{Name: "T"}, time.Minute)
		if out.Fault != NoFault || out.Result.Text() != "T was cancelled" || !out.Result.IsError {
			t.Errorf("got %+v", out)
		}
	})
}

func TestRunStuck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, timeout := range []time.Duration{2 * time.Second, -1} {
			ctx, cancel := context.WithTimeout(t.Context(), 4*time.Second)
			defer cancel()
			release := make(chan struct{})
			deaf := func(context.Context) (*tool.Result, error) { <-release; return tool.Text("late"), nil }
			start := time.Now()
			out := Run(ctx, returns(timeout, deaf), tool.Call{ID: "c1.0", Name: "T"}, 5*time.Second)
			if out.Fault != Stuck || !errors.Is(out.Err, ErrStuck) || !out.Result.IsError {
				t.Errorf("got %+v", out)
			}
			if want := "running T (call c1.0): "; !strings.HasPrefix(out.Err.Error(), want) {
				t.Errorf("got %v", out.Err)
			}
			if d := time.Since(start); d != 7*time.Second && d != 9*time.Second {
				t.Errorf("returned after %v", d)
			}
			select {
			case <-out.Left:
				t.Error("left too early")
			default:
			}
			close(release)
			<-out.Left
		}
	})
}

func TestRunSpecPanics(t *testing.T) {
	if out := Run(t.Context(), specPanics{}, tool.Call{Name: "T"}, time.Minute); out.Fault != NoFault || out.Result.Text() != "ran" {
		t.Errorf("got %+v", out)
	}
}

type specPanics struct{}

func (specPanics) Spec() tool.Spec                                      { panic("spec") }
func (specPanics) Run(context.Context, tool.Call) (*tool.Result, error) { return tool.Text("ran"), nil }
