package rewind

import (
	"cmp"
	"context"
	"fmt"
	"strconv"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/session"
)

// A place is one in a session to which it can be rewound.
type place struct {
	after  int64  // the fact after which things are as they were there
	last   int64  // of the session
	prompt string // the one before which it is; "" for other places
}

// noPlace is the error about a fact or message that a session does not have.
type noPlace struct{ session, to string }

func (e noPlace) Error() string {
	return fmt.Sprintf("session %s has no fact or message %s", e.session, cli.Clip(e.to))
}

// findPlace finds a place: the number of a fact, the id of a message, or "last" for
// the last prompt. For a prompt it is the one before it, else the one after.
func findPlace(ctx context.Context, store session.Store, id, to string) (place, error) {
	w, err := walkOf(ctx, store, id)
	if err != nil {
		return place{}, err
	}
	if len(w.facts) == 0 {
		return place{}, cli.Usagef("session %s has no prompt to rewind to", id)
	}
	n := w.find(to)
	if n == 0 {
		return place{}, cli.Usagef("--to: %w; openagent sessions rewind %s lists its prompts", noPlace{id, to}, id)
	}
	p := place{after: n, last: int64(len(w.facts))}
	f := w.facts[n-1]
	if !f.isPrompt {
		return p, nil
	}
	p.prompt = cmp.Or(text.Runes(text.OneLine(f.text), 200), "(no text)")
	p.after = f.Prev
	if before := w.at(p.after); before != nil && before.configures && before.Prev > 0 {
		p.after = before.Prev
	}
	return p, nil
}

// A walk is what rewinding has to know of a session's facts, in their order.
type walk struct{ facts []step }

type step struct {
	event.Event // without data
	id          string
	isPrompt    bool
	configures  bool
	text        string             // of a prompt
	kept        *fact.Checkpointed // of its files
	changes     bool               // it has run a call that may change files
}

func walkOf(ctx context.Context, store session.Store, id string) (*walk, error) {
	w := new(walk)
	last := 0                     // place of the last prompt, counting from 1
	changing := map[string]bool{} // calls
	for e, err := range store.Read(ctx, id, 0) {
		if err != nil {
			return nil, err
		}
		s := step{Event: e}
		s.Data = nil
		switch d := e.Data.(type) {
		case fact.Configured:
			s.configures = true
		case event.UserMessage:
			s.id = d.ID
			if s.isPrompt = d.Delivery == fact.AsPrompt; s.isPrompt {
				s.text = d.Message.Text()
				last = len(w.facts) + 1
			}
		case fact.Authorized:
			changing[d.Call] = !d.Class.ReadOnly && !d.Class.Internal
		case event.ToolStart:
			if last > 0 && changing[d.Call] {
				w.facts[last-1].changes = true
			}
		case fact.Checkpointed:
			if last > 0 && d.Prompt == w.facts[last-1].Seq {
				w.facts[last-1].kept = &d
			}
		}
		w.facts = append(w.facts, s)
	}
	return w, nil
}

func (w *walk) at(seq int64) *step {
	if seq < 1 || seq > int64(len(w.facts)) {
		return nil
	}
	return &w.facts[seq-1]
}

// prompts are those on the path to the last fact, the last one first.
func (w *walk) prompts() (list []*step) {
	for s := w.at(int64(len(w.facts))); s != nil; s = w.at(s.Prev) {
		if s.isPrompt {
			list = append(list, s)
		}
	}
	return list
}

// find returns the number of the fact that to names, 0 if there is none.
func (w *walk) find(to string) int64 {
	if to == "last" {
		if list := w.prompts(); len(list) > 0 {
			return list[0].Seq
		}
		return 0
	}
	if n, err := strconv.ParseInt(to, 10, 64); err == nil && w.at(n) != nil {
		return n
	}
	for _, s := range w.facts {
		if to == s.id || to == s.UUID() {
			return s.Seq
		}
	}
	return 0
}
