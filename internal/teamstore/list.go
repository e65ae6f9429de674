package teamstore

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/openagent-go/agent/internal/text"
)

// A list is the tasks of a space with their rules. It reads no clock and is not
// safe for concurrent use.
type list struct {
	tasks  []*Task // task_1 first
	leased map[*Task]struct{}
}

// find returns the task with an id.
func (l *list) find(id string) (*Task, error) {
	digits, _ := strings.CutPrefix(id, "task_")
	n, err := strconv.Atoi(digits)
	if err != nil || n < 1 || n > len(l.tasks) || l.tasks[n-1].ID != id {
		return nil, fmt.Errorf("%q: %w", text.Bytes(id, maxShown), ErrNotFound)
	}
	return l.tasks[n-1], nil
}

// at returns the task as it is at a moment: pending once its lease is over. The
// lists in it are those of t.
func (t *Task) at(now time.Time) Task {
	c := *t
	if !c.LeaseUntil.IsZero() && !now.Before(c.LeaseUntil) {
		c.Status, c.Owner, c.UpdatedAt, c.LeaseUntil = Pending, "", c.LeaseUntil, time.Time{}
	}
	return c
}

// expired reports whether there are tasks whose lease is over.
func (l *list) expired(now time.Time) bool {
	for t := range l.leased {
		if !now.Before(t.LeaseUntil) {
			return true
		}
	}
	return false
}

// expire frees the tasks whose lease is over.
func (l *list) expire(now time.Time) {
	for t := range l.leased {
		if *t = t.at(now); t.LeaseUntil.IsZero() {
			delete(l.leased, t)
		}
	}
}

// blockers returns the tasks that a task waits for.
func (l *list) blockers(ids []string) []string {
	var open []string
	for _, id := range ids {
		if b, err := l.find(id); err != nil || b.Status != Completed {
			open = append(open, id)
		}
	}
	return open
}

func (l *list) pick(f Filter, now time.Time) []Task {
	out := []Task{}
	for _, kept := range l.tasks {
		t := kept.at(now)
		switch {
		case f.Status != "" && t.Status != f.Status,
			f.Owner != "" && t.Owner != f.Owner,
			f.Startable != "" && (t.Status != Pending || t.Owner != "" && t.Owner != f.Startable || len(l.blockers(t.BlockedBy)) > 0):
			continue
		}
		out = append(out, t.clone())
		if len(out) == f.Limit {
			break
		}
	}
	return out
}

func (l *list) add(t Task, now time.Time) (Task, error) {
	if len(l.tasks) >= MaxTasks {
		return Task{}, fmt.Errorf("%w: there are %d tasks", ErrLimit, MaxTasks)
	}
	if strings.TrimSpace(t.Subject) == "" {
		return Task{}, fmt.Errorf("%w: the subject is empty", ErrInvalid)
	}
	made := &Task{ID: fmt.Sprintf("task_%d", len(l.tasks)+1), Status: Pending, CreatedAt: now}
	l.tasks = append(l.tasks, made)
	out, err := l.change(made, Change{Subject: &t.Subject, Description: &t.Description, Output: &t.Output, Owner: &t.Owner,
		Status: t.Status, BlockedBy: t.BlockedBy, Blocks: t.Blocks, Metadata: t.Metadata}, now)
	if err != nil {
		l.tasks = l.tasks[:len(l.tasks)-1]
		return Task{}, err
	}
	if made.Status == InProgress {
		made.LeaseUntil, out.LeaseUntil = t.LeaseUntil, t.LeaseUntil
		l.lease(made)
	}
	return out, nil
}

// change checks a change as a whole before it makes any of it.
func (l *list) change(t *Task, c Change, now time.Time) (Task, error) {
	if c.Holder != "" && (t.Status != InProgress || t.Owner != c.Holder) {
		return Task{}, fmt.Errorf("%w: %s is %s", ErrTaken, t.ID, t.standing())
	}
	next := t.clone()
	if err := next.describe(c); err != nil {
		return Task{}, err
	}
	g := graph{list: l, after: map[string][]string{}}
	if err := g.wire(t, c.BlockedBy, c.Blocks); err != nil {
		return Task{}, err
	}
	next.BlockedBy = g.blockedBy(t)
	if err := l.move(t, &next, c, now); err != nil {
		return Task{}, err
	}
	if err := g.check(&next); err != nil {
		return Task{}, err
	}
	g.apply(now)
	next.BlockedBy, next.Blocks, next.UpdatedAt = t.BlockedBy, t.Blocks, now
	*t = next
	l.lease(t)
	return t.clone(), nil
}

// lease notes whether a task has a lease.
func (l *list) lease(t *Task) {
	if t.LeaseUntil.IsZero() {
		delete(l.leased, t)
		return
	}
	if l.leased == nil {
		l.leased = map[*Task]struct{}{}
	}
	l.leased[t] = struct{}{}
}

