package llm_test

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"math"
	"reflect"
	"testing"
	"time"

	"github.com/openagent-go/agent/internal/llmconst"
	"github.com/openagent-go/agent/llm"
)

func TestBlocksRoundTrip(t *testing.T) {
	m := llm.Message{Role: llm.Assistant, Content: llm.Blocks{
		llm.Text{Text: "a <b> & \u2028"},
		llm.Thinking{Text: "hm", Signature: "sig", Extra: json.RawMessage(`[{"a":1}]`)},
		llm.RedactedThinking{Data: "xyz"},
		llm.Image{MediaType: "image/png", Data: []byte{0, 1, 2}},
		llm.Document{MediaType: "application/pdf", Title: "t", Data: []byte("%PDF")},
		llm.ToolUse{ID: "1", Name: "Read", Input: json.RawMessage(`{"s":"<&>"}`)},
		llm.ToolUse{ID: "2", Name: "Read", Input: json.RawMessage(`{}`), Invalid: `{"a`},
		llm.ToolResult{ID: "1", IsError: true, Content: llm.Blocks{llm.Text{Text: "no"}}},
		llm.Verbatim{Provider: "p", Shown: "seen", Raw: json.RawMessage(`{"x":[1,2]}`)},
	}}
	data, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	var again llm.Message
	if err := json.Unmarshal(data, &again); err != nil {
		t.Fatal(err)
	}
	second, err := json.Marshal(again)
	if err != nil || string(second) != string(data) {
		t.Errorf("got  %s\nwant %s", second, data)
	}
	if again.Text() != "a <b> & \u2028seen" || len(again.ToolUses()) != 2 {
		t.Errorf("text %q, %d calls", again.Text(), len(again.ToolUses()))
	}
	for _, bad := range []string{`[{"type":"nope"}]`, `[{}]`, `[1]`, `{}`} {
		if err := json.Unmarshal([]byte(bad), new(llm.Blocks)); err == nil {
			t.Errorf("%s is taken", bad)
		}
	}
}

// maxCount is where counts of tokens saturate.
const maxCount = min(1<<40, math.MaxInt>>2)

func TestUsage(t *testing.T) {
	sum := llm.Usage{Input: 5, CacheRead: 2}.Add(llm.Usage{Input: -7, Output: int(^uint(0) >> 1), CacheWrite: 3})
	if sum.Input != 5 || sum.Output != maxCount || sum.Context() != 10 {
		t.Errorf("got %+v", sum)
	}
	if more := sum.Add(sum); more.Output != maxCount {
		t.Errorf("huge counts add up to %+v", more)
	}
	huge := llm.Usage{Input: math.MaxInt, Output: math.MaxInt, CacheRead: math.MaxInt, CacheWrite: math.MaxInt}
	if most := huge.Add(huge); most.Context()+most.Output != 4*maxCount { // no overflow, also in 32 bits
		t.Errorf("the sum of huge counts is %d", most.Context()+most.Output)
	}
}

func TestCost(t *testing.T) {
	p := llm.Price{Input: 3, Output: 15, CacheRead: 0.3, CacheWrite: 3.75, LongAt: 200_000, LongInput: 2, LongOutput: 1.5}
	for _, test := range []struct {
		usage llm.Usage
		want  float64
	}{
		{llm.Usage{Input: 1e6, Output: 1e6}, 2*3 + 1.5*15},
		{llm.Usage{Input: 1e5, Output: 1e4, CacheRead: 5e4, CacheWrite: 5e4}, 0.3 + 0.15 + 0.015 + 0.1875},
		{llm.Usage{}, 0},
	} {
		if got := p.Cost(test.usage); got < test.want-1e-9 || got > test.want+1e-9 {
			t.Errorf("%+v costs %v, want %v", test.usage, got, test.want)
		}
	}
}

func TestAPIError(t *testing.T) {
	cause := errors.New("reset")
	for _, test := range []struct {
		class llm.Class
		is    error
		retry bool
	}{
		{llm.RateLimit, llm.ErrRateLimited, true},
		{llm.Overloaded, llm.ErrUnavailable, true},
		{llm.Network, llm.ErrUnavailable, true},
		{llmconst.Unavailable, llm.ErrUnavailable, false},
		{llm.Truncated, llm.ErrTruncated, true},
		{llm.Auth, llm.ErrAuth, false},
		{llm.Forbidden, llm.ErrAuth, false},
		{llm.TooLong, llm.ErrOverflow, false},
		{llm.Invalid, cause, false},
	} {
		var err error = &llm.APIError{Class: test.class, Provider: "p", Status: 400, Message: "words", RequestID: "r1", Err: cause}
		if !errors.Is(err, test.is) || !errors.Is(err, cause) {
			t.Errorf("%v is not %v", err, test.is)
		}
		if err.(*llm.APIError).Retryable() != test.retry {
			t.Errorf("%v: retryable is not %v", err, test.retry)
		}
	}
	err := &llm.APIError{Class: llm.RateLimit, Provider: "anthropic", Status: 429, Message: "slow down", RequestID: "req_1", RetryAfter: time.Second}
	if got, want := err.Error(), "anthropic: rate_limit (HTTP 429): slow down [request req_1]"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

type deltas []llm.Delta

func (deltas) Name() string { return "deltas" }

func (ds deltas) Stream(context.Context, *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		for _, d := range ds {
			if !yield(d, nil) {
				return
			}
		}
	}
}

func TestCollect(t *testing.T) {
	want := &llm.Response{ID: "x"}
	if got, err := llm.Collect(t.Context(), deltas{{Text: "a"}, {Done: want}}, &llm.Request{}); err != nil || got != want {
		t.Errorf("got %+v, %v", got, err)
	}
	if _, err := llm.Collect(t.Context(), deltas{{Text: "a"}}, &llm.Request{}); !errors.Is(err, llm.ErrTruncated) {
		t.Errorf("a stream without an end gives %v", err)
	}
	if info := llm.InfoOf(deltas{}); !reflect.DeepEqual(info, llm.Info{}) {
		t.Errorf("info %+v", info)
	}
}

func TestMemo(t *testing.T) {
	var m llm.Memo
	made := 0
	load := func(m *llm.Memo) any { return m.Load("k", func() any { made++; return made }) }
	for i, from := range []*llm.Memo{&m, &m, nil, nil} {
		if got, want := load(from), []int{1, 1, 2, 3}[i]; got != want {
			t.Errorf("load %d gives %v, want %d", i, got, want)
		}
	}
}

// Costs are numbers that can be written and added, whatever the price.
func TestCostIsANumber(t *testing.T) {
	for _, p := range []llm.Price{{Input: 1e308, Output: 1e308}, {Input: math.Inf(1)}, {Input: math.Inf(1), Output: math.Inf(-1)}, {Input: math.NaN()}} {
		for _, u := range []llm.Usage{{}, {Input: maxCount, Output: maxCount}} {
			if got := p.Cost(u); got != got || got > llmconst.MaxCost || got < -llmconst.MaxCost {
				t.Errorf("%+v of %+v: %v", p, u, got)
			}
		}
	}
}
