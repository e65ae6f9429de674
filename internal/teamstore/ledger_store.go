package teamstore

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/openagent-go/agent/internal/text"
)

const (
	// ledgerCompactAbove is the size of lines, in bytes, up to which they are not replaced by
	// the state that they lead to.
	ledgerCompactAbove = 256 << 10

	// ledgerLookEvery is how often a watcher looks for mail that nobody told it of.
	ledgerLookEvery = 2 * time.Second
)

// A LedgerStore keeps tasks, teams, mail and names in a [Ledger], by the operations and rules
// of a [Dir]. Only the time of the ledger counts. It is safe for concurrent use and must be
// closed.
type LedgerStore struct {
	Ledger Ledger
	Box    int // messages that a mailbox holds; 0: MaxBox

	mu       sync.Mutex
	replicas map[string]*replica
	turns    turns
	watchers watchers
}

var _ Shared = (*LedgerStore)(nil)

// A replica is the state of a space as far as this program has read its lines.
type replica struct {
	turn   chan struct{} // held during an operation
	closed bool          // the store has forgotten it

	room *state
	at   string // the position of the last line that the room has
	size int64  // of the lines
	base int64  // of those that others were replaced by, 0: never

	holder string // names this program while agents of it are running
	letGo  func() // of the lock of that name
}

// with calls fn with the replica of a space, one call at a time.
func (s *LedgerStore) with(ctx context.Context, space string, fn func(*replica) error) error {
	if !utf8.ValidString(space) || len(space) > maxSpaceName || strings.ContainsRune(space, 0) {
		return fmt.Errorf("%w space %q: it is not UTF-8, holds a zero byte, or has more than %d bytes", ErrInvalid, text.Bytes(space, maxShown), maxSpaceName)
	}
	for {
		s.mu.Lock()
		r := s.replicas[space]
		if r == nil {
			if s.replicas == nil {
				s.replicas = map[string]*replica{}
			}
			r = &replica{turn: make(chan struct{}, 1), room: newRoom()}
			s.replicas[space] = r
		}
		s.mu.Unlock()
		if err := ctx.Err(); err != nil {
			return err
		}
		select {
		case r.turn <- struct{}{}:
		case <-ctx.Done():
			return ctx.Err()
		}
		if !r.closed {
			defer func() { <-r.turn }()
			return fn(r)
		}
		<-r.turn
	}
}

// forget makes the next operation read all lines again.
func (r *replica) forget() { r.room, r.at, r.size, r.base = newRoom(), "", 0, 0 }

// apply does the operations of lines. If one cannot be done, the replica forgets all.
func (r *replica) apply(space string, lines []string, at string) error {
	for _, line := range lines {
		a, _, when, err := decode([]byte(line))
		if err == nil {
			err = a.do(r.room, when)
		}
		if err != nil {
			r.forget()
			if errors.Is(err, errNewer) {
				return fmt.Errorf("the tasks and teams of space %q: %w; update this one", text.Bytes(space, maxShown), err)
			}
			return fmt.Errorf("%w: space %q: %w; correct its lines, or delete them", ErrDamaged, text.Bytes(space, maxShown), err)
		}
		r.size += int64(len(line))
		if _, ends := a.(*snapshotDone); ends {
			r.base = r.size
		}
	}
	if r.room.unchecked {
		r.forget()
		return fmt.Errorf("%w: space %q: its beginning is not complete; correct its lines, or delete them", ErrDamaged, text.Bytes(space, maxShown))
	}
	r.at = at
	return nil
}

// see implements backend.
func (s *LedgerStore) see(ctx context.Context, space string, fn func(r *state, now time.Time) error) error {
	return s.with(ctx, space, func(r *replica) error {
		lines, at, now, err := s.Ledger.Read(ctx, space, r.at)
		if errors.Is(err, ErrMoved) {
			r.forget()
			lines, at, now, err = s.Ledger.Read(ctx, space, "")
		}
		if err == nil {
			err = r.apply(space, lines, at)
		}
		if err != nil {
			return err
		}
		return fn(r.room, now)
	})
}

// do implements backend.
func (s *LedgerStore) do(ctx context.Context, space string, a op) error {
	return s.update(ctx, space, func(_ *replica, do func(op) error) error { return do(a) })
}

// update calls fn with a replica that has all lines, while nobody else writes to the space,
// and keeps the operations that fn does. It keeps those before one that is refused.
func (s *LedgerStore) update(ctx context.Context, space string, fn func(r *replica, do func(op) error) error) error {
	return s.with(ctx, space, func(r *replica) error {
		refused, err := s.write(ctx, space, r, fn)
		if errors.Is(err, ErrMoved) {
			r.forget()
			refused, err = s.write(ctx, space, r, fn)
		}
		if err != nil {
			r.forget() // it may have what is not kept
			return err
		}
		return unlessUnchanged(refused)
	})
}

