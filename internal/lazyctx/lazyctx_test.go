package lazyctx

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
		name     string
		detached bool
		limit    time.Duration
		parent   time.Duration // when it is cancelled
		cancel   time.Duration
		want     error
		at       time.Duration
		expired  bool
	}{
		{name: "cancel", cancel: time.Second, want: context.Canceled, at: time.Second},
		{name: "parent", parent: time.Second, cancel: time.Minute, want: context.Canceled, at: time.Second},
		{name: "limit", limit: time.Second, cancel: time.Minute, want: context.DeadlineExceeded, at: time.Second, expired: true},
		{name: "detached", detached: true, parent: time.Second, cancel: time.Minute, want: context.Canceled, at: time.Minute},
		{name: "limit after parent", limit: time.Minute, parent: time.Second, want: context.Canceled, at: time.Second},
	} {
		for _, watched := range []bool{true, false} {
			t.Run(test.name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					parent, cancel := context.WithCancel(context.WithValue(t.Context(), key{}, "v"))
					defer cancel()
					start := time.Now()
					l := &Context{Parent: parent, Detached: test.detached}
					if test.limit > 0 {
						l.Until = start.Add(test.limit)
					}
					if test.parent > 0 {
						time.AfterFunc(test.parent, cancel)
					}
					if test.cancel > 0 {
						time.AfterFunc(test.cancel, l.Cancel)
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
					l.Cancel()
					if l.Err() != test.want {
						t.Error("cancelting changed the error to", l.Err())
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
	var l Context
	if n := testing.AllocsPerRun(100, func() {
		l = Context{Parent: ctx, Until: time.Now().Add(time.Hour)}
		if l.Err() != nil {
			t.Error(l.Err())
		}
		l.Cancel()
	}); n > 0 {
		t.Error(n)
	}
}

// Contexts that you derive from a Context end with it, as from any other.
func TestChildren(t *testing.T) {
	type ctxErr struct{ err, cause error }
	gone := errors.New("gone")
	for _, end := range []struct {
		name string
		fn   func(*Context, context.CancelCauseFunc)
		want ctxErr
	}{
		{"cancel", func(l *Context, _ context.CancelCauseFunc) { l.Cancel() }, ctxErr{context.Canceled, context.Canceled}},
		{"parent", func(_ *Context, cancel context.CancelCauseFunc) { cancel(gone) }, ctxErr{context.Canceled, gone}},
		{"cancel, then parent", func(l *Context, cancel context.CancelCauseFunc) { l.Cancel(); cancel(gone) }, ctxErr{context.Canceled, context.Canceled}},
	} {
		t.Run(end.name, func(t *testing.T) {
			for range 1000 {
				parent, cancel := context.WithCancelCause(t.Context())
				l := &Context{Parent: parent}
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
	l := &Context{Parent: parent, Until: time.Now().Add(-time.Second)}
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
		l    *Context
		want time.Time
	}{
		{&Context{Parent: parent}, near},
		{&Context{Parent: parent, Until: far}, near},
		{&Context{Parent: parent, Until: far, Detached: true}, far},
		{&Context{Parent: t.Context(), Until: far}, far},
	} {
		if d, ok := test.l.Deadline(); !ok || !d.Equal(test.want) {
			t.Error(d, ok)
		}
	}
	if _, ok := (&Context{Parent: t.Context()}).Deadline(); ok {
		t.Error("a deadline from nowhere")
	}
}

// You can extend a Context for as long as nobody waits for its end.
func TestExtend(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limit := time.Now().Add(time.Minute)
		l := &Context{Parent: t.Context(), Until: time.Now().Add(time.Second)}
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

		l = &Context{Parent: t.Context(), Until: time.Now().Add(time.Second)}
		done := l.Done()
		if l.Extend(limit.Add(time.Hour)) {
			t.Error("it was extended while somebody waited")
		}
		<-done

		l = &Context{Parent: t.Context()}
		l.Cancel()
		if l.Extend(limit) {
			t.Error("it was extended after its end")
		}
	})
}
