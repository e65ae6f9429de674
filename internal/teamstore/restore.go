package teamstore

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/openagent-go/agent/internal/text"
)

// A long journal is replaced by one that holds only the present state. Its operations
// restore that state; the last of them, snapshotDone, checks it. Other operations follow.

type snapshotTask struct {
	Task Task `json:"task"`
}

func (a *snapshotTask) do(r *state, _ time.Time) error {
	t := a.Task.clone()
	r.tasks.tasks = append(r.tasks.tasks, &t)
	r.tasks.lease(&t)
	r.unchecked = true
	return nil
}

type snapshotTeam struct {
	Team Team `json:"team"`
}

func (a *snapshotTeam) do(r *state, _ time.Time) error {
	t := a.Team.clone()
	r.teams = append(r.teams, &t)
	r.unchecked = true
	return nil
}

type snapshotAgent struct {
	Agent  Agent  `json:"agent"`
	Holder string `json:"holder,omitempty"`
}

func (a *snapshotAgent) do(r *state, _ time.Time) error {
	r.agents = append(r.agents, a.Agent)
	r.holders[a.Agent.Name] = a.Holder
	r.unchecked = true
	return nil
}

// snapshotMailbox has the ids of messages that a mailbox has lately taken in.
type snapshotMailbox struct {
	Agent string   `json:"agent"`
	IDs   []string `json:"ids"`
}

func (a *snapshotMailbox) do(r *state, _ time.Time) error {
	b := newBox()
	for _, id := range a.IDs {
		b.ids[id] = struct{}{}
	}
	b.order = slices.Clone(a.IDs)
	r.boxes[a.Agent] = b
	r.unchecked = true
	return nil
}

// snapshotMessage comes after the snapshotMailbox of its recipient.
type snapshotMessage struct {
	Message Message `json:"message"`
}

func (a *snapshotMessage) do(r *state, _ time.Time) error {
	b := r.boxes[a.Message.To]
	if b == nil {
		return fmt.Errorf("%w: %q has no mailbox", ErrInvalid, text.Bytes(a.Message.To, maxShown))
	}
	b.messages = append(b.messages, a.Message)
	b.bytes += len(a.Message.Content)
	r.unchecked = true
	return nil
}

type snapshotDone struct {
	Gone []string `json:"gone,omitempty"`
	Sent int      `json:"sent"`
}

func (a *snapshotDone) do(r *state, _ time.Time) error {
	for _, name := range a.Gone {
		r.gone[name] = struct{}{}
	}
	r.sent = a.Sent
	r.unchecked = false
	return r.check()
}

// acts returns the operations that lead from an empty state to this one.
func (r *state) acts(yield func(op) bool) {
	for _, t := range r.tasks.tasks {
		if !yield(&snapshotTask{*t}) {
			return
		}
	}
	for _, t := range r.teams {
		if !yield(&snapshotTeam{*t}) {
			return
		}
	}
	for _, a := range r.agents {
		if !yield(&snapshotAgent{a, r.holders[a.Name]}) {
			return
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.boxes)) {
		b := r.boxes[name]
		if !yield(&snapshotMailbox{name, b.order}) {
			return
		}
		for _, m := range b.messages {
			if !yield(&snapshotMessage{m}) {
				return
			}
		}
	}
	yield(&snapshotDone{Gone: slices.Sorted(maps.Keys(r.gone)), Sent: r.sent})
}

// check returns the first inconsistency of a restored state.
func (r *state) check() error {
	if len(r.tasks.tasks) > MaxTasks || len(r.teams) > MaxTeams || len(r.agents) > MaxAgents {
		return fmt.Errorf("%w: %d tasks, %d teams, %d agents", ErrLimit, len(r.tasks.tasks), len(r.teams), len(r.agents))
	}
	if err := r.tasks.check(); err != nil {
		return err
	}
	names, of := map[string]bool{}, map[string]bool{}
	for i, t := range r.teams {
		switch {
		case t.ID != fmt.Sprintf("team_%d", i+1), t.Status != Active && t.Status != Disbanded, t.Leader() == "":
			return fmt.Errorf("%w team %q", ErrInvalid, text.Bytes(t.ID, maxShown))
		case t.Status != Active:
			continue
		case names[t.Name]:
			return fmt.Errorf("%w: two teams are called %q", ErrInvalid, text.Bytes(t.Name, maxShown))
		}
		names[t.Name] = true
		for _, m := range t.Members {
			if of[m.Name] || CheckName(m.Name) != nil {
				return fmt.Errorf("%w member %q of %s", ErrInvalid, text.Bytes(m.Name, maxShown), t.ID)
			}
			of[m.Name] = true
		}
	}
	for _, a := range r.agents {
		if err := a.check(); err != nil {
			return err
		}
	}
	return nil
}

// check says which tasks break the rules.
func (l *list) check() error {
	g := graph{list: l, after: map[string][]string{}}
	for i, t := range l.tasks {
		if t.ID != fmt.Sprintf("task_%d", i+1) || !slices.Contains(Statuses, t.Status) || t.Status == InProgress && t.Owner == "" {
			return fmt.Errorf("%w task %q", ErrInvalid, text.Bytes(t.ID, maxShown))
		}
	}
	for _, t := range l.tasks {
		whole := t.clone()
		if err := whole.describe(Change{Subject: &t.Subject, Description: &t.Description, Output: &t.Output, Owner: &t.Owner}); err != nil {
			return fmt.Errorf("%s: %w", t.ID, err)
		}
		if err := g.wire(t, t.BlockedBy, nil); err != nil {
			return fmt.Errorf("%s: %w", t.ID, err)
		}
		for _, id := range t.BlockedBy {
			b, _ := l.find(id)
			if !slices.Contains(b.Blocks, t.ID) || (t.Status == InProgress || t.Status == Completed) && b.Status != Completed {
				return fmt.Errorf("%w: %s waits for %s, which does not list it", ErrInvalid, t.ID, id)
			}
		}
		for _, id := range t.Blocks {
			if b, err := l.find(id); err != nil || !slices.Contains(b.BlockedBy, t.ID) {
				return fmt.Errorf("%w: %s blocks %q, which does not list it", ErrInvalid, t.ID, text.Bytes(id, maxShown))
			}
		}
	}
	return l.acyclic()
}

// acyclic returns an error if tasks wait for each other. It removes tasks that wait for
// nothing until there are no more; if any task is left, there is a cycle.
func (l *list) acyclic() error {
	open := map[*Task]int{}
	var free []*Task
	for _, t := range l.tasks {
		if open[t] = len(t.BlockedBy); open[t] == 0 {
			free = append(free, t)
		}
	}
	done := 0
	for ; len(free) > 0; done++ {
		t := free[0]
		free = free[1:]
		for _, id := range t.Blocks {
			b, _ := l.find(id)
			if open[b]--; open[b] == 0 {
				free = append(free, b)
			}
		}
	}
	if done < len(l.tasks) {
		return fmt.Errorf("%w: %d of them", ErrCycle, len(l.tasks)-done)
	}
	return nil
}
