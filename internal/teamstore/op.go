package teamstore

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/openagent-go/agent/internal/text"
)

// An op changes a room. The acts of a room, done again one after the other at
// their times, lead to the same room: that is how [Dir] keeps it. An act that
// fails changes nothing.
type op interface {
	do(r *state, now time.Time) error
}

// errUnchanged is returned by an operation that succeeded and changed nothing.
var errUnchanged = errors.New("nothing has changed")

// acts are the kinds of act by their names in a journal.
var acts = map[string]func() op{
	"add_task":      func() op { return new(addTask) },
	"change_task":   func() op { return new(changeTask) },
	"expire":        func() op { return new(expire) },
	"create_team":   func() op { return new(createTeam) },
	"disband":       func() op { return new(disband) },
	"add_member":    func() op { return new(addMember) },
	"remove_member": func() op { return new(removeMember) },
	"register":      func() op { return new(register) },
	"unregister":    func() op { return new(unregister) },
	"send":          func() op { return new(send) },
	"taken":         func() op { return new(taken) },
	"had_task":      func() op { return new(snapshotTask) },
	"had_team":      func() op { return new(snapshotTeam) },
	"had_agent":     func() op { return new(snapshotAgent) },
	"had_message":   func() op { return new(snapshotMessage) },
	"had_box":       func() op { return new(snapshotMailbox) },
	"had_all":       func() op { return new(snapshotDone) },
}

type addTask struct {
	Task Task `json:"task"`
	out  Task
}

func (a *addTask) do(r *state, now time.Time) (err error) {
	a.out, err = r.tasks.add(a.Task, now)
	return err
}

type changeTask struct {
	ID     string `json:"id"`
	Change Change `json:"change"`
	out    Task
}

func (a *changeTask) do(r *state, now time.Time) error {
	t, err := r.tasks.find(a.ID)
	if err == nil {
		a.out, err = r.tasks.change(t, a.Change, now)
	}
	return err
}

// expire frees the tasks whose lease is over.
type expire struct{}

func (*expire) do(r *state, now time.Time) error {
	r.tasks.expire(now)
	return nil
}

type createTeam struct {
	Name    string   `json:"name"`
	Leader  string   `json:"leader"`
	Members []string `json:"members,omitempty"`
	Task    string   `json:"task,omitempty"`
	out     Team
}

func (a *createTeam) do(r *state, now time.Time) error {
	t := &Team{ID: fmt.Sprintf("team_%d", len(r.teams)+1), Name: a.Name, Task: a.Task, Status: Active, CreatedAt: now}
	switch {
	case len(r.teams) >= MaxTeams:
		return fmt.Errorf("%w: there are %d teams", ErrLimit, MaxTeams)
	case len(a.Task) > MaxTeamTask:
		return fmt.Errorf("%w: the task has %d bytes, at most %d are kept", ErrLimit, len(a.Task), MaxTeamTask)
	case !utf8.ValidString(a.Task):
		return fmt.Errorf("%w: the task is not UTF-8", ErrInvalid)
	}
	if err := CheckName(a.Name); err != nil {
		return err
	}
	if other := r.active(a.Name); other != nil {
		return fmt.Errorf("%w: %s is called %q", ErrNameTaken, other.ID, a.Name)
	}
	for i, agent := range slices.Concat([]string{a.Leader}, a.Members) {
		role := RoleMember
		if i == 0 {
			role = Leader
		}
		if err := r.join(t, Member{agent, role}, now); err != nil {
			return err
		}
	}
	r.teams = append(r.teams, t)
	r.begun(t.Members...)
	a.out = t.clone()
	return nil
}

// ofTeam is the common part of operations on an active team.
type ofTeam struct {
	Team string `json:"team"`
	out  Team
}

func (a *ofTeam) change(r *state, now time.Time, change func(*Team) error) error {
	t, err := r.named(a.Team)
	if err != nil {
		return err
	}
	if err := change(t); err != nil {
		return err
	}
	t.UpdatedAt = now
	a.out = t.clone()
	return nil
}

type disband struct{ ofTeam }

func (a *disband) do(r *state, now time.Time) error {
	return a.change(r, now, func(t *Team) error {
		t.Status = Disbanded
		return nil
	})
}