// describe makes the changes that are not bound to other tasks.
func (t *Task) describe(c Change) error {
	for _, f := range []struct {
		name string
		to   *string
		from *string
		most int
	}{
		{"subject", &t.Subject, c.Subject, MaxSubject}, {"description", &t.Description, c.Description, MaxDescription},
		{"output", &t.Output, c.Output, MaxOutput},
	} {
		switch {
		case f.from == nil:
			continue
		case len(*f.from) > f.most:
			return fmt.Errorf("%w: the %s has %d bytes, at most %d are kept", ErrLimit, f.name, len(*f.from), f.most)
		case !utf8.ValidString(*f.from):
			return fmt.Errorf("%w: the %s is not UTF-8", ErrInvalid, f.name)
		}
		*f.to = *f.from
	}
	if strings.TrimSpace(t.Subject) == "" || strings.ContainsAny(t.Subject, "\n\r") {
		return fmt.Errorf("%w: the subject must be one line, not empty", ErrInvalid)
	}
	if c.Owner != nil && *c.Owner != "" {
		if err := CheckName(*c.Owner); err != nil {
			return fmt.Errorf("owner: %w", err)
		}
	}
	for k, v := range c.Metadata {
		if !json.Valid(v) || !utf8.ValidString(k) {
			return fmt.Errorf("%w: the metadata %q is not JSON", ErrInvalid, text.Bytes(k, maxShown))
		}
	}
	t.Metadata = merge(t.Metadata, c.Metadata)
	size := 0
	for k, v := range t.Metadata {
		size += len(k) + len(v)
	}
	if size > MaxMetadata {
		return fmt.Errorf("%w: the metadata has %d bytes, at most %d are kept", ErrLimit, size, MaxMetadata)
	}
	return nil
}

// merge returns a copy of old with the members of more; null deletes.
func merge(old, more map[string]json.RawMessage) map[string]json.RawMessage {
	if len(old)+len(more) == 0 {
		return nil
	}
	all := map[string]json.RawMessage{}
	for k, v := range old {
		all[k] = slices.Clone(v)
	}
	for k, v := range more {
		var b bytes.Buffer
		_ = json.Compact(&b, v) // it was found to be valid
		if b.String() == "null" {
			delete(all, k)
		} else {
			all[k] = b.Bytes()
		}
	}
	if len(all) == 0 {
		return nil
	}
	return all
}

// move makes the change of status, owner and lease from t to next.
func (l *list) move(t, next *Task, c Change, now time.Time) error {
	to := c.Status
	if to == "" {
		to = t.Status
	}
	if !slices.Contains(Statuses, to) {
		return fmt.Errorf("%w: unknown status %q", ErrInvalid, text.Bytes(string(to), maxShown))
	}
	if t.Status.Final() && to != t.Status {
		return &StatusError{t.ID, t.Status, to}
	}
	if c.Owner != nil {
		next.Owner = *c.Owner
	} else if t.Status == InProgress && to == Pending {
		next.Owner = ""
	}
	next.Status = to
	starts := c.Status == InProgress
	switch {
	case to == InProgress && next.Owner == "":
		return fmt.Errorf("%w: a task in progress needs an owner; set it back to pending to free it", ErrInvalid)
	case starts && t.Owner != "" && next.Owner != t.Owner:
		return fmt.Errorf("%w: %s is %s", ErrTaken, t.ID, t.standing())
	}
	if to != t.Status && (to == InProgress || to == Completed) {
		if open := l.blockers(next.BlockedBy); len(open) > 0 {
			verb := "start"
			if to == Completed {
				verb = "be completed"
			}
			return fmt.Errorf("%w: %s cannot %s before %s", ErrBlocked, t.ID, verb, l.named(open))
		}
	}
	switch {
	case to != InProgress:
		next.LeaseUntil = time.Time{}
	case starts && c.Lease > 0:
		next.LeaseUntil = now.Add(c.Lease)
	}
	return nil
}

// standing says who has a task.
func (t *Task) standing() string {
	s := strings.ReplaceAll(string(t.Status), "_", " ")
	if t.Owner == "" {
		return s
	}
	return fmt.Sprintf("%s, owned by %s", s, t.Owner)
}

// named lists tasks with their statuses.
func (l *list) named(ids []string) string {
	const most = 10
	var names []string
	for _, id := range ids[:min(len(ids), most)] {
		if t, err := l.find(id); err == nil {
			id = fmt.Sprintf("%s (%s)", id, t.Status)
		}
		names = append(names, id)
	}
	if more := len(ids) - most; more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	return strings.Join(names, ", ")
}

// A graph is a change of dependencies.
type graph struct {
	list  *list
	after map[string][]string // BlockedBy of the tasks that change, by id
}

func (g *graph) blockedBy(t *Task) []string {
	if ids, ok := g.after[t.ID]; ok {
		return ids
	}
	return t.BlockedBy
}

