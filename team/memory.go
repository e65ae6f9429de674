package team

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// Memory keeps tasks, teams, mail and names while the program runs. The zero
// value is ready; it is safe for concurrent use.
type Memory struct {
	Now func() time.Time // nil: time.Now
	Box int              // messages that a mailbox holds; 0: MaxBox

	mu       sync.Mutex
	spaces   map[string]*room
	watchers watchers
}

var (
	_ Tasks   = (*Memory)(nil)
	_ Teams   = (*Memory)(nil)
	_ Mail    = (*Memory)(nil)
	_ Agents  = (*Memory)(nil)
	_ Watcher = (*Memory)(nil)
)

// in calls fn with the space, alone and at a moment.
func (m *Memory) in(ctx context.Context, name string, fn func(r *room, now time.Time) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.spaces[name]
	if r == nil {
		if m.spaces == nil {
			m.spaces = map[string]*room{}
		}
		r = newRoom()
		m.spaces[name] = r
	}
	now := time.Now
	if m.Now != nil {
		now = m.Now
	}
	at := now()
	r.tasks.expire(at)
	return fn(r, at)
}

// EndSession forgets the space of a session.
func (m *Memory) EndSession(session string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.spaces, session)
	return nil
}

// AddTask implements [Tasks].
func (m *Memory) AddTask(ctx context.Context, space string, t Task) (out Task, err error) {
	err = m.in(ctx, space, func(r *room, now time.Time) error {
		out, err = r.tasks.add(t, now)
		return err
	})
	return out, err
}

// Task implements [Tasks].
func (m *Memory) Task(ctx context.Context, space, id string) (out Task, err error) {
	err = m.in(ctx, space, func(r *room, _ time.Time) error {
		t, err := r.tasks.find(id)
		if err == nil {
			out = t.clone()
		}
		return err
	})
	return out, err
}

// Tasks implements [Tasks].
func (m *Memory) Tasks(ctx context.Context, space string, f Filter) (out []Task, err error) {
	err = m.in(ctx, space, func(r *room, _ time.Time) error {
		out = r.tasks.pick(f)
		return nil
	})
	return out, err
}

// UpdateTask implements [Tasks].
func (m *Memory) UpdateTask(ctx context.Context, space, id string, c Change) (out Task, err error) {
	err = m.in(ctx, space, func(r *room, now time.Time) error {
		t, err := r.tasks.find(id)
		if err == nil {
			out, err = r.tasks.change(t, c, now)
		}
		return err
	})
	return out, err
}

// CreateTeam implements [Teams].
func (m *Memory) CreateTeam(ctx context.Context, space, name, leader string, members []string, task string) (out Team, err error) {
	err = m.in(ctx, space, func(r *room, now time.Time) error {
		t := &Team{ID: fmt.Sprintf("team_%d", len(r.teams)+1), Name: name, Task: task, Status: Active, CreatedAt: now}
		switch {
		case len(r.teams) >= MaxTeams:
			return fmt.Errorf("%w: there are %d teams", ErrLimit, MaxTeams)
		case len(task) > MaxTeamTask:
			return fmt.Errorf("%w: the task has %d bytes, at most %d are kept", ErrLimit, len(task), MaxTeamTask)
		}
		if err := CheckName(name); err != nil {
			return err
		}
		if other := r.active(name); other != nil {
			return fmt.Errorf("%w: %s is called %q", ErrNameTaken, other.ID, name)
		}
		for i, agent := range slices.Concat([]string{leader}, members) {
			role := RoleMember
			if i == 0 {
				role = Leader
			}
			if err := r.join(t, Member{agent, role}, now); err != nil {
				return err
			}
		}
		r.teams = append(r.teams, t)
		out = t.clone()
		return nil
	})
	return out, err
}

// Disband implements [Teams].
func (m *Memory) Disband(ctx context.Context, space, team string) (Team, error) {
	return m.changeTeam(ctx, space, team, func(_ *room, t *Team, _ time.Time) error {
		t.Status = Disbanded
		return nil
	})
}

// AddMember implements [Teams].
func (m *Memory) AddMember(ctx context.Context, space, team, agent string) (Team, error) {
	return m.changeTeam(ctx, space, team, func(r *room, t *Team, now time.Time) error {
		return r.join(t, Member{agent, RoleMember}, now)
	})
}

// RemoveMember implements [Teams].
func (m *Memory) RemoveMember(ctx context.Context, space, team, agent string) (Team, error) {
	return m.changeTeam(ctx, space, team, func(_ *room, t *Team, _ time.Time) error {
		switch {
		case !t.Has(agent):
			return fmt.Errorf("%w %s: %q; its members are %s", ErrNoMember, t.Name, clip(agent), strings.Join(t.Others(""), ", "))
		case t.Leader() == agent:
			return fmt.Errorf("%w: %s leads %s; disband the team instead", ErrInvalid, agent, t.Name)
		}
		t.Members = slices.DeleteFunc(t.Members, func(m Member) bool { return m.Name == agent })
		return nil
	})
}

