package durable

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/session"
)

// A Client talks to sessions from any process. It holds nothing and need not be closed.
type Client struct {
	Backend Backend // required
	Engine  Engine  // required for Send and Prompt
}

// Send keeps a command for a session and wakes a worker for it. It returns once the command
// is kept, with its ID. Pass an ID of your own if you may have to send the command again:
// it counts once, also for prompts and messages that were worked on long ago. "" makes a new
// ID. If Send fails, the command may be kept or not, so send it again with the same ID.
func (c *Client) Send(ctx context.Context, sessionID, id string, cmd Command) (string, error) {
	if err := session.CheckID(sessionID); err != nil {
		return "", fmt.Errorf("durable: %w", err)
	}
	id = cmp.Or(id, session.NewID())
	if len(id) > maxID {
		return "", fmt.Errorf("durable: the ID of a command has %d bytes; %d are allowed", len(id), maxID)
	}
	body, err := marshal(cmd)
	if err != nil {
		return "", fmt.Errorf("durable: %w", err)
	}
	if in, ok := input(id, cmd); ok && strings.TrimSpace(in.Text) == "" && len(in.Blocks) == 0 {
		return "", agent.ErrEmptyPrompt
	}
	if err := c.Backend.Post(ctx, sessionID, Mail{ID: id, Body: body}); err != nil {
		return "", fmt.Errorf("durable: posting a command to session %s: %w", sessionID, err)
	}
	if err := c.Engine.Wake(ctx, sessionID); err != nil {
		return "", fmt.Errorf("durable: the command is kept, but waking a worker for session %s failed: %w", sessionID, err)
	}
	return id, nil
}

// maxID is the longest ID of a command, in bytes.
const maxID = 200

// Prompt prompts a session and waits for the end of the run, as Send with a [Prompt] and
// then [Client.Wait].
func (c *Client) Prompt(ctx context.Context, sessionID, id, text string) (event.RunEnd, error) {
	id, err := c.Send(ctx, sessionID, id, Prompt{Text: text})
	if err != nil {
		return event.RunEnd{}, err
	}
	return c.Wait(ctx, sessionID, id)
}

// Wait returns the end of the run of a prompt, which may be over for long. A run that waits
// for a person has not ended. Wait fails with [ErrRejected] if the prompt was rejected, and
// otherwise waits for it until ctx ends, also if it was never sent. For a message that went
// to a run, it is the end of that run.
func (c *Client) Wait(ctx context.Context, sessionID, promptID string) (event.RunEnd, error) {
	events, after := c.latest(ctx, sessionID, promptID)
	end, err := c.wait(ctx, sessionID, promptID, events, after)
	if errors.Is(err, errMissed) {
		end, err = c.wait(ctx, sessionID, promptID, nil, 0)
	}
	return end, err
}

// errMissed is the error of wait if the prompt may be on record before the facts that it reads.
var errMissed = errors.New("the prompt is settled and was not seen")

// latest returns the prompt and the prompts and ends of runs after it, if it is among the last ones, and
// the number of the fact after which to read on. So Wait need not read a long session.
func (c *Client) latest(ctx context.Context, sessionID, promptID string) (events []event.Event, after int64) {
	for range 2 { // it may get on record between two looks
		last, err := session.Last(ctx, c.Backend.Store("", nil), sessionID, 32, func(typ string) bool { return typ == "user_message" || typ == "run_end" })
		if err != nil || len(last) == 0 {
			return nil, 0 // reading on tells the error
		}
		for i, e := range last {
			if m, ok := e.Data.(event.UserMessage); ok && m.ID == promptID {
				return last[i:], last[len(last)-1].Seq
			}
		}
		settled, err := c.Settled(ctx, sessionID, promptID)
		switch {
		case err != nil:
			return nil, 0
		case !settled: // it is in the inbox
			return nil, last[len(last)-1].Seq
		}
	}
	return nil, 0
}

