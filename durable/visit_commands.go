package durable

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/hook"
	"github.com/openagent-go/agent/internal/hookconst"
	"github.com/openagent-go/agent/internal/policies"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/session"
)

// This file is about commands: carrying them out, and taking them out of the inbox.

// decide records the answers to the questions of a run that nobody drives now. It reports
// whether the run waits for more of them.
func (v *visit) decide(ctx context.Context, letters []letter) (waiting bool, err error) {
	questions, err := v.session.Pending(ctx)
	if err != nil && !errors.Is(err, agent.ErrNotRunning) {
		return false, err
	}
	open := map[string]bool{} // an expired question does not wait: the resumed run denies its call
	for _, q := range questions {
		open[q.Call.ID] = q.Expires.IsZero() || time.Now().Before(q.Expires)
	}
	for _, l := range letters {
		call := answers(l.command)
		if _, asked := open[call]; !asked {
			continue
		}
		err := v.answer(ctx, l.command)
		switch {
		case err == nil:
			open[call] = false
		case errors.Is(err, agent.ErrNoQuestion): // also of a second answer
			if before := v.answeredBefore(ctx, l.command); !errors.Is(before, agent.ErrNoQuestion) {
				err = before
			}
		}
		if err := v.settle(ctx, l.id, err); err != nil {
			return false, err
		}
	}
	end := v.session.Result()
	left := slices.Contains(slices.Collect(maps.Values(open)), true)
	return left && end != nil && end.Reason == event.Suspended, nil
}

// answers returns the call whose question a command answers, "" if it answers none.
func answers(c Command) string {
	switch c := c.(type) {
	case Decide:
		return c.Call
	case Answer:
		return c.Call
	}
	return ""
}

// answer carries out a command that answers a question.
func (v *visit) answer(ctx context.Context, c Command) error {
	if a, ok := c.(Answer); ok {
		return v.session.Answer(ctx, a.Call, a.Answers)
	}
	d := c.(Decide)
	if err := v.keepRules(ctx, d); err != nil {
		return err
	}
	return v.session.Decide(ctx, d.Call, d.Decision)
}

// keepRules gives the session the rules of a decision, before the decision: a worker that dies in between
// does both again.
func (v *visit) keepRules(ctx context.Context, d Decide) error {
	if len(d.Keep) == 0 {
		return nil
	}
	if d.Decision.Behavior != permission.Allowed {
		return fmt.Errorf("%w: rules can be kept with an allowance only", agent.ErrConfig)
	}
	asked, err := v.session.Pending(ctx)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(asked, func(q event.PermissionRequest) bool { return q.Call.ID == d.Call })
	if i < 0 {
		return agent.ErrNoQuestion
	}
	rules, ok := policies.Offered(asked[i].Widths, d.Keep)
	if !ok {
		return fmt.Errorf("%w: the question does not offer these rules; allow the call once", agent.ErrConfig)
	}
	if permits := v.session.Agent().AllowRuleGrant; permits != nil {
		for _, r := range rules {
			if err := permits(r); err != nil {
				return fmt.Errorf("%w: %w; allow the call once", agent.ErrConfig, err)
			}
		}
	}
	return v.session.ChangePermissions(ctx, hook.Update{Type: hookconst.AddRules, Behavior: permission.Allowed, Rules: rules})
}

// rewind rewinds the session. Its mode stays: a rewind must not permit more than it permits now.
func (v *visit) rewind(ctx context.Context, to int64) error {
	mode, err := v.session.Mode(ctx)
	if err != nil {
		return err
	}
	if err := v.session.Rewind(ctx, to); err != nil {
		return err
	}
	if then, err := v.session.Mode(ctx); err != nil || then == mode {
		return err
	}
	return v.session.SetMode(ctx, mode)
}

// change carries out a command for a session without a run.
func (v *visit) change(ctx context.Context, l letter) error {
	switch c := l.command.(type) {
	case Compact: // with its id: a worker may have died after it was done
		v.setPrompt(l.id)
		return v.follow(ctx, v.session.StreamInput(ctx, agent.Input{ID: l.id, Text: c.Instructions, Compact: true}), "")
	case Rewind:
		return v.rewind(ctx, c.To)
	case Interrupt, Decide, Answer:
		return v.answeredBefore(ctx, c)
	}
	return v.set(ctx, l.command)
}

