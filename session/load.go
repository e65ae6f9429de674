package session

import (
	"context"
	"fmt"
	"slices"

	"github.com/openagent-go/agent/event"
)

// Load returns messages of a session, oldest first: its prompts, answers and results of tools,
// without those that a rewind has removed. It returns at most limit of them, 0 for all,
// from number offset on, which counts from 0; a negative offset means the last ones.
// Reading the last ones takes time only for the end of the journal, as with [Last]. It
// fails like [Store].Read does.
func Load(ctx context.Context, s Store, id string, limit, offset int) ([]event.Event, error) {
	if b, ok := s.(backwarder); ok && offset < 0 && limit > 0 {
		last, err := b.backward(ctx, id, limit, onPath(isMessage))
		if err != nil {
			return nil, fmt.Errorf("loading messages: %w", err)
		}
		return last, nil
	}
	if r, ok := s.(LastReader); ok && offset < 0 && limit > 0 {
		last, err := lastMessages(ctx, r, id, limit)
		if err != nil {
			return nil, fmt.Errorf("loading messages: %w", err)
		}
		return last, nil
	}
	seqs, err := messagesOf(ctx, s, id)
	if err != nil {
		return nil, fmt.Errorf("loading messages: %w", err)
	}
	if offset < 0 && limit > 0 {
		offset = max(len(seqs)-limit, 0)
	}
	seqs = seqs[min(max(offset, 0), len(seqs)):]
	if limit > 0 {
		seqs = seqs[:min(limit, len(seqs))]
	}
	var page []event.Event
	if len(seqs) == 0 {
		return nil, nil
	}
	for e, err := range s.Read(ctx, id, seqs[0]-1) {
		if err != nil {
			return nil, fmt.Errorf("loading messages: %w", err)
		}
		if e.Seq != seqs[0] {
			continue
		}
		page = append(page, e)
		if seqs = seqs[1:]; len(seqs) == 0 {
			break
		}
	}
	return page, nil
}

// factsEach is how many facts are read at first for each message.
const factsEach = 4

// lastMessages returns the last messages on the path to the last fact. It reads facts from the
// end until it has enough.
func lastMessages(ctx context.Context, r LastReader, id string, limit int) ([]event.Event, error) {
	for n := factsEach * limit; ; n *= 4 {
		facts, err := r.Last(ctx, id, n, nil)
		if err != nil {
			return nil, err
		}
		var page []event.Event
		want := onPath(isMessage)
		for _, e := range slices.Backward(facts) {
			if len(page) < limit && want(e.Seq, e.Prev, event.Type(e.Data)) {
				page = append(page, e)
			}
		}
		if len(page) == limit || len(facts) < n {
			slices.Reverse(page)
			return page, nil
		}
	}
}

// messagesOf returns the numbers of the messages on the path to the last fact.
func messagesOf(ctx context.Context, s Store, id string) ([]int64, error) {
	type place struct {
		prev    int64
		message bool
	}
	var all []place // number seq at seq-1
	for e, err := range s.Read(ctx, id, 0) {
		if err != nil {
			return nil, err
		}
		all = append(all, place{e.Prev, isMessage(event.Type(e.Data))})
	}
	n := 0
	for seq := int64(len(all)); seq > 0; seq = all[seq-1].prev {
		if all[seq-1].message {
			n++
		}
	}
	seqs := make([]int64, n)
	for seq := int64(len(all)); seq > 0; seq = all[seq-1].prev {
		if all[seq-1].message {
			n--
			seqs[n] = seq
		}
	}
	return seqs, nil
}

// A backwarder reads facts from the end of a session.
type backwarder interface {
	// backward returns the last n facts that want takes, oldest first. It calls
	// want for each fact, the last one first.
	backward(ctx context.Context, id string, n int, want func(seq, prev int64, typ string) bool) ([]event.Event, error)
}

// onPath wants the facts on the path to the last fact whose type keep wants.
func onPath(keep func(typ string) bool) func(seq, prev int64, typ string) bool {
	next := int64(-1) // the last fact, whatever its number
	return func(seq, prev int64, typ string) bool {
		if next >= 0 && seq != next {
			return false
		}
		next = prev
		return keep(typ)
	}
}
