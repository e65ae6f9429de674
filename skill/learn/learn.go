// Package learn helps skills to improve: it counts how they are used, and keeps proposals for new skills
// and for changes of skills until a person decides.
//
//	store := &learn.Store{Dir: "/home/me/proposals"}
//	r := &memory.Reviewer{Model: m, Sessions: sessions,
//		Skills: &learn.Proposer{Store: store, Skills: skills, Project: dir}}
//	review, err := r.Review(ctx, id)
//	p, err := store.Accept(ctx, review.Skills[0].ID) // a person wants it
//
// Nothing here deletes a skill, and no proposal has an effect before a person accepts it.
package learn

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/session"
)

// A Use says how a skill was used.
type Use struct {
	Skill    string `json:"skill"`    // its name
	Users    int    `json:"users"`    // calls by people
	Models   int    `json:"models"`   // calls by the agent of a session
	Agents   int    `json:"agents"`   // calls by sub-agents
	Sessions int    `json:"sessions"` // sessions in which it was called
	// Completed counts the calls whose run ended as it should, and Failed those whose run was stopped or
	// failed. A run that is not over counts for neither.
	Completed int       `json:"completed"`
	Failed    int       `json:"failed"`
	Last      time.Time `json:"last"` // the latest call
}

// Calls returns the number of calls.
func (u Use) Calls() int { return u.Users + u.Models + u.Agents }

// maxDepth is how deep agents may be within each other.
const maxDepth = 10

// Uses counts how skills were used in the newest sessions of a store, at most so many; 0 means all. It
// reads their records and keeps nothing. The skills that were called most come first. Sessions that
// cannot be read are left out, and the error says which.
func Uses(ctx context.Context, store session.Store, sessions int) ([]Use, error) {
	infos, err := store.List(ctx)
	if err != nil {
		return nil, fmt.Errorf("listing sessions: %w", err)
	}
	slices.SortStableFunc(infos, func(a, b session.Info) int { return b.Updated.Compare(a.Updated) })
	if sessions > 0 {
		infos = infos[:min(len(infos), sessions)]
	}
	c := counter{uses: map[string]*Use{}}
	var failed []error
	for _, info := range infos {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		c.seen = map[string]bool{}
		if err := c.session(ctx, store, info.Session, 0); err != nil {
			failed = append(failed, fmt.Errorf("reading session %s: %w", info.Session, err))
		}
	}
	out := make([]Use, 0, len(c.uses))
	for _, u := range c.uses {
		out = append(out, *u)
	}
	slices.SortFunc(out, func(a, b Use) int { return cmp.Or(b.Calls()-a.Calls(), strings.Compare(a.Skill, b.Skill)) })
	return out, errors.Join(failed...)
}

// A counter sums up the uses of skills.
type counter struct {
	uses map[string]*Use
	seen map[string]bool // skills of the session, and its agents
}

// session counts the uses in one session and in those of its agents.
func (c *counter) session(ctx context.Context, store session.Store, id string, depth int) error {
	var open []*Use // those of the run
	var agents []string
	for e, err := range store.Read(ctx, id, 0) {
		if err != nil {
			return err
		}
		switch d := e.Data.(type) {
		case event.UserMessage:
			if x := d.Expansion; x != nil && x.Scope != nil {
				open = append(open, c.called(x.Scope.Skill, e.Time, func(u *Use) { u.Users++ }))
			}
		case event.ToolResult:
			if s := d.Result.Patch.Begin; s != nil {
				open = append(open, c.called(s.Skill, e.Time, func(u *Use) {
					if depth == 0 {
						u.Models++
					} else {
						u.Agents++
					}
				}))
			}
		case event.AgentStart:
			if depth < maxDepth && session.CheckID(d.Session) == nil && !slices.Contains(agents, d.Session) {
				agents = append(agents, d.Session)
			}
		case event.RunEnd:
			for _, u := range open {
				switch d.Reason {
				case event.Completed, event.ToolEnded, event.MaxTokens:
					u.Completed++
				case event.Suspended:
				default:
					u.Failed++
				}
			}
			if d.Reason != event.Suspended {
				open = nil
			}
		}
	}
	under := session.Under(store, id)
	for _, agent := range agents {
		if err := c.session(ctx, under, agent, depth+1); err != nil && !errors.Is(err, session.ErrNotFound) {
			return err
		}
	}
	return nil
}

// called counts a call.
func (c *counter) called(name string, at time.Time, by func(*Use)) *Use {
	u := c.uses[name]
	if u == nil {
		u = &Use{Skill: name}
		c.uses[name] = u
	}
	by(u)
	if !c.seen[name] {
		c.seen[name] = true
		u.Sessions++
	}
	if at.After(u.Last) {
		u.Last = at
	}
	return u
}
