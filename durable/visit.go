package durable

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/hook"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/internal/hookconst"
	"github.com/openagent-go/agent/internal/policies"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/session"
)

// A visit is the time in which a worker has a session.
type visit struct {
	worker  *Worker
	wake    Wake
	session *agent.Session
	id      string
	taken   <-chan struct{} // closed when the engine takes the session away
	lost    chan struct{}   // closed when another worker has opened the session
	once    sync.Once       // closes lost
	bound   bool
	mode    permission.Mode // of the worker's agent
	publish func(event.Event)
	posted  <-chan struct{} // gets a value when a command comes

	modeKept bool // a mode is kept that no run has recorded yet

	mu      sync.Mutex
	prompt  string // id of the prompt or compaction whose run is at work; "" if it is not known yet
	stopped bool   // the work was cancelled
}

// errDrained means that the worker is to end before it got the session.
var errDrained = errors.New("the worker is to end")

// A letter is a command of the inbox.
type letter struct {
	id      string
	command Command
}

// open opens the session. One whose worker died is free at the end of its lease. It is never
// taken by force: a worker that was taken for dead would do the same when it wakes up.
func (v *visit) open(ctx context.Context) error {
	for {
		_, err := v.session.CanResume(ctx)
		if !errors.Is(err, session.ErrBusy) {
			return err
		}
		select {
		case <-time.After(busyPause):
		case <-v.wake.Drain:
			return errDrained
		case <-ctx.Done():
			return errDrained
		}
	}
}

// busyPause is the pause before a session that is open elsewhere is opened again.
const busyPause = 100 * time.Millisecond

// leaveWhenAsked waits until the worker has to leave the session, or done is closed.
func (v *visit) leaveWhenAsked(ctx context.Context, done <-chan struct{}) {
	free := context.WithoutCancel(ctx)
	select {
	case <-done:
	case <-v.taken:
		if v.wake.Cancelled == nil || !v.wake.Cancelled(ctx) {
			_ = v.session.Detach(ctx)
			return
		}
		v.mu.Lock()
		v.stopped = true
		v.mu.Unlock()
		_, _ = v.session.Interrupt(free)
	case <-v.lost: // nothing that it does from now on can be recorded
		now, stop := context.WithCancel(free)
		stop()
		_ = v.session.Detach(now)
	case <-v.wake.Drain:
		grace, stop := context.WithTimeout(ctx, orDefault(v.worker.Grace, 30*time.Second))
		defer stop()
		_ = v.session.Detach(grace)
	}
}

// left reports whether the worker has to leave the session.
func (v *visit) left() bool {
	select {
	case <-v.wake.Drain:
		return true
	case <-v.taken:
		return true
	case <-v.lost:
		return true
	default:
		return false
	}
}

// all works until there is nothing left to do.
func (v *visit) all(ctx context.Context) (Outcome, error) {
	for {
		out, err := v.step(ctx)
		v.mu.Lock()
		stopped := v.stopped
		v.mu.Unlock()
		switch {
		case stopped:
			return Idle, nil
		case v.left():
			return Yielded, nil
		case err != nil:
			return "", err
		case out == "":
		case out != Idle:
			return out, nil
		default:
			if came, err := v.keep(ctx); !came || err != nil {
				return out, err
			}
		}
	}
}

// A lender is a store that can lend sessions, see [Backend].
type lender interface {
	Lend(ctx context.Context, id string) error
	Recall(ctx context.Context, id string) error
}

// keep waits for a command while a session stays open after a run. It reports whether one may have
// come. Meanwhile anybody else can have the session: then this worker leaves it.
func (v *visit) keep(ctx context.Context) (came bool, err error) {
	d := orDefault(v.worker.Keep, 5*time.Minute)
	if !v.bound || d < 0 {
		return false, nil
	}
	if store, ok := v.session.Agent().Sessions.(lender); ok {
		if err := store.Lend(ctx, v.id); err != nil {
			return false, err
		}
		defer func() {
			if !came {
				return
			}
			if err = store.Recall(ctx, v.id); errors.Is(err, session.ErrLost) {
				came, err = false, nil // a command that came has woken a worker
			}
		}()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-v.posted:
		return true, nil
	case <-timer.C:
	case <-v.wake.Drain:
	case <-v.taken:
	case <-v.lost:
	}
	return false, nil
}

// step does the next thing. It returns an outcome if there is none.
func (v *visit) step(ctx context.Context) (Outcome, error) {
	letters, err := v.letters(ctx)
	if err != nil {
		return "", err
	}
	open, err := v.session.CanResume(ctx)
	if err != nil {
		return "", err
	}
	if open {
		waiting, err := v.decide(ctx, letters)
		if err != nil {
			return "", err
		}
		if waiting {
			if told, err := v.whileWaiting(ctx, letters); err != nil || !told {
				return Waiting, err
			}
		}
		return "", unlessRecorded(v.follow(ctx, v.session.Resume(ctx), ""))
	}
	for _, l := range letters {
		if in, ok := input(l.id, l.command); ok {
			return "", v.prompted(ctx, in)
		}
		if waitsFor(l, letters) {
			continue
		}
		return "", v.settleWith(ctx, l, v.change(ctx, l))
	}
	return Idle, nil
}

// letters returns the commands of the inbox. Those that cannot be read are rejected.
func (v *visit) letters(ctx context.Context) ([]letter, error) {
	mail, err := v.worker.Backend.Inbox(ctx, v.id)
	if err != nil {
		return nil, err
	}
	var out []letter
	for _, m := range mail {
		c, err := unmarshal(m.Body)
		if err != nil {
			if err := v.reject(ctx, m.ID, err); err != nil {
				return nil, err
			}
			continue
		}
		out = append(out, letter{m.ID, c})
	}
	return out, nil
}

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

