package subagent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/hook"
	"github.com/openagent-go/agent/internal/hookconst"
	"github.com/openagent-go/agent/internal/parentrun"
	"github.com/openagent-go/agent/internal/teamstore"
	"github.com/openagent-go/agent/internal/toolapi"
)

// leadName is the name of an unnamed agent at the root.
const leadName = "main"

// join makes an agent a member of the team that the call names, or of the one in
// which its name waits for it.
func (c *Manager) join(ctx context.Context, s toolapi.Spawn, j *job, a *agent.Agent) error {
	if c.Team == nil {
		if s.Team != "" {
			return errors.New("there are no teams here; leave out team_name")
		}
		return nil
	}
	if s.Name == "" {
		return nil
	}
	t, err := c.shared().TeamOf(ctx, j.root, s.Name)
	switch {
	case errors.Is(err, teamstore.ErrNoTeam) && s.Team == "":
		return nil // a name is all that it has
	case errors.Is(err, teamstore.ErrNoTeam):
		if t, err = c.shared().AddMember(ctx, j.root, s.Team, s.Name); err != nil {
			return err
		}
	case err != nil:
		return err
	case s.Team != "" && s.Team != t.ID && s.Team != t.Name:
		return fmt.Errorf("%s is a member of %s (%s) already", s.Name, t.Name, t.ID)
	}
	if err := c.shared().Register(ctx, j.root, teamstore.Agent{Name: s.Name, Type: s.Type, Session: s.Resume}); err != nil {
		return err
	}
	j.team = t.ID
	j.atEnd(func() { _ = c.shared().Unregister(context.WithoutCancel(ctx), j.root, s.Name) })
	a.Inbox = func(ctx context.Context, _ string, keep func([]agent.Input) error) error {
		return c.deliver(ctx, j.root, s.Name, keep)
	}
	a.System += fmt.Sprintf("\n\nYou are %s, a member of the team %s, which %s leads. SendMessage reaches the others: %s. Messages to you arrive by themselves. When you have done what you were asked, say what came of it and end your turn: you are called again when somebody writes to you.",
		s.Name, t.Name, t.Leader(), strings.Join(t.Others(s.Name), ", "))
	return nil
}

// Inbox returns the inbox of an agent at the root, by its name; "" is one that has
// none. It is for [agent.Agent].Inbox.
func (c *Manager) Inbox(name string) func(ctx context.Context, session string, keep func([]agent.Input) error) error {
	return func(ctx context.Context, session string, keep func([]agent.Input) error) error {
		if c.Team == nil {
			return nil
		}
		if err := c.roused(ctx, session); err != nil {
			return err
		}
		return c.deliver(ctx, session, cmp.Or(name, leadName), keep)
	}
}

// deliver has the mail of an agent put on record.
func (c *Manager) deliver(ctx context.Context, root, name string, keep func([]agent.Input) error) error {
	return c.shared().Take(ctx, root, name, func(mail []teamstore.Message) error {
		var all []agent.Input
		for _, m := range mail {
			all = append(all, agent.Input{ID: "mail:" + m.ID, Text: teamstore.Text([]teamstore.Message{m})})
		}
		return keep(all)
	})
}

// errLeft leaves mail where it is.
var errLeft = errors.New("the mail is for another agent")

// roused waits until every idle agent of a tree that has mail is running, so that the run
// at the root does not end while a message still has to take effect.
func (c *Manager) roused(ctx context.Context, root string) error {
	for _, j := range c.members(root) {
		for !j.busy() {
			waits := false
			err := c.shared().Take(ctx, root, j.name, func([]teamstore.Message) error { waits = true; return errLeft })
			if err != nil && !errors.Is(err, errLeft) {
				return err
			}
			if !waits {
				break
			}
			select {
			case <-time.After(time.Millisecond):
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}
	return nil
}

// members returns the agents of a tree that are in a team, by name.
func (c *Manager) members(root string) []*job {
	c.mu.Lock()
	defer c.mu.Unlock()
	var all []*job
	if tr := c.trees[root]; tr != nil {
		for _, j := range tr.jobs {
			if j.team != "" {
				all = append(all, j)
			}
		}
	}
	slices.SortFunc(all, func(a, b *job) int { return cmp.Compare(a.name+" "+a.id, b.name+" "+b.id) })
	return all
}

// idle has a member of a team wait for mail, which puts it to work again. It reports
// false when the agent ends instead.
func (c *Manager) idle(p parentrun.Run, j *job, child parentrun.Child) (waits bool) {
	ctx := p.Life()
	if !c.stays(ctx, j) {
		return false
	}
	child.Session = j.id
	return p.Go(func(ctx context.Context) {
		p.Notify(hook.Input{Event: hookconst.TeammateIdle, Fields: map[string]string{"teammate_name": j.name, "team_name": j.team}})
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		j.mu.Lock()
		j.rouse = cancel
		j.mu.Unlock()
		mail, err := c.shared().Watch(ctx, j.root, j.name)
		for err == nil {
			if _, open := <-mail; !open || !c.stays(ctx, j) {
				break
			}
			if p.Ready(ctx) != nil {
				break
			}
			again := false
			if again, err = c.resume(ctx, p, j, child); again {
				return
			}
		}
		if err != nil && ctx.Err() == nil {
			c.report(ctx, j, err)
		}
		c.release(j)
	})
}

// report tells the leader of an agent that it could not be put to work again.
func (c *Manager) report(ctx context.Context, j *job, why error) {
	t, err := c.shared().TeamOf(ctx, j.root, j.name)
	if err != nil {
		return
	}
	text := fmt.Sprintf("(%s could not be put to work again and has left: %v. What was sent to it waits for an agent of its name.)", j.name, why)
	_, _ = c.shared().Send(ctx, j.root, teamstore.Message{From: j.name, To: t.Leader(), Content: text})
}

// stays reports whether an agent that is done remains a member of its team.
func (c *Manager) stays(ctx context.Context, j *job) bool {
	j.mu.Lock()
	leaving := j.leaving || j.stopped
	j.mu.Unlock()
	if leaving || ctx.Err() != nil {
		return false
	}
	t, err := c.shared().TeamOf(ctx, j.root, j.name)
	return err == nil && t.ID == j.team
}

// resume puts an idle agent to work with the mail that has come, if there is some. The
// mail is taken out once it is on record.
func (c *Manager) resume(ctx context.Context, p parentrun.Run, j *job, child parentrun.Child) (begun bool, err error) {
	err = c.shared().Take(ctx, j.root, j.name, func(mail []teamstore.Message) error {
		child.Input = agent.Input{ID: "mail:" + mail[0].ID, Text: teamstore.Text(mail)}
		recorded := make(chan struct{}, 1)
		child.Watch = func(e event.Event) {
			if m, ok := e.Data.(event.UserMessage); ok && m.ID == child.Input.ID {
				recorded <- struct{}{} // once: ids are unique
			}
			j.see(e)
		}
		ended := make(chan *agent.Result, 1)
		if _, err := c.work(ctx, p, j, child, func(res *agent.Result) { ended <- res }); err != nil {
			return err
		}
		begun = true
		select {
		case <-recorded:
			return nil
		case res := <-ended:
			if res != nil { // it has begun, now or before a restart
				return nil
			}
			return errors.New("the agent could not be started again")
		}
	})
	return begun, err
}
