package llmtest

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/openagent-go/agent/llm"
)

// TestFaults plays each fault and looks at what arrives.
func TestFaults(t *testing.T) {
	body := messages("", `"stream":true`)
	events := func(n int) func(string, error) bool {
		return func(got string, err error) bool {
			return strings.Count(got, "event: ") == n && strings.HasSuffix(got, "\n\n")
		}
	}
	for _, c := range []struct {
		name  string
		step  Step
		whole bool // the body ends properly
		right func(got string, err error) bool
	}{
		{"at once", Step{CutAfter: atOnce}, false, func(got string, err error) bool { return got == "" }},
		{"network", Fail(&llm.APIError{Class: llm.Network}), false, func(got string, err error) bool { return got == "" }},
		{"close", Step{Text: "abcdefgh", CutAfter: 3}, false, events(3)},
		{"reset", Step{Text: "abcdefgh", CutAfter: 3, Cut: cutReset}, false, events(3)},
		{"end", Step{Text: "abcdefgh", CutAfter: 3, Cut: cutEnd}, true, events(3)},
		{"error", Step{Text: "abcdefgh", CutAfter: 3, Cut: cutError}, true, func(got string, err error) bool {
			return events(4)(got, err) && strings.Contains(got, "event: error") && strings.Contains(got, "overloaded_error")
		}},
		{"own error", Step{Text: "abcdefgh", CutAfter: 3, Cut: cutError, Err: errors.New("out of tape")}, true, func(got string, err error) bool {
			return strings.Contains(got, "out of tape") && strings.Contains(got, "api_error")
		}},
		{"garbage", Step{Text: "abcdefgh", CutAfter: 3, Cut: cutGarbage}, true, func(got string, err error) bool {
			return strings.Contains(got, "content_bl\n") && strings.Contains(got, "message_stop")
		}},
		{"beyond the end", Step{Text: "abcdefgh", CutAfter: 99}, true, events(10)},
		{"pieces", Step{Text: "abcdefgh", Pieces: 8}, true, events(14)},
		{"raw", Step{Raw: []byte("<html>")}, true, func(got string, err error) bool { return got == "<html>" }},
		{"raw, cut", Step{Raw: []byte("<html>"), CutAfter: 2}, false, func(got string, err error) bool { return got == "<h" }},
		{"raw, ended", Step{Raw: []byte("<html>"), CutAfter: 2, Cut: cutEnd}, true, func(got string, err error) bool { return got == "<h" }},
		{"status", Step{Status: 529}, true, func(got string, err error) bool { return strings.Contains(got, "overloaded_error") }},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := NewServer(t, c.step)
			_, got, err := tryPost(t.Context(), plainClient(t), s.URL+"/v1/messages", body)
			if (err == nil) != c.whole || !c.right(got, err) {
				t.Errorf("got %q, %v", got, err)
			}
		})
	}
}

func TestStatusAndHeaders(t *testing.T) {
	s := NewServer(t,
		Step{Status: 429, Header: http.Header{"retry-after-ms": {"1500"}}},
		Fail(&llm.APIError{Class: llm.RateLimit, RetryAfter: 1500 * time.Millisecond, Message: "slow down"}),
		Step{Status: 502, Raw: []byte("<html>"), Header: http.Header{"Content-Type": {"text/html; charset=utf-8"}}},
		Fail(errors.New("broken")),
	)
	client := plainClient(t)
	for _, want := range []struct {
		status              int
		header, value, body string
	}{
		{429, "Retry-After-Ms", "1500", "rate_limit_error"},
		{429, "Retry-After", "2", "slow down"},
		{502, "Content-Type", "text/html; charset=utf-8", "<html>"},
		{400, "Request-Id", "req_", "broken"},
	} {
		resp, body := post(t, client, s.URL+"/v1/messages", messages(""))
		if resp.StatusCode != want.status || !strings.HasPrefix(resp.Header.Get(want.header), want.value) || !strings.Contains(body, want.body) {
			t.Errorf("got %d %v %s, want %+v", resp.StatusCode, resp.Header, body, want)
		}
	}
}

// TestPipeUnderSynctest lets an hour of waiting pass at once, in each place where a step can wait.
func TestPipeUnderSynctest(t *testing.T) {
	for _, step := range []Step{
		{Text: "late", Delay: time.Hour},
		{Text: "late", EventDelay: 10 * time.Minute},
		{Text: "late", Stall: time.Hour},
		{Text: "late", Stall: time.Hour, StallAfter: 5},
		{Raw: []byte("late"), EventDelay: 15 * time.Minute},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := NewPipe(t, step)
			start := time.Now()
			_, body := post(t, s.Client(), s.URL+"/v1/messages", messages("", `"stream":true`))
			if !strings.Contains(body, "la") {
				t.Errorf("got %s", body)
			}
			if d := time.Since(start); d < time.Hour {
				t.Errorf("%+v took %v", step, d)
			}
		})
	}
}

// TestRetryAfterUnderSynctest obeys a retry-after of an hour, in no time.
func TestRetryAfterUnderSynctest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewPipe(t, Fail(&llm.APIError{Status: 429, RetryAfter: time.Hour}), Say("welcome back"))
		start := time.Now()
		resp, _ := post(t, s.Client(), s.URL+"/v1/chat/completions", completions(""))
		after, err := time.ParseDuration(resp.Header.Get("Retry-After") + "s")
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(after)
		if _, body := post(t, s.Client(), s.URL+"/v1/chat/completions", completions("")); !strings.Contains(body, "welcome back") {
			t.Errorf("got %s", body)
		}
		if d := time.Since(start); d != time.Hour {
			t.Errorf("took %v", d)
		}
	})
}

func TestCloseEndsStalledReplies(t *testing.T) {
	for _, pipe := range []bool{false, true} {
		started := make(chan struct{})
		s := &Server{Rule: func(*Request, int) Step {
			close(started)
			return Step{Text: "abc", Stall: time.Hour, StallAfter: 2}
		}}
		client := plainClient(t)
		if pipe {
			client = s.Client()
		} else if err := s.Listen(); err != nil {
			t.Fatal(err)
		}
		done := make(chan error)
		go func() {
			_, _, err := tryPost(t.Context(), client, s.URL+"/v1/messages", messages("", `"stream":true`))
			done <- err
		}()
		<-started
		s.Close()
		s.Close()
		if err := <-done; err == nil {
			t.Errorf("pipe %v: the reply ended as if complete", pipe)
		}
		if _, _, err := tryPost(t.Context(), client, s.URL+"/v1/messages", messages("")); err == nil {
			t.Errorf("pipe %v: a closed server answers", pipe)
		}
		if s.Listen() == nil {
			t.Errorf("a closed server listens again")
		}
	}
	unused := &Server{}
	unused.Close()
	if _, _, err := tryPost(t.Context(), unused.Client(), pipeURL, "{}"); err == nil {
		t.Error("a closed server serves in memory")
	}
}

func TestClientLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewPipe(t, Step{Text: "abc", Stall: time.Hour, StallAfter: 3}, Step{Delay: time.Hour})
		for range 2 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			_, _, err := tryPost(ctx, s.Client(), s.URL+"/v1/messages", messages("", `"stream":true`))
			cancel()
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("got %v", err)
			}
			synctest.Wait()
			if n := s.active.Load(); n != 0 {
				t.Errorf("%d requests are still being answered", n)
			}
		}
	})
}
