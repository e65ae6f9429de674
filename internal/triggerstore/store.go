package triggerstore

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// A Store keeps triggers and their secrets. It is safe for concurrent use, and
// records that it takes or gives are the caller's to change.
type Store interface {
	// List returns all triggers, the oldest first.
	List(ctx context.Context) ([]Record, error)
	// Get returns one trigger, or an error that matches [ErrUnknown].
	Get(ctx context.Context, id string) (Record, error)
	// Update changes the trigger of this id as a whole: change gets it, or nil where
	// there is none, and returns what it becomes, or nil to have it removed. Updates
	// happen one after the other. An error of change, and what [Record.Check]
	// refuses, changes nothing.
	Update(ctx context.Context, id string, change func(old *Record) (*Record, error)) error
}

// A Handle holds a [Store]. The type of package trigger that programs pass around is made of it,
// so each converts into the other.
type Handle struct{ records Store }

// NewHandle returns a Handle of a store.
func NewHandle(s Store) *Handle { return &Handle{s} }

// Records returns the store. It is nil for a nil Handle.
func (h *Handle) Records() Store {
	if h == nil {
		return nil
	}
	return h.records
}

// Memory keeps triggers as long as the program runs. The zero value is empty.
type Memory struct {
	mu      sync.Mutex
	records map[string]Record
}

// List implements [Store].
func (m *Memory) List(context.Context) ([]Record, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return sorted(m.records), nil
}

// Get implements [Store].
func (m *Memory) Get(_ context.Context, id string) (Record, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return get(m.records, id)
}

// Update implements [Store].
func (m *Memory) Update(_ context.Context, id string, change func(*Record) (*Record, error)) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.records == nil {
		m.records = map[string]Record{}
	}
	return update(m.records, id, change)
}

func (r Record) clone() Record {
	r.Secrets = slices.Clone(r.Secrets)
	return r
}

func sorted(records map[string]Record) []Record {
	out := make([]Record, 0, len(records))
	for _, r := range records {
		out = append(out, r.clone())
	}
	slices.SortFunc(out, func(a, b Record) int { return cmp.Or(a.Created.Compare(b.Created), strings.Compare(a.ID, b.ID)) })
	return out
}

func get(records map[string]Record, id string) (Record, error) {
	r, ok := records[id]
	if !ok {
		return Record{}, fmt.Errorf("looking for a trigger: %w", ErrUnknown)
	}
	return r.clone(), nil
}

func update(records map[string]Record, id string, change func(*Record) (*Record, error)) error {
	var old *Record
	if r, ok := records[id]; ok {
		r = r.clone()
		old = &r
	}
	known := old != nil
	r, err := change(old)
	switch {
	case err != nil:
		return err
	case r == nil:
		delete(records, id)
		return nil
	case r.ID != id:
		return fmt.Errorf("changing a trigger: its id is %q, not %q", r.ID, id)
	case !known && len(records) >= maxRecords:
		return fmt.Errorf("adding a trigger: there are %d already", len(records))
	}
	if err := r.Check(); err != nil {
		return err
	}
	records[id] = r.clone()
	return nil
}
