package teamstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/openagent-go/agent/internal/text"
)

// A Role is the role of a member in a team.
type Role string

const (
	Leader     Role = "leader"
	RoleMember Role = "member"
)

// A Member is an agent of a team, known by its name. It need not have been
// started yet.
type Member struct {
	Name string `json:"name"`
	Role Role   `json:"role"`
}

// A TeamStatus says whether a team is running.
type TeamStatus string

const (
	Active    TeamStatus = "active"
	Disbanded TeamStatus = "disbanded" // kept, and changed no more
)

// A Team is a leader and members that may write to each other. An agent is in
// one active team at most.
type Team struct {
	ID        string     `json:"id"`   // team_1, team_2, …
	Name      string     `json:"name"` // unique among the active teams
	Task      string     `json:"task,omitempty"`
	Status    TeamStatus `json:"status"`
	Members   []Member   `json:"members"` // the leader first
	CreatedAt time.Time  `json:"createdAt"`
	UpdatedAt time.Time  `json:"updatedAt"`
}

// Leader returns the name of the team's leader.
func (t Team) Leader() string {
	for _, m := range t.Members {
		if m.Role == Leader {
			return m.Name
		}
	}
	return ""
}

// Others returns the names of the members but one, in the order in which they
// came.
func (t Team) Others(name string) []string {
	var names []string
	for _, m := range t.Members {
		if m.Name != name {
			names = append(names, m.Name)
		}
	}
	return names
}

// Has reports whether an agent is a member.
func (t Team) Has(name string) bool {
	return slices.ContainsFunc(t.Members, func(m Member) bool { return m.Name == name })
}

// Limits of teams. Beyond them methods fail with [ErrLimit].
const (
	MaxTeams    = 1000 // in a space, disbanded ones included
	MaxMembers  = 100
	MaxName     = 64     // characters
	MaxTeamTask = 16_000 // bytes
	MaxAgents   = 1000   // registered in a space at a time
)

// Errors of [Teams] and [Agents].
var (
	ErrNoTeam    = errors.New("there is no such team")
	ErrDisbanded = errors.New("the team is disbanded")
	ErrNameTaken = errors.New("the name is taken")
	ErrNoMember  = errors.New("no member of the team")
)

// Teams are the teams of each space. It may be shared by several programs.
// A team is named by its id or, while it is active, by its name.
type Teams interface {
	// CreateTeam makes a team of a leader and members. task may be empty.
	CreateTeam(ctx context.Context, space, name, leader string, members []string, task string) (Team, error)
	// Disband ends a team permanently; it is kept.
	Disband(ctx context.Context, space, team string) (Team, error)
	AddMember(ctx context.Context, space, team, agent string) (Team, error)
	// RemoveMember takes a member out. A leader stays.
	RemoveMember(ctx context.Context, space, team, agent string) (Team, error)
	// TeamOf returns the active team of an agent, or [ErrNoTeam].
	TeamOf(ctx context.Context, space, agent string) (Team, error)
	// Teams returns all teams in the order of their creation.
	Teams(ctx context.Context, space string) ([]Team, error)
}

// An Agent is a running agent.
type Agent struct {
	Name    string    `json:"name"` // unique in its space
	Type    string    `json:"type,omitempty"`
	Session string    `json:"session,omitempty"` // its own
	Started time.Time `json:"started"`
}

// check returns the first mistake in an agent's data.
func (a Agent) check() error {
	for _, s := range []string{a.Type, a.Session} {
		if len(s) > maxAbout || !utf8.ValidString(s) {
			return fmt.Errorf("%w agent %q: type and session have at most %d bytes of UTF-8", ErrInvalid, text.Bytes(a.Name, maxShown), maxAbout)
		}
	}
	return CheckName(a.Name)
}

// maxAbout is how many bytes the type and the session of an [Agent] may have.
const maxAbout = 500

// Agents are the running agents in each space.
type Agents interface {
	// Register takes a name, or fails with [ErrNameTaken].
	Register(ctx context.Context, space string, a Agent) error
	// Unregister frees a name. Mail to a member that was registered bounces until it is
	// registered again. An unknown name is not an error.
	Unregister(ctx context.Context, space, name string) error
	// Agents returns the agents in the order in which they came.
	Agents(ctx context.Context, space string) ([]Agent, error)
}

// CheckName returns the mistake in the name of an agent or a team. A name has 1 to
// [MaxName] printable characters, may have spaces inside, and is not "*".
func CheckName(name string) error {
	switch n := utf8.RuneCountInString(name); {
	case name == "" || strings.TrimSpace(name) != name:
		return fmt.Errorf("%w name %q: it is empty or begins or ends with a space", ErrInvalid, text.Bytes(name, maxShown))
	case n > MaxName:
		return fmt.Errorf("%w name %q: it has %d characters, more than %d", ErrInvalid, text.Bytes(name, maxShown), n, MaxName)
	case name == Everyone:
		return fmt.Errorf("%w name: * stands for all", ErrInvalid)
	case !utf8.ValidString(name) || strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }):
		return fmt.Errorf("%w name %q: it holds characters that cannot be printed", ErrInvalid, text.Bytes(name, maxShown))
	}
	return nil
}