// set changes a setting of the session, during a run or without one.
func (v *visit) set(ctx context.Context, c Command) error {
	switch c := c.(type) {
	case SetMode:
		if err := v.checkMode(c.Mode); err != nil {
			return err
		}
		return v.session.SetMode(ctx, c.Mode)
	case SetModel:
		m, err := findModel(v.session.Agent(), c.Name)
		if err != nil {
			return err
		}
		return v.session.SetModel(ctx, m)
	case SetBudget:
		b := c.Budget
		if c.USDOnly {
			b = v.session.Agent().Budget
			b.USD = c.Budget.USD
		}
		return v.session.SetBudget(ctx, b)
	case Rename:
		return v.session.SetTitle(ctx, c.Title)
	case SetTag:
		return v.session.SetTag(ctx, c.Tag)
	}
	return fmt.Errorf("%w: %T", errUnknown, c)
}

// findModel returns the agent's model of the given name.
func findModel(a *agent.Agent, name string) (llm.Model, error) {
	for _, m := range append([]llm.Model{a.Model}, a.Fallbacks...) {
		if m.Name() == name {
			return m, nil
		}
	}
	if a.Models == nil {
		return nil, fmt.Errorf("%w: the agent has no model %q; set Agent.Models", agent.ErrConfig, name)
	}
	return a.Models(name)
}

// settings are the names of the settings that a session keeps when its worker leaves it.
var settings = map[string]bool{"set_mode": true, "set_model": true, "set_budget": true}

// settleWith settles a command that was carried out, or rejects it. A setting is kept for the
// workers that have the session later.
func (v *visit) settleWith(ctx context.Context, l letter, err error) error {
	if name := nameOf(l.command); err == nil && settings[name] {
		body, err := marshal(l.command)
		if err != nil {
			return err
		}
		v.modeKept = v.modeKept || name == "set_mode"
		return v.worker.Backend.Keep(ctx, v.id, name, Mail{ID: l.id, Body: body})
	}
	return v.settle(ctx, l.id, err)
}

// applyKept gives the session the settings that were kept.
func (v *visit) applyKept(ctx context.Context) error {
	kept, err := v.worker.Backend.Kept(ctx, v.id)
	if err != nil {
		return err
	}
	for name, body := range kept {
		c, err := unmarshal(body)
		if err == nil {
			err = v.set(ctx, c)
		}
		if err != nil { // such as a model that the agent no longer has
			v.worker.log().Warn("a setting of the session does not count", "session", v.id, "setting", name, "error", err)
		}
	}
	_, v.modeKept = kept["set_mode"]
	return nil
}

// modeRecorded forgets the mode that was set before a run: it is on record now, and the run
// may change it.
func (v *visit) modeRecorded(ctx context.Context) error {
	if !v.modeKept {
		return nil
	}
	err := v.worker.Backend.Keep(ctx, v.id, "set_mode", Mail{})
	v.modeKept = err != nil
	return err
}

// settle takes a command out of the inbox. It rejects the command if err is an error of the command. It
// returns err if the store failed or the worker has to leave the session.
func (v *visit) settle(ctx context.Context, id string, err error) error {
	switch {
	case err == nil:
		return v.worker.Backend.Settle(ctx, v.id, id)
	case errors.Is(err, session.ErrBroken), errors.Is(err, session.ErrLost), errors.Is(err, agent.ErrClosed), errors.Is(err, agent.ErrBusy),
		errors.Is(err, agent.ErrDetached), errors.Is(err, errUnread), ctx.Err() != nil:
		return err // another worker carries it out
	}
	return v.reject(ctx, id, err)
}

func (v *visit) reject(ctx context.Context, id string, why error) error {
	v.worker.log().Warn("rejected a command", "session", v.id, "command", id, "reason", why)
	return v.worker.Backend.Reject(ctx, v.id, id, why.Error())
}
