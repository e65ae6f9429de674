package limit

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/openagent-go/agent/internal/pace"
	"github.com/openagent-go/agent/llm"
)

func must(t *testing.T, l *Limiter, c pace.Call) pace.Permit {
	t.Helper()
	p, err := l.Wait(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestNil(t *testing.T) {
	var l *Limiter
	p, err := l.Wait(t.Context(), pace.Call{})
	p.Answered(200, nil, -1)
	p.Done(nil)
	if err != nil {
		t.Error(err)
	}
}

// Calls are served in their order, a large request before the small ones that ask after it.
func TestOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{Input: 1000}
		must(t, l, pace.Call{Input: 700}).Done(&llm.Usage{Input: 1000})
		var order []string
		for i, c := range []pace.Call{{Input: 10}, {Input: 600}, {Input: 1}, {Input: 5000}, {Input: 1}} {
			go func() {
				p, _ := l.Wait(context.Background(), c)
				order = append(order, fmt.Sprint(i))
				p.Done(nil)
			}()
			synctest.Wait()
		}
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		if got := fmt.Sprint(order); got != "[0 1 2 3 4]" {
			t.Errorf("served in the order %s", got)
		}
		if l.waiting != 0 || l.active != 0 || len(l.busy) != 0 {
			t.Errorf("%d waiting, %d active, %d lanes", l.waiting, l.active, len(l.busy))
		}
	})
}

// A wait ends with its context and leaves nothing behind; later calls continue.
func TestCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{Concurrent: 1}
		first := must(t, l, pace.Call{})
		ctx, cancel := context.WithCancelCause(t.Context())
		ended := make(chan error, 1)
		go func() { _, err := l.Wait(ctx, pace.Call{}); ended <- err }()
		synctest.Wait()
		next := make(chan error, 1)
		go func() {
			p, err := l.Wait(t.Context(), pace.Call{})
			p.Done(nil)
			next <- err
		}()
		synctest.Wait()
		cancel(nil)
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("the wait ended with %v", err)
		}
		first.Done(nil)
		if err := <-next; err != nil {
			t.Error(err)
		}
	})
}

func TestBounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{Concurrent: 1, Waiting: 1}
		p := must(t, l, pace.Call{})
		go func() {
			p, _ := l.Wait(context.Background(), pace.Call{})
			p.Done(nil)
		}()
		synctest.Wait()
		var e *llm.APIError
		if _, err := l.Wait(t.Context(), pace.Call{}); !errors.As(err, &e) || e.Class != llm.RateLimit || e.RetryAfter >= 0 {
			t.Errorf("a third one: %v", err)
		}
		p.Done(nil)
		synctest.Wait()
	})
}

// After a refusal all calls wait as long as the provider asks, except those of other
// models, and none for longer than Hold.
func TestHold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{}
		a, b := must(t, l, pace.Call{Model: "a"}), must(t, l, pace.Call{Model: "b"})
		a.Answered(200, http.Header{}, -1)
		b.Answered(200, http.Header{}, -1)
		c, d := must(t, l, pace.Call{Model: "a"}), must(t, l, pace.Call{Model: "a"})
		c.Answered(429, http.Header{}, 7*time.Second)
		c.Done(&llm.Usage{})
		start := time.Now()
		must(t, l, pace.Call{Model: "b"}).Done(nil)
		if time.Since(start) > 0 {
			t.Error("the other model waits as well")
		}
		var told pace.Waiting
		ctx := pace.WithNotice(t.Context(), func(_ context.Context, w pace.Waiting) func() { told = w; return nil })
		p, _ := l.Wait(ctx, pace.Call{Model: "a"})
		if time.Since(start) != 7*time.Second || told.Reason != pace.ForHold || told.Least != 7*time.Second || told.Model != "a" {
			t.Errorf("waited %v, told %+v", time.Since(start), told)
		}
		p.Done(nil)
		d.Answered(503, http.Header{}, 2*time.Hour)
		var e *llm.APIError
		if _, err := l.Wait(t.Context(), pace.Call{Model: "a"}); !errors.As(err, &e) || e.RetryAfter != 2*time.Hour {
			t.Errorf("a long hold: %v", err)
		}
	})
}

// A refusal without a word of how long stops all for a moment, a longer one each time.
func TestRefusalsWithoutAWord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{}
		for _, want := range []time.Duration{0, 1, 2, 4, 8, 16, 30, 30} {
			start := time.Now()
			p := must(t, l, pace.Call{})
			if got := time.Since(start); got != want*time.Second {
				t.Errorf("waited %v, want %v s", got, want)
			}
			p.Answered(429, http.Header{}, -1)
			p.Done(nil)
		}
		time.Sleep(time.Minute)
		p := must(t, l, pace.Call{})
		p.Answered(200, http.Header{}, -1)
		p.Done(nil)
		start := time.Now()
		must(t, l, pace.Call{}).Answered(429, http.Header{}, -1)
		must(t, l, pace.Call{})
		if got := time.Since(start); got != time.Second {
			t.Errorf("after a success waited %v", got)
		}
	})
}

