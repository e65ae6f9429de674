package subagent

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/internal/parentrun"
	"github.com/openagent-go/agent/internal/toolapi"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/tool"
)

// start lets an agent work in the background.
func (c *Manager) start(ctx context.Context, p parentrun.Run, j *job, child parentrun.Child) (*toolapi.Spawned, error) {
	id, err := c.work(ctx, p, j, child, nil)
	if err != nil {
		c.release(j)
		return nil, err
	}
	return &toolapi.Spawned{ID: id, Running: true}, nil
}

// work starts a piece of work in the background. A member of a team waits for mail
// when it is done; ended, unless nil, is called before.
func (c *Manager) work(ctx context.Context, p parentrun.Run, j *job, child parentrun.Child, ended func(*agent.Result)) (string, error) {
	j.mu.Lock()
	rest := make(chan struct{})
	j.parent, j.began, j.rest, j.result, j.err, j.waits = p, time.Now(), rest, nil, nil, false
	j.mu.Unlock()
	id, err := p.Start(ctx, child, func(res *agent.Result, err error) {
		waits := j.keeps(res, err)
		j.mu.Lock()
		j.result, j.err = res, err
		j.stopped = j.stopped || errors.Is(err, parentrun.ErrStopped)
		j.mu.Unlock()
		close(rest)
		if ended != nil {
			ended(res)
		}
		if waits || j.team == "" || !c.idle(p, j, child) { // one that waits continues with its call
			c.release(j)
		}
	})
	if err != nil {
		return "", err
	}
	c.mu.Lock()
	if tr := c.trees[j.root]; tr != nil { // else the session has ended
		tr.jobs[id] = j
	}
	c.mu.Unlock()
	j.mu.Lock()
	stopped := j.stopped
	j.mu.Unlock()
	if stopped { // while it started
		p.Stop(id)
	}
	return id, nil
}

// Output implements [toolapi.Background] for agents, by id or name.
func (s spawner) Output(ctx context.Context, call tool.Call, id string, wait time.Duration) (*tool.Result, error) {
	c := s.c
	j := c.find(call, id)
	if j == nil {
		return c.earlier(ctx, id)
	}
	if wait > 0 {
		limit := time.NewTimer(wait)
		defer limit.Stop()
		select {
		case <-j.resting():
		case <-j.over:
		case <-limit.C:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return tool.Text(j.standing()), nil
}

// earlier shows an agent of the session that worked in another program, by id or name.
func (c *Manager) earlier(ctx context.Context, id string) (*tool.Result, error) {
	p, ok := parentrun.Of(ctx)
	if !ok {
		return nil, nil
	}
	end, text, err := p.Last(ctx, id)
	if errors.Is(err, session.ErrNotFound) || errors.Is(err, session.ErrBadID) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	came := strings.TrimSuffix(fmt.Sprintf("%s: %s", end.Reason, end.Message), ": ")
	return tool.Text(fmt.Sprintf("Agent %s (%s) is done: %s\n%s", end.Agent, end.Session, came, text)), nil
}

// Stop implements [toolapi.Background] for agents, by id or name.
func (s spawner) Stop(ctx context.Context, call tool.Call, id string) (*tool.Result, error) {
	c := s.c
	j := c.find(call, id)
	if j == nil {
		return nil, nil
	}
	if err := c.end(ctx, j); err != nil {
		return nil, err
	}
	return tool.Text(j.standing()), nil
}

// StopOwner implements [toolapi.OwnerStopper].
func (s spawner) StopOwner(ctx context.Context, call tool.Call, owner string) (string, error) {
	c := s.c
	j := c.find(call, owner)
	if j == nil {
		return "", nil
	}
	if err := c.end(ctx, j); errors.Is(err, errWaits) {
		return fmt.Sprintf("The agent %s, who has worked on it, was not ended: %v.", owner, errWaits), nil
	} else if err != nil {
		return "", err
	}
	return fmt.Sprintf("The agent %s was ended.", owner), nil
}

// errWaits keeps an agent from being stopped. The session at the root has its question.
var errWaits = errors.New("it waits for a decision, and continues with it when the session is resumed")

// end ends an agent in the background and waits for its end.
func (c *Manager) end(ctx context.Context, j *job) error {
	j.mu.Lock()
	j.stopped = j.parent != nil
	p := j.parent
	j.mu.Unlock()
	if p == nil {
		return fmt.Errorf("the agent %s is not in the background: it ends with the call that has started it", j.name)
	}
	p.Stop(j.id)
	j.wake()
	select {
	case <-j.over:
	case <-ctx.Done():
		return ctx.Err()
	}
	if j.paused() {
		return fmt.Errorf("the agent %s cannot be stopped now: %w", j.name, errWaits)
	}
	return nil
}
