package harness

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"
	"time"
)

// obedient is a peer that does what its script says, and nothing else.
func obedient(s Script) (Run, error) {
	return func(ctx context.Context) (string, error) {
		for n := 1; ; n += 2 {
			use, err := s.Next(ctx, n)
			if err != nil {
				return "", err
			}
			if use == nil {
				return Final, nil
			}
			Double(1)
		}
	}, nil
}

// lazy is a peer that says that it is done.
func lazy(Script) (Run, error) {
	return func(context.Context) (string, error) { return Final, nil }, nil
}

func measure(t *testing.T, p Peer, o Options) Result {
	t.Helper()
	p.Name, o.Peer = "it", "it"
	o.Samples, o.Sample, o.Limit = 1, time.Microsecond, time.Second
	return Measure(o, p)
}

func TestLoopAndCrowdAreChecked(t *testing.T) {
	for _, phase := range []string{"loop", "crowd"} {
		o := Options{Phase: phase, Turns: 3, Agents: 4}
		if r := measure(t, Peer{Agent: obedient}, o); r.Error != "" {
			t.Errorf("%s: %s", phase, r.Error)
		}
		if r := measure(t, Peer{Agent: lazy}, o); r.Error == "" {
			t.Errorf("%s: a peer that calls no tool has a figure: %+v", phase, r)
		}
		if r := measure(t, Peer{}, o); r.Error != ErrAbsent.Error() {
			t.Errorf("%s: %q where the peer takes no part", phase, r.Error)
		}
	}
}

func TestTextIsChecked(t *testing.T) {
	for text, good := range map[string]bool{strings.Repeat(Piece, 3): true, strings.Repeat(Piece, 2): false, "": false} {
		p := Peer{Streams: map[string]func(string) (Stream, error){ByAgent: func(string) (Stream, error) {
			return func(_ context.Context, w *Text) error { w.Write(text); return nil }, nil
		}}}
		if r := measure(t, p, Options{Phase: "wire", Deltas: 3}); (r.Error == "") != good {
			t.Errorf("%d bytes: error %q", len(text), r.Error)
		}
	}
}

func TestErrorsArePassedOn(t *testing.T) {
	broken := errors.New("broken")
	p := Peer{Shared: func() (func() any, error) { return nil, broken }, Own: func() (any, error) { return nil, broken }}
	for _, point := range []string{"shared", "own"} {
		if r := measure(t, p, Options{Phase: "build", Point: point}); r.Error != "broken" {
			t.Errorf("%s: %q", point, r.Error)
		}
	}
}

func TestScript(t *testing.T) {
	s := Script{Turns: 2}
	for n, want := range map[int]string{1: "call_0", 3: "call_1", 5: "end", 7: "error", 0: "error", 2: "error", -1: "error"} {
		use, err := s.Next(t.Context(), n)
		got := "end"
		switch {
		case err != nil:
			got = "error"
		case use != nil:
			got = use.ID
		}
		if got != want {
			t.Errorf("after %d messages: %s, want %s", n, got, want)
		}
	}
}

func TestLastCall(t *testing.T) {
	history := func(n int) string {
		var b strings.Builder
		b.WriteString(`{"messages":[`)
		for i := range n {
			fmt.Fprintf(&b, `{"id":"call_%d"},{"tool_use_id":"call_%d","content":"%d"},`, i, i, 2*i)
		}
		return b.String() + `{}],"tools":[{"name":"double"}]}`
	}
	for _, n := range []int{0, 1, 2, 10, 500, 1000} {
		if got, err := lastCall(strings.NewReader(history(n))); got != n || err != nil {
			t.Errorf("%d calls, %v; want %d", got, err, n)
		}
		if got, err := lastCall(iotest.OneByteReader(strings.NewReader(history(n)))); got != n || err != nil {
			t.Errorf("byte by byte: %d calls, %v; want %d", got, err, n)
		}
	}
}

func TestTransport(t *testing.T) {
	for _, stream := range []bool{true, false} {
		tr := Transport{Script: Script{Turns: 1}, Stream: stream}
		for body, want := range map[string]string{`{}`: "call_0", `{"tool_use_id":"call_0"}`: Final} {
			req, err := http.NewRequest("POST", "http://127.0.0.1/v1/messages", strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			resp, err := tr.RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			var b bytes.Buffer
			b.ReadFrom(resp.Body)
			if !strings.Contains(b.String(), want) || strings.Contains(b.String(), "data:") != stream {
				t.Errorf("stream %v, %s: %s", stream, body, b.String())
			}
		}
	}
}
