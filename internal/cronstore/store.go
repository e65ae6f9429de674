package cronstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
)

// A Store keeps jobs for everybody who works with them. It is safe for
// concurrent use.
type Store interface {
	// Load returns the jobs, which the caller may change.
	Load(ctx context.Context) ([]Job, error)
	// Update hands fn the jobs and stores those that it returns. No other caller, in this
	// process or another, changes the jobs in the meantime. If fn fails nothing is changed
	// and Update returns its error. fn must not use the store.
	Update(ctx context.Context, fn func([]Job) ([]Job, error)) error
	// Version returns a text that is another one after the jobs have changed. It is
	// cheap.
	Version(ctx context.Context) (string, error)
}

// A Handle holds a [Store]. The type of package cron that programs pass around is made of it,
// so each converts into the other.
type Handle struct{ jobs Store }

// NewHandle returns a Handle of a store.
func NewHandle(s Store) *Handle { return &Handle{s} }

// Jobs returns the store. It is nil for a nil Handle.
func (h *Handle) Jobs() Store {
	if h == nil {
		return nil
	}
	return h.jobs
}

// Memory is a Store that ends with the process. The zero value is empty.
type Memory struct {
	mu       sync.Mutex
	jobs     []Job
	revision int
}

// Load implements [Store].
func (m *Memory) Load(context.Context) ([]Job, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return copied(m.jobs), nil
}

// Update implements [Store].
func (m *Memory) Update(_ context.Context, fn func([]Job) ([]Job, error)) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	jobs, err := fn(copied(m.jobs))
	if err != nil {
		return err
	}
	m.jobs = copied(jobs)
	m.revision++
	return nil
}

// Version implements [Store].
func (m *Memory) Version(context.Context) (string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return strconv.Itoa(m.revision), nil
}

func copied(jobs []Job) []Job {
	out := make([]Job, len(jobs))
	for i, j := range jobs {
		if j.Run != nil {
			run := *j.Run
			j.Run = &run
		}
		j.Past = slices.Clone(j.Past)
		out[i] = j
	}
	return out
}

// In returns the part of a store that belongs to a folder: the jobs whose Dir is
// dir, an absolute path. Others are neither seen nor changed through it.
func In(s Store, dir string) Store { return folder{s, dir} }

type folder struct {
	Store
	dir string
}

// Load implements [Store].
func (f folder) Load(ctx context.Context) ([]Job, error) {
	jobs, err := f.Store.Load(ctx)
	mine, _ := f.split(jobs)
	return mine, err
}

// Update implements [Store].
func (f folder) Update(ctx context.Context, fn func([]Job) ([]Job, error)) error {
	return f.Store.Update(ctx, func(jobs []Job) ([]Job, error) {
		mine, others := f.split(jobs)
		mine, err := fn(mine)
		if err != nil {
			return nil, err
		}
		for _, j := range mine {
			if j.Dir != f.dir {
				return nil, fmt.Errorf("the job %q belongs to folder %s, not to %s", j.Name, j.Dir, f.dir)
			}
		}
		if len(mine)+len(others) > MaxJobs {
			return nil, errors.New("there are too many jobs in all folders together; delete some first")
		}
		return append(others, mine...), nil
	})
}

func (f folder) split(jobs []Job) (mine, others []Job) {
	for _, j := range jobs {
		if j.Dir == f.dir {
			mine = append(mine, j)
		} else {
			others = append(others, j)
		}
	}
	return mine, others
}