// prompted runs a prompt, or takes out of the inbox one that was worked on before.
func (v *visit) prompted(ctx context.Context, in agent.Input) error {
	if err := v.checkMode(in.Mode); err != nil {
		return v.reject(ctx, in.ID, err)
	}
	v.setPrompt(in.ID)
	err := unlessRecorded(v.follow(ctx, v.session.StreamInput(ctx, in), in.ID))
	options := in.Model != "" || in.Output != nil || in.Tools != nil || in.Mode != "" || in.Budget != (agent.Budget{})
	if errors.Is(err, agent.ErrEmptyPrompt) || options && errors.Is(err, agent.ErrConfig) {
		return v.reject(ctx, in.ID, err)
	}
	if err != nil {
		return err
	}
	return v.worker.Backend.Settle(ctx, v.id, in.ID)
}

func (v *visit) setPrompt(id string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.prompt = id
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

// unlessRecorded returns the error of a run, unless it is on record as the run's end.
func unlessRecorded(err error) error {
	var end *agent.EndError
	if errors.As(err, &end) && !errors.Is(err, session.ErrBroken) && !errors.Is(err, session.ErrLost) {
		return nil
	}
	return err
}

// follow publishes the signals of a run, and passes commands to it. It returns the error that the run
// ended with.
func (v *visit) follow(ctx context.Context, run iter.Seq2[event.Event, error], prompt string) error {
	over := make(chan struct{})
	var passing sync.WaitGroup
	defer passing.Wait()
	defer close(over)
	began := false
	for e, err := range run {
		if err != nil {
			return err
		}
		if !began { // from now on the run takes commands
			began = true
			passing.Go(func() { v.pass(ctx, over) })
		}
		if m, ok := e.Data.(event.UserMessage); ok && m.ID == prompt && prompt != "" {
			if err := v.worker.Backend.Settle(ctx, v.id, prompt); err != nil {
				v.worker.log().Warn("settling a prompt failed; it is tried again", "session", v.id, "error", err)
			}
		}
		if e.Seq == 0 {
			v.publish(e)
		} else if err := v.modeRecorded(ctx); err != nil {
			v.worker.log().Warn("forgetting a mode failed; it is tried again", "session", v.id, "error", err)
		}
	}
	return nil
}

// pass passes the commands that come to a run until it is over.
func (v *visit) pass(ctx context.Context, over <-chan struct{}) {
	again := time.NewTimer(0)
	defer again.Stop()
	for {
		next := unnotifiedEvery
		letters, err := v.letters(ctx)
		if err != nil {
			next = inboxEvery
			v.worker.log().Debug("reading the inbox failed; it is tried again", "session", v.id, "error", err)
		}
		for _, l := range letters {
			later, err := v.tell(ctx, l)
			if later {
				next = inboxEvery
				continue
			}
			if _, mode := l.command.(SetMode); mode { // the run has recorded it
				err = v.settle(ctx, l.id, err)
			} else {
				err = v.settleWith(ctx, l, err)
			}
			if err != nil {
				next = inboxEvery
				break
			}
		}
		again.Reset(next)
		select {
		case <-over:
			return
		case <-v.posted:
		case <-again.C:
		}
	}
}

// How often the inbox is read during a run without a notification.
const (
	inboxEvery      = time.Second      // while it has commands that could not be passed yet
	unnotifiedEvery = 10 * time.Second // otherwise: thousands of runs that wait must not load the database
)

// tell passes a command to the run. later: it is not for this run, or not yet.
func (v *visit) tell(ctx context.Context, l letter) (later bool, err error) {
	switch c := l.command.(type) {
	case Prompt, Rewind, Compact:
		return true, nil
	case Message:
		_, err = v.session.Steer(ctx, agent.Input{ID: l.id, Text: c.Text, Blocks: c.Blocks})
	case FollowUp:
		_, err = v.session.FollowUp(ctx, agent.Input{ID: l.id, Text: c.Text, Blocks: c.Blocks})
	case Interrupt:
		if c.Prompt != "" {
			running, err := v.running(ctx)
			if err != nil || running != c.Prompt {
				return true, err
			}
		}
		_, err = v.session.Interrupt(ctx)
	case Decide, Answer:
		err = v.answer(ctx, c)
	default:
		err = v.set(ctx, l.command)
	}
	// The run may not have asked yet, or has ended: the command's turn comes when it is over.
	return errors.Is(err, agent.ErrNoQuestion) || errors.Is(err, agent.ErrNotRunning), err
}

// running returns the id of the prompt, or of the compaction, whose run is at work.
func (v *visit) running(ctx context.Context) (string, error) {
	v.mu.Lock()
	id := v.prompt
	v.mu.Unlock()
	if id != "" {
		return id, nil
	}
	begins := false
	for e, err := range v.worker.Backend.Store("", nil).Read(ctx, v.id, 0) { // a resumed run
		if err != nil {
			return "", err
		}
		switch f := e.Data.(type) {
		case fact.Configured:
			begins = true
		case event.UserMessage:
			if f.Delivery == fact.AsPrompt {
				id, begins = f.ID, false
			}
		case fact.CompactionRequested: // in the middle of a run it begins none
			if begins {
				id, begins = f.ID, false
			}
		}
	}
	v.setPrompt(id)
	return id, nil
}
