package tooltest_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/openagent-go/agent/tool"
	"github.com/openagent-go/agent/tool/tooltest"
)

type pair struct {
	A int `json:"a"`
	B int `json:"b"`
}

func add() tool.Tool {
	return tool.Func(tool.Spec{Name: "add", Description: "Adds two numbers."}, func(_ context.Context, in pair) (pair, error) {
		return pair{A: in.A + in.B}, nil
	})
}

func TestRun(t *testing.T) {
	for _, in := range []any{pair{1, 2}, map[string]int{"a": 1, "b": 2}, `{"a":1,"b":2}`, json.RawMessage(`{"a":1,"b":2}`), []byte(`{"a":"1","b":2}`)} {
		if r := tooltest.Run(t, add(), in); r.IsError || r.Text() != `{"a":3,"b":0}` {
			t.Errorf("%v: %s", in, r.Text())
		}
	}
	if r := tooltest.Run(t, add(), nil); !r.IsError {
		t.Error("{} is taken")
	}
}

func TestCheck(t *testing.T) { tooltest.Check(t, add()) }

// recorder is a test that may fail.
type recorder struct {
	testing.TB
	failed bool
}

func (r *recorder) Helper()               {}
func (r *recorder) Errorf(string, ...any) { r.failed = true }
func (r *recorder) Fatalf(string, ...any) { r.failed = true; panic(r) }

func TestRunFails(t *testing.T) {
	bad := map[string]tool.Tool{
		"panic": tool.Func(tool.Spec{Name: "t"}, func(context.Context, struct{}) (string, error) { panic("x") }),
		"details": tool.Func(tool.Spec{Name: "t"}, func(context.Context, struct{}) (*tool.Result, error) {
			return &tool.Result{Details: json.RawMessage(`[]`)}, nil
		}),
	}
	for name, tl := range bad {
		r := &recorder{TB: t}
		func() {
			defer func() { _ = recover() }()
			tooltest.Run(r, tl, nil)
		}()
		if !r.failed {
			t.Errorf("%s: not seen", name)
		}
	}
}
