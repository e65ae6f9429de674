package durable

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
	"time"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/session"
)

// Events yields the facts of a session with a sequence number above after, and then the
// events that happen, on whichever machine. Facts come in order, none is missed and none
// comes twice, so you can leave the loop and continue later with the number of the last one.
// Signals, such as pieces of the answer that is being written, come too if they get through.
// Those of an answer come before its fact, never after it.
//
// Events ends with an error: that of ctx, or one that matches [session.ErrNotFound] if the
// session is deleted. With after 0 it waits for a session that does not exist yet.
func (c *Client) Events(ctx context.Context, sessionID string, after int64) iter.Seq2[event.Event, error] {
	return func(yield func(event.Event, error) bool) {
		ctx, stop := context.WithCancel(ctx)
		var wg sync.WaitGroup
		defer wg.Wait()
		defer stop()
		type result struct {
			event.Event
			err error
		}
		facts, signals := make(chan result), make(chan event.Event, 100)
		wg.Go(func() {
			for e, err := range c.facts(ctx, sessionID, after) {
				select {
				case facts <- result{e, err}:
				case <-ctx.Done():
					return
				}
			}
		})
		wg.Go(func() {
			for e := range c.Backend.Signals(ctx, sessionID) {
				select {
				case signals <- e:
				case <-ctx.Done():
					return
				default: // a slow reader loses signals
				}
			}
		})
		var settled settledKeys
		for {
			select {
			case r := <-facts:
				settled.fact(r.Data)
				if !yield(r.Event, r.err) || r.err != nil {
					return
				}
			case e := <-signals:
				if !settled.late(e.Data) && !yield(e, nil) {
					return
				}
			case <-ctx.Done(): // the reader of facts may have left without a word
				yield(event.Event{}, fmt.Errorf("durable: watching session %s: %w", sessionID, ctx.Err()))
				return
			}
		}
	}
}

// facts yields the recorded facts after the given one, and those that are recorded, until
// an error.
func (c *Client) facts(ctx context.Context, sessionID string, after int64) iter.Seq2[event.Event, error] {
	return func(yield func(event.Event, error) bool) {
		store := c.Backend.Store("", nil)
		for pause := firstPause; ; {
			err := session.Wait(ctx, store, sessionID, after)
			if err == nil {
				for e, failed := range store.Read(ctx, sessionID, after) {
					if err = failed; err != nil {
						break
					}
					after, pause = e.Seq, firstPause
					if !yield(e, nil) {
						return
					}
				}
			}
			if err == nil {
				continue
			}
			if over(ctx, err) {
				yield(event.Event{}, fmt.Errorf("durable: watching session %s: %w", sessionID, err))
				return
			}
			select { // a database that restarts
			case <-time.After(pause):
			case <-ctx.Done():
			}
			pause = min(2*pause, lastPause)
		}
	}
}

// The pauses after a failure of the backend: the first one, and the longest.
const (
	firstPause = 50 * time.Millisecond
	lastPause  = 2 * time.Second
)

// over reports whether it is of no use to read again after an error.
func over(ctx context.Context, err error) bool {
	return ctx.Err() != nil || errors.Is(err, session.ErrNotFound) || errors.Is(err, session.ErrBadID) || errors.Is(err, session.ErrCorrupt) || errors.Is(err, session.ErrVersion)
}

// settledKeys are the answers and calls whose facts were shown. Their signals come too late.
type settledKeys struct {
	keys map[string]bool
}

func (s *settledKeys) fact(d event.Data) {
	add := func(key string) {
		if s.keys == nil {
			s.keys = map[string]bool{}
		}
		s.keys[key] = true
	}
	switch d := d.(type) {
	case event.AssistantMessage:
		add(d.Key)
	case event.ModelFailed:
		add(d.Key)
	case event.ToolResult:
		add(d.Call)
	case event.RunEnd:
		s.keys = nil // keys of a run do not return
	}
}

func (s *settledKeys) late(d event.Data) bool {
	switch d := d.(type) {
	case event.TextDelta:
		return s.keys[d.Key]
	case event.ThinkingDelta:
		return s.keys[d.Key]
	case event.ToolInputDelta:
		return s.keys[d.Key]
	case event.ToolProgress:
		return s.keys[d.Call]
	case event.PermissionRequest:
		return s.keys[d.Call.ID]
	case event.UserQuestion:
		return s.keys[d.Call.ID]
	}
	return false
}
