package llmtest

import (
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/openagent-go/agent/internal/llmconst"
	"github.com/openagent-go/agent/internal/strictapi"
	"github.com/openagent-go/agent/llm"
)

// testTruncated cuts a stream after each event. The shorter API streams this
// text in 7 events, 4 of them before the first that could be taken for an end.
func testTruncated(s *suite) {
	for _, cut := range []string{cutClose, cutReset, cutEnd} {
		for n := 1; n <= 8; n++ {
			if n == 8 && cut == cutReset {
				continue // a reset may overtake the data
			}
			step := Say("whole text")
			step.Pieces, step.CutAfter, step.Cut = 2, n, cut
			s.start(step)
			h, err := s.listen(s.ctx, ask("Go on."))
			var e *llm.APIError
			switch {
			case err == nil && n <= 4:
				s.Errorf("cut %q after event %d: taken for complete: %+v", cut, n, h.done)
			case err == nil && (h.done == nil || h.done.Message.Text() != "whole text"):
				s.Errorf("cut %q after event %d: incomplete: %+v", cut, n, h.done)
			case err != nil && n == 8:
				s.Errorf("cut %q after the last event: %v", cut, err)
			case err != nil && (!errors.As(err, &e) || !e.Retryable()):
				s.Errorf("cut %q after event %d: got %v, want a retryable *llm.APIError", cut, n, err)
			}
			s.server.Close()
		}
	}
	for n := 3; n <= 6; n++ {
		step := Call(Use("t1", "add", strictapi.Object{"a": 1, "b": 2}))
		step.CutAfter, step.Cut = n, cutEnd
		s.start(step)
		if e := s.mustFail(ask("Add.", addTool)); !e.Retryable() {
			s.Errorf("cut in a tool call, after event %d: %v is not retryable", n, e)
		}
	}
}

func testTruncatedBody(s *suite) {
	for _, cut := range []string{cutClose, cutEnd} {
		step := Say("whole text")
		step.CutAfter, step.Cut = 60, cut
		s.start(step)
		req := ask("Go on.")
		req.Blocking = true
		if e := s.mustFail(req); !e.Retryable() {
			s.Errorf("cut %q: %v is not retryable", cut, e)
		}
	}
	s.start(Step{CutAfter: atOnce})
	if e := s.mustFail(ask("Go on.")); !e.Retryable() || !errors.Is(e, llm.ErrUnavailable) {
		s.Errorf("connection closed before the reply: %v", e)
	}
}

func testStreamError(s *suite) {
	s.start(Step{Text: "some text", CutAfter: 4, Cut: cutError})
	if e := s.mustFail(ask("Go on.")); !e.Retryable() || !strings.Contains(e.Error(), "Overloaded") {
		s.Errorf("an error event that says Overloaded gave %v (retryable %v)", e, e.Retryable())
	}
	s.start(Step{Text: "some text", CutAfter: 4, Cut: cutGarbage})
	s.mustFail(ask("Go on."))
}

func testErrorClasses(s *suite) {
	for status, want := range map[int]llm.Class{
		400: llm.Invalid, 401: llm.Auth, 402: llmconst.Billing, 403: llm.Forbidden, 404: llmconst.NotFound, 413: llmconst.TooLarge, 422: llm.Invalid,
		429: llm.RateLimit, 500: llm.ServerError, 502: llm.ServerError, 503: llm.Overloaded, 504: llm.ServerError, 529: llm.Overloaded,
	} {
		page := Step{Status: status, Raw: []byte("<html><h1>Something</h1></html>")}
		s.start(Fail(&llm.APIError{Status: status, Message: "the words of the provider"}), page)
		e := s.mustFail(ask("Hello."))
		if e.Class != want || e.Status != status || !strings.Contains(e.Error(), "the words of the provider") || e.RequestID == "" {
			s.Errorf("status %d: got class %s, status %d, request %q: %v", status, e.Class, e.Status, e.RequestID, e)
		}
		if e.RetryAfter >= 0 {
			s.Errorf("status %d: retry-after is %v where none was sent", status, e.RetryAfter)
		}
		if e := s.mustFail(ask("Hello.")); e.Class != want || e.Status != status {
			s.Errorf("status %d with a page: got class %s, status %d", status, e.Class, e.Status)
		}
		s.server.Close()
	}
	s.start(Fail(&llm.APIError{Status: 429, RetryAfter: 7 * time.Second}), Fail(&llm.APIError{Class: llm.TooLong}))
	if e := s.mustFail(ask("Hello.")); e.RetryAfter != 7*time.Second {
		s.Errorf("retry-after is %v, want 7s", e.RetryAfter)
	}
	if e := s.mustFail(ask("Hello.")); !errors.Is(e, llm.ErrOverflow) {
		s.Errorf("a prompt that is too long gives %v", e)
	}
}

func testForeignReply(s *suite) {
	s.start(
		Step{Raw: []byte("<html>log in first</html>")},
		Step{Raw: []byte("<html>log in first</html>")},
		Step{Raw: []byte(`{"hello":`), Header: typed("application/json")},
		Step{Raw: []byte{}, Header: typed("text/event-stream")},
		Step{Raw: []byte("data: null\n\ndata: 3\n\ndata: []\n\n"), Header: typed("text/event-stream")},
	)
	blocking := ask("Hello.")
	blocking.Blocking = true
	for _, req := range []*llm.Request{ask("Hello."), blocking, blocking, ask("Hello."), ask("Hello.")} {
		s.mustFail(req)
	}
}

// typed is the header of a reply of a type.
func typed(contentType string) http.Header { return http.Header{"Content-Type": {contentType}} }

func testNoServer(s *suite) {
	s.start()
	s.server.Close()
	if e := s.mustFail(ask("Hello.")); !errors.Is(e, llm.ErrUnavailable) || !e.Retryable() {
		s.Errorf("got class %s: %v", e.Class, e)
	}
}

// shortestKey is how long a key must be for a client to hide it in texts.
const shortestKey = 8

func testKeyInErrors(s *suite) {
	key := ""
	s.startRule(func(r *Request, _ int) Step {
		key = keyOf(r.Header)
		return Fail(&llm.APIError{Status: 401, Message: "bad key " + key})
	})
	e := s.mustFail(ask("Hello."))
	if key != "" && len(key) < shortestKey {
		s.Fatalf("the client's key has %d characters; give it one of at least %d", len(key), shortestKey)
	}
	if key != "" && (strings.Contains(e.Error(), key) || strings.Contains(e.Message, key)) {
		s.Errorf("the error shows the key")
	}
}

func keyOf(h http.Header) string {
	if key := h.Get("X-Api-Key"); key != "" {
		return key
	}
	return strings.TrimPrefix(h.Get("Authorization"), "Bearer ")
}
