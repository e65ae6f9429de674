package teamstore

import (
	"context"
	"sync"
	"time"
)

// Memory keeps tasks, teams, mail and names while the program runs. The zero
// value is ready; it is safe for concurrent use.
type Memory struct {
	Now func() time.Time // nil: time.Now
	Box int              // messages that a mailbox holds; 0: MaxBox

	mu       sync.Mutex
	spaces   map[string]*state
	turns    turns
	watchers watchers
}

var (
	_ Tasks   = (*Memory)(nil)
	_ Teams   = (*Memory)(nil)
	_ Mail    = (*Memory)(nil)
	_ Agents  = (*Memory)(nil)
	_ Watcher = (*Memory)(nil)
)

// see implements backend.
func (m *Memory) see(ctx context.Context, space string, fn func(r *state, now time.Time) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.spaces[space]
	if r == nil {
		if m.spaces == nil {
			m.spaces = map[string]*state{}
		}
		r = newRoom()
		m.spaces[space] = r
	}
	return fn(r, clock(m.Now))
}

// do implements backend.
func (m *Memory) do(ctx context.Context, space string, a op) error {
	return m.see(ctx, space, func(r *state, now time.Time) error {
		r.tasks.expire(now)
		return unlessUnchanged(a.do(r, now))
	})
}

// clock asks a clock that may be missing.
func clock(now func() time.Time) time.Time {
	if now == nil {
		return time.Now()
	}
	return now()
}

// EndSession forgets the space of a session.
func (m *Memory) EndSession(session string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.spaces, session)
	return nil
}

// AddTask implements [Tasks].
func (m *Memory) AddTask(ctx context.Context, space string, t Task) (Task, error) {
	return addTaskTo(ctx, m, space, t)
}

// Task implements [Tasks].
func (m *Memory) Task(ctx context.Context, space, id string) (Task, error) {
	return taskOf(ctx, m, space, id)
}

// Tasks implements [Tasks].
func (m *Memory) Tasks(ctx context.Context, space string, f Filter) ([]Task, error) {
	return tasksOf(ctx, m, space, f)
}

// UpdateTask implements [Tasks].
func (m *Memory) UpdateTask(ctx context.Context, space, id string, c Change) (Task, error) {
	return changeTaskOf(ctx, m, space, id, c)
}

// CreateTeam implements [Teams].
func (m *Memory) CreateTeam(ctx context.Context, space, name, leader string, members []string, task string) (Team, error) {
	return makeTeam(ctx, m, space, name, leader, members, task)
}

// Disband implements [Teams].
func (m *Memory) Disband(ctx context.Context, space, team string) (Team, error) {
	return disbandTeam(ctx, m, space, team)
}

// AddMember implements [Teams].
func (m *Memory) AddMember(ctx context.Context, space, team, agent string) (Team, error) {
	return addMemberTo(ctx, m, space, team, agent)
}

// RemoveMember implements [Teams].
func (m *Memory) RemoveMember(ctx context.Context, space, team, agent string) (Team, error) {
	return removeMemberOf(ctx, m, space, team, agent)
}

// TeamOf implements [Teams].
func (m *Memory) TeamOf(ctx context.Context, space, agent string) (Team, error) {
	return teamWith(ctx, m, space, agent)
}

// Teams implements [Teams].
func (m *Memory) Teams(ctx context.Context, space string) ([]Team, error) {
	return teamsOf(ctx, m, space)
}

// Register implements [Agents].
func (m *Memory) Register(ctx context.Context, space string, a Agent) error {
	return m.do(ctx, space, &register{Agent: a})
}

// Unregister implements [Agents].
func (m *Memory) Unregister(ctx context.Context, space, name string) error {
	return m.do(ctx, space, &unregister{name})
}

// Agents implements [Agents].
func (m *Memory) Agents(ctx context.Context, space string) ([]Agent, error) {
	return agentsOf(ctx, m, space)
}

// Send implements [Mail].
func (m *Memory) Send(ctx context.Context, space string, msg Message) ([]string, error) {
	return sendTo(ctx, m, &m.watchers, space, msg, m.Box)
}

// Take implements [Mail].
func (m *Memory) Take(ctx context.Context, space, agent string, keep func([]Message) error) error {
	at := address{space, agent}
	done, err := m.turns.wait(ctx, at)
	if err != nil {
		return err
	}
	defer done()
	return take(ctx, m, at, keep)
}

// Watch implements [Watcher].
func (m *Memory) Watch(ctx context.Context, space, agent string) (<-chan struct{}, error) {
	return watch(ctx, m, &m.watchers, address{space, agent})
}
