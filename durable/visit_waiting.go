package durable

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/executor"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/tool"
)

// This file is about a session whose run waits for a person: which commands can be carried out then,
// and which answers were given before.

// whileWaiting carries out the commands that need no run, and rejects those that come too late. told
// reports whether there is one for the run, which has to be resumed for it.
func (v *visit) whileWaiting(ctx context.Context, letters []letter) (told bool, err error) {
	for _, l := range letters {
		if waitsForRun(l, letters) {
			continue
		}
		switch c := l.command.(type) {
		case Message, FollowUp:
			told = true
		case Interrupt:
			running := ""
			if c.Prompt != "" {
				if running, err = v.running(ctx); err != nil {
					return false, err
				}
			}
			if running == c.Prompt {
				told = true
				continue
			}
			err = v.settle(ctx, l.id, v.answeredBefore(ctx, c))
		case Decide, Answer:
			err = v.settle(ctx, l.id, v.answeredBefore(ctx, c)) // no error if decide has settled it
		default:
			err = v.settleWith(ctx, l, v.set(ctx, c))
		}
		if err != nil {
			return false, err
		}
	}
	return told, nil
}

// waitsForRun reports whether a command waits for the end of a run that waits for a person.
func waitsForRun(l letter, letters []letter) bool {
	switch l.command.(type) {
	case Prompt, Compact, Rewind:
		return true
	}
	return waitsFor(l, letters)
}

// waitsFor reports whether a command is an interrupt of a prompt whose run has not begun.
func waitsFor(l letter, letters []letter) bool {
	i, ok := l.command.(Interrupt)
	return ok && i.Prompt != "" && slices.ContainsFunc(letters, func(p letter) bool { return p.id == i.Prompt })
}

// stuck reports whether nothing can be done for a session until a person answers: its run is suspended,
// and all of its commands wait for the end of that run.
func (c *Client) stuck(ctx context.Context, id string) (bool, error) {
	store := c.Backend.Store("", nil)
	last, err := session.Last(ctx, store, id, 1, func(typ string) bool {
		return typ == "run_end" || typ == "resumed" || typ == "user_message"
	})
	if errors.Is(err, session.ErrNotFound) || err == nil && len(last) == 0 {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if end, ok := last[0].Data.(event.RunEnd); !ok || end.Reason != event.Suspended {
		return false, nil
	}
	info, err := session.Stat(ctx, store, id)
	if err != nil || info.State != session.StateWaiting {
		return false, err
	}
	mail, err := c.Backend.Inbox(ctx, id)
	if err != nil {
		return false, err
	}
	var letters []letter
	for _, m := range mail {
		command, err := unmarshal(m.Body)
		if err != nil {
			return false, nil // a worker has to reject it
		}
		letters = append(letters, letter{m.ID, command})
	}
	return !slices.ContainsFunc(letters, func(l letter) bool { return !waitsForRun(l, letters) }), nil
}

// errDecided is the error of a decision about a call that was decided otherwise.
var errDecided = errors.New("the call was decided before in another way; the first decision counts")

// errUnread is the error of a command that cannot be judged now, because the session cannot be read.
var errUnread = errors.New("durable: reading the session")

// answeredBefore returns nil if the command was carried out before, and otherwise why it can no longer be.
func (v *visit) answeredBefore(ctx context.Context, c Command) error {
	done, err := v.carriedOut(ctx, c)
	switch {
	case err != nil || done:
		return err
	case nameOf(c) == "interrupt":
		return agent.ErrNotRunning
	}
	return agent.ErrNoQuestion
}

// maxCall is the longest id of a call, in bytes: those of the agents above it, and its own.
const maxCall = 8 << 10

// carriedOut reports whether a decision, an answer or the end of an interrupted run is on record: the
// worker that carried the command out may have died before it could settle it. It fails with errDecided
// if another decision is on record.
func (v *visit) carriedOut(ctx context.Context, c Command) (done bool, err error) {
	store, id, call := v.worker.Backend.Store("", nil), v.id, answers(c)
	if len(call) > maxCall {
		return false, nil
	}
	for agent, own, below := strings.Cut(call, "/"); below; agent, own, below = strings.Cut(call, "/") {
		store, id, call = session.Under(store, id), agent, own
	}
	mine := false             // the run of the prompt or compaction
	otherwise := false        // another decision is on record
	var asked []tool.Question // by the tool of the call
	for e, err := range store.Read(ctx, id, 0) {
		switch {
		case errors.Is(err, session.ErrNotFound), errors.Is(err, session.ErrBadID):
			return false, nil
		case errors.Is(err, session.ErrCorrupt) && !errors.Is(err, session.ErrVersion):
			return false, err
		case err != nil: // try again later
			return false, fmt.Errorf("%w %s: %w", errUnread, id, err)
		}
		switch f := e.Data.(type) {
		case fact.Answered:
			if d, ok := c.(Decide); ok && f.Call == call && f.Decision.Behavior != permission.Deferred {
				same := sameDecision(f.Decision, d.Decision)
				done, otherwise = done || same, otherwise || !same
			}
		case fact.ToolDone:
			if f.Call == call {
				asked = f.Result.Questions
			}
		case fact.ToolAmended:
			a, ok := c.(Answer)
			done = done || ok && f.Call == call && len(asked) > 0 && f.Result.Text() == executor.AnswerText(asked, a.Answers)
		case event.UserMessage:
			i, ok := c.(Interrupt)
			mine = mine || ok && f.ID == i.Prompt && i.Prompt != ""
		case fact.CompactionRequested:
			i, ok := c.(Interrupt)
			mine = mine || ok && f.ID == i.Prompt
		case event.RunEnd:
			done = done || mine && f.Reason == event.Interrupted
			mine = mine && f.Reason == event.Suspended
		}
	}
	if otherwise && !done {
		return false, errDecided
	}
	return done, nil
}

// sameDecision reports whether two decisions let the same be done. Reasons do not count.
func sameDecision(a, b permission.Decision) bool {
	return a.Behavior == b.Behavior && (a.Behavior != permission.Allowed || sameJSON(a.Input, b.Input))
}

// sameJSON reports whether two texts are the same value in JSON. Numbers keep their digits.
func sameJSON(a, b json.RawMessage) bool {
	if bytes.Equal(a, b) || len(a) == 0 || len(b) == 0 {
		return bytes.Equal(a, b)
	}
	value := func(text json.RawMessage) (v any, err error) {
		decoder := json.NewDecoder(bytes.NewReader(text))
		decoder.UseNumber()
		err = decoder.Decode(&v)
		return v, err
	}
	x, errX := value(a)
	y, errY := value(b)
	return errX == nil && errY == nil && reflect.DeepEqual(x, y)
}