// wire notes new lists for t. Each id must be known.
func (g *graph) wire(t *Task, blockedBy, blocks []string) error {
	for _, ids := range [][]string{blockedBy, blocks} {
		if len(ids) > MaxDependencies {
			return fmt.Errorf("%w: %d dependencies, at most %d are kept", ErrLimit, len(ids), MaxDependencies)
		}
		for _, id := range ids {
			if _, err := g.list.find(id); err != nil {
				return err
			}
			if id == t.ID {
				return fmt.Errorf("%w: %s → %s", ErrCycle, id, id)
			}
		}
	}
	if blockedBy != nil {
		g.after[t.ID] = distinct(blockedBy)
	}
	if blocks == nil {
		return nil
	}
	for _, id := range distinct(slices.Concat(t.Blocks, blocks)) {
		other, _ := g.list.find(id)
		without := slices.DeleteFunc(slices.Clone(other.BlockedBy), func(b string) bool { return b == t.ID })
		switch has, wants := len(without) < len(other.BlockedBy), slices.Contains(blocks, id); {
		case wants && !has:
			g.after[id] = append(without, t.ID)
		case has && !wants:
			g.after[id] = without
		}
	}
	return nil
}

func distinct(ids []string) []string {
	var out []string
	for _, id := range ids {
		if !slices.Contains(out, id) {
			out = append(out, id)
		}
	}
	return out
}

// check refuses cycles, too many dependencies, and new dependencies of a started task. next
// is the task after the change.
func (g *graph) check(next *Task) error {
	for _, id := range slices.Sorted(maps.Keys(g.after)) {
		t, _ := g.list.find(id)
		status := t.Status
		if id == next.ID {
			status = next.Status
		}
		for _, b := range g.after[id] {
			blocker, _ := g.list.find(b)
			done := blocker.Status
			if b == next.ID {
				done = next.Status
			}
			switch added := !slices.Contains(t.BlockedBy, b); {
			case !added:
			case status != Pending && done != Completed:
				return fmt.Errorf("%w: %s is %s, it cannot begin to wait for %s", ErrInvalid, id, status, b)
			case len(blocker.Blocks) >= MaxDependencies && g.grows(blocker):
				return fmt.Errorf("%w: %s blocks more than %d tasks", ErrLimit, b, MaxDependencies)
			}
		}
		if len(g.after[id]) > MaxDependencies {
			return fmt.Errorf("%w: %s waits for more than %d tasks", ErrLimit, id, MaxDependencies)
		}
	}
	if len(g.after) > 0 {
		// Every new dependency begins or ends at the changed task, and so does any cycle.
		if path := g.cycle(next); path != nil {
			return fmt.Errorf("%w: %s", ErrCycle, strings.Join(path, " → "))
		}
	}
	return nil
}

// grows reports whether b will block more tasks than it may.
func (g *graph) grows(b *Task) bool {
	n := len(b.Blocks)
	for id, ids := range g.after {
		had, has := slices.Contains(b.Blocks, id), slices.Contains(ids, b.ID)
		if has && !had {
			n++
		} else if had && !has {
			n--
		}
	}
	return n > MaxDependencies
}

// cycle returns a path from t along its dependencies back to t, nil if there is none.
func (g *graph) cycle(t *Task) []string {
	from := map[string]string{} // of each task that was reached, the one that waits for it
	queue := []string{t.ID}
	for len(queue) > 0 {
		at, _ := g.list.find(queue[0])
		queue = queue[1:]
		for _, b := range g.blockedBy(at) {
			if b == t.ID {
				path := []string{t.ID}
				for id := at.ID; id != t.ID; id = from[id] {
					path = append(path, id)
				}
				path = append(path, t.ID)
				slices.Reverse(path)
				return path
			}
			if _, seen := from[b]; !seen {
				from[b] = at.ID
				queue = append(queue, b)
			}
		}
	}
	return nil
}

// apply writes both sides.
func (g *graph) apply(now time.Time) {
	for id, ids := range g.after {
		t, _ := g.list.find(id)
		for _, b := range t.BlockedBy {
			if !slices.Contains(ids, b) {
				g.side(b, now, func(blocks []string) []string {
					return slices.DeleteFunc(blocks, func(x string) bool { return x == id })
				})
			}
		}
		for _, b := range ids {
			if !slices.Contains(t.BlockedBy, b) {
				g.side(b, now, func(blocks []string) []string { return append(blocks, id) })
			}
		}
		t.BlockedBy, t.UpdatedAt = ids, now
	}
}

func (g *graph) side(id string, now time.Time, change func([]string) []string) {
	t, _ := g.list.find(id)
	t.Blocks, t.UpdatedAt = change(t.Blocks), now
	slices.SortFunc(t.Blocks, byNumber)
}

// byNumber orders ids as they were given.
func byNumber(a, b string) int {
	if len(a) != len(b) {
		return len(a) - len(b)
	}
	return strings.Compare(a, b)
}
