package teamstore

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/openagent-go/agent/internal/text"
)

// A state is the shared data of the agents of one space. It is not safe for concurrent use.
type state struct {
	tasks   list
	teams   []*Team
	boxes   map[string]*mailbox
	agents  []Agent
	holders map[string]string   // of agents: the program that each lives in, "" if that is not known
	gone    map[string]struct{} // members that were registered before
	sent    int                 // messages that were sent here

	unchecked bool // things were put back, and not all of them yet
}

func newRoom() *state {
	return &state{boxes: map[string]*mailbox{}, holders: map[string]string{}, gone: map[string]struct{}{}}
}

func (t *Team) clone() Team {
	c := *t
	c.Members = slices.Clone(t.Members)
	return c
}

// active returns the active team of a name, or nil.
func (r *state) active(name string) *Team {
	i := slices.IndexFunc(r.teams, func(t *Team) bool { return t.Status == Active && t.Name == name })
	if i < 0 {
		return nil
	}
	return r.teams[i]
}

// teamOf returns the active team of an agent, or nil.
func (r *state) teamOf(agent string) *Team {
	i := slices.IndexFunc(r.teams, func(t *Team) bool { return t.Status == Active && t.Has(agent) })
	if i < 0 {
		return nil
	}
	return r.teams[i]
}

// named returns the active team of an id or a name.
func (r *state) named(team string) (*Team, error) {
	t := r.active(team)
	if i := slices.IndexFunc(r.teams, func(t *Team) bool { return t.ID == team }); t == nil && i >= 0 {
		t = r.teams[i]
	}
	switch {
	case t == nil:
		return nil, fmt.Errorf("%w: %q", ErrNoTeam, text.Bytes(team, maxShown))
	case t.Status != Active:
		return nil, fmt.Errorf("%w: %s (%s)", ErrDisbanded, t.ID, t.Name)
	}
	return t, nil
}

// begun allows messages to members that had ended, because they may be started again.
func (r *state) begun(members ...Member) {
	for _, m := range members {
		delete(r.gone, m.Name)
	}
}

// join adds a member to a team, or changes nothing.
func (r *state) join(t *Team, m Member, now time.Time) error {
	if err := CheckName(m.Name); err != nil {
		return err
	}
	switch other := r.teamOf(m.Name); {
	case t.Has(m.Name):
		return fmt.Errorf("%w: %q is in the team already", ErrNameTaken, m.Name)
	case other != nil:
		return fmt.Errorf("%w: %q is in %s (%s), and an agent is in one team at a time", ErrNameTaken, m.Name, other.ID, other.Name)
	case len(t.Members) >= MaxMembers:
		return fmt.Errorf("%w: the team has %d members", ErrLimit, MaxMembers)
	}
	t.Members = append(t.Members, m)
	t.UpdatedAt = now
	return nil
}

// deliver puts a message into the mailbox of a member.
func (r *state) deliver(t *Team, m Message, most int) error {
	if m.To == m.From || !t.Has(m.To) {
		return fmt.Errorf("%q %w; %s", text.Bytes(m.To, maxShown), ErrUnreachable, r.reachable(t, m.From))
	}
	if _, gone := r.gone[m.To]; gone {
		return fmt.Errorf("%q %w: it has ended; %s", m.To, ErrUnreachable, r.reachable(t, m.From))
	}
	b := r.boxes[m.To]
	if b == nil {
		b = newBox()
	}
	if err := b.put(m, most); err != nil {
		return err
	}
	r.boxes[m.To] = b
	return nil
}

// reachable lists the members that an agent can write to.
func (r *state) reachable(t *Team, from string) string {
	names := slices.DeleteFunc(t.Others(from), func(name string) bool {
		_, gone := r.gone[name]
		return gone
	})
	if len(names) == 0 {
		return "nobody else in the team " + t.Name + " can be"
	}
	return "in the team " + t.Name + " you can reach " + strings.Join(names, ", ")
}
