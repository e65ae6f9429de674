package sessiontest

import (
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/openagent-go/agent/session"
)

// created makes sessions out of facts. A [session.Creator] shows nobody a part of one.
func created(t *testing.T, s session.Store) {
	facts := Prompts(600)
	header := session.Header{Session: "new", Created: start, Dir: "/work"}
	bad := slices.Clone(facts)
	bad[599].Seq = 1
	if err := session.Create(t.Context(), s, header, bad); err == nil {
		t.Error("facts with a wrong number are taken")
	}
	if list := infos(t, s); len(list) > 0 {
		t.Errorf("a failed creation has left %+v", list)
	}

	_, whole := s.(session.Creator)
	var over atomic.Bool
	var all sync.WaitGroup
	all.Go(func() {
		for last := false; !last; {
			last = over.Load()
			n := 0
			for _, err := range s.Read(t.Context(), "new", 0) {
				if err != nil {
					if !errors.Is(err, session.ErrNotFound) {
						t.Errorf("reading: %v", err)
					}
					break
				}
				n++
			}
			if whole && n > 0 && n < len(facts) {
				t.Errorf("a reader has got %d of %d facts", n, len(facts))
				return
			}
		}
	})
	if err := session.Create(t.Context(), s, header, facts); err != nil {
		t.Error(err)
	}
	over.Store(true)
	all.Wait()
	same(t, "new", read(t, s, "new", 0), facts)
	isErr(t, "creating it again", session.Create(t.Context(), s, header, facts[:1]), session.ErrExists)
	info, err := session.Stat(t.Context(), s, "new")
	if err != nil || info.Dir != "/work" || info.Facts != 600 || info.Messages != 600 || !info.Updated.Equal(facts[599].Time) {
		t.Errorf("%+v, %v", info, err)
	}
	write(t, s, "new", follow(facts, prompt("more")))

	var made, refused atomic.Int32 // of several at once, one makes it
	for i := range 8 {
		all.Go(func() {
			h := header
			h.Session = "raced"
			switch err := session.Create(t.Context(), s, h, facts[:i+1]); {
			case err == nil:
				made.Add(1)
			case errors.Is(err, session.ErrExists), errors.Is(err, session.ErrBusy):
				refused.Add(1)
			default:
				t.Errorf("creating one of several: %v", err)
			}
		})
	}
	all.Wait()
	if whole && (made.Load() != 1 || refused.Load() != 7) {
		t.Errorf("%d made, %d refused", made.Load(), refused.Load())
	}
}
