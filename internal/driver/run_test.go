package driver_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/conversation"
	"github.com/openagent-go/agent/internal/driver"
	"github.com/openagent-go/agent/internal/engine"
	"github.com/openagent-go/agent/internal/eventqueue"
	"github.com/openagent-go/agent/internal/executor"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/internal/hookrun"
	"github.com/openagent-go/agent/internal/policies"
	"github.com/openagent-go/agent/internal/secrets"
	"github.com/openagent-go/agent/internal/toolrun"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
)

var (
	errInternal = errors.New("internal error")
	errStuck    = errors.New("it is stuck")
)

// journal is a log in memory, which may fail.
type journal struct {
	mu      sync.Mutex
	events  []event.Event
	appends int
	synced  []string // types of facts in appends that had to be on the disk
	fail    func([]event.Event) error
	waits   func(context.Context) error // before each append
}

func (j *journal) Append(ctx context.Context, last int64, sync bool, events ...event.Event) error {
	if j.waits != nil {
		if err := j.waits(ctx); err != nil {
			return err
		}
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.fail != nil {
		if err := j.fail(events); err != nil {
			return err
		}
	}
	if int(last) != len(j.events) {
		return fmt.Errorf("there are %d facts, not %d", len(j.events), last)
	}
	j.events, j.appends = append(j.events, events...), j.appends+1
	if sync {
		for _, e := range events {
			j.synced = append(j.synced, fmt.Sprintf("%T", e.Data))
		}
	}
	return nil
}

// facts are the types of what is on record.
func (j *journal) facts() []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	var out []string
	for _, e := range j.events {
		out = append(out, reflect.TypeOf(e.Data).Name())
	}
	return out
}

// last returns the last fact of a type that is on record.
func last[F event.Fact](j *journal) (f F) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, e := range j.events {
		if is, ok := e.Data.(F); ok {
			f = is
		}
	}
	return f
}

// host is whose run it is. It notes what it is told.
type host struct {
	driver.Run
	conv    conversation.Conversation
	x       *executor.Executor
	journal *journal

	own      driver.OwnEffect // is carried out before the first request
	applied  int
	recorded int
	closed   bool
	onFact   func(event.Fact)
}

func (h *host) Observed() bool { return false }

func (h *host) Observe(event.Event, string) {}

func (h *host) OwnEffect([]engine.Effect) (own driver.OwnEffect, waits bool) {
	own, h.own = h.own, nil
	return own, own == nil && h.Pending("own")
}

func (h *host) Applied(f event.Fact) {
	h.applied++
	if h.onFact != nil {
		h.onFact(f)
	}
}

func (h *host) Recorded(events []event.Event) { h.recorded += len(events) }
func (h *host) Closed()                       { h.closed = true }

// person is a driver of effects who allows every call.
type person struct{ executor.Driver }

func (person) CanUseTool() executor.Callback                      { return nil }
func (person) StrictestMode(mode permission.Mode) permission.Mode { return mode }
func (person) BoundsCost() bool                                   { return false }
func (person) SessionTag(context.Context) string                  { return "" }

// newRun makes a run of a model and tools, which nobody has begun.
func newRun(t *testing.T, m llm.Model, tools ...tool.Tool) *host {
	t.Helper()
	h := &host{conv: conversation.New(), journal: new(journal)}
	h.prepare(t, t.Context(), m, tools...)
	return h
}

func (h *host) prepare(t *testing.T, ctx context.Context, m llm.Model, tools ...tool.Tool) {
	t.Helper()
	set, err := hookrun.Compile(nil)
	if err != nil {
		t.Fatal(err)
	}
	h.x = executor.New(executor.Config{Session: "s", Hooks: set, Secrets: secrets.Of(nil, nil, nil), Log: slog.New(slog.DiscardHandler), Driver: person{},
		Retry: func(*llm.APIError, int) executor.Retry { return executor.Retry{} }}, tools, []llm.Model{m})
	h.x.Rules.Store(policies.Compile(permission.Policy{}))
	h.x.Unreadable.Store(policies.Unreadable(permission.Policy{}, nil))
	read := func(after int64) iter.Seq2[event.Event, error] {
		return func(yield func(event.Event, error) bool) { yield(event.Event{}, io.EOF) }
	}
	h.Init(ctx, driver.Config{Host: h, Executor: h.x, Conversation: &h.conv, Log: h.journal, Events: eventqueue.New(read), Errors: driver.Errors{Internal: errInternal, Stuck: errStuck}})
}

