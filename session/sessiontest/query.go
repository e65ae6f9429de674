package sessiontest

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/session"
)

// queried: a list of some sessions, whole and in pages, has those that a list of all has.
func queried(t *testing.T, s session.Store) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	dirs := []string{"", "/a", "/a/b", `/a "quoted" <folder>`, `","cwd":"/a"`}
	for i := range 40 {
		randomSession(t, s, r, fmt.Sprint("s", i), dirs[r.IntN(len(dirs))])
	}
	all := infos(t, s)
	slices.SortFunc(all, func(a, b session.Info) int { // List need not order those of one time
		return cmp.Or(b.Updated.Compare(a.Updated), strings.Compare(b.Session, a.Session))
	})
	for _, state := range []session.State{"", session.StateIdle, session.StateRunning, session.StateUnfinished, session.StateWaiting, "none"} {
		for _, dir := range append(dirs, "/none") {
			for _, limit := range []int{0, 1, 3, 100} {
				q := session.Query{State: state, Dir: dir, Limit: limit}
				want := []string{}
				for _, info := range all {
					if (state == "" || info.State == state) && (dir == "" || info.Dir == dir) {
						want = append(want, info.Session)
					}
				}
				if got := inPages(t, s, q); !reflect.DeepEqual(got, want) {
					t.Errorf("state %q, folder %q, pages of %d: %q, want %q", state, dir, limit, got, want)
				}
			}
		}
	}
	middle := all[len(all)/2].Updated
	older, err := session.Query{After: session.Info{Updated: middle}}.List(t.Context(), s)
	if err != nil || len(older) == 0 || !older[0].Updated.Before(middle) {
		t.Errorf("sessions changed before %v: %d, %v", middle, len(older), err)
	}
	for _, far := range []int{1, 9999} {
		want := 0
		if far == 9999 {
			want = len(all)
		}
		got, err := session.Query{After: session.Info{Updated: time.Date(far, 1, 2, 0, 0, 0, 0, time.UTC)}}.List(t.Context(), s)
		if err != nil || len(got) != want {
			t.Errorf("%d sessions changed before the year %d, %v; want %d", len(got), far, err, want)
		}
	}
}

// inPages lists sessions page by page.
func inPages(t *testing.T, s session.Store, q session.Query) []string {
	t.Helper()
	out := []string{}
	for {
		page, err := q.List(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		for _, info := range page {
			out = append(out, info.Session)
		}
		if q.Limit == 0 || len(page) == 0 {
			return out
		}
		if len(page) > q.Limit {
			t.Fatalf("a page of %d sessions has %d", q.Limit, len(page))
		}
		q.After = page[len(page)-1]
	}
}

// randomSession makes a session in some state, changed at one of a few times.
func randomSession(t *testing.T, s session.Store, r *rand.Rand, id, dir string) {
	t.Helper()
	use := llm.ToolUse{ID: "u", Name: "Write", Input: []byte(`{"text":"\"asking\":[ \"open\":true"}`)}
	answer := event.AssistantMessage{Response: llm.Response{Message: llm.Message{Role: llm.Assistant, Content: llm.Blocks{use}}}}
	ask := fact.Authorized{Call: "c2.0", Decision: permission.Decision{Behavior: permission.Asked, Reason: "it writes"}}
	expired := ask
	expired.Decision.Behavior, expired.Decision.Expires = permission.Deferred, start
	words := prompt(`{"asking":["c"],"agents":[],"open":true,"suspended":true}`)
	kinds := [][]event.Data{
		nil,
		{words},
		{words, answer, ask},
		{words, answer, ask, event.RunEnd{Reason: event.Suspended}},
		{words, answer, expired, event.RunEnd{Reason: event.Suspended}},
		{words, answer, ask, fact.Answered{Call: "c2.0", Decision: permission.Allow()}},
		{words, answer, event.RunEnd{Reason: event.Completed}},
		{words, answer, event.SessionNamed{Title: `"open":true`, Tag: `"asking":[`}, event.RunEnd{Reason: event.Completed}},
		{words, event.AgentStart{Key: "k", Call: "c2.0", Session: id + "-helper", Agent: "helper"}},
	}
	n := r.IntN(len(kinds))
	facts := list(kinds[n]...)
	at := start.Add(time.Duration(r.IntN(10)) * time.Minute)
	for i := range facts {
		facts[i].Time = at
	}
	log, err := s.Open(t.Context(), id, session.Header{Created: at, Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = log.Close() })
	if len(facts) > 0 {
		add(t, log, facts...)
	}
	if n == len(kinds)-1 && r.IntN(2) == 0 {
		below, err := session.Under(s, id).Open(t.Context(), id+"-helper", session.Header{Created: at, Dir: dir, Agent: &session.ParentRef{Name: "helper", Kind: "helper", Session: id, Call: "c2.0"}})
		if err != nil {
			t.Fatal(err)
		}
		add(t, below, list(prompt("work"), answer, ask)...)
		if err := below.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if r.IntN(3) > 0 {
		if err := log.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
