package agent_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/hook"
	"github.com/openagent-go/agent/internal/tracefile"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/anthropic"
	"github.com/openagent-go/agent/llm/limit"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/tool"
	"github.com/openagent-go/agent/trace"
)

// records reads what a recorder has written.
func records(t *testing.T, data []byte) []tracefile.Record {
	t.Helper()
	var out []tracefile.Record
	for line := range bytes.Lines(data) {
		var r tracefile.Record
		if err := json.Unmarshal(line, &r); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		out = append(out, r)
	}
	return out
}

// tree shows spans by what they are within, in the order of their beginnings.
func tree(rs []tracefile.Record) string {
	slices.SortStableFunc(rs, func(a, b tracefile.Record) int { return a.Start.Compare(b.Start) })
	known := map[string]bool{}
	for _, r := range rs {
		known[r.Span] = true
	}
	var b strings.Builder
	var show func(parent string, depth int)
	show = func(parent string, depth int) {
		for _, r := range rs {
			if r.Parent != parent {
				continue
			}
			fmt.Fprintf(&b, "%s%s %s", strings.Repeat(" ", depth), r.Kind, r.Name)
			if r.Error != "" {
				fmt.Fprintf(&b, " (%s)", r.Error)
			}
			b.WriteString("\n")
			show(r.Span, depth+1)
		}
	}
	show("", 0)
	for _, r := range rs {
		if r.Parent != "" && !known[r.Parent] {
			fmt.Fprintf(&b, "lost: %s %s\n", r.Kind, r.Name)
		}
	}
	return b.String()
}

// Spans nest like the work: agents under the calls that start them, in the background too.
// Each try of a model has a span.
func TestTrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		rec := trace.NewRecorder(&out)
		var inTool context.Context
		look := tool.New(tool.Spec{Name: "look", ReadOnly: true}, func(ctx context.Context, _ tool.Call, _ struct{}) (*tool.Result, error) {
			inTool = ctx
			time.Sleep(30 * time.Millisecond)
			return tool.Text("seen"), nil
		})
		change := tool.New(tool.Spec{Name: "change"}, func(context.Context, tool.Call, struct{}) (*tool.Result, error) {
			time.Sleep(10 * time.Millisecond)
			return tool.Errorf("broken: sk-ant-REDACTME"), nil
		})
		kind := &agent.Agent{Name: "helper", Model: llmtest.Script(say("done"))}
		late := &agent.Agent{Name: "helper", Model: &llmtest.Model{Rule: func(*llmtest.Request, int) llmtest.Step {
			time.Sleep(time.Second) // until its parent waits for it
			return say("done")
		}}}
		a := &agent.Agent{
			Name: "boss",
			Model: llmtest.Script(
				llmtest.Step{Err: &llm.APIError{Class: llm.Overloaded, Status: 529, Message: "busy", RetryAfter: time.Second}},
				llmtest.Call(llmtest.Use("", "look", nil)),
				llmtest.Call(llmtest.Use("", "change", nil)),
				llmtest.Call(llmtest.Use("", "delegate", number{1})),
				llmtest.Call(llmtest.Use("", "behind", number{2})),
				say("waiting"), say("end")),
			Tools: []tool.Tool{look, change, delegate(kind, false), delegateAs("behind", late, true)},
			CanUseTool: func(context.Context, tool.Call, permission.Decision) (permission.Decision, error) {
				return permission.Allow(), nil
			},
			Hooks:       []hook.Hook{{On: hook.PostToolUse, Match: "look", Func: func(context.Context, *hook.Input) (hook.Output, error) { return hook.Output{}, nil }}},
			AwaitAgents: true, Trace: rec.Trace,
		}
		res, err := a.Prompt(t.Context(), "go")
		if err != nil || res.Text != "end" {
			t.Fatal(res, err)
		}
		if err := rec.Close(); err != nil {
			t.Fatal(err)
		}
		rs := records(t, out.Bytes())
		want := `run boss
 model script (overloaded)
 model script
 tool look
 hook PostToolUse
 model script
 permission change
 tool change (error)
 model script
 tool delegate
  run helper
   model script
 model script
 tool behind
  run helper
   model script
 model script
 model script
`
		if got := tree(rs); got != want {
			t.Errorf("got\n%swant\n%s", got, want)
		}
		for _, r := range rs {
			if r.Trace != rs[0].Trace || r.Session == "" || r.Version != 1 || r.Input+r.Output != "" {
				t.Errorf("%+v", r)
			}
			switch {
			case r.Name == "look" && (r.Duration != 30 || r.Attrs["call"] == ""):
				t.Errorf("%+v", r)
			case r.Kind == "model" && r.Error == "" && r.Attrs["output_tokens"] == nil:
				t.Errorf("%+v", r)
			}
		}
		if inTool.Value(struct{}{}) != nil {
			t.Error("a value from nowhere")
		}
	})
}

