package durable

import (
	"context"
	"errors"
	"iter"
	"sync"
	"time"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/session"
)

// This file is about a run: its signals go out, and commands come in.

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
