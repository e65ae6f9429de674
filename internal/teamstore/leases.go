package teamstore

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// DefaultLease is how long a task of [Leases] stays its owner's after the program
// has died.
const DefaultLease = time.Minute

// Leases gives tasks that agents of this program start a lease and renews it: while the
// program lives a task is its owner's, however long it takes; when the program dies, others
// have it again at the end of the lease. When a session ends, its unfinished tasks are
// pending again, without an owner. Use it for a list of tasks that outlives the program,
// such as a [Dir]. A change that sets a lease itself keeps it.
//
// It is safe for concurrent use. EndSession or Close ends its background work.
type Leases struct {
	List Tasks
	For  time.Duration // 0: DefaultLease
	// Now returns the time that the list goes by in a space. Nil: that of this program.
	Now func(ctx context.Context, space string) (time.Time, error)

	mu   sync.Mutex
	held map[task]string // their owners
	stop context.CancelFunc
	done chan struct{} // closed when renewing has ended; nil: nothing is renewed
}

// A task is one of a space.
type task struct{ space, id string }

// sortedTasks returns the tasks in a map in one order.
func sortedTasks(held map[task]string) []task {
	return slices.SortedFunc(maps.Keys(held), func(a, b task) int {
		return cmp.Or(strings.Compare(a.space, b.space), byNumber(a.id, b.id))
	})
}

// freeing is how long the tasks of a session that ends may take to be freed.
const freeing = 5 * time.Second

func (l *Leases) lease() time.Duration { return cmp.Or(l.For, DefaultLease) }

var _ Tasks = (*Leases)(nil)

// Task implements [Tasks].
func (l *Leases) Task(ctx context.Context, space, id string) (Task, error) {
	return l.List.Task(ctx, space, id)
}

// Tasks implements [Tasks].
func (l *Leases) Tasks(ctx context.Context, space string, f Filter) ([]Task, error) {
	return l.List.Tasks(ctx, space, f)
}

// AddTask implements [Tasks].
func (l *Leases) AddTask(ctx context.Context, space string, t Task) (Task, error) {
	leased := t.Status == InProgress && t.LeaseUntil.IsZero()
	if leased {
		now := time.Now()
		if l.Now != nil {
			var err error
			if now, err = l.Now(ctx, space); err != nil {
				return Task{}, err
			}
		}
		t.LeaseUntil = now.Add(l.lease())
	}
	made, err := l.List.AddTask(ctx, space, t)
	if err == nil && leased {
		l.hold(task{space, made.ID}, made)
	}
	return made, err
}

// UpdateTask implements [Tasks].
func (l *Leases) UpdateTask(ctx context.Context, space, id string, c Change) (Task, error) {
	starts := c.Status == InProgress && c.Lease == 0
	if starts {
		c.Lease = l.lease()
	}
	t, err := l.List.UpdateTask(ctx, space, id, c)
	if err != nil {
		return t, err
	}
	l.mu.Lock()
	_, held := l.held[task{space, id}]
	l.mu.Unlock()
	if starts || held {
		l.hold(task{space, id}, t)
	}
	return t, nil
}

// hold renews the lease of a task from now on, or does so no more.
func (l *Leases) hold(at task, t Task) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if t.Status != InProgress {
		delete(l.held, at)
		return
	}
	if l.held == nil {
		l.held = map[task]string{}
	}
	l.held[at] = t.Owner
	if l.done == nil {
		ctx, stop := context.WithCancel(context.Background())
		l.stop, l.done = stop, make(chan struct{})
		go l.renew(ctx, l.done)
	}
}

// renew renews leases until there are none.
func (l *Leases) renew(ctx context.Context, done chan struct{}) {
	defer close(done)
	ticks := time.NewTicker(max(l.lease()/3, time.Millisecond))
	defer ticks.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
		}
		held := l.mine(done)
		for _, at := range sortedTasks(held) {
			owner := held[at]
			_, err := l.List.UpdateTask(ctx, at.space, at.id, Change{Status: InProgress, Owner: &owner, Holder: owner, Lease: l.lease()})
			if errors.Is(err, ErrTaken) || errors.Is(err, ErrNotFound) { // any other error may be gone the next time
				l.lost(at, owner)
			}
		}
	}
}

// mine returns a copy of the held leases. Without any, renewing ends.
func (l *Leases) mine(done chan struct{}) map[task]string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.held) == 0 && l.done == done {
		l.stop()
		l.stop, l.done = nil, nil
	}
	held := map[task]string{}
	for at, owner := range l.held {
		held[at] = owner
	}
	return held
}

func (l *Leases) lost(at task, owner string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held[at] == owner {
		delete(l.held, at)
	}
}

// EndSession frees the unfinished tasks of the session's agents. It also ends the session
// in List, if List has such a method.
func (l *Leases) EndSession(session string) error {
	err := l.end(func(at task) bool { return at.space == session })
	if e, ok := l.List.(interface{ EndSession(session string) error }); ok {
		err = errors.Join(err, e.EndSession(session))
	}
	return err
}

// Close frees the unfinished tasks of this program's agents. It does not close List.
func (l *Leases) Close() error { return l.end(func(task) bool { return true }) }

// end frees some tasks, and waits for the end of renewing if there are no others.
func (l *Leases) end(which func(task) bool) error {
	l.mu.Lock()
	ended := map[task]string{}
	for at, owner := range l.held {
		if which(at) {
			ended[at] = owner
			delete(l.held, at)
		}
	}
	var done chan struct{}
	if len(l.held) == 0 && l.done != nil {
		done = l.done
		l.stop()
		l.stop, l.done = nil, nil
	}
	l.mu.Unlock()
	if done != nil {
		<-done
	}
	ctx, cancel := context.WithTimeout(context.Background(), freeing)
	defer cancel()
	var errs []error
	for _, at := range sortedTasks(ended) {
		if err := free(ctx, l.List, at.space, at.id, ended[at]); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// Release frees the tasks that an agent has in progress, because it has ended. It returns
// the tasks that are pending again.
func Release(ctx context.Context, tasks Tasks, space, owner string) ([]Task, error) {
	left, err := tasks.Tasks(ctx, space, Filter{Status: InProgress, Owner: owner})
	if err != nil {
		return nil, err
	}
	var freed []Task
	for _, t := range left {
		if err := free(ctx, tasks, space, t.ID, owner); err != nil {
			return freed, err
		}
		t.Status, t.Owner, t.LeaseUntil = Pending, "", time.Time{}
		freed = append(freed, t)
	}
	return freed, nil
}

// free sets a task back, unless it is not the owner's any more.
func free(ctx context.Context, tasks Tasks, space, id, owner string) error {
	_, err := tasks.UpdateTask(ctx, space, id, Change{Status: Pending, Holder: owner})
	if errors.Is(err, ErrTaken) || errors.Is(err, ErrNotFound) {
		return nil
	}
	return err
}