// While nothing is known one request goes ahead; one that hangs does not keep the
// others for ever.
func TestFirstReply(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{}
		start := time.Now()
		must(t, l, pace.Call{})
		second := must(t, l, pace.Call{})
		if time.Since(start) != probePause {
			t.Errorf("the second waited %v", time.Since(start))
		}
		second.Answered(200, http.Header{}, -1)
		for range 100 {
			must(t, l, pace.Call{})
		}
		if time.Since(start) != probePause {
			t.Error("a provider without limits is waited for")
		}
	})
}

// A window that is full is waited for to its end.
func TestWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{}
		p := must(t, l, pace.Call{})
		p.Answered(200, http.Header{"X-Ratelimit-Limit": {"20"}, "X-Ratelimit-Remaining": {"1"}, "X-Ratelimit-Reset": {fmt.Sprint(time.Now().Add(42 * time.Second).UnixMilli())}}, -1)
		start := time.Now()
		must(t, l, pace.Call{})
		if time.Since(start) > 0 {
			t.Error("what is left is not used")
		}
		must(t, l, pace.Call{})
		if got := time.Since(start); got != 42*time.Second {
			t.Errorf("waited %v", got)
		}
		for range 19 {
			must(t, l, pace.Call{})
		}
		if got := time.Since(start); got != 42*time.Second {
			t.Errorf("the next window: waited %v", got)
		}
	})
}

// Until an answer has shown the tokens of a request, it counts for as many as it may have;
// the excess can be used as soon as that is known.
func TestEstimate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{}
		h := func(left int) http.Header {
			return http.Header{"Anthropic-Ratelimit-Input-Tokens-Limit": {"60001"}, "Anthropic-Ratelimit-Input-Tokens-Remaining": {fmt.Sprint(left)}}
		}
		c := pace.Call{Input: 1000, Most: 12_000} // and really 4000
		first := must(t, l, c)
		first.Answered(200, h(56_001), -1)
		admitted := make(chan pace.Permit, 14)
		for range 14 {
			go func() {
				if p, err := l.Wait(context.Background(), c); err == nil {
					admitted <- p
				}
			}()
		}
		synctest.Wait()
		if n := len(admitted); n != 4 {
			t.Errorf("%d requests are sent before it is known what one counts", n)
		}
		first.Done(&llm.Usage{Input: 4000})
		for i := range 4 {
			(<-admitted).Answered(200, h(52_001-i*4000), -1)
		}
		synctest.Wait()
		if n := len(admitted); n < 1 || n > 10 {
			t.Errorf("%d more requests are sent once it is known", n)
		}
		start := time.Now()
		for n := 0; n < 10; n++ {
			p := <-admitted
			p.Answered(200, h(60_001), -1)
			p.Done(&llm.Usage{Input: 4000})
		}
		if d := time.Since(start); d > time.Second {
			t.Errorf("the rest waited %v", d)
		}
	})
}

// Others who use the same key are noticed.
func TestOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{}
		h := func(left int) http.Header {
			return http.Header{"Anthropic-Ratelimit-Requests-Limit": {"60"}, "Anthropic-Ratelimit-Requests-Remaining": {fmt.Sprint(left)}}
		}
		p := must(t, l, pace.Call{})
		p.Answered(200, h(50), -1)
		must(t, l, pace.Call{}).Answered(200, h(0), -1)
		start := time.Now()
		must(t, l, pace.Call{})
		if got := time.Since(start).Round(time.Millisecond); got != time.Second {
			t.Errorf("waited %v", got)
		}
	})
}

