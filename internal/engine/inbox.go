package engine

import (
	"slices"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/hook"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/internal/order"
)

// An inbox holds the messages that wait for their delivery.
type inbox struct {
	known map[string]bool // ids of all user messages
	queue []queued
}

type queued struct {
	id       string
	delivery event.Delivery
	tokens   int
	seq      int64 // of its fact
	checked  bool  // by the hooks of UserPromptSubmit
}

func (q *queued) hookKey() string { return key("hook", q.seq, 0, 0) }

// cancellable returns the ids of the messages that are of no use once the run is
// stopped: all but notices, which the next run delivers.
//
//go:noinline // called from many places: every program stays smaller
func (b *inbox) cancellable() []string {
	var ids []string
	for _, q := range b.queue {
		if q.delivery != fact.AsNotice {
			ids = append(ids, q.id)
		}
	}
	return ids
}

// deliverable returns the messages whose time has come: all but the follow-ups before a
// model call, the first follow-up before the end, and then no context of hooks.
// compacts says that the run only compacts the conversation.
func (b *inbox) deliverable(n need, compacts bool) []string {
	if n.kind == needContinue || n.kind == needEnd && n.reason != event.Completed {
		return nil
	}
	var ids []string
	followUp := ""
	for _, q := range b.queue {
		if (q.delivery == fact.AsHook || q.delivery == fact.AsContext) && n.kind == needEnd {
			continue // context is read when the run continues for another reason
		}
		if q.delivery == fact.AsNotice && compacts && n.kind == needEnd {
			continue // nor is news for a run that only compacts
		}
		if q.delivery != fact.AsFollowUp {
			ids = append(ids, q.id)
		} else if followUp == "" {
			followUp = q.id
		}
	}
	if len(ids) == 0 && followUp != "" && n.kind == needEnd {
		ids = []string{followUp}
	}
	return ids
}

// unchecked returns the first message of those that hooks have to see before they
// are delivered.
func (b *inbox) unchecked(ids []string) (CallHooks, bool) {
	for _, q := range b.queue {
		if !q.checked && (q.delivery == fact.AsSteer || q.delivery == fact.AsFollowUp) && slices.Contains(ids, q.id) {
			return CallHooks{key: q.hookKey(), Event: hook.UserPromptSubmit, Message: q.id, Fields: map[string]string{"source": string(q.delivery)}}, true
		}
	}
	return CallHooks{}, false
}

// checked applies the answers of hooks about a message. It reports false if no message
// waits for them.
func (b *inbox) checked(f *fact.Hooked) bool {
	i := order.Find(len(b.queue), func(i int) bool { return !b.queue[i].checked && f.Key == b.queue[i].hookKey() })
	if i < 0 {
		return false
	}
	if b.queue[i].checked = true; f.Block != "" {
		b.queue = append(b.queue[:i], b.queue[i+1:]...)
	}
	return true
}

// drop takes messages out of the queue. It reports whether there were any.
func (b *inbox) drop(ids []string) bool {
	waiting := len(b.queue)
	b.remove(func(q *queued) bool { return slices.Contains(ids, q.id) })
	return len(b.queue) < waiting
}

// remove takes the messages out of the queue for which gone returns true.
func (b *inbox) remove(gone func(*queued) bool) {
	q := b.queue
	n := order.Keep(len(q), func(i int) bool { return !gone(&q[i]) }, func(to, from int) { q[to] = q[from] })
	clear(q[n:])
	b.queue = q[:n]
}