// prompt is what a prompt begins with.
func (h *host) prompt(text string) []event.Fact {
	c := fact.Configured{Model: "script", System: "Be brief.", Dir: "/w", Roots: []string{"/w"}, MaxTokens: 100, Parallel: 10, Mode: permission.Bypass,
		Models: map[string]llm.Info{"script": {Price: new(llm.Price)}}}
	for _, t := range h.x.EveryTool() {
		c.Tools = append(c.Tools, fact.Tool{Tool: llm.Tool{Name: t.Spec().Name}})
	}
	return []event.Fact{c, event.UserMessage{ID: text, Delivery: fact.AsPrompt, Message: llm.UserText(text)}}
}

// run runs a prompt to its end and returns how it ended.
func (h *host) run(t *testing.T, text string) event.RunEnd {
	t.Helper()
	go h.Begin(h.Context(), nil, h.prompt(text), nil)
	<-h.Done()
	return last[event.RunEnd](h.journal)
}

// calling is a model that makes a call of a tool and then says that it is done.
func calling(name string) llm.Model {
	return llmtest.Script(llmtest.Call(llm.ToolUse{ID: "x", Name: name, Input: []byte("{}")}), llmtest.Step{Text: "done"})
}

// does is a tool that runs a function.
func does(name string, fn func(context.Context) (string, error)) tool.Tool {
	return tool.Func(tool.Spec{Name: name, ReadOnly: true}, func(ctx context.Context, _ struct{}) (string, error) { return fn(ctx) })
}

func says(text string) func(context.Context) (string, error) {
	return func(context.Context) (string, error) { return text, nil }
}

// A run needs an executor, a conversation and a log, and no session.
func TestRun(t *testing.T) {
	h := newRun(t, calling("look"), does("look", says("seen")))
	end := h.run(t, "Look.")
	want := []string{"Configured", "UserMessage", "ModelStart", "AssistantMessage", "Authorized", "ToolStart", "ToolResult", "ModelStart", "AssistantMessage", "RunEnd"}
	if got := h.journal.facts(); end.Reason != event.Completed || !slices.Equal(got, want) {
		t.Errorf("the run ended as %s with %v", end.Reason, got)
	}
	if n := len(want); h.applied != n || h.recorded != n || !h.closed || !h.Began() || h.Failed() != nil {
		t.Errorf("the host was told of %d and %d facts of %d; closed: %v", h.applied, h.recorded, n, h.closed)
	}
	if h.journal.appends > 6 {
		t.Errorf("%d facts took %d appends", len(want), h.journal.appends)
	}
	shown := 0
	for {
		e, ok := h.Events().Next()
		if !ok {
			break
		}
		if _, fact := e.Data.(event.Fact); fact {
			shown++
		}
	}
	if shown != len(want) {
		t.Errorf("%d facts were shown", shown)
	}
}

// The start of a call that may change something is on the disk before the tool runs; that of
// one which reads is not waited for.
func TestSync(t *testing.T) {
	for _, readOnly := range []bool{true, false} {
		started := false
		var h *host
		touch := tool.Func(tool.Spec{Name: "touch", ReadOnly: readOnly}, func(context.Context, struct{}) (string, error) {
			h.journal.mu.Lock()
			defer h.journal.mu.Unlock()
			started = slices.Contains(h.journal.synced, "event.ToolStart")
			return "touched", nil
		})
		h = newRun(t, calling("touch"), touch)
		if h.run(t, "Touch."); started == readOnly {
			t.Errorf("read-only %v: the start is on the disk: %v", readOnly, started)
		}
	}
}

