package teamstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/openagent-go/agent/internal/text"
)

// A backend keeps the rooms of spaces. The methods of stores are made of its two.
type backend interface {
	// do does an act and keeps it.
	do(ctx context.Context, space string, a op) error
	// see calls fn with a room that must not be changed.
	see(ctx context.Context, space string, fn func(r *state, now time.Time) error) error
}

func taskOf(ctx context.Context, k backend, space, id string) (out Task, err error) {
	err = k.see(ctx, space, func(r *state, now time.Time) error {
		t, err := r.tasks.find(id)
		if err == nil {
			seen := t.at(now)
			out = seen.clone()
		}
		return err
	})
	return out, err
}

func tasksOf(ctx context.Context, k backend, space string, f Filter) (out []Task, err error) {
	err = k.see(ctx, space, func(r *state, now time.Time) error {
		out = r.tasks.pick(f, now)
		return nil
	})
	return out, err
}

func addTaskTo(ctx context.Context, k backend, space string, t Task) (Task, error) {
	a := &addTask{Task: t.clone()}
	err := k.do(ctx, space, a)
	return a.out, err
}

func changeTaskOf(ctx context.Context, k backend, space, id string, c Change) (Task, error) {
	a := &changeTask{ID: id, Change: c}
	err := k.do(ctx, space, a)
	return a.out, err
}

func makeTeam(ctx context.Context, k backend, space, name, leader string, members []string, task string) (Team, error) {
	a := &createTeam{Name: name, Leader: leader, Members: slices.Clone(members), Task: task}
	err := k.do(ctx, space, a)
	return a.out, err
}

func disbandTeam(ctx context.Context, k backend, space, team string) (Team, error) {
	a := &disband{ofTeam{Team: team}}
	err := k.do(ctx, space, a)
	return a.out, err
}

func addMemberTo(ctx context.Context, k backend, space, team, agent string) (Team, error) {
	a := &addMember{ofTeam{Team: team}, agent}
	err := k.do(ctx, space, a)
	return a.out, err
}

func removeMemberOf(ctx context.Context, k backend, space, team, agent string) (Team, error) {
	a := &removeMember{ofTeam{Team: team}, agent}
	err := k.do(ctx, space, a)
	return a.out, err
}

func teamWith(ctx context.Context, k backend, space, agent string) (out Team, err error) {
	err = k.see(ctx, space, func(r *state, _ time.Time) error {
		t := r.teamOf(agent)
		if t == nil {
			return fmt.Errorf("%w: %q is in no team", ErrNoTeam, text.Bytes(agent, maxShown))
		}
		out = t.clone()
		return nil
	})
	return out, err
}

func teamsOf(ctx context.Context, k backend, space string) (out []Team, err error) {
	err = k.see(ctx, space, func(r *state, _ time.Time) error {
		for _, t := range r.teams {
			out = append(out, t.clone())
		}
		return nil
	})
	return out, err
}

func agentsOf(ctx context.Context, k backend, space string) (out []Agent, err error) {
	err = k.see(ctx, space, func(r *state, _ time.Time) error {
		out = slices.Clone(r.agents)
		return nil
	})
	return out, err
}

func sendTo(ctx context.Context, k backend, w *watchers, space string, m Message, most int) ([]string, error) {
	if most <= 0 {
		most = MaxBox
	}
	a := &send{Message: m, Most: most}
	if err := k.do(ctx, space, a); err != nil {
		return nil, err
	}
	for _, name := range a.reached {
		w.tell(address{space, name})
	}
	return a.reached, a.bounced
}

// waiting returns the mail of an agent.
func waiting(ctx context.Context, k backend, at address) (out []Message, err error) {
	err = k.see(ctx, at.space, func(r *state, _ time.Time) error {
		if b := r.boxes[at.agent]; b != nil {
			out = slices.Clone(b.messages)
		}
		return nil
	})
	return out, err
}

// take hands mail to keep and takes it out. Its caller has the turn.
func take(ctx context.Context, k backend, at address, keep func([]Message) error) error {
	messages, err := waiting(ctx, k, at)
	if err != nil || len(messages) == 0 {
		return err
	}
	n := len(messages)
	if err := keep(messages); err != nil {
		return err
	}
	// Mail that was kept is removed, even if its reader has given up in the meantime.
	return k.do(context.WithoutCancel(ctx), at.space, &taken{at.agent, n})
}

// watch makes a channel for the mail of an address.
func watch(ctx context.Context, k backend, w *watchers, at address) (<-chan struct{}, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	c := w.add(ctx, at)
	messages, err := waiting(ctx, k, at)
	if err != nil {
		return nil, err
	}
	if len(messages) > 0 {
		w.tell(at)
	}
	return c, nil
}

// turns let those who take from one mailbox follow one another.
type turns struct {
	mu  sync.Mutex
	all map[address]*turn
}

type turn struct {
	held  chan struct{}
	users int
}

// wait waits for the turn of an address; done gives it back.
func (t *turns) wait(ctx context.Context, at address) (done func(), err error) {
	t.mu.Lock()
	if t.all == nil {
		t.all = map[address]*turn{}
	}
	x := t.all[at]
	if x == nil {
		x = &turn{held: make(chan struct{}, 1)}
		t.all[at] = x
	}
	x.users++
	t.mu.Unlock()
	left := func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if x.users--; x.users == 0 {
			delete(t.all, at)
		}
	}
	select {
	case x.held <- struct{}{}:
		return func() { <-x.held; left() }, nil
	case <-ctx.Done():
		left()
		return nil, ctx.Err()
	}
}

// unlessUnchanged returns nil for an act that changed nothing.
func unlessUnchanged(err error) error {
	if errors.Is(err, errUnchanged) {
		return nil
	}
	return err
}