func TestHeaders(t *testing.T) {
	now := time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		name    string
		header  map[string]string
		kind    int
		limit   float64
		left    float64
		reset   time.Duration
		seconds float64 // in which the bucket fills; -1: it is a window
	}{
		{"anthropic", map[string]string{"anthropic-ratelimit-requests-limit": "50", "anthropic-ratelimit-requests-remaining": "49", "anthropic-ratelimit-requests-reset": "2026-11-21T00:00:02Z"}, requests, 50, 49, 2 * time.Second, 60},
		{"anthropic, clock differs", map[string]string{"Date": "Sat, 21 Nov 2026 01:00:00 GMT", "anthropic-ratelimit-requests-limit": "50", "anthropic-ratelimit-requests-remaining": "0", "anthropic-ratelimit-requests-reset": "2026-11-21T01:01:00Z"}, requests, 50, 0, time.Minute, 60},
		{"anthropic, rounded", map[string]string{"anthropic-ratelimit-input-tokens-limit": "30000", "anthropic-ratelimit-input-tokens-remaining": "29000"}, input, 30000, 28500, 0, 60},
		{"anthropic, output", map[string]string{"anthropic-ratelimit-output-tokens-limit": "8000", "anthropic-ratelimit-output-tokens-remaining": "8000"}, output, 8000, 8000, 0, 60},
		{"openai", map[string]string{"x-ratelimit-limit-tokens": "150000", "x-ratelimit-remaining-tokens": "149984", "x-ratelimit-reset-tokens": "6ms"}, tokens, 150000, 149984, 6 * time.Millisecond, 60},
		{"openai, minutes", map[string]string{"x-ratelimit-limit-requests": "100", "x-ratelimit-remaining-requests": "90", "x-ratelimit-reset-requests": "6m0s"}, requests, 100, 90, 6 * time.Minute, 3600},
		{"groq, a day", map[string]string{"x-ratelimit-limit-requests": "14400", "x-ratelimit-remaining-requests": "14370", "x-ratelimit-reset-requests": "2m59.56s"}, requests, 14400, 14370, 179560 * time.Millisecond, 86400},
		{"days", map[string]string{"x-ratelimit-limit-requests": "200", "x-ratelimit-remaining-requests": "10", "x-ratelimit-reset-requests": "1d2h"}, requests, 200, 10, 26 * time.Hour, 86400},
		{"azure, what is left alone", map[string]string{"x-ratelimit-remaining-tokens": "900"}, tokens, 0, 900, 0, 60},
		{"mistral", map[string]string{"x-ratelimit-limit-tokens-minute": "500000", "x-ratelimit-remaining-tokens-minute": "400"}, tokens, 500000, 400, 0, 60},
		{"openrouter", map[string]string{"X-RateLimit-Limit": "20", "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": fmt.Sprint(now.Add(9 * time.Second).UnixMilli())}, requests, 20, 0, 9 * time.Second, -1},
		{"github", map[string]string{"x-ratelimit-limit": "15", "x-ratelimit-remaining": "3", "x-ratelimit-reset": fmt.Sprint(now.Add(time.Minute).Unix())}, requests, 15, 3, time.Minute, -1},
		{"draft", map[string]string{"RateLimit-Limit": "100;w=60", "RateLimit-Remaining": "5", "RateLimit-Reset": "50"}, requests, 100, 5, 50 * time.Second, -1},
	} {
		h := http.Header{}
		for k, v := range tt.header {
			h.Set(k, v)
		}
		rep, ok := read(h, now)
		r := rep[tt.kind]
		if !ok || !r.ok || r.limit != tt.limit || r.left != tt.left || r.reset != tt.reset || r.window != (tt.seconds < 0) {
			t.Errorf("%s: %+v", tt.name, r)
		}
		if got := r.period(max(r.limit, r.left)); tt.seconds > 0 && got.Seconds() != tt.seconds {
			t.Errorf("%s: fills in %v", tt.name, got)
		}
	}
	for _, bad := range []string{"", "-1", "NaN", "x", "1e300", "soon", "5x", "-3s", "999999999999999999"} {
		h := http.Header{}
		h.Set("x-ratelimit-remaining-requests", "5")
		h.Set("x-ratelimit-limit-requests", bad)
		h.Set("x-ratelimit-reset-requests", bad)
		rep, _ := read(h, now)
		if d := rep[requests].reset; d < 0 || d > longest {
			t.Errorf("%q: %v", bad, d)
		}
	}
}

func FuzzHeaders(f *testing.F) {
	f.Add("50", "49", "2026-11-21T00:00:02Z")
	f.Add("0", "1e9", "1d2h3m")
	f.Fuzz(func(t *testing.T, limit, left, reset string) {
		a := newLane(&Limiter{})
		now := time.Now()
		for range 3 {
			var p permit
			a.take(&p, pace.Call{Input: 10, Output: 10}, now)
			h := http.Header{}
			for _, d := range headers {
				h.Set(d.limit, limit)
				h.Set(d.left, left)
				h.Set(d.reset, reset)
			}
			a.hear(&p, 200, h, -1, now)
			a.settle(&p, &llm.Usage{Input: 3, Output: 1}, now)
			if d, _ := a.wait(pace.Call{Input: 10, Output: 10}, now); d < 0 || d > longest+time.Hour {
				t.Fatalf("a wait of %v", d)
			}
		}
	})
}

// BenchmarkWait is a request that need not wait.
func BenchmarkWait(b *testing.B) {
	for name, l := range map[string]*Limiter{"adaptive": {}, "bounded": {Requests: 1e9, Input: math.MaxInt, Output: math.MaxInt, Concurrent: 100}} {
		b.Run(name, func(b *testing.B) {
			h := http.Header{"Anthropic-Ratelimit-Requests-Limit": {"4000000000"}, "Anthropic-Ratelimit-Requests-Remaining": {"4000000000"}, "Anthropic-Ratelimit-Requests-Reset": {"2026-11-21T00:00:02Z"}}
			u := &llm.Usage{Input: 900, Output: 100}
			b.ReportAllocs()
			for b.Loop() {
				p, err := l.Wait(b.Context(), pace.Call{Host: "api.anthropic.com", Model: "claude-sonnet-4-6", Input: 1000, Output: 16384})
				if err != nil {
					b.Fatal(err)
				}
				p.Answered(200, h, -1)
				p.Done(u)
			}
		})
	}
}