// Calls that begin together run together, and one that ends its goroutine or panics harms
// none of the others.
func TestCallsAtOnce(t *testing.T) {
	var calls []llm.ToolUse
	for i, name := range []string{"panics", "exits", "meets", "meets"} {
		calls = append(calls, llm.ToolUse{ID: fmt.Sprint(i), Name: name, Input: []byte(fmt.Sprintf(`{"n":%d}`, i))})
	}
	both := make(chan struct{})
	meets := tool.Func(tool.Spec{Name: "meets", ReadOnly: true}, func(ctx context.Context, in struct {
		N int `json:"n"`
	}) (string, error) {
		select {
		case both <- struct{}{}:
		case <-both:
		case <-ctx.Done():
			return "", ctx.Err()
		}
		return fmt.Sprint("met ", in.N), nil
	})
	number := func(name string, fn func()) tool.Tool {
		return tool.Func(tool.Spec{Name: name, ReadOnly: true}, func(context.Context, struct {
			N int `json:"n"`
		}) (string, error) {
			fn()
			return "", nil
		})
	}
	h := newRun(t, llmtest.Script(llmtest.Call(calls...), llmtest.Step{Text: "done"}),
		number("panics", func() { panic("oh no") }), number("exits", runtime.Goexit), meets)
	if end := h.run(t, "All."); end.Reason != event.Completed {
		t.Fatalf("the run ended as %s: %s", end.Reason, end.Message)
	}
	results := map[string]string{}
	for _, e := range h.journal.events {
		if f, ok := e.Data.(event.ToolResult); ok {
			results[f.Call] = f.Result.Text()
		}
	}
	text := fmt.Sprint(results)
	if len(results) != 4 || !strings.Contains(text, "met 2") || !strings.Contains(text, "met 3") || !strings.Contains(text, "Goexit") {
		t.Errorf("the results are %s", text)
	}
}

// The end of the context is on record, and every open call gets a result.
func TestEndOfContext(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	h := &host{conv: conversation.New(), journal: new(journal)}
	h.prepare(t, ctx, calling("wait"), does("wait", func(ctx context.Context) (string, error) {
		cancel(errors.New("enough"))
		<-ctx.Done()
		return "", ctx.Err()
	}))
	end := h.run(t, "Wait.")
	if end.Reason != event.Interrupted || end.Message != "enough" {
		t.Errorf("the run ended as %s: %s", end.Reason, end.Message)
	}
	if r := last[event.ToolResult](h.journal); r.Cause != fact.ByCancel {
		t.Errorf("the call's result is %+v", r)
	}
}

// A run whose caller is gone before its first call makes none.
func TestContextIsOver(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	h := &host{conv: conversation.New(), journal: new(journal)}
	h.prepare(t, ctx, calling("look"), does("look", says("seen")))
	if end := h.run(t, "Look."); end.Reason != event.Interrupted || slices.Contains(h.journal.facts(), "ModelStart") {
		t.Errorf("the run ended as %s after %v", end.Reason, h.journal.facts())
	}
}

// A tool that ignores its cancellation is given up: the run ends without it, and says so.
func TestGiveUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		ctx, cancel := context.WithCancel(t.Context())
		h := &host{conv: conversation.New(), journal: new(journal)}
		h.prepare(t, ctx, calling("sleep"), does("sleep", func(context.Context) (string, error) {
			cancel()
			<-release
			return "late", nil
		}))
		start := time.Now()
		end := h.run(t, "Sleep.")
		if end.Reason != event.Interrupted || !errors.Is(h.Stuck(), errStuck) || !strings.Contains(h.Stuck().Error(), "sleep") {
			t.Errorf("the run ended as %s, %v", end.Reason, h.Stuck())
		}
		if took := time.Since(start); took < executor.Grace || took > 2*executor.Grace {
			t.Errorf("it was waited for %v", took)
		}
		if r := last[event.ToolResult](h.journal); r.Fault != toolrun.Stuck {
			t.Errorf("the call's result is %+v", r)
		}
		facts := len(h.journal.events)
		close(release)
		synctest.Wait()
		if now := len(h.journal.events); now != facts {
			t.Errorf("a late result is on record: %d facts", now)
		}
	})
}

// A run also gives up a tool that exceeds its time limit, and continues.
func TestTimeLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		slow := tool.Func(tool.Spec{Name: "slow", ReadOnly: true, Timeout: time.Second}, func(context.Context, struct{}) (string, error) {
			<-release
			return "late", nil
		})
		h := newRun(t, calling("slow"), slow)
		end := h.run(t, "Be slow.")
		if r := last[event.ToolResult](h.journal); end.Reason != event.Completed || h.Stuck() != nil || !strings.Contains(r.Result.Text(), "timed out after 1s") {
			t.Errorf("the run ended as %s, %v, and the call as %q", end.Reason, h.Stuck(), r.Result.Text())
		}
		close(release)
	})
}

