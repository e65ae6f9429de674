package leash

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

type key struct{}

func TestEnds(t *testing.T) {
	for _, test := range []struct {
		name    string
		loose   bool
		limit   time.Duration
		parent  time.Duration // when it is cancelled
		cut     time.Duration
		want    error
		at      time.Duration
		expired bool
	}{
		{name: "cut", cut: time.Second, want: context.Canceled, at: time.Second},
		{name: "parent", parent: time.Second, cut: time.Minute, want: context.Canceled, at: time.Second},
		{name: "limit", limit: time.Second, cut: time.Minute, want: context.DeadlineExceeded, at: time.Second, expired: true},
		{name: "loose", loose: true, parent: time.Second, cut: time.Minute, want: context.Canceled, at: time.Minute},
		{name: "limit after parent", limit: time.Minute, parent: time.Second, want: context.Canceled, at: time.Second},
	} {
		for _, watched := range []bool{true, false} {
			t.Run(test.name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					parent, cancel := context.WithCancel(context.WithValue(t.Context(), key{}, "v"))
					defer cancel()
					start := time.Now()
					l := &Leash{Parent: parent, Loose: test.loose}
					if test.limit > 0 {
						l.Limit = start.Add(test.limit)
					}
					if test.parent > 0 {
						time.AfterFunc(test.parent, cancel)
					}
					if test.cut > 0 {
						time.AfterFunc(test.cut, l.Cut)
					}
					if l.Err() != nil || l.Value(key{}) != "v" {
						t.Fatal(l.Err(), l.Value(key{}))
					}
					if watched {
						child, stop := context.WithCancel(l)
						defer stop()
						<-child.Done()
						if child.Err() != test.want {
							t.Error("child:", child.Err())
						}
						<-l.Done()
					} else {
						time.Sleep(test.at)
						synctest.Wait()
					}
					if time.Since(start) != test.at || !errors.Is(l.Err(), test.want) || l.Expired() != test.expired {
						t.Error(time.Since(start), l.Err(), l.Expired())
					}
					<-l.Done()
					l.Cut()
					if l.Err() != test.want {
						t.Error("cutting changed the error to", l.Err())
					}
				})
			})
		}
	}
}

// What was not waited for costs nothing.
func TestFree(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var l Leash
	if n := testing.AllocsPerRun(100, func() {
		l = Leash{Parent: ctx, Limit: time.Now().Add(time.Hour)}
		if l.Err() != nil {
			t.Error(l.Err())
		}
		l.Cut()
	}); n > 0 {
		t.Error(n)
	}
}

// Whoever derives contexts from a leash sees them end with it, as from any other.
func TestChildren(t *testing.T) {
	type ctxErr struct{ err, cause error }
	gone := errors.New("gone")
	for _, end := range []struct {
		name string
		fn   func(*Leash, context.CancelCauseFunc)
		want ctxErr
	}{
		{"cut", func(l *Leash, _ context.CancelCauseFunc) { l.Cut() }, ctxErr{context.Canceled, context.Canceled}},
		{"parent", func(_ *Leash, cancel context.CancelCauseFunc) { cancel(gone) }, ctxErr{context.Canceled, gone}},
		{"cut, then parent", func(l *Leash, cancel context.CancelCauseFunc) { l.Cut(); cancel(gone) }, ctxErr{context.Canceled, context.Canceled}},
	} {
		t.Run(end.name, func(t *testing.T) {
			for range 1000 {
				parent, cancel := context.WithCancelCause(t.Context())
				l := &Leash{Parent: parent}
				child, stop := context.WithCancel(l)
				ran := make(chan struct{})
				context.AfterFunc(l, func() { close(ran) })
				end.fn(l, cancel)
				for _, c := range []context.Context{l, child} {
					if got := (ctxErr{c.Err(), context.Cause(c)}); got != end.want {
						t.Fatalf("%v, not %v", got, end.want)
					}
				}
				<-ran
				stop()
				cancel(nil)
			}
		})
	}
}

// A cause from after the end is none.
func TestCause(t *testing.T) {
	parent, cancel := context.WithCancelCause(t.Context())
	l := &Leash{Parent: parent, Limit: time.Now().Add(-time.Second)}
	if l.Err() != context.DeadlineExceeded || !l.Expired() {
		t.Fatal(l.Err())
	}
	cancel(errors.New("later"))
	if err := context.Cause(l); err != context.DeadlineExceeded || !l.Expired() {
		t.Error(err, l.Expired())
	}
}

func TestDeadline(t *testing.T) {
	near, far := time.Now().Add(time.Minute), time.Now().Add(time.Hour)
	parent, cancel := context.WithDeadline(t.Context(), near)
	defer cancel()
	for _, test := range []struct {
		l    *Leash
		want time.Time
	}{
		{&Leash{Parent: parent}, near},
		{&Leash{Parent: parent, Limit: far}, near},
		{&Leash{Parent: parent, Limit: far, Loose: true}, far},
		{&Leash{Parent: t.Context(), Limit: far}, far},
	} {
		if d, ok := test.l.Deadline(); !ok || !d.Equal(test.want) {
			t.Error(d, ok)
		}
	}
	if _, ok := (&Leash{Parent: t.Context()}).Deadline(); ok {
		t.Error("a deadline from nowhere")
	}
}

// A leash is extended for as long as nobody waits for its end.
func TestExtend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limit := time.Now().Add(time.Minute)
		l := &Leash{Parent: t.Context(), Limit: time.Now().Add(time.Second)}
		if !l.Extend(limit) {
			t.Fatal("it was not extended")
		}
		time.Sleep(2 * time.Second)
		if d, _ := l.Deadline(); l.Err() != nil || !d.Equal(limit) {
			t.Fatal(l.Err(), d)
		}
		<-l.Done()
		if !time.Now().Equal(limit) || !l.Expired() || l.Extend(limit.Add(time.Hour)) {
			t.Error("it was not bound to its limit any more")
		}

		l = &Leash{Parent: t.Context(), Limit: time.Now().Add(time.Second)}
		done := l.Done()
		if l.Extend(limit.Add(time.Hour)) {
			t.Error("it was extended while somebody waited")
		}
		<-done

		l = &Leash{Parent: t.Context()}
		l.Cut()
		if l.Extend(limit) {
			t.Error("it was extended after its end")
		}
	})
}
