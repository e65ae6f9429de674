package subagents_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/openagent-go/agent/internal/subagents"
)

var errOver = errors.New("the session is closed")

// A piece of work is known from Begin to leave, and goes on once at a time.
func TestWork(t *testing.T) {
	r := subagents.New[*int]()
	ctx, leave, err := r.Begin(t.Context(), subagents.Work{Key: "k", Name: "helper", Session: "c"})
	if err != nil {
		t.Fatal(err)
	}
	if child, left := r.Child("k"); child != nil || left == nil || !r.Has("k") || r.Has("other") {
		t.Errorf("child %v, working %v", child, left != nil)
	}
	n := 1
	r.Attach("k", &n)
	r.Attach("other", &n)
	if child, _ := r.Child("k"); child != &n || r.Has("other") {
		t.Errorf("attached %v", child)
	}
	if _, _, err := r.Begin(t.Context(), subagents.Work{Key: "k", Name: "helper"}); err == nil || !strings.Contains(err.Error(), "starting helper: this piece of work, k, goes on") {
		t.Errorf("begun twice: %v", err)
	}
	cause := errors.New("enough")
	if !r.Stop("k", cause) || r.Stop("other", cause) || context.Cause(ctx) != cause {
		t.Errorf("stopped: %v", context.Cause(ctx))
	}
	leave()
	if r.Has("k") {
		t.Error("work that has ended goes on")
	}
	r.Close(errOver) // waits for nothing
}

// Work in the foreground ends with its call, work in the background with the session.
func TestEnds(t *testing.T) {
	r := subagents.New[*int]()
	call, end := context.WithCancel(t.Context())
	front, leaveFront, _ := r.Begin(call, subagents.Work{Key: "f", Session: "f"})
	back, leaveBack, _ := r.Begin(call, subagents.Work{Key: "b", Session: "b", Background: true})
	end()
	if front.Err() == nil || back.Err() != nil {
		t.Errorf("after the call: %v, %v", front.Err(), back.Err())
	}
	leaveFront()
	go func() { <-back.Done(); leaveBack() }()
	r.Close(errOver)
	if context.Cause(back) != errOver || r.Has("b") {
		t.Errorf("after the session: %v", context.Cause(back))
	}
	if _, _, err := r.Begin(t.Context(), subagents.Work{Key: "late"}); !errors.Is(err, errOver) || r.Go(nil) {
		t.Errorf("work began after the end: %v", err)
	}
}

// Only work in the background is stopped by its session's id.
func TestStopBackground(t *testing.T) {
	r := subagents.New[*int]()
	front, leave, _ := r.Begin(t.Context(), subagents.Work{Key: "f", Session: "x"})
	defer leave()
	if r.StopBackground("x", errOver) || front.Err() != nil {
		t.Error("work in the foreground was stopped")
	}
	back, leave, _ := r.Begin(t.Context(), subagents.Work{Key: "b", Session: "y", Background: true})
	defer leave()
	if !r.StopBackground("y", errOver) || context.Cause(back) != errOver {
		t.Errorf("stopped: %v", context.Cause(back))
	}
}

// An interrupt ends work in the background and lets none begin until it is allowed again.
func TestHalt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := subagents.New[*int]()
		var contexts []context.Context
		for _, id := range []string{"b", "a"} {
			ctx, leave, _ := r.Begin(t.Context(), subagents.Work{Key: id, Session: id, Background: true})
			defer leave()
			contexts = append(contexts, ctx)
		}
		front, leave, _ := r.Begin(t.Context(), subagents.Work{Key: "f", Session: "f"})
		defer leave()
		if got := r.Halt(); !slices.Equal(got, []string{"a", "b"}) {
			t.Errorf("halted %v", got)
		}
		for _, ctx := range contexts {
			if context.Cause(ctx) != subagents.ErrHalted {
				t.Errorf("ended by %v", context.Cause(ctx))
			}
		}
		if front.Err() != nil {
			t.Error("work in the foreground was halted")
		}
		r.Halt() // a second one does not hang those who wait
		if _, _, err := r.Begin(t.Context(), subagents.Work{Key: "n", Name: "helper", Background: true}); !errors.Is(err, subagents.ErrHalted) {
			t.Errorf("began: %v", err)
		}
		short, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := r.Ready(short); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("ready: %v", err)
		}
		ready := make(chan error, 1)
		go func() { ready <- r.Ready(t.Context()) }()
		synctest.Wait()
		r.Allow()
		r.Allow()
		if err := <-ready; err != nil || r.Ready(t.Context()) != nil {
			t.Errorf("ready: %v", err)
		}
		if _, leave, err := r.Begin(t.Context(), subagents.Work{Key: "n", Background: true}); err != nil {
			t.Error(err)
		} else {
			leave()
		}
	})
}

// One at a time asks a person.
func TestAskTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := subagents.New[*int]()
		asking, most := 0, 0
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() {
				done, err := r.AskTurn(t.Context())
				if err != nil {
					t.Error(err)
					return
				}
				defer done()
				asking++
				most = max(most, asking)
				time.Sleep(time.Second)
				asking--
			})
		}
		all.Wait()
		if most != 1 {
			t.Errorf("%d asked at once", most)
		}
		done, _ := r.AskTurn(t.Context())
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := r.AskTurn(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a second one: %v", err)
		}
		done()
	})
}

// Close waits for all, also for what was started beside the runs, while others begin, stop
// and ask.
func TestAtOnce(t *testing.T) {
	r := subagents.New[*int]()
	var mu sync.Mutex
	running := 0
	count := func(n int) { mu.Lock(); defer mu.Unlock(); running += n }
	var all sync.WaitGroup
	for i := range 100 {
		all.Go(func() {
			key := fmt.Sprint(i % 30)
			switch i % 4 {
			case 0:
				r.Go(func(ctx context.Context) { count(1); <-ctx.Done(); count(-1) })
			case 1:
				r.Stop(key, errOver)
				r.Halt()
				r.Allow()
			default:
				ctx, leave, err := r.Begin(t.Context(), subagents.Work{Key: key, Session: key, Background: i%4 == 2})
				if err != nil {
					return
				}
				count(1)
				r.Attach(key, new(int))
				r.Go(func(context.Context) {
					select {
					case <-ctx.Done():
					case <-time.After(time.Millisecond):
					}
					count(-1)
					leave()
				})
			}
		})
	}
	all.Wait()
	r.Close(errOver)
	if mu.Lock(); running != 0 {
		t.Errorf("%d go on", running)
	}
	mu.Unlock()
}
