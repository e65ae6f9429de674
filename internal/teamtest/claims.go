package teamtest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/openagent-go/agent/internal/teamstore"
)

func claim(t *testing.T, b bench) {
	_, err := teamstore.Claim(t.Context(), b, space, "ann", 0)
	fails(t, "claiming of nothing", err, teamstore.ErrNone)
	b.add(t, teamstore.Task{Owner: "bob"})
	b.add(t, teamstore.Task{BlockedBy: []string{"task_1"}})
	_, err = teamstore.Claim(t.Context(), b, space, "ann", 0)
	fails(t, "claiming of nothing that is free", err, teamstore.ErrNone)
	b.refuses(t, "task_1", teamstore.Change{Status: teamstore.InProgress, Owner: p("ann")}, teamstore.ErrTaken, "task_1 is pending, owned by bob")
	got, err := teamstore.Claim(t.Context(), b, space, "bob", 0)
	if err != nil || got.ID != "task_1" || got.Status != teamstore.InProgress || got.Owner != "bob" || !got.LeaseUntil.IsZero() {
		t.Errorf("claimed %+v, %v", got, err)
	}
	b.refuses(t, "task_1", teamstore.Change{Status: teamstore.InProgress, Owner: p("ann")}, teamstore.ErrTaken, "in progress, owned by bob")
	b.refuses(t, "task_1", teamstore.Change{Output: p("x"), Holder: "ann"}, teamstore.ErrTaken)
	b.refuses(t, "task_1", teamstore.Change{Owner: p("")}, teamstore.ErrInvalid, "needs an owner")
	b.change(t, "task_1", teamstore.Change{Status: teamstore.InProgress, Owner: p("bob")})
	if got := b.change(t, "task_1", teamstore.Change{Owner: p("carl")}); got.Owner != "carl" || got.Status != teamstore.InProgress {
		t.Errorf("handed over: %+v", got)
	}
	if got := b.change(t, "task_1", teamstore.Change{Status: teamstore.Pending, Holder: "carl"}); got.Owner != "" {
		t.Errorf("freed: %+v", got)
	}
	b.change(t, "task_1", teamstore.Change{Status: teamstore.Completed})
	if got, err := teamstore.Claim(t.Context(), b, space, "ann", 0); err != nil || got.ID != "task_2" {
		t.Errorf("claimed %+v, %v", got, err)
	}
}

func lease(t *testing.T, b bench) {
	b.add(t, teamstore.Task{})
	b.add(t, teamstore.Task{})
	got, err := teamstore.Claim(t.Context(), b, space, "ann", time.Minute)
	if err != nil || !got.LeaseUntil.Equal(start.Add(time.Minute)) {
		t.Errorf("claimed %+v, %v", got, err)
	}
	b.clock.Advance(50 * time.Second)
	got = b.change(t, "task_1", teamstore.Change{Status: teamstore.InProgress, Owner: p("ann"), Lease: time.Minute})
	if !got.LeaseUntil.Equal(start.Add(110 * time.Second)) {
		t.Errorf("renewed %+v", got)
	}
	if got = b.change(t, "task_1", teamstore.Change{Status: teamstore.InProgress, Owner: p("ann")}); !got.LeaseUntil.Equal(start.Add(110 * time.Second)) {
		t.Errorf("started again %+v", got)
	}
	b.clock.Advance(59 * time.Second)
	if got := b.get(t, "task_1"); got.Owner != "ann" {
		t.Errorf("lost too early: %+v", got)
	}
	b.clock.Advance(time.Second)
	if got := b.get(t, "task_1"); got.Status != teamstore.Pending || got.Owner != "" || !got.LeaseUntil.IsZero() {
		t.Errorf("not freed: %+v", got)
	}
	b.refuses(t, "task_1", teamstore.Change{Status: teamstore.Completed, Holder: "ann"}, teamstore.ErrTaken, "task_1 is pending")
	if got, err = teamstore.Claim(t.Context(), b, space, "bob", time.Minute); err != nil || got.ID != "task_1" {
		t.Errorf("claimed %+v, %v", got, err)
	}
	b.refuses(t, "task_1", teamstore.Change{Status: teamstore.Completed, Holder: "ann"}, teamstore.ErrTaken, "owned by bob")
	b.change(t, "task_1", teamstore.Change{Status: teamstore.Completed, Holder: "bob"})
	b.clock.Advance(time.Hour)
	if got := b.get(t, "task_1"); got.Status != teamstore.Completed || !got.LeaseUntil.IsZero() {
		t.Errorf("a completed task has a lease: %+v", got)
	}
	b.sound(t)
}