// A resumed run has its own span, and a stopped run says so.
func TestTraceOfResumedRun(t *testing.T) {
	var out bytes.Buffer
	rec := trace.NewRecorder(&out)
	store := session.Memory()
	a := &agent.Agent{Model: llmtest.Script(llmtest.Call(llmtest.Use("", "change", nil)), say("end")), Sessions: store, Trace: rec.Trace,
		Tools: []tool.Tool{tool.New(tool.Spec{Name: "change"}, func(context.Context, tool.Call, struct{}) (*tool.Result, error) { return tool.Text("ok"), nil })},
		CanUseTool: func(context.Context, tool.Call, permission.Decision) (permission.Decision, error) {
			return permission.Defer(), nil
		}}
	s := a.Session("")
	defer s.Close()
	if _, err := s.Prompt(t.Context(), "go"); err == nil {
		t.Fatal("it was not suspended")
	}
	s.SetCanUseTool(t.Context(), func(context.Context, tool.Call, permission.Decision) (permission.Decision, error) {
		return permission.Allow(), nil
	})
	for _, err := range s.Resume(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
	}
	rs := records(t, out.Bytes())
	runs := slices.DeleteFunc(rs, func(r tracefile.Record) bool { return r.Kind != "run" })
	if len(runs) != 2 || runs[0].Error != "" || runs[0].Attrs["reason"] != "suspended" || runs[1].Attrs["resumed"] != true || runs[1].Attrs["reason"] != "completed" {
		t.Errorf("%+v", runs)
	}
}

// What a tracer does wrong does not disturb a run.
func TestBadTracer(t *testing.T) {
	for name, fn := range map[string]trace.Func{
		"panics": func(context.Context, trace.Span) (context.Context, func(trace.End)) { panic("x") },
		"nil":    func(context.Context, trace.Span) (context.Context, func(trace.End)) { return nil, nil },
		"end panics": func(ctx context.Context, _ trace.Span) (context.Context, func(trace.End)) {
			return ctx, func(trace.End) { panic("x") }
		},
	} {
		a := &agent.Agent{Model: llmtest.Script(llmtest.Call(llmtest.Use("", "look", nil)), say("end")), Trace: fn,
			Tools: []tool.Tool{tool.New(tool.Spec{Name: "look", ReadOnly: true}, func(context.Context, tool.Call, struct{}) (*tool.Result, error) { return tool.Text("ok"), nil })}}
		if res, err := a.Prompt(t.Context(), "go"); err != nil || res.Text != "end" {
			t.Errorf("%s: %v, %v", name, res, err)
		}
	}
}

// A wait for a rate limit is seen: as a signal, a span and a record. It counts to the
// run's time, and ends with the run.
func TestRateLimitWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := llmtest.NewPipe(t)
		server.Rule = func(*llmtest.Request, int) llmtest.Step { return say("done") }
		var out bytes.Buffer
		var logs strings.Builder
		rec := trace.NewRecorder(&out)
		client := &anthropic.Client{APIKey: "k", BaseURL: server.URL, HTTP: server.Client(), Limiter: &limit.Limiter{Requests: 1}, HeaderTimeout: time.Second}
		a := &agent.Agent{Model: client.Model("claude-sonnet-4-6"), Trace: rec.Trace, Log: slog.New(slog.NewTextHandler(&logs, nil))}
		if _, err := a.Prompt(t.Context(), "go"); err != nil {
			t.Fatal(err)
		}
		out.Reset()
		start := time.Now()
		var waits []event.RateLimitWait
		var end event.RunEnd
		for e, err := range a.Stream(t.Context(), "go") {
			if err != nil {
				t.Fatal(err)
			}
			switch d := e.Data.(type) {
			case event.RateLimitWait:
				waits = append(waits, d)
			case event.RunEnd:
				end = d
			}
		}
		if got := time.Since(start); got.Round(time.Second) != time.Minute || end.Duration.Round(time.Second) != time.Minute {
			t.Errorf("it took %v, by itself %v", got, end.Duration)
		}
		if len(waits) != 1 || waits[0].Reason != "requests" || waits[0].Key == "" || waits[0].Least.Round(time.Second) != time.Minute {
			t.Errorf("%+v", waits)
		}
		if got := tree(records(t, out.Bytes())); got != "run \n model claude-sonnet-4-6\n  rate_limit requests\n" {
			t.Errorf("got\n%s", got)
		}
		if !strings.Contains(logs.String(), `msg="waited for a rate limit"`) {
			t.Errorf("logs:\n%s", &logs)
		}
		a.Budget.Time = 5 * time.Second
		start = time.Now()
		if res, err := a.Prompt(t.Context(), "go"); err == nil || res.Reason != event.TimedOut || time.Since(start) != 5*time.Second {
			t.Errorf("%v, %v after %v", res, err, time.Since(start))
		}
	})
}