// write is update for a replica whose position may be gone.
func (s *LedgerStore) write(ctx context.Context, space string, r *replica, fn func(r *replica, do func(op) error) error) (refused, err error) {
	grown, replaced := int64(0), false
	at, err := s.Ledger.Write(ctx, space, r.at, func(lines []string, now time.Time) (more []string, replace bool, err error) {
		if err := r.apply(space, lines, ""); err != nil {
			return nil, false, err
		}
		do := func(a op) error {
			line, strange := ledgerLine(a, now) // before it is done, as it will be read
			if err := a.do(r.room, now); err != nil {
				return err
			}
			if strange != nil {
				err = strange
				return strange
			}
			more = append(more, line)
			grown += int64(len(line))
			return nil
		}
		if r.room.tasks.expired(now) {
			refused = do(&expire{})
		}
		if refused == nil {
			refused = fn(r, do)
		}
		if err != nil || len(more) == 0 {
			return nil, false, err
		}
		if r.size+grown > max(ledgerCompactAbove, 4*r.base) {
			if more, grown, err = ledgerState(r.room, now); err != nil {
				return nil, false, err
			}
			replaced = true
		}
		if grown > MaxSpace || !replaced && r.size+grown > MaxSpace {
			return nil, false, fmt.Errorf("%w: the tasks, teams and mail of these agents would take more than %d MB", ErrLimit, MaxSpace>>20)
		}
		return more, replaced, nil
	})
	if err != nil {
		return nil, err
	}
	r.at = at
	if replaced {
		r.size, r.base = grown, grown
	} else {
		r.size += grown
	}
	return refused, nil
}

// ledgerState returns the lines that lead to a state.
func ledgerState(r *state, now time.Time) (lines []string, size int64, err error) {
	for a := range r.acts {
		line, err := ledgerLine(a, now)
		if err != nil {
			return nil, 0, err
		}
		lines = append(lines, line)
		size += int64(len(line))
	}
	return lines, size, nil
}

// ledgerLine returns the line of an operation. It needs no checksum: the ledger keeps lines
// as they are.
func ledgerLine(a op, at time.Time) (string, error) {
	body, err := plainJSON(a)
	if err != nil {
		return "", err
	}
	line, err := plainJSON(record{at.UTC().Round(0), names[reflect.TypeOf(a)], body})
	return strings.ToValidUTF8(string(line), "\uFFFD"), err // metadata may have other bytes
}

// now returns the time of the ledger.
func (s *LedgerStore) now(ctx context.Context, space string) (now time.Time, err error) {
	err = s.see(ctx, space, func(_ *state, at time.Time) error { now = at; return nil })
	return now, err
}

// mailLock names the lock of a mailbox.
func mailLock(at address) string {
	sum := sha256.Sum256([]byte(at.space + "\x00" + at.agent))
	return "mail-" + hex.EncodeToString(sum[:16])
}

// Register implements [Agents]. An agent is running while its program lives, and until its
// session is ended or the store is closed; then its name can be taken again.
func (s *LedgerStore) Register(ctx context.Context, space string, a Agent) error {
	var mine, old string
	err := s.with(ctx, space, func(r *replica) error {
		if r.holder == "" {
			name := "program-" + rand.Text()
			letGo, err := s.Ledger.Lock(ctx, name)
			if err != nil {
				return err
			}
			r.holder, r.letGo = name, letGo
		}
		mine = r.holder
		return nil
	})
	if err == nil {
		err = s.see(ctx, space, func(r *state, _ time.Time) error { old = r.holders[a.Name]; return nil })
	}
	if err != nil {
		return err
	}
	gone := false
	if old != "" && old != mine {
		lives, err := s.Ledger.Locked(ctx, old)
		if err != nil {
			return err
		}
		gone = !lives
	}
	return s.update(ctx, space, func(r *replica, do func(op) error) error {
		if gone && r.room.holders[a.Name] == old {
			if err := do(&unregister{a.Name}); err != nil {
				return err
			}
		}
		return do(&register{a, mine})
	})
}