func spaces(t *testing.T, b bench) {
	b.add(t, teamstore.Task{Subject: "here"})
	_, err := b.Task(t.Context(), "other", "task_1")
	fails(t, "task_1 of another space", err, teamstore.ErrNotFound)
	if made, err := b.AddTask(t.Context(), "other", teamstore.Task{Subject: "there"}); err != nil || made.ID != "task_1" {
		t.Errorf("%+v, %v", made, err)
	}
	if _, err := b.CreateTeam(t.Context(), space, "a", "lead", []string{"x"}, ""); err != nil {
		t.Fatal(err)
	}
	_, err = b.Send(t.Context(), "other", teamstore.Message{From: "lead", To: "x", Content: "hi"})
	fails(t, "sending in another space", err, teamstore.ErrNoTeam)
	for _, name := range []string{space, "other"} {
		if err := b.Register(t.Context(), name, teamstore.Agent{Name: "x"}); err != nil {
			t.Error(err)
		}
	}
}

// oneWins: of many who claim one task one gets it.
func oneWins(t *testing.T, b bench) {
	for range 20 {
		id := b.add(t, teamstore.Task{}).ID
		var wg sync.WaitGroup
		var mu sync.Mutex
		var winners []string
		for i := range 8 {
			wg.Go(func() {
				name := fmt.Sprintf("agent-%d", i)
				_, err := b.UpdateTask(context.Background(), space, id, teamstore.Change{Status: teamstore.InProgress, Owner: &name})
				mu.Lock()
				defer mu.Unlock()
				if err == nil {
					winners = append(winners, name)
				} else if !errors.Is(err, teamstore.ErrTaken) {
					t.Errorf("claiming %s: %v", id, err)
				}
			})
		}
		wg.Wait()
		if got := b.get(t, id); len(winners) != 1 || got.Owner != winners[0] {
			t.Errorf("%s is %s's, won by %v", id, got.Owner, winners)
		}
	}
}

// queue: eight workers do two hundred tasks with dependencies, each once and none
// before what it waits for; one of them dies with a task in its hands.
func queue(t *testing.T, b bench) {
	const tasks, workers = 200, 8
	r := rand.New(rand.NewPCG(1, 2))
	for i := range tasks {
		var deps []string
		for range r.IntN(4) {
			if i > 0 {
				deps = append(deps, fmt.Sprintf("task_%d", 1+r.IntN(i)))
			}
		}
		b.add(t, teamstore.Task{BlockedBy: deps})
	}
	if _, err := teamstore.Claim(t.Context(), b, space, "dead", time.Minute); err != nil {
		t.Fatal(err)
	}
	b.clock.Advance(time.Minute)
	var mu sync.Mutex
	done := map[string]int{}
	var wg sync.WaitGroup
	for i := range workers {
		wg.Go(func() {
			name := fmt.Sprintf("agent-%d", i)
			for {
				task, err := teamstore.Claim(context.Background(), b, space, name, time.Hour)
				if errors.Is(err, teamstore.ErrNone) {
					left, err := b.Tasks(context.Background(), space, teamstore.Filter{Status: teamstore.Pending, Limit: 1})
					if err != nil || len(left) == 0 {
						return
					}
					continue // others are at what it waits for
				}
				if err != nil {
					t.Errorf("claiming: %v", err)
					return
				}
				mu.Lock()
				done[task.ID]++
				for _, id := range task.BlockedBy {
					if done[id] == 0 {
						t.Errorf("%s began before %s", task.ID, id)
					}
				}
				mu.Unlock()
				if _, err := b.UpdateTask(context.Background(), space, task.ID, teamstore.Change{Status: teamstore.Completed, Holder: name}); err != nil {
					t.Errorf("completing: %v", err)
					return
				}
			}
		})
	}
	wg.Wait()
	for _, task := range b.all(t) {
		if done[task.ID] != 1 || task.Status != teamstore.Completed {
			t.Errorf("%s was done %d times and is %s", task.ID, done[task.ID], task.Status)
		}
	}
	b.sound(t)
}
