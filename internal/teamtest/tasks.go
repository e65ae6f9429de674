package teamtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/openagent-go/agent/internal/teamstore"
)

func same(a, b teamstore.Task) bool { return reflect.DeepEqual(a, b) }

func create(t *testing.T, b bench) {
	first := b.add(t, teamstore.Task{Subject: "Write it", Description: "all of it", Owner: "ann", Metadata: map[string]json.RawMessage{"n": json.RawMessage(`1.50`)}})
	want := teamstore.Task{ID: "task_1", Subject: "Write it", Description: "all of it", Owner: "ann", Status: teamstore.Pending,
		Metadata: map[string]json.RawMessage{"n": json.RawMessage(`1.50`)}, CreatedAt: start, UpdatedAt: start}
	if !same(first, want) {
		t.Errorf("created %+v, want %+v", first, want)
	}
	if got := b.get(t, "task_1"); !same(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	first.Metadata["n"] = json.RawMessage(`2`)
	if got := b.get(t, "task_1"); !same(got, want) {
		t.Errorf("what was returned is no copy: %+v", got)
	}
	begun := b.add(t, teamstore.Task{Status: teamstore.InProgress, Owner: "bob"})
	if begun.ID != "task_2" || begun.Status != teamstore.InProgress {
		t.Errorf("created %+v", begun)
	}
}

func update(t *testing.T, b bench) {
	b.add(t, teamstore.Task{Metadata: map[string]json.RawMessage{"a": json.RawMessage(`1`), "b": json.RawMessage(`"x"`)}})
	b.clock.Advance(time.Minute)
	got := b.change(t, "task_1", teamstore.Change{Subject: p("new"), Description: p("d"), Output: p("o"), Owner: p("ann"),
		Metadata: map[string]json.RawMessage{"b": json.RawMessage(`null`), "c": json.RawMessage(`{"d":null}`)}})
	want := teamstore.Task{ID: "task_1", Subject: "new", Description: "d", Output: "o", Owner: "ann", Status: teamstore.Pending,
		Metadata:  map[string]json.RawMessage{"a": json.RawMessage(`1`), "c": json.RawMessage(`{"d":null}`)},
		CreatedAt: start, UpdatedAt: start.Add(time.Minute)}
	if !same(got, want) {
		t.Errorf("changed to %+v, want %+v", got, want)
	}
	if got := b.change(t, "task_1", teamstore.Change{Owner: p(""), Output: p("")}); got.Owner != "" || got.Output != "" || got.Description != "d" {
		t.Errorf("changed to %+v", got)
	}
}

func refused(t *testing.T, b bench) {
	b.add(t, teamstore.Task{})
	for name, task := range map[string]teamstore.Task{
		"no subject":       {Subject: " "},
		"two lines":        {Subject: "a\nb"},
		"unknown status":   {Subject: "a", Status: "done"},
		"begun, unowned":   {Subject: "a", Status: teamstore.InProgress},
		"unknown blocker":  {Subject: "a", BlockedBy: []string{"task_9"}},
		"unknown blocked":  {Subject: "a", Blocks: []string{"task_0"}},
		"itself":           {Subject: "a", BlockedBy: []string{"task_2"}},
		"bad owner":        {Subject: "a", Owner: "*"},
		"begun, blocked":   {Subject: "a", Status: teamstore.InProgress, Owner: "ann", BlockedBy: []string{"task_1"}},
		"done, blocked":    {Subject: "a", Status: teamstore.Completed, BlockedBy: []string{"task_1"}},
		"long subject":     {Subject: strings.Repeat("a", teamstore.MaxSubject+1)},
		"long description": {Subject: "a", Description: strings.Repeat("a", teamstore.MaxDescription+1)},
		"bad text":         {Subject: "a", Description: "\xff"},
		"bad metadata":     {Subject: "a", Metadata: map[string]json.RawMessage{"a": json.RawMessage(`{`)}},
		"large metadata":   {Subject: "a", Metadata: map[string]json.RawMessage{"a": json.RawMessage(`"` + strings.Repeat("a", teamstore.MaxMetadata) + `"`)}},
	} {
		if _, err := b.AddTask(t.Context(), space, task); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if got := b.all(t); len(got) != 1 || len(got[0].Blocks) > 0 {
		t.Errorf("refused tasks left %+v", got)
	}
	if got := b.add(t, teamstore.Task{}); got.ID != "task_2" {
		t.Errorf("refused tasks cost ids: %s", got.ID)
	}
	for _, id := range []string{"", "task_", "task_0", "task_3", "task_01", "1", "task_1 ", "task_99999999999999999999", "task_-1"} {
		_, err := b.Task(t.Context(), space, id)
		fails(t, id, err, teamstore.ErrNotFound)
		b.refuses(t, id, teamstore.Change{Output: p("x")}, teamstore.ErrNotFound)
	}
}

func statuses(t *testing.T, b bench) {
	for _, from := range teamstore.Statuses {
		for _, to := range teamstore.Statuses {
			made := b.add(t, teamstore.Task{Status: from, Owner: "ann"})
			got, err := b.UpdateTask(t.Context(), space, made.ID, teamstore.Change{Status: to})
			if !from.Final() || from == to {
				if err != nil || got.Status != to {
					t.Errorf("%s to %s: %+v, %v", from, to, got, err)
				}
				continue
			}
			var status *teamstore.StatusError
			fails(t, made.ID, err, nil, fmt.Sprintf("cannot go from %s to %s", from, to))
			if !errors.As(err, &status) || status.From != from || status.To != to || status.ID != made.ID {
				t.Errorf("%s to %s: %#v", from, to, err)
			}
			if b.get(t, made.ID).Status != from {
				t.Errorf("%s to %s was made all the same", from, to)
			}
		}
	}
	made := b.add(t, teamstore.Task{Status: teamstore.Completed})
	if got := b.change(t, made.ID, teamstore.Change{Output: p("late")}); got.Output != "late" {
		t.Errorf("a completed task takes no output: %+v", got)
	}
	b.refuses(t, made.ID, teamstore.Change{Status: "done"}, teamstore.ErrInvalid)
}

func dependencies(t *testing.T, b bench) {
	b.add(t, teamstore.Task{})
	b.add(t, teamstore.Task{BlockedBy: []string{"task_1", "task_1"}})
	b.add(t, teamstore.Task{BlockedBy: []string{"task_2"}, Blocks: []string{}})
	b.add(t, teamstore.Task{Blocks: []string{"task_3", "task_2"}})
	b.wired(t, map[string]string{"task_2": "task_1 task_4", "task_3": "task_2 task_4"})
	b.refuses(t, "task_3", teamstore.Change{Status: teamstore.InProgress, Owner: p("ann")}, teamstore.ErrBlocked, "task_3 cannot start", "task_2 (pending)", "task_4 (pending)")
	b.refuses(t, "task_3", teamstore.Change{Status: teamstore.Completed}, teamstore.ErrBlocked, "task_3 cannot be completed")
	b.change(t, "task_4", teamstore.Change{Status: teamstore.Failed})
	b.refuses(t, "task_3", teamstore.Change{Status: teamstore.InProgress, Owner: p("ann")}, teamstore.ErrBlocked, "task_4 (failed)")

	b.change(t, "task_3", teamstore.Change{BlockedBy: []string{"task_1"}, Status: teamstore.Pending})
	b.wired(t, map[string]string{"task_2": "task_1 task_4", "task_3": "task_1"})
	b.change(t, "task_4", teamstore.Change{Blocks: []string{}})
	b.wired(t, map[string]string{"task_2": "task_1", "task_3": "task_1"})
	b.change(t, "task_1", teamstore.Change{Status: teamstore.Completed})
	b.change(t, "task_2", teamstore.Change{Status: teamstore.InProgress, Owner: p("ann")})
	b.refuses(t, "task_2", teamstore.Change{BlockedBy: []string{"task_3"}}, teamstore.ErrInvalid, "task_2 is in_progress", "task_3")
	b.refuses(t, "task_3", teamstore.Change{Blocks: []string{"task_2"}}, teamstore.ErrInvalid, "task_2 is in_progress", "task_3")
	b.change(t, "task_2", teamstore.Change{BlockedBy: []string{}})
	b.wired(t, map[string]string{"task_3": "task_1"})
	b.change(t, "task_3", teamstore.Change{Status: teamstore.Completed, Blocks: []string{"task_2"}})
	b.wired(t, map[string]string{"task_3": "task_1", "task_2": "task_3"})
	b.refuses(t, "task_2", teamstore.Change{Blocks: []string{"task_1", "task_77"}}, teamstore.ErrNotFound, "task_77")

	many := make([]string, teamstore.MaxDependencies)
	for i := range many {
		many[i] = b.add(t, teamstore.Task{BlockedBy: []string{"task_1"}}).ID
		if i == teamstore.MaxDependencies-2 { // task_3 waits for it too
			break
		}
	}
	_, err := b.AddTask(t.Context(), space, teamstore.Task{Subject: "x", BlockedBy: []string{"task_1"}})
	fails(t, "too many", err, teamstore.ErrLimit, "task_1")
	b.refuses(t, "task_2", teamstore.Change{BlockedBy: append(many, "task_1", "task_3")}, teamstore.ErrLimit)
}

// wired checks who waits for whom, on both sides.
func (b bench) wired(t *testing.T, want map[string]string) {
	t.Helper()
	got := map[string]string{}
	for _, task := range b.all(t) {
		if len(task.BlockedBy) > 0 {
			got[task.ID] = strings.Join(task.BlockedBy, " ")
		}
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("waiting are %v, want %v", got, want)
	}
	b.sound(t)
}

// sound checks what must always hold.
func (b bench) sound(t *testing.T) {
	t.Helper()
	byID := map[string]teamstore.Task{}
	tasks := b.all(t)
	for _, task := range tasks {
		byID[task.ID] = task
	}
	for i, task := range tasks {
		if task.ID != fmt.Sprintf("task_%d", i+1) {
			t.Errorf("%s is at place %d", task.ID, i)
		}
		if task.Status == teamstore.InProgress && task.Owner == "" {
			t.Errorf("%s is in progress without an owner", task.ID)
		}
		for _, id := range task.BlockedBy {
			if !slices.Contains(byID[id].Blocks, task.ID) {
				t.Errorf("%s waits for %s, which does not block it", task.ID, id)
			}
			if (task.Status == teamstore.InProgress || task.Status == teamstore.Completed) && byID[id].Status != teamstore.Completed {
				t.Errorf("%s is %s but waits for %s, which is %s", task.ID, task.Status, id, byID[id].Status)
			}
		}
		for _, id := range task.Blocks {
			if !slices.Contains(byID[id].BlockedBy, task.ID) {
				t.Errorf("%s blocks %s, which does not wait for it", task.ID, id)
			}
		}
	}
	state := map[string]int{} // 1: on the way, 2: done
	var visit func(id string) bool
	visit = func(id string) bool {
		if state[id] != 0 {
			return state[id] == 1
		}
		state[id] = 1
		loop := slices.ContainsFunc(byID[id].BlockedBy, visit)
		state[id] = 2
		return loop
	}
	for id := range byID {
		if visit(id) {
			t.Errorf("%s waits for itself", id)
		}
	}
}

func cycles(t *testing.T, b bench) {
	b.add(t, teamstore.Task{})
	b.add(t, teamstore.Task{BlockedBy: []string{"task_1"}})
	b.add(t, teamstore.Task{BlockedBy: []string{"task_2"}})
	b.refuses(t, "task_1", teamstore.Change{BlockedBy: []string{"task_1"}}, teamstore.ErrCycle, "task_1 → task_1")
	b.refuses(t, "task_1", teamstore.Change{BlockedBy: []string{"task_3"}}, teamstore.ErrCycle, "task_1 → task_3 → task_2 → task_1")
	b.refuses(t, "task_3", teamstore.Change{Blocks: []string{"task_1"}}, teamstore.ErrCycle, "task_1", "task_2", "task_3", "→")
	b.refuses(t, "task_2", teamstore.Change{BlockedBy: []string{"task_3"}, Blocks: []string{"task_3"}}, teamstore.ErrCycle)
	b.wired(t, map[string]string{"task_2": "task_1", "task_3": "task_2"})
	b.change(t, "task_2", teamstore.Change{BlockedBy: []string{"task_3"}, Blocks: []string{"task_1"}}) // turned round as a whole
	b.wired(t, map[string]string{"task_2": "task_3", "task_1": "task_2"})
}

// whole: a change of which one part is refused changes nothing.
func whole(t *testing.T, b bench) {
	b.add(t, teamstore.Task{})
	b.add(t, teamstore.Task{BlockedBy: []string{"task_1"}, Metadata: map[string]json.RawMessage{"a": json.RawMessage(`1`)}})
	b.refuses(t, "task_2", teamstore.Change{Output: p("o"), Metadata: map[string]json.RawMessage{"a": json.RawMessage(`2`)},
		BlockedBy: []string{"task_1"}, Blocks: []string{"task_1"}}, teamstore.ErrCycle)
	b.refuses(t, "task_1", teamstore.Change{Status: teamstore.Completed, Blocks: []string{}, Output: p(strings.Repeat("a", teamstore.MaxOutput+1))}, teamstore.ErrLimit)
	b.refuses(t, "task_2", teamstore.Change{Blocks: []string{}, Owner: p("ann"), Status: teamstore.InProgress}, teamstore.ErrBlocked)
	b.change(t, "task_2", teamstore.Change{BlockedBy: []string{}, Owner: p("ann"), Status: teamstore.InProgress})
}

func list(t *testing.T, b bench) {
	if got := b.all(t); len(got) != 0 {
		t.Errorf("a new store has %+v", got)
	}
	for i := range 12 {
		task := teamstore.Task{Owner: []string{"", "ann", "bob"}[i%3]}
		if i%4 == 3 {
			task.BlockedBy = []string{"task_1"}
		}
		b.add(t, task)
	}
	b.change(t, "task_2", teamstore.Change{Status: teamstore.InProgress})
	b.change(t, "task_5", teamstore.Change{Status: teamstore.Cancelled})
	for _, x := range []struct {
		filter teamstore.Filter
		want   string
	}{
		{teamstore.Filter{}, "1 2 3 4 5 6 7 8 9 10 11 12"},
		{teamstore.Filter{Limit: 3}, "1 2 3"},
		{teamstore.Filter{Status: teamstore.Pending}, "1 3 4 6 7 8 9 10 11 12"},
		{teamstore.Filter{Owner: "ann"}, "2 5 8 11"},
		{teamstore.Filter{Owner: "ann", Status: teamstore.Pending, Limit: 1}, "8"},
		{teamstore.Filter{Owner: "nobody"}, ""},
		{teamstore.Filter{Startable: "bob"}, "1 3 6 7 9 10"},
		{teamstore.Filter{Startable: "carl"}, "1 7 10"},
	} {
		got, err := b.Tasks(t.Context(), space, x.filter)
		if err != nil || ids(got) != x.want {
			t.Errorf("%+v: got %s, want %s, %v", x.filter, ids(got), x.want, err)
		}
	}
}

// randomTasks: whatever is asked for, what must hold holds.
func randomTasks(t *testing.T, b bench) {
	r := rand.New(rand.NewPCG(3, 4))
	final := map[string]teamstore.Status{}
	id := func() string { return fmt.Sprintf("task_%d", 1+r.IntN(30)) }
	some := func() []string {
		if r.IntN(2) == 0 {
			return nil
		}
		out := []string{}
		for range r.IntN(4) {
			out = append(out, id())
		}
		return out
	}
	made := 0
	for range 2000 {
		var c teamstore.Change
		if r.IntN(2) == 0 {
			c.Status = teamstore.Statuses[r.IntN(3)]
			if r.IntN(8) == 0 {
				c.Status = teamstore.Statuses[r.IntN(len(teamstore.Statuses))]
			}
		}
		if r.IntN(2) == 0 {
			c.Owner = p([]string{"", "ann", "bob"}[r.IntN(3)])
		}
		if r.IntN(3) == 0 {
			c.Lease = time.Duration(r.IntN(100)) * time.Second
		}
		c.BlockedBy, c.Blocks = some(), some()
		if made < 30 && r.IntN(10) == 0 {
			owner := ""
			if c.Owner != nil {
				owner = *c.Owner
			}
			if _, err := b.AddTask(t.Context(), space, teamstore.Task{Subject: "x", Status: c.Status, Owner: owner, BlockedBy: c.BlockedBy, Blocks: c.Blocks}); err == nil {
				made++
			}
		} else {
			_, _ = b.UpdateTask(t.Context(), space, id(), c) // refused or not, it must stay sound
		}
		b.clock.Advance(time.Duration(r.IntN(20)) * time.Second)
		if r.IntN(20) == 0 {
			b.sound(t)
		}
		for _, task := range b.all(t) {
			if s, ok := final[task.ID]; ok && s != task.Status {
				t.Fatalf("%s went from %s to %s", task.ID, s, task.Status)
			}
			if task.Status.Final() {
				final[task.ID] = task.Status
			}
		}
		if t.Failed() {
			return
		}
	}
	if made < 20 || len(final) < 10 {
		t.Errorf("%d tasks, %d done: the test is idle", made, len(final))
	}
}

func cancelled(t *testing.T, b bench) {
	b.add(t, teamstore.Task{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for name, err := range map[string]error{
		"add":    second(b.AddTask(ctx, space, teamstore.Task{Subject: "x"})),
		"get":    second(b.Task(ctx, space, "task_1")),
		"update": second(b.UpdateTask(ctx, space, "task_1", teamstore.Change{Output: p("x")})),
		"send":   second(b.Send(ctx, space, teamstore.Message{From: "a", To: "b", Content: "x"})),
		"team":   second(b.CreateTeam(ctx, space, "t", "a", nil, "")),
		"take":   b.Take(ctx, space, "a", func([]teamstore.Message) error { return nil }),
	} {
		fails(t, name, err, context.Canceled)
	}
	if got := b.all(t); len(got) != 1 || got[0].Output != "" {
		t.Errorf("a cancelled call left %+v", got)
	}
}

func second[T any](_ T, err error) error { return err }