// What is logged has stable names, a session and no secrets, and nothing is logged for nobody.
func TestLog(t *testing.T) {
	var mu sync.Mutex
	var out bytes.Buffer
	a := &agent.Agent{Name: "clerk", Secrets: []string{"hunter2hunter2"},
		Model: llmtest.Script(
			llmtest.Step{Err: &llm.APIError{Class: llm.RateLimit, Status: 429, Message: "hunter2hunter2 is too fast", RetryAfter: time.Millisecond}},
			llmtest.Call(llmtest.Use("", "look", nil), llmtest.Use("", "change", nil)), say("end")),
		Tools: []tool.Tool{
			tool.New(tool.Spec{Name: "look", ReadOnly: true}, func(context.Context, tool.Call, struct{}) (*tool.Result, error) { return tool.Text("ok"), nil }),
			tool.New(tool.Spec{Name: "change"}, func(context.Context, tool.Call, struct{}) (*tool.Result, error) { return tool.Text("ok"), nil })},
		CanUseTool: func(_ context.Context, call tool.Call, _ permission.Decision) (permission.Decision, error) {
			if call.Name == "look" {
				return permission.Allow(), nil
			}
			return permission.Deny("hunter2hunter2 says no"), nil
		},
		Log: slog.New(slog.NewJSONHandler(locked{&mu, &out}, &slog.HandlerOptions{Level: slog.LevelDebug})), Retry: &agent.Retry{Base: time.Millisecond}}
	if _, err := a.Prompt(t.Context(), "go"); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(out.String(), "hunter2") {
		t.Errorf("a secret is logged:\n%s", &out)
	}
	if denials := linesWith(out.String(), `"cause":"denied"`); len(denials) != 0 {
		t.Errorf("the denied call has more records: %q", denials)
	}
	if denials := linesWith(out.String(), "*** says no"); len(denials) != 1 || !strings.Contains(denials[0], `"level":"INFO"`) {
		t.Errorf("the denied call has the records %q", denials)
	}
	keys := map[string][]string{}
	for line := range bytes.Lines(out.Bytes()) {
		var r map[string]any
		if err := json.Unmarshal(line, &r); err != nil {
			t.Fatal(err)
		}
		msg, _ := r["msg"].(string)
		if r["session"] == nil || r["run"] != 1.0 || r["agent"] != "clerk" {
			t.Errorf("%s", line)
		}
		for k := range r {
			keys[msg] = append(keys[msg], k)
		}
	}
	for msg, want := range map[string]string{
		"run started": "model", "model called": "model", "model failed": "retry_in", "model answered": "input_tokens",
		"call judged": "tool", "tool started": "call", "tool ended": "duration", "run ended": "reason",
	} {
		if !slices.Contains(keys[msg], want) {
			t.Errorf("%q has %v, not %s", msg, keys[msg], want)
		}
	}
}

func linesWith(text, part string) (out []string) {
	for line := range strings.Lines(text) {
		if strings.Contains(line, part) {
			out = append(out, line)
		}
	}
	return out
}

// late denies a call when it is judged again, right before it runs.
type late struct{ judged int }

func (l *late) Decide(permission.Request) permission.Decision {
	if l.judged++; l.judged > 1 {
		return permission.Deny("it is too late")
	}
	return permission.Decision{}
}

// A call that is denied right before it runs has one record too, with the reason.
func TestLogOfLateDenial(t *testing.T) {
	var mu sync.Mutex
	var out bytes.Buffer
	a := &agent.Agent{Model: llmtest.Script(uses("plain"), say("end")), Tools: []tool.Tool{plain("plain")}, Deciders: []permission.Decider{new(late)},
		Log: slog.New(slog.NewJSONHandler(locked{&mu, &out}, &slog.HandlerOptions{Level: slog.LevelDebug}))}
	if _, err := a.Prompt(t.Context(), "go"); err != nil {
		t.Fatal(err)
	}
	if late := linesWith(out.String(), "it is too late"); len(late) != 1 || !strings.Contains(late[0], `"msg":"call denied"`) || len(linesWith(out.String(), `"cause":"denied"`)) > 0 {
		t.Errorf("got %s", &out)
	}
}

type locked struct {
	mu *sync.Mutex
	b  *bytes.Buffer
}

func (l locked) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}