// What somebody else has to say of a run is recorded while an effect is being carried out.
func TestWith(t *testing.T) {
	var h *host
	said := errors.New("not said")
	h = newRun(t, calling("look"), does("look", func(ctx context.Context) (string, error) {
		if driver.HostOf(ctx) != driver.Host(h) {
			t.Error("a tool does not find the host of its run")
		}
		_, said = h.With(ctx, func() error {
			return h.CommitHost(event.UserMessage{ID: "steer", Delivery: fact.AsSteer, Message: llm.UserText("Hurry.")})
		})
		return "seen", nil
	}))
	end := h.run(t, "Look.")
	if said != nil || end.Reason != event.Completed || !h.conv.State.Known("steer") {
		t.Errorf("the run ended as %s, and the message: %v", end.Reason, said)
	}
	if ok, err := h.With(t.Context(), func() error { t.Error("called after the end"); return nil }); ok || err != nil {
		t.Errorf("a run that is over: %v, %v", ok, err)
	}
	if driver.HostOf(t.Context()) != nil {
		t.Error("a context without a run has a host")
	}
}

// Many who have something to say at once say it one after the other.
func TestWithMany(t *testing.T) {
	var h *host
	h = newRun(t, calling("look"), does("look", func(ctx context.Context) (string, error) {
		var all sync.WaitGroup
		for i := range 50 {
			all.Go(func() {
				h.With(ctx, func() error {
					return h.Commit(event.UserMessage{ID: fmt.Sprint("m", i), Delivery: fact.AsSteer, Message: llm.UserText("x")})
				})
			})
		}
		all.Wait()
		return "seen", nil
	}))
	h.run(t, "Look.")
	for i := range 50 {
		if !h.conv.State.Known(fmt.Sprint("m", i)) {
			t.Errorf("message %d is lost", i)
		}
	}
}

// A run whose log fails ends, and tells its host which facts were not recorded.
func TestLogFails(t *testing.T) {
	full := errors.New("the disk is full")
	h := newRun(t, calling("look"), does("look", says("seen")))
	h.journal.fail = func(events []event.Event) error {
		for _, e := range events {
			if _, ok := e.Data.(event.ToolResult); ok {
				return full
			}
		}
		return nil
	}
	h.run(t, "Look.")
	if !errors.Is(h.Failed(), full) || !h.closed || len(h.Unsaved()) == 0 {
		t.Errorf("failed: %v, closed: %v, %d facts unsaved", h.Failed(), h.closed, len(h.Unsaved()))
	}
	if end := last[event.RunEnd](h.journal); end.Reason != "" {
		t.Errorf("the run is on record as ended: %s", end.Reason)
	}
}

// A log that does not answer is given up after the grace time. One that answers late, and
// pays no heed to its context, fails nothing: not this append and not the next one.
func TestLogIsSlow(t *testing.T) {
	for name, c := range map[string]struct {
		waits func(context.Context) error
		fails error
	}{
		"hangs":        {func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }, context.DeadlineExceeded},
		"late":         {func(context.Context) error { time.Sleep(2 * executor.Grace); return nil }, nil},
		"just in time": {func(ctx context.Context) error { time.Sleep(executor.Grace / 2); return ctx.Err() }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newRun(t, calling("look"), does("look", says("seen")))
				appends := 0
				h.journal.waits = func(ctx context.Context) error {
					if err := ctx.Err(); err != nil {
						return err
					}
					if appends++; appends == 1 {
						return nil
					}
					return c.waits(ctx)
				}
				start := time.Now()
				h.run(t, "Look.")
				if !errors.Is(h.Failed(), c.fails) || !h.closed || appends < 2 {
					t.Errorf("failed: %v, closed: %v, %d appends", h.Failed(), h.closed, appends)
				}
				if took := time.Since(start); c.fails != nil && took != executor.Grace {
					t.Errorf("given up after %v", took)
				}
			})
		})
	}
}

// A host that panics, or ends the goroutine of the run, ends the run and not the program.
func TestHostFails(t *testing.T) {
	for name, fails := range map[string]func(){"panic": func() { panic("oh no") }, "exit": runtime.Goexit} {
		h := newRun(t, calling("look"), does("look", says("seen")))
		once := false
		h.onFact = func(f event.Fact) {
			if _, ok := f.(event.ToolResult); ok && !once {
				once = true
				fails()
			}
		}
		h.run(t, "Look.")
		if !errors.Is(h.Failed(), errInternal) || !h.closed {
			t.Errorf("%s: failed: %v, closed: %v", name, h.Failed(), h.closed)
		}
	}
}

