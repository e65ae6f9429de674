package agent

import (
	"context"
	"slices"

	"github.com/openagent-go/agent/engine"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/safecall"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
)

// A ContextFunc returns what the model should know of the place that it works in, such
// as files of instructions (package project has one): before each prompt, and before
// a model call when calls have touched files meanwhile. Each note is told once in a
// session. It should return soon, at the latest when ctx ends.
type ContextFunc func(ctx context.Context, at Place) []Note

// A Place is where an agent works.
type Place struct {
	Session, Dir string
	// Start: a prompt is about to begin.
	Start bool
	// Touched are the files that calls have read or changed since it was asked last.
	Touched []string
	// Hides reports whether rules, policies or the sandbox forbid showing a file (absolute).
	Hides func(path string) bool
}

// A Note is something that the model should know.
type Note struct {
	// ID is told once in a session: it changes with what the note says.
	ID    string
	Text  string
	Files []event.Instructions // that it holds, for hooks
}

// hide keeps unreadable files away.
func (p *Place) hide(u *permission.Unreadable) {
	dir := p.Dir
	p.Hides = func(path string) bool { return u.Hides(path, dir) }
}

const maxTouched = 100 // files that are told of at once

// notes asks for notes. A function that fails has none.
func (x *runSetup) notes(ctx context.Context, at Place) []Note {
	if x.agent.Context == nil {
		return nil
	}
	at.Session = x.Session
	out, err := safecall.Within(ctx, func() ([]Note, error) { return x.agent.Context(ctx, at), nil })
	if err != nil {
		x.Log.Warn("asking what there is to know of the place", "error", err)
	}
	return out
}

// brief makes the facts of notes that are not known yet.
func (x *runSetup) brief(state *engine.State, notes []Note) []event.Fact {
	var facts []event.Fact
	var ids []string
	for _, n := range notes {
		if n.ID == "" || n.Text == "" || state.Known("context:"+n.ID) || slices.Contains(ids, "context:"+n.ID) {
			continue
		}
		m := Input{ID: "context:" + n.ID, Text: x.Secrets.Text(tool.Clean(n.Text))}.message(event.AsContext)
		m.Instructions = n.Files
		ids = append(ids, m.ID)
		facts = append(facts, m)
	}
	return facts
}

// opening is brief for the beginning of a prompt: the model sees the notes before it.
func (x *runSetup) opening(state *engine.State, notes []Note) []event.Fact {
	facts := x.brief(state, notes)
	if len(facts) == 0 {
		return nil
	}
	var told event.Delivered
	for _, f := range facts {
		told.IDs = append(told.IDs, f.(event.UserMessage).ID)
	}
	return append(facts, told)
}

// touch notes the files that a call touches, for the notes about them.
func (l *activeRun) touch(call string) {
	if l.x.agent.Context == nil {
		return
	}
	class := l.conv.State.Call(call).Traits
	for _, a := range class.Access {
		if (a.Kind == permission.ReadFile || a.Kind == permission.EditFile) && len(l.poll.touched) < maxTouched && !slices.Contains(l.poll.touched, a.Target) {
			l.poll.touched = append(l.poll.touched, a.Target)
		}
	}
}
