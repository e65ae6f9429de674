package llmtest

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/openagent-go/agent/internal/llmconst"
	"github.com/openagent-go/agent/llm"
)

func hear(m llm.Model, req *llm.Request) (ds []llm.Delta, done *llm.Response, err error) {
	for d, err := range m.Stream(context.Background(), req) {
		if err != nil {
			return ds, nil, err
		}
		if d.Done != nil {
			return ds, d.Done, nil
		}
		ds = append(ds, d)
	}
	return ds, nil, nil
}

func TestScriptPlaysStepsInOrder(t *testing.T) {
	boom := errors.New("boom")
	m := Script(
		Say("one"),
		Step{Thinking: "hm", Text: "two", Calls: []llm.ToolUse{Use("", "add", map[string]int{"a": 1}), Use("", "add", nil)}},
		Fail(boom),
		Reply(func(r *llm.Request) llm.Response {
			return llm.Response{Message: llm.UserText("echo " + r.Messages[0].Text()), Usage: llm.Usage{Input: 3}}
		}),
	)
	m.Facts = llm.Info{Window: 1000}
	req := &llm.Request{Messages: []llm.Message{llm.UserText("hi")}}

	_, done, err := hear(m, req)
	if err != nil || done.Message.Text() != "one" || done.Stop != llm.EndTurn || done.Model != "script" || done.Usage != (llm.Usage{Input: 10, Output: 5}) {
		t.Errorf("got %+v, %v", done, err)
	}
	ds, done, err := hear(m, req)
	if err != nil || done.Stop != llm.UseTools || done.Message.Role != llm.Assistant {
		t.Fatalf("got %+v, %v", done, err)
	}
	if first, ok := done.Message.Content[0].(llm.Thinking); !ok || first.Signature == "" {
		t.Errorf("thinking is %+v", done.Message.Content[0])
	}
	uses := done.Message.ToolUses()
	if uses[0].ID == "" || uses[0].ID == uses[1].ID {
		t.Errorf("ids are %q and %q", uses[0].ID, uses[1].ID)
	}
	input := ""
	for _, d := range ds {
		if d.Index == 2 {
			input += d.Text
		}
	}
	if input != `{"a":1}` || len(ds) < 8 {
		t.Errorf("input %q in %d deltas", input, len(ds))
	}
	if _, _, err := hear(m, req); err != boom {
		t.Errorf("got %v", err)
	}
	if _, done, _ := hear(m, req); done.Message.Text() != "echo hi" || done.Usage.Input != 3 {
		t.Errorf("got %+v", done)
	}
	var e *llm.APIError
	if _, _, err := hear(m, req); !errors.As(err, &e) || e.Retryable() || !strings.Contains(err.Error(), "request 5 was made, but the script has 4 steps") {
		t.Errorf("past the end: %v", err)
	}
	if got := llm.InfoOf(m).Window; got != 1000 {
		t.Errorf("window is %d", got)
	}
}

func TestModelRule(t *testing.T) {
	m := &Model{ID: "other", Steps: []Step{Say("first")}, Rule: func(r *Request, n int) Step {
		return Say(strings.Repeat(r.Prompt(), n))
	}}
	req := &llm.Request{Messages: []llm.Message{llm.UserText("x")}, Blocking: true}
	for _, want := range []string{"first", "x", "xx"} {
		ds, done, err := hear(m, req)
		if err != nil || done.Message.Text() != want || done.Model != "other" || len(ds) != 0 {
			t.Errorf("got %+v after %d deltas, %v; want %s alone", done, len(ds), err, want)
		}
	}
}

func TestModelRecordsWhatWasAsked(t *testing.T) {
	m := &Model{Rule: func(*Request, int) Step { return Say("ok") }}
	req := &llm.Request{Messages: make([]llm.Message, 1, 10)}
	req.Messages[0] = llm.UserText("first")
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			own := *req
			hear(m, &own)
			own.Messages = append(slices.Clip(own.Messages), llm.UserText("later"))
			m.Requests()
		})
	}
	wg.Wait()
	hear(m, req)
	req.Messages = append(req.Messages, llm.UserText("second"))
	hear(m, req)
	got := m.Requests()
	if len(got) != 6 || len(got[4].Messages) != 1 || len(got[5].Messages) != 2 {
		t.Fatalf("got %d requests", len(got))
	}
	_ = append(got[4].Messages, llm.UserText("mine"))
	if req.Messages[1].Text() != "second" {
		t.Error("appending to a recorded request changed the caller's")
	}
}

