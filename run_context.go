package agent

import (
	"context"
	"slices"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/engine"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/internal/rules"
	"github.com/openagent-go/agent/internal/safecall"
	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/permission"
)

// A Place is where an agent works.
type Place struct {
	Session, Dir string // the id of the session, and the working folder
	// Start: a prompt is about to begin.
	Start bool
	// Touched are the files that calls have read or changed since the previous call of the
	// function.
	Touched []string
	// Hides reports whether rules, Deciders or the sandbox forbid reading a file. path is
	// absolute.
	Hides func(path string) bool
}

// A Note is a text about the place, for the model.
type Note struct {
	// ID identifies the text of the note. The model gets each ID once in a session, so
	// change it with the text.
	ID    string
	Text  string               // what the model is told
	Files []event.Instructions // the files in the note, for hooks
}

// hide sets Hides to the files that u forbids.
func (p *Place) hide(u *rules.Unreadable) {
	dir := p.Dir
	p.Hides = func(path string) bool { return u.Hides(path, dir) }
}

const maxTouched = 100 // most files in Place.Touched

// notes calls the agent's Context. If that fails, it logs the error and returns no
// notes.
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

// brief returns facts for the notes that the model has not seen yet.
func (x *runSetup) brief(state *engine.State, notes []Note) []event.Fact {
	var facts []event.Fact
	var ids []string
	for _, n := range notes {
		if n.ID == "" || n.Text == "" || state.Known("context:"+n.ID) || slices.Contains(ids, "context:"+n.ID) {
			continue
		}
		m := Input{ID: "context:" + n.ID, Text: x.Secrets.Text(text.Clean(n.Text))}.message(fact.AsContext)
		m.Instructions = n.Files
		ids = append(ids, m.ID)
		facts = append(facts, m)
	}
	return facts
}

// opening is brief for the beginning of a prompt. The model sees these notes before the
// prompt.
func (x *runSetup) opening(state *engine.State, notes []Note) []event.Fact {
	facts := x.brief(state, notes)
	if len(facts) == 0 {
		return nil
	}
	var told fact.Delivered
	for _, f := range facts {
		told.IDs = append(told.IDs, f.(event.UserMessage).ID)
	}
	return append(facts, told)
}

// touch remembers the files that a call reads or changes, for the next [Place].
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
