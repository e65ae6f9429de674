package tool

import (
	"context"
	"encoding/json"
	"errors"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func tool(timeout time.Duration, fn func(ctx context.Context) (*Result, error)) Tool {
	return New(Spec{Name: "T", Timeout: timeout}, func(ctx context.Context, _ Call, _ struct{}) (*Result, error) { return fn(ctx) })
}

type rude struct{}

func (rude) Error() string { panic("in Error") }

func TestRunOutcomes(t *testing.T) {
	var nilMap map[string]int
	for name, c := range map[string]struct {
		fn    func(ctx context.Context) (*Result, error)
		want  string
		fault Fault
	}{
		"result":  {func(context.Context) (*Result, error) { return Text("fine"), nil }, "fine", NoFault},
		"error":   {func(context.Context) (*Result, error) { return nil, errors.New("broken") }, "T: broken", NoFault},
		"both":    {func(context.Context) (*Result, error) { return Text("x"), errors.New("broken") }, "T: broken", NoFault},
		"late":    {func(context.Context) (*Result, error) { return Errorf("half"), ErrTimeout }, "half", TimedOut},
		"neither": {func(context.Context) (*Result, error) { return nil, nil }, "T returned no result", NoFault},
		"panic":   {func(context.Context) (*Result, error) { panic("boom") }, "T panicked: boom", Panicked},
		"runtime": {func(context.Context) (*Result, error) { nilMap["a"] = 1; return nil, nil }, "assignment to entry in nil map", Panicked},
		"nil":     {func(context.Context) (*Result, error) { panic(nil) }, "panic called with nil argument", Panicked},
		"goexit":  {func(context.Context) (*Result, error) { runtime.Goexit(); return nil, nil }, "Goexit", Panicked},
		"rude":    {func(context.Context) (*Result, error) { return nil, rude{} }, "T", NoFault},
		"input": {func(context.Context) (*Result, error) {
			return nil, &InputError{Tool: "T", Problems: []string{"x is odd"}}
		}, "invalid input for T: x is odd", InvalidInput},
		"details": {func(context.Context) (*Result, error) {
			return &Result{Details: json.RawMessage(`{`), Content: Text("kept").Content}, nil
		}, "kept", NoFault},
	} {
		out := Run(t.Context(), tool(0, c.fn), Call{Name: "T"}, time.Minute)
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

func (o typed) Spec() Spec {
	return Spec{Name: "T", Output: json.RawMessage(o.schema)}
}

func (o typed) Run(context.Context, Call) (*Result, error) {
	r := Text("kept")
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
	} {
		tools := map[string]Tool{"plain": typed{c.details, c.schema}}
		if c.schema != `{"type":3}` { // which New refuses
			tools["made by New"] = New(typed{schema: c.schema}.Spec(), func(ctx context.Context, call Call, in struct {
				N int `json:"n,omitempty"`
			}) (*Result, error) {
				return typed{details: c.details}.Run(ctx, call)
			})
		}
		for name, tl := range tools {
			for _, input := range []string{`{}`, `{"n":"7"}`} { // the second one is repaired
				out := Run(t.Context(), tl, Call{Name: "T", Input: json.RawMessage(input)}, time.Minute)
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
	out := Run(t.Context(), tool(0, func(context.Context) (*Result, error) { panic("boom") }), Call{Name: "T"}, time.Minute)
	text := out.Result.Text()
	if !strings.Contains(text, "run_test.go:") || strings.Contains(text, "/run_test.go") || len(text) > 2000 {
		t.Errorf("got %s", text)
	}
}

func TestRunBadInput(t *testing.T) {
	out := Run(t.Context(), tool(0, nil), Call{Name: "T", Input: json.RawMessage(`{"a":1}`)}, time.Minute)
	if out.Fault != InvalidInput || !out.Result.IsError || !strings.Contains(out.Result.Text(), "a is unknown") {
		t.Errorf("got %+v", out)
	}
}

func TestRunTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wait := func(ctx context.Context) (*Result, error) { <-ctx.Done(); return nil, ctx.Err() }
		start := time.Now()
		out := Run(t.Context(), tool(3*time.Second, wait), Call{Name: "T"}, time.Minute)
		if out.Fault != TimedOut || out.Result.Text() != "T timed out after 3s" || time.Since(start) != 3*time.Second {
			t.Errorf("got %+v after %v", out, time.Since(start))
		}
		start = time.Now()
		if out := Run(t.Context(), tool(0, wait), Call{Name: "T"}, time.Minute); out.Fault != TimedOut || time.Since(start) != DefaultTimeout {
			t.Errorf("got %+v after %v", out, time.Since(start))
		}
		partial := func(ctx context.Context) (*Result, error) { <-ctx.Done(); return Errorf("half"), nil }
		if out := Run(t.Context(), tool(time.Second, partial), Call{Name: "T"}, time.Minute); out.Fault != TimedOut || out.Result.Text() != "half\nT timed out after 1s" {
			t.Errorf("got %+v", out)
		}
		whole := func(ctx context.Context) (*Result, error) { <-ctx.Done(); return Text("done"), nil }
		if out := Run(t.Context(), tool(time.Second, whole), Call{Name: "T"}, time.Minute); out.Fault != NoFault || out.Result.Text() != "done" {
			t.Errorf("got %+v", out)
		}
		slow := func(context.Context) (*Result, error) { time.Sleep(24 * time.Hour); return Text("done"), nil }
		if out := Run(t.Context(), tool(-1, slow), Call{Name: "T"}, time.Minute); out.Fault != NoFault || out.Result.Text() != "done" {
			t.Errorf("got %+v", out)
		}
	})
}

func TestRunCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		wait := func(ctx context.Context) (*Result, error) { <-ctx.Done(); return nil, ctx.Err() }
		out := Run(ctx, tool(0, wait), Call{Name: "T"}, time.Minute)
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
			deaf := func(context.Context) (*Result, error) { <-release; return Text("late"), nil }
			start := time.Now()
			out := Run(ctx, tool(timeout, deaf), Call{ID: "c1.0", Name: "T"}, 5*time.Second)
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
	if out := Run(t.Context(), specPanics{}, Call{Name: "T"}, time.Minute); out.Fault != NoFault || out.Result.Text() != "ran" {
		t.Errorf("got %+v", out)
	}
}

type specPanics struct{}

func (specPanics) Spec() Spec                                 { panic("spec") }
func (specPanics) Run(context.Context, Call) (*Result, error) { return Text("ran"), nil }