// wait is Wait with the events that are known, and the number of the fact after which to read on.
func (c *Client) wait(ctx context.Context, sessionID, promptID string, known []event.Event, after int64) (end event.RunEnd, err error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var looking sync.WaitGroup
	defer looking.Wait()
	defer stop(nil)
	found := make(chan struct{})
	looking.Go(func() {
		for tick := time.Tick(lookEvery); ; {
			select {
			case <-ctx.Done():
				return
			case <-found:
				return
			case <-tick:
			}
			settled, err := c.Settled(ctx, sessionID, promptID)
			switch {
			case errors.Is(err, ErrRejected):
				stop(err)
			case settled && after > 0:
				stop(errMissed)
			}
		}
	})
	run := false
	ended := func(e event.Event) bool {
		switch f := e.Data.(type) {
		case event.UserMessage:
			if f.ID == promptID && !run {
				run = true
				close(found)
			}
		case event.RunEnd:
			end = f
			return run && f.Reason != event.Suspended
		}
		return false
	}
	if slices.ContainsFunc(known, ended) {
		return end, nil
	}
	for e, err := range c.facts(ctx, sessionID, after) {
		if err != nil {
			return event.RunEnd{}, cmp.Or(context.Cause(ctx), err)
		}
		if ended(e) {
			return end, nil
		}
	}
	return event.RunEnd{}, context.Cause(ctx)
}

// lookEvery is how often Wait looks whether a prompt was rejected.
const lookEvery = 500 * time.Millisecond

// ErrFull is matched by the error of a command that was not kept, because too many commands of the
// session wait.
var ErrFull = errors.New("the inbox of the session is full; wait until a worker has carried commands out")

// ErrRejected is matched by the error of a command that could not be carried out. Its text
// has the reason, such as a model that the agent does not have.
var ErrRejected = errors.New("the command was rejected")

// Settled reports whether a command is no longer in the inbox: what it says is on record, or
// it does not count. The error matches [ErrRejected] if it was rejected.
func (c *Client) Settled(ctx context.Context, sessionID, id string) (bool, error) {
	inbox, err := c.Backend.Inbox(ctx, sessionID) // first: it may be rejected between the two looks
	if err != nil {
		return false, fmt.Errorf("durable: reading the inbox of session %s: %w", sessionID, err)
	}
	if slices.ContainsFunc(inbox, func(m Mail) bool { return m.ID == id }) {
		return false, nil
	}
	reason, rejected, err := c.Backend.Rejected(ctx, sessionID, id)
	if err != nil {
		return false, fmt.Errorf("durable: reading the inbox of session %s: %w", sessionID, err)
	}
	if rejected {
		return true, fmt.Errorf("durable: %w: %s", ErrRejected, reason)
	}
	return true, nil
}

// Questions returns the questions that wait for a person: those of all sessions, or of the
// given ones. Answer them with [Decide] and [Answer]. See [session.Waiting].
func (c *Client) Questions(ctx context.Context, sessionIDs ...string) ([]session.Question, error) {
	return session.Waiting(ctx, c.Backend.Store("", nil), sessionIDs...)
}

// Sweep wakes workers for sessions whose commands nobody has looked at for a while, because
// the process that sent them died before it could wake one. Commands that wait for the answer of
// a person wake nobody. The programs of workers call it every 30 s.
func (c *Client) Sweep(ctx context.Context) error {
	ids, err := c.Backend.Unattended(ctx, unattendedAge)
	if err != nil {
		return fmt.Errorf("durable: looking for unattended sessions: %w", err)
	}
	var errs []error
	for _, id := range ids {
		stuck, err := c.stuck(ctx, id)
		if err != nil {
			errs = append(errs, err)
		}
		if !stuck {
			errs = append(errs, c.Engine.Wake(ctx, id))
		}
	}
	return errors.Join(errs...)
}

// unattendedAge is the age from which Sweep takes a command for forgotten.
const unattendedAge = 5 * time.Second
