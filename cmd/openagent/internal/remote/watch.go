package remote

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/sse"
)

// An Update is what Watch tells: an [event.Event], a [State] or a [Lost].
type Update any

// A State is what is under way. Signals replaces all signals that came before.
type State struct {
	Seq     int64 // of the last fact before it
	Running bool
	Signals []event.Event
	Queue   []string // ids of messages that wait for the run
}

// Lost means that the connection broke. Watch tries again after Wait.
type Lost struct {
	Err  error
	Wait time.Duration
}

const (
	silence  = 25 * time.Second // without an event: the connection is dead, the server pings every 10 s
	maxEvent = 64 << 20         // bytes
)

// maxWatched is how much a watcher gets, who keeps what they see: bytes, and eventCost for each event.
var maxWatched = 128 << 20

const eventCost = 256

// ErrFull is why Watch returns when it has told so much that the memory of a watcher could get full.
var ErrFull = errors.New("the server has sent more than a screen can keep; show the session again")

// waits are the times before the next tries.
var waits = []time.Duration{time.Second, 3 * time.Second, 5 * time.Second, 10 * time.Second}

// Watch tells the facts of a session after a fact, each once and in order, and then what happens.
// When the connection breaks, it connects again and continues where it was. It returns when ctx
// ends, and if trying again is of no use: the session was deleted, or the server refuses. It returns
// [ErrFull] after very much.
func (c *Client) Watch(ctx context.Context, id string, after int64, tell func(Update)) error {
	s := &stream{c: c, last: after, tell: tell}
	for failed := 0; ; {
		err := s.read(ctx, at(id, "/events"))
		if ctx.Err() != nil {
			return ctx.Err()
		}
		var refused *Error
		if errors.As(err, &refused) && refused.Status < http.StatusInternalServerError && refused.Status != http.StatusTooManyRequests || errors.Is(err, errDeleted) || errors.Is(err, errForeign) || errors.Is(err, ErrFull) {
			return err
		}
		if s.connected {
			failed = 0
		}
		wait := waits[min(failed, len(waits)-1)]
		failed++
		tell(Lost{err, wait})
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(wait):
		}
	}
}

var (
	errDeleted  = errors.New("the session was deleted")
	errEnded    = errors.New("the server is shutting down")
	errSilence  = errors.New("nothing came for 25 seconds")
	errBehind   = errors.New("an event was lost on the way")
	errBadEvent = errors.New("the server sent an event that is not valid")
)

// A stream is what Watch has got so far.
type stream struct {
	c         *Client
	last      int64 // number of the last fact
	tell      func(Update)
	connected bool // a state has come on this connection
	told      int  // how much was told, see maxWatched
}

// read reads one connection to its end.
func (s *stream) read(ctx context.Context, path string) error {
	s.connected = false
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	alive := time.AfterFunc(silence, func() { cancel(errSilence) })
	defer alive.Stop()
	res, err := s.c.request(ctx, http.MethodGet, path, nil, http.Header{
		"Accept": {"text/event-stream"}, "Last-Event-Id": {strconv.FormatInt(s.last, 10)}})
	if err != nil {
		return cause(ctx, err)
	}
	defer res.Body.Close()
	if kind := res.Header.Get("Content-Type"); kind != "text/event-stream" {
		return fmt.Errorf("%s: %w", s.c.URL, errForeign)
	}
	events := sse.NewReader(res.Body, maxEvent)
	for {
		e, err := events.Next()
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return cause(ctx, fmt.Errorf("reading the events of %s: %w", s.c.URL, err))
		}
		alive.Reset(silence)
		if string(e.Type) != "ping" {
			s.told += len(e.Data) + eventCost
		}
		if s.told > maxWatched {
			return ErrFull
		}
		if err := s.take(string(e.Type), e.Data); err != nil {
			return err
		}
	}
}

// cause is why ctx ended, if it did, otherwise err.
func cause(ctx context.Context, err error) error {
	if why := context.Cause(ctx); errors.Is(why, errSilence) {
		return why
	}
	return err
}

// take handles an event of the stream.
func (s *stream) take(kind string, data []byte) error {
	switch kind {
	case "fact":
		var head struct{ Seq int64 }
		if json.Unmarshal(data, &head) != nil || head.Seq <= 0 {
			return errBadEvent
		}
		if head.Seq <= s.last {
			return nil // it came before
		}
		s.last = head.Seq
		s.all(data)
	case "signal":
		s.all(data)
	case "state":
		var got struct {
			Seq     int64
			Running bool
			Signals []json.RawMessage
			Queue   []string
		}
		if json.Unmarshal(data, &got) != nil {
			return errBadEvent
		}
		s.connected = true
		s.tell(State{got.Seq, got.Running, s.c.events(got.Signals), got.Queue})
	case "ping":
		var at struct{ Seq int64 }
		if json.Unmarshal(data, &at) != nil {
			return errBadEvent
		}
		if at.Seq > s.last {
			return errBehind
		}
	case "gone":
		if bytes.Contains(data, []byte(`"deleted"`)) {
			return errDeleted
		}
		return errEnded
	}
	return nil
}

func (s *stream) all(data []byte) {
	for _, e := range s.c.events([]json.RawMessage{data}) {
		s.tell(e)
	}
}