// TeamOf implements [Teams].
func (m *Memory) TeamOf(ctx context.Context, space, agent string) (out Team, err error) {
	err = m.in(ctx, space, func(r *room, _ time.Time) error {
		t := r.teamOf(agent)
		if t == nil {
			return fmt.Errorf("%w: %q is in none", ErrNoTeam, clip(agent))
		}
		out = t.clone()
		return nil
	})
	return out, err
}

// Teams implements [Teams].
func (m *Memory) Teams(ctx context.Context, space string) (out []Team, err error) {
	err = m.in(ctx, space, func(r *room, _ time.Time) error {
		for _, t := range r.teams {
			out = append(out, t.clone())
		}
		return nil
	})
	return out, err
}

// changeTeam changes an active team.
func (m *Memory) changeTeam(ctx context.Context, space, team string, change func(*room, *Team, time.Time) error) (out Team, err error) {
	err = m.in(ctx, space, func(r *room, now time.Time) error {
		t := r.active(team)
		if i := slices.IndexFunc(r.teams, func(t *Team) bool { return t.ID == team }); t == nil && i >= 0 {
			t = r.teams[i]
		}
		switch {
		case t == nil:
			return fmt.Errorf("%w: %q", ErrNoTeam, clip(team))
		case t.Status != Active:
			return fmt.Errorf("%w: %s (%s)", ErrDisbanded, t.ID, t.Name)
		}
		if err := change(r, t, now); err != nil {
			return err
		}
		t.UpdatedAt = now
		out = t.clone()
		return nil
	})
	return out, err
}

// Register implements [Agents].
func (m *Memory) Register(ctx context.Context, space string, a Agent) error {
	return m.in(ctx, space, func(r *room, now time.Time) error {
		if err := CheckName(a.Name); err != nil {
			return err
		}
		if slices.ContainsFunc(r.agents, func(b Agent) bool { return b.Name == a.Name }) {
			return fmt.Errorf("%w: an agent called %q is at work", ErrNameTaken, a.Name)
		}
		if len(r.agents) >= MaxAgents {
			return fmt.Errorf("%w: %d agents are at work", ErrLimit, MaxAgents)
		}
		if a.Started.IsZero() {
			a.Started = now
		}
		r.agents = append(r.agents, a)
		delete(r.gone, a.Name)
		return nil
	})
}

// Unregister implements [Agents].
func (m *Memory) Unregister(ctx context.Context, space, name string) error {
	return m.in(ctx, space, func(r *room, _ time.Time) error {
		n := len(r.agents)
		r.agents = slices.DeleteFunc(r.agents, func(a Agent) bool { return a.Name == name })
		if len(r.agents) < n && r.teamOf(name) != nil {
			r.gone[name] = struct{}{}
		}
		return nil
	})
}

// Agents implements [Agents].
func (m *Memory) Agents(ctx context.Context, space string) (out []Agent, err error) {
	err = m.in(ctx, space, func(r *room, _ time.Time) error {
		out = slices.Clone(r.agents)
		return nil
	})
	return out, err
}

// Send implements [Mail].
func (m *Memory) Send(ctx context.Context, space string, msg Message) (reached []string, err error) {
	if err := msg.check(); err != nil {
		return nil, err
	}
	most := m.Box
	if most <= 0 {
		most = MaxBox
	}
	err = m.in(ctx, space, func(r *room, now time.Time) error {
		team := r.teamOf(msg.From)
		if team == nil {
			return fmt.Errorf("%w: %q is in no team", ErrNoTeam, msg.From)
		}
		to := []string{msg.To}
		if msg.To == Everyone {
			to = team.Others(msg.From)
		}
		if msg.ID == "" {
			r.sent++
			msg.ID = fmt.Sprintf("msg_%d", r.sent)
		}
		msg.Time = now
		var errs []error
		for _, name := range to {
			copied := msg
			copied.To = name
			if err := r.deliver(team, copied, most); err != nil {
				errs = append(errs, err)
				continue
			}
			reached = append(reached, name)
		}
		return errors.Join(errs...)
	})
	for _, name := range reached {
		m.watchers.tell(address{space, name})
	}
	return reached, err
}

// Watch implements [Watcher].
func (m *Memory) Watch(ctx context.Context, space, agent string) (<-chan struct{}, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	at := address{space, agent}
	c := m.watchers.add(ctx, at)
	err := m.in(ctx, space, func(r *room, _ time.Time) error {
		if b := r.boxes[agent]; b != nil && len(b.messages) > 0 {
			m.watchers.tell(at)
		}
		return nil
	})
	return c, err
}

// Take implements [Mail].
func (m *Memory) Take(ctx context.Context, space, agent string, keep func([]Message) error) error {
	var b *box
	if err := m.in(ctx, space, func(r *room, _ time.Time) error {
		b = r.boxes[agent]
		return nil
	}); err != nil || b == nil {
		return err
	}
	select {
	case b.turn <- struct{}{}:
		defer func() { <-b.turn }()
	case <-ctx.Done():
		return ctx.Err()
	}
	m.mu.Lock()
	waiting := slices.Clone(b.messages)
	m.mu.Unlock()
	if len(waiting) == 0 {
		return nil
	}
	n := len(waiting)
	if err := keep(waiting); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	b.drop(n)
	return nil
}
