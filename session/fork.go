package session

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/openagent-go/agent/event"
)

// Latest returns the session that was changed last. It fails with [ErrNotFound] if there is
// none.
func Latest(ctx context.Context, s Store) (Info, error) {
	list, err := Query{Limit: 1}.List(ctx, s)
	if err != nil {
		return Info{}, err
	}
	if len(list) == 0 {
		return Info{}, fmt.Errorf("finding the latest session: %w", ErrNotFound)
	}
	return list[0], nil
}

// Fork makes the session to out of the facts of the session from, up to and including
// number through; 0 means all. Neither session needs the other later. The fork has the
// sub-agents that these facts record, by the same ids, with all work begun by then. It
// fails with [ErrExists] if there is a session named to, and with [ErrNotFound] if from or
// the fact is missing. In a [Creator], such as [Dir], a fork is there whole or not at all, also when the
// program is killed in the meantime.
func Fork(ctx context.Context, s Store, from, to string, through int64) error {
	if err := fork(ctx, s, from, to, through); err != nil {
		return fmt.Errorf("forking session: %w", err)
	}
	return nil
}

func fork(ctx context.Context, s Store, from, to string, through int64) error {
	parent, err := Stat(ctx, s, from)
	if err != nil {
		return err
	}
	return forkTo(ctx, s, s, parent, to, through)
}

// Copy makes a session of one store in another one, with its sub-agents. It fails as
// [Fork] does.
func Copy(ctx context.Context, src, dst Store, id string) error {
	info, err := Stat(ctx, src, id)
	if err == nil {
		err = copyFacts(ctx, src, dst, info.Header, id, 0)
	}
	if err != nil {
		return fmt.Errorf("copying session: %w", err)
	}
	return nil
}

// forkTo forks a session of one store into another, or the same.
func forkTo(ctx context.Context, src, dst Store, parent Info, to string, through int64) error {
	if _, err := Stat(ctx, dst, to); err == nil {
		return fmt.Errorf("%w: %s", ErrExists, to)
	} else if !errors.Is(err, ErrNotFound) {
		return err
	}
	if f, ok := dst.(forker); ok {
		return f.forkWhole(ctx, src, parent, to, through)
	}
	return forkFacts(ctx, src, dst, parent, to, through)
}

// forkFacts forks a session in stores of any kind.
func forkFacts(ctx context.Context, src, dst Store, parent Info, to string, through int64) error {
	header := Header{Session: to, Dir: parent.Dir, Branch: parent.Branch, Agent: parent.Agent, Parent: &Position{Session: parent.Session}}
	return copyFacts(ctx, src, dst, header, parent.Session, through)
}

// copyFacts makes the session of a header out of facts of another one. The sub-agents
// come first: a session without them would do their work again.
func copyFacts(ctx context.Context, src, dst Store, header Header, from string, through int64) error {
	to := header.Session
	facts, err := collect(ctx, src, from, to, through)
	if err != nil {
		return err
	}
	if p := header.Parent; p != nil && p.Session == from {
		p.Seq = int64(len(facts))
	}
	var below agents
	for _, e := range facts {
		below.fact(e.Data)
	}
	if err := below.copy(ctx, Under(src, from), Under(dst, to)); err != nil {
		return err
	}
	return create(ctx, dst, header, facts)
}

// Create makes the session header.Session out of facts, which are numbered from 1.
// All of them are on the disk when it returns. It fails with [ErrExists] where
// there is such a session already. A failure leaves no session behind. If the program is
// killed, only a [Creator] leaves none either.
func Create(ctx context.Context, s Store, header Header, facts []event.Event) error {
	if _, err := Stat(ctx, s, header.Session); err == nil {
		return fmt.Errorf("creating session: %w: %s", ErrExists, header.Session)
	} else if !errors.Is(err, ErrNotFound) {
		return fmt.Errorf("creating session: %w", err)
	}
	if err := create(ctx, s, header, facts); err != nil {
		return fmt.Errorf("creating session: %w", err)
	}
	return nil
}

func create(ctx context.Context, s Store, header Header, facts []event.Event) error {
	if c, ok := s.(Creator); ok {
		return c.Create(ctx, header, facts)
	}
	id := header.Session
	if err := CheckAppend(ctx, id, 0, 0, facts); err != nil {
		return err
	}
	log, err := s.Open(ctx, id, header)
	if err != nil {
		return err
	}
	if log.Last() != 0 { // made by someone else since we looked
		return errors.Join(fmt.Errorf("%w: %s", ErrExists, id), log.Close())
	}
	err = errors.Join(fill(ctx, log, facts), log.Close())
	if d, ok := s.(Deleter); ok && err != nil {
		_ = d.Delete(context.WithoutCancel(ctx), id) // an incomplete session is removed
	}
	return err
}

// collect returns the facts of from as facts of to.
func collect(ctx context.Context, s Store, from, to string, through int64) ([]event.Event, error) {
	var facts []event.Event
	for e, err := range s.Read(ctx, from, 0) {
		if err != nil {
			return nil, err
		}
		e.Session = to
		facts = append(facts, e)
		if e.Seq == through {
			break
		}
	}
	if through != 0 && int64(len(facts)) != through {
		return nil, fmt.Errorf("fact %d of %s: %w", through, from, ErrNotFound)
	}
	return facts, nil
}

// fill appends facts to an empty log, some at a time, and syncs the last.
func fill(ctx context.Context, log Log, facts []event.Event) error {
	after := int64(0)
	for part := range slices.Chunk(facts, 256) {
		next := after + int64(len(part))
		if err := log.Append(ctx, after, next == int64(len(facts)), part...); err != nil {
			return err
		}
		after = next
	}
	return nil
}