func TestModelFaults(t *testing.T) {
	for _, c := range []struct {
		name   string
		step   Step
		deltas int
		class  llm.Class
	}{
		{"close", Step{Text: "abcd", CutAfter: 2}, 2, llm.Truncated},
		{"end", Step{Text: "abcd", CutAfter: 3, Cut: cutEnd}, 3, llm.Truncated},
		{"reset", Step{Text: "abcd", CutAfter: 2, Cut: cutReset}, 2, llm.Network},
		{"error", Step{Text: "abcd", CutAfter: 2, Cut: cutError}, 2, llm.Overloaded},
		{"own error", Step{Text: "abcd", CutAfter: 2, Cut: cutError, Err: &llm.APIError{Class: llm.RateLimit}}, 2, llm.RateLimit},
		{"garbage", Step{Text: "abcd", CutAfter: 2, Cut: cutGarbage}, 2, llmconst.Protocol},
		{"at once", Step{Text: "abcd", CutAfter: atOnce}, 0, llm.Network},
		{"raw", Step{Raw: []byte("<html>")}, 0, llmconst.Protocol},
		{"429", Step{Status: 429}, 0, llm.RateLimit},
		{"599", Step{Status: 599}, 0, llm.ServerError},
		{"beyond the end", Step{Text: "abcd", CutAfter: 99}, 5, ""},
	} {
		ds, done, err := hear(Script(c.step), &llm.Request{})
		var e *llm.APIError
		errors.As(err, &e)
		switch {
		case len(ds) != c.deltas:
			t.Errorf("%s: %d deltas, want %d", c.name, len(ds), c.deltas)
		case c.class == "" && (err != nil || done == nil):
			t.Errorf("%s: %v", c.name, err)
		case c.class != "" && (e == nil || e.Class != c.class):
			t.Errorf("%s: got %v, want class %s", c.name, err, c.class)
		}
	}
	var e *llm.APIError
	if _, _, err := hear(Script(Step{Text: "abcd", CutAfter: 3}), &llm.Request{Blocking: true}); !errors.Is(err, llm.ErrTruncated) {
		t.Errorf("blocking: got %v", err)
	}
	_, _, err := hear(Script(Step{Status: 429, Header: map[string][]string{"Retry-After": {"9"}}}), &llm.Request{})
	if !errors.As(err, &e) || e.RetryAfter != 9*time.Second {
		t.Errorf("got %v", err)
	}
}

func TestModelWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, step := range []Step{
			{Text: "a", Delay: time.Hour}, {Text: "abcd", Stall: time.Hour, StallAfter: 3}, {Text: "abcd", EventDelay: 10 * time.Minute},
		} {
			start := time.Now()
			if _, _, err := hear(Script(step), &llm.Request{}); err != nil || time.Since(start) != time.Hour {
				t.Errorf("%+v took %v: %v", step, time.Since(start), err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			_, err := llm.Collect(ctx, Script(step), &llm.Request{})
			cancel()
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%+v, cancelled: %v", step, err)
			}
		}
	})
}

func TestModelInvalidInput(t *testing.T) {
	ds, done, err := hear(Script(Call(llm.ToolUse{ID: "t", Name: "add", Invalid: `{"a`})), &llm.Request{})
	if err != nil {
		t.Fatal(err)
	}
	u := done.Message.ToolUses()[0]
	if string(u.Input) != "{}" || u.Invalid != `{"a` {
		t.Errorf("got %+v", u)
	}
	text := ""
	for _, d := range ds {
		text += d.Text
	}
	if text != `{"a` {
		t.Errorf("streamed %q", text)
	}
	if !json.Valid(u.Input) {
		t.Error("input is not JSON")
	}
}

func FuzzSplit(f *testing.F) {
	f.Add("hello", 3)
	f.Add("雪が静かに🐢", 5)
	f.Add("", 0)
	f.Add("\xff\xfe\x80\x80", 2)
	f.Fuzz(func(t *testing.T, s string, n int) {
		pieces := split(s, n)
		if got := strings.Join(pieces, ""); got != s {
			t.Fatalf("got %q from %q", got, s)
		}
		if slices.Contains(pieces, "") {
			t.Fatalf("empty piece in %q", pieces)
		}
		if n > 0 && len(pieces) > n {
			t.Fatalf("%d pieces, want at most %d", len(pieces), n)
		}
		for _, p := range pieces {
			if strings.ToValidUTF8(s, "") == s && strings.ToValidUTF8(p, "") != p {
				t.Fatalf("a character of %q is cut: %q", s, pieces)
			}
		}
	})
}

func BenchmarkModelStream(b *testing.B) {
	m := &Model{Rule: func(*Request, int) Step { return Step{Text: strings.Repeat("word ", 200), Pieces: 200} }}
	req := &llm.Request{Messages: []llm.Message{llm.UserText("hello")}}
	b.ReportAllocs()
	for b.Loop() {
		for _, err := range m.Stream(context.Background(), req) {
			if err != nil {
				b.Fatal(err)
			}
		}
	}
}
