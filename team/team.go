// Package team holds the things that agents share: a list of tasks, teams, mail and the
// names of the agents. They are in a space, named by the session at the root of a tree of
// agents. Agents of different spaces do not know each other. [Memory] keeps all of it in
// memory, [Dir] in files.
//
//	store := team.Dir("/home/me/.myapp/teams", nil)
//	defer store.Close()
//	t, err := store.Claim(ctx, space, "worker-1", time.Minute)
//	t, err = store.UpdateTask(ctx, space, t.ID, team.Change{Status: team.Completed})
//
// A Store is the value for the tools of tasks and teams, and for the manager of sub-agents.
package team

import (
	"context"
	"log/slog"
	"time"

	"github.com/openagent-go/agent/internal/teamstore"
)

// A Store holds tasks, teams, mail and the names of running agents, for each space. Several
// agents and programs can share it. It is safe for concurrent use. Make one with [Memory] or
// [Dir].
//
// A change is made as a whole or not at all. Tasks that are returned are copies. Unknown ids
// give an error that matches [ErrNotFound].
type Store teamstore.Store

// Memory returns a store that keeps everything while the program runs.
func Memory() *Store { return (*Store)(teamstore.NewStore(new(teamstore.Memory))) }

// Dir returns a store in a folder, for all programs of this machine that are given the same
// one. It makes the folder if need be. A change whose method returns without an error is on
// the disk. log hears about the repair after a crash; nil: no report. Close the store when you
// are done.
//
// A task that an agent starts has a lease of a minute. The store renews it while the program
// lives. When the program dies, others have the task again at the end of the lease. When the
// session or the store is closed, they have it at once.
func Dir(path string, log *slog.Logger) *Store { return (*Store)(teamstore.Open(path, "", log)) }

// Errors of a [Store].
var (
	ErrNotFound = teamstore.ErrNotFound // there is no such task
	ErrTaken    = teamstore.ErrTaken    // the task is another agent's
	ErrNone     = teamstore.ErrNone     // no task can be started
	ErrInvalid  = teamstore.ErrInvalid  // a mistake in the arguments
)

func (s *Store) all() teamstore.Shared { return (*teamstore.Store)(s).Shared() }

// AddTask adds a task: Subject, and any of Description, Status (Pending if empty), Owner,
// Output, BlockedBy, Blocks, Metadata and, of a task in progress, LeaseUntil. It returns the
// task with its id. The same rules hold as for a [Change].
func (s *Store) AddTask(ctx context.Context, space string, t Task) (Task, error) {
	return public(s.all().AddTask(ctx, space, t.inner()))
}

// Task returns a task by its id.
func (s *Store) Task(ctx context.Context, space, id string) (Task, error) {
	return public(s.all().Task(ctx, space, id))
}

// Tasks returns all tasks in the order of their creation.
func (s *Store) Tasks(ctx context.Context, space string) ([]Task, error) {
	found, err := s.all().Tasks(ctx, space, teamstore.Filter{})
	var all []Task
	for _, t := range found {
		all = append(all, taskOf(t))
	}
	return all, err
}

// UpdateTask changes a task and returns it as it is then.
func (s *Store) UpdateTask(ctx context.Context, space, id string, c Change) (Task, error) {
	return public(s.all().UpdateTask(ctx, space, id, c.inner()))
}

// Claim starts, for owner, the oldest task that can be started, see [Change]. lease is
// [Change.Lease]. It fails with [ErrNone] if there is none at present: the list is empty, or
// all tasks are blocked or taken.
func (s *Store) Claim(ctx context.Context, space, owner string, lease time.Duration) (Task, error) {
	return public(teamstore.Claim(ctx, s.all(), space, owner, lease))
}

// CreateTeam makes a team of a leader and members that may write to each other, and returns its
// id. task may be empty. Names are unique among active teams, and an agent is in one of them at
// most.
func (s *Store) CreateTeam(ctx context.Context, space, name, leader string, members []string, task string) (id string, err error) {
	t, err := s.all().CreateTeam(ctx, space, name, leader, members, task)
	return t.ID, err
}

// Disband ends a team, named by its id or name, permanently.
func (s *Store) Disband(ctx context.Context, space, team string) error {
	_, err := s.all().Disband(ctx, space, team)
	return err
}

// Send puts a message into the mailbox of a member of the sender's team, or of all of them
// (To is "*"), and returns the recipients that it has reached. The error names the others, and
// the agents that you can reach. A message to everyone is still delivered to the rest. Time is
// set.
func (s *Store) Send(ctx context.Context, space string, m Message) (reached []string, err error) {
	return s.all().Send(ctx, space, teamstore.Message{ID: m.ID, From: m.From, To: m.To, Content: m.Content, Time: m.Time, Type: teamstore.MessageType(m.Type)})
}

// Take hands all messages in an agent's mailbox, oldest first, to keep. It removes them when
// keep returns nil: each message is read once. If keep fails or the program dies the messages
// stay, so a message that was kept and not yet removed comes again, with the same id. Takes of
// one mailbox follow one another. keep is not called for an empty mailbox; its error is
// returned.
func (s *Store) Take(ctx context.Context, space, agent string, keep func([]Message) error) error {
	return s.all().Take(ctx, space, agent, func(mail []teamstore.Message) error {
		all := make([]Message, len(mail))
		for i, m := range mail {
			all[i] = Message{ID: m.ID, From: m.From, To: m.To, Content: m.Content, Time: m.Time, Type: string(m.Type)}
		}
		return keep(all)
	})
}

// Watch returns a channel that gets a value when mail has come for an agent, and at once if
// some waits already. A value stands for any number of messages, and sometimes for none: call
// [Store.Take]. The channel is closed when ctx ends. Mail of other programs is noticed within
// 200 ms.
func (s *Store) Watch(ctx context.Context, space, agent string) (<-chan struct{}, error) {
	return s.all().Watch(ctx, space, agent)
}

// Close frees the unfinished tasks of this program's agents and closes all files. The store can
// be used again.
func (s *Store) Close() error { return (*teamstore.Store)(s).Close() }