// Agents implements [Agents].
func (s *LedgerStore) Agents(ctx context.Context, space string) ([]Agent, error) {
	var all []Agent
	holders := map[string]string{}
	err := s.see(ctx, space, func(r *state, _ time.Time) error {
		all = slices.Clone(r.agents)
		for _, a := range all {
			holders[a.Name] = r.holders[a.Name]
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	lives := map[string]bool{}
	for _, h := range holders {
		if _, known := lives[h]; !known {
			if lives[h], err = s.Ledger.Locked(ctx, h); err != nil {
				return nil, err
			}
		}
	}
	return slices.DeleteFunc(all, func(a Agent) bool { return !lives[holders[a.Name]] }), nil
}

// Take implements [Mail].
func (s *LedgerStore) Take(ctx context.Context, space, agent string, keep func([]Message) error) error {
	at := address{space, agent}
	done, err := s.turns.wait(ctx, at)
	if err != nil {
		return err
	}
	defer done()
	messages, err := waiting(ctx, s, at)
	if err != nil || len(messages) == 0 {
		return err
	}
	unlock, err := s.Ledger.Lock(ctx, mailLock(at)) // the mailbox is for other programs as well
	if err != nil {
		return err
	}
	defer unlock()
	if messages, err = waiting(ctx, s, at); err != nil || len(messages) == 0 {
		return err
	}
	if err := keep(slices.Clone(messages)); err != nil {
		return err
	}
	// Mail that was kept is removed, even if its reader has given up in the meantime.
	return s.update(context.WithoutCancel(ctx), space, func(r *replica, do func(op) error) error {
		n := 0
		if b := r.room.boxes[agent]; b != nil {
			n = held(b.messages, messages)
		}
		if n == 0 { // this program stood still for so long that another one has taken them
			return errUnchanged
		}
		return do(&taken{agent, n})
	})
}

// held returns how many messages of a mailbox, from its oldest on, were kept.
func held(box, kept []Message) int {
	first := slices.IndexFunc(kept, func(m Message) bool { return len(box) > 0 && m.ID == box[0].ID })
	if first < 0 {
		return 0
	}
	n := 0
	for n < len(box) && first+n < len(kept) && box[n].ID == kept[first+n].ID {
		n++
	}
	return n
}

// Watch implements [Watcher].
func (s *LedgerStore) Watch(ctx context.Context, space, agent string) (<-chan struct{}, error) {
	at := address{space, agent}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	written, err := s.Ledger.Watch(ctx, space) // before the first look into the mailbox: nothing may come in between
	if err != nil {
		return nil, err
	}
	c, err := watch(ctx, s, &s.watchers, at)
	if err == nil {
		go s.look(ctx, at, written)
	}
	return c, err
}

// look tells of mail from other programs until the context ends.
func (s *LedgerStore) look(ctx context.Context, at address, written <-chan struct{}) {
	ticks := time.NewTicker(ledgerLookEvery)
	defer ticks.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-written:
		case <-ticks.C:
		}
		if messages, err := waiting(ctx, s, at); err == nil && len(messages) > 0 {
			s.watchers.tell(at)
		}
	}
}

// EndSession forgets the space of a session. Agents of this program no longer count as
// running there. Its content stays.
func (s *LedgerStore) EndSession(session string) error {
	s.mu.Lock()
	r := s.replicas[session]
	delete(s.replicas, session)
	s.mu.Unlock()
	if r == nil {
		return nil
	}
	r.turn <- struct{}{}
	defer func() { <-r.turn }()
	r.closed = true
	if r.letGo != nil {
		r.letGo()
	}
	return nil
}

// Close forgets all spaces. The store can be used again.
func (s *LedgerStore) Close() error {
	s.mu.Lock()
	spaces := slices.Sorted(maps.Keys(s.replicas))
	s.mu.Unlock()
	for _, space := range spaces {
		_ = s.EndSession(space)
	}
	return nil
}

// AddTask implements [Tasks].
func (s *LedgerStore) AddTask(ctx context.Context, space string, t Task) (Task, error) {
	return addTaskTo(ctx, s, space, t)
}

// Task implements [Tasks].
func (s *LedgerStore) Task(ctx context.Context, space, id string) (Task, error) {
	return taskOf(ctx, s, space, id)
}

// Tasks implements [Tasks].
func (s *LedgerStore) Tasks(ctx context.Context, space string, f Filter) ([]Task, error) {
	return tasksOf(ctx, s, space, f)
}

// UpdateTask implements [Tasks].
func (s *LedgerStore) UpdateTask(ctx context.Context, space, id string, c Change) (Task, error) {
	return changeTaskOf(ctx, s, space, id, c)
}

// CreateTeam implements [Teams].
func (s *LedgerStore) CreateTeam(ctx context.Context, space, name, leader string, members []string, task string) (Team, error) {
	return makeTeam(ctx, s, space, name, leader, members, task)
}

// Disband implements [Teams].
func (s *LedgerStore) Disband(ctx context.Context, space, team string) (Team, error) {
	return disbandTeam(ctx, s, space, team)
}

// AddMember implements [Teams].
func (s *LedgerStore) AddMember(ctx context.Context, space, team, agent string) (Team, error) {
	return addMemberTo(ctx, s, space, team, agent)
}

// RemoveMember implements [Teams].
func (s *LedgerStore) RemoveMember(ctx context.Context, space, team, agent string) (Team, error) {
	return removeMemberOf(ctx, s, space, team, agent)
}

// TeamOf implements [Teams].
func (s *LedgerStore) TeamOf(ctx context.Context, space, agent string) (Team, error) {
	return teamWith(ctx, s, space, agent)
}

// Teams implements [Teams].
func (s *LedgerStore) Teams(ctx context.Context, space string) ([]Team, error) {
	return teamsOf(ctx, s, space)
}

// Unregister implements [Agents].
func (s *LedgerStore) Unregister(ctx context.Context, space, name string) error {
	return s.do(ctx, space, &unregister{name})
}

// Send implements [Mail].
func (s *LedgerStore) Send(ctx context.Context, space string, m Message) ([]string, error) {
	return sendTo(ctx, s, &s.watchers, space, m, s.Box)
}