// own is an effect of the host's.
type own struct {
	do    func(*driver.Context)
	facts []event.Fact
}

func (*own) Key() string                      { return "own" }
func (*own) Intent() event.Fact               { return nil }
func (o *own) Do(ctx *driver.Context)         { o.do(ctx) }
func (o *own) Facts(ending bool) []event.Fact { return o.facts }
func (*own) GaveUp()                          {}

// An effect of the host's own comes before the request, and what came of it is in that.
func TestOwnEffect(t *testing.T) {
	m := llmtest.Script(llmtest.Step{Text: "done"})
	h := newRun(t, m)
	note := event.UserMessage{ID: "note", Delivery: fact.AsNotice, Message: llm.UserText("It rains.")}
	h.own = &own{func(*driver.Context) {}, []event.Fact{note}}
	h.run(t, "Go.")
	if r := m.Requests(); len(r) != 1 || !strings.Contains(fmt.Sprint(r[0].Messages), "It rains.") {
		t.Errorf("the requests are %v", r)
	}
}

// One that fails or does not end holds the run up for no longer than the grace time.
func TestOwnEffectFails(t *testing.T) {
	release := make(chan struct{})
	for name, do := range map[string]func(*driver.Context){"panic": func(*driver.Context) { panic("oh no") },
		"exit": func(*driver.Context) { runtime.Goexit() }, "stuck": func(*driver.Context) { <-release }} {
		synctest.Test(t, func(t *testing.T) {
			release = make(chan struct{})
			h := newRun(t, llmtest.Script(llmtest.Step{Text: "done"}))
			h.own = &own{do: do}
			start := time.Now()
			if end := h.run(t, "Go."); end.Reason != event.Completed || time.Since(start) > executor.Grace {
				t.Errorf("%s: the run ended as %s after %v", name, end.Reason, time.Since(start))
			}
			close(release)
		})
	}
}

// A fact can take the place of the result of a call that is under way.
func TestRecordInstead(t *testing.T) {
	var h *host
	h = newRun(t, calling("look"), does("look", func(ctx context.Context) (string, error) {
		h.With(ctx, func() error {
			in := h.Find(func(in *executor.Input) bool { _, runs := in.Effect.(engine.RunTool); return runs })
			h.RecordInstead(in.Call.ID, event.ToolResult{Key: in.Effect.Key(), Call: in.Call.ID, Cause: fact.ByTool, Result: *tool.Text("instead")})
			return nil
		})
		return "seen", nil
	}))
	h.run(t, "Look.")
	if r := last[event.ToolResult](h.journal); r.Result.Text() != "instead" {
		t.Errorf("the result is %q", r.Result.Text())
	}
}

// A run that was cut short is closed before the new prompt begins; what its host says while
// it is being closed counts for the prompt too.
func TestClosesEarlier(t *testing.T) {
	h := newRun(t, calling("look"), does("look", says("seen")))
	h.conv.Apply(event.Event{Seq: 1, Session: "s", Data: h.prompt("First.")[0]})
	h.conv.Apply(event.Event{Seq: 2, Prev: 1, Session: "s", Data: h.prompt("First.")[1]})
	h.journal.events = make([]event.Event, 2)
	h.journal.events[0].Data, h.journal.events[1].Data = h.prompt("First.")[0], h.prompt("First.")[1]
	var closing []bool
	h.onFact = func(event.Fact) { closing = append(closing, h.ClosesEarlier()) }
	earlier := []event.Fact{event.Resumed{}, fact.Stopped{Reason: event.Interrupted, Message: "cut short"}}
	then := false
	go h.Begin(h.Context(), earlier, h.prompt("Second."), func() { then = true })
	<-h.Done()
	var ends []event.EndReason
	for _, e := range h.journal.events {
		if f, ok := e.Data.(event.RunEnd); ok {
			ends = append(ends, f.Reason)
		}
	}
	if !slices.Equal(ends, []event.EndReason{event.Interrupted, event.Completed}) || !closing[0] || closing[len(closing)-1] || !then {
		t.Errorf("the runs ended as %v, closing %v, then %v", ends, closing, then)
	}
}