type addMember struct {
	ofTeam
	Agent string `json:"agent"`
}

func (a *addMember) do(r *state, now time.Time) error {
	return a.change(r, now, func(t *Team) error {
		m := Member{a.Agent, RoleMember}
		if err := r.join(t, m, now); err != nil {
			return err
		}
		r.begun(m)
		return nil
	})
}

type removeMember struct {
	ofTeam
	Agent string `json:"agent"`
}

func (a *removeMember) do(r *state, now time.Time) error {
	return a.change(r, now, func(t *Team) error {
		switch {
		case !t.Has(a.Agent):
			return fmt.Errorf("%w %s: %q; its members are %s", ErrNoMember, t.Name, text.Bytes(a.Agent, maxShown), strings.Join(t.Others(""), ", "))
		case t.Leader() == a.Agent:
			return fmt.Errorf("%w: %s leads %s; disband the team instead", ErrInvalid, a.Agent, t.Name)
		}
		t.Members = slices.DeleteFunc(t.Members, func(m Member) bool { return m.Name == a.Agent })
		return nil
	})
}

type register struct {
	Agent  Agent  `json:"agent"`
	Holder string `json:"holder,omitempty"` // the program that it lives in, see journalStore.lives
}

func (a *register) do(r *state, now time.Time) error {
	if err := a.Agent.check(); err != nil {
		return err
	}
	if slices.ContainsFunc(r.agents, func(b Agent) bool { return b.Name == a.Agent.Name }) {
		return fmt.Errorf("%w: an agent called %q is at work", ErrNameTaken, a.Agent.Name)
	}
	if len(r.agents) >= MaxAgents {
		return fmt.Errorf("%w: %d agents are at work", ErrLimit, MaxAgents)
	}
	if a.Agent.Started.IsZero() {
		a.Agent.Started = now
	}
	r.agents = append(r.agents, a.Agent)
	r.holders[a.Agent.Name] = a.Holder
	delete(r.gone, a.Agent.Name)
	return nil
}

type unregister struct {
	Name string `json:"name"`
}

func (a *unregister) do(r *state, _ time.Time) error {
	n := len(r.agents)
	r.agents = slices.DeleteFunc(r.agents, func(b Agent) bool { return b.Name == a.Name })
	if len(r.agents) == n {
		return errUnchanged
	}
	delete(r.holders, a.Name)
	if r.teamOf(a.Name) != nil {
		r.gone[a.Name] = struct{}{}
	}
	return nil
}

type send struct {
	Message Message `json:"message"`
	Most    int     `json:"most"` // messages that a mailbox holds
	reached []string
	bounced error // of some, while others were reached
}

func (a *send) do(r *state, now time.Time) error {
	m := a.Message
	if err := m.check(); err != nil {
		return err
	}
	team := r.teamOf(m.From)
	if team == nil {
		return fmt.Errorf("%w: %q is in no team", ErrNoTeam, m.From)
	}
	to := []string{m.To}
	if m.To == Everyone {
		to = team.Others(m.From)
	}
	if m.ID == "" {
		m.ID = fmt.Sprintf("msg_%d", r.sent+1)
	}
	m.Time = now
	var errs []error
	a.reached = nil
	for _, name := range to {
		copied := m
		copied.To = name
		if err := r.deliver(team, copied, a.Most); err != nil {
			errs = append(errs, err)
			continue
		}
		a.reached = append(a.reached, name)
	}
	a.bounced = errors.Join(errs...)
	switch {
	case len(a.reached) > 0:
		r.sent++
		return nil
	case a.bounced != nil:
		return a.bounced
	}
	return errUnchanged // a message to everyone in a team of one
}

// taken takes the oldest messages out of a mailbox.
type taken struct {
	Agent string `json:"agent"`
	Count int    `json:"count"`
}

func (a *taken) do(r *state, _ time.Time) error {
	b := r.boxes[a.Agent]
	if b == nil || a.Count < 1 || a.Count > len(b.messages) {
		return fmt.Errorf("%w: the mailbox of %q does not hold %d messages", ErrInvalid, text.Bytes(a.Agent, maxShown), a.Count)
	}
	b.drop(a.Count)
	return nil
}
