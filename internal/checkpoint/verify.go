package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/openagent-go/agent/internal/safefile"
)

// Damage is a missing or altered file of the store.
type Damage struct {
	File    string // absolute
	Problem string
	// Checkpoints are those that need the file; none for that of a checkpoint
	// itself.
	Checkpoints []Checkpoint
}

// Verify reads everything that checkpoints need and returns the missing or altered files,
// in order of path. It changes nothing: [Store.Prune] removes checkpoints that cannot be
// read at all.
func (s *Store) Verify(ctx context.Context) ([]Damage, error) {
	l, err := s.acquire(ctx, safefile.Shared, "lock")
	if err != nil {
		return nil, err
	}
	defer l.release()
	list, found, err := s.records(ctx)
	if err != nil {
		return nil, err
	}
	v := verifier{store: s, seen: map[object]*examined{}}
	for _, c := range list {
		v.now = c
		v.visited = map[object]bool{}
		for _, t := range c.Trees {
			x, err := parseSum(t.Hash)
			if err == nil {
				err = v.folder(ctx, x)
			}
			if err != nil {
				return nil, fmt.Errorf("verifying checkpoints: %w", err)
			}
		}
	}
	found = append(found, v.found()...)
	slices.SortFunc(found, func(a, b Damage) int {
		if a.File < b.File {
			return -1
		}
		return 1
	})
	return found, nil
}

// Each examined object is either whole or damaged.
type examined struct {
	damage *Damage // nil: it is whole
	in     []entry // of a folder
}

// A verifier reads each object once.
type verifier struct {
	store   *Store
	seen    map[object]*examined
	now     Checkpoint
	visited map[object]bool // by way of now
}

func (v *verifier) found() (list []Damage) {
	for _, o := range v.seen {
		if o.damage != nil {
			list = append(list, *o.damage)
		}
	}
	return list
}

func (v *verifier) folder(ctx context.Context, x sum) error {
	in, err := v.object(ctx, object{folders, x}, func() ([]entry, error) { return v.store.list(x) })
	if err != nil {
		return err
	}
	for _, e := range in {
		switch e.kind {
		case file:
			_, err = v.object(ctx, object{contents, e.sum}, func() ([]entry, error) { return nil, v.content(e) })
		case folder:
			err = v.folder(ctx, e.sum)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (v *verifier) content(e entry) error {
	x := object{contents, e.sum}
	r, err := v.store.open(x)
	if err != nil {
		return err
	}
	defer r.Close()
	size, err := io.Copy(io.Discard, r)
	if err == nil && size != e.size {
		err = &CorruptError{v.store.path(x.place()...), errors.New("the size is not what was stored")}
	}
	return err
}

// object reads an object unless it was read before, and notes which checkpoint it is
// damaged for. It does nothing if the object was seen for this checkpoint.
func (v *verifier) object(ctx context.Context, x object, read func() ([]entry, error)) ([]entry, error) {
	if v.visited[x] {
		return nil, nil
	}
	v.visited[x] = true
	o := v.seen[x]
	if o == nil {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		o = new(examined)
		v.seen[x] = o
		var err error
		o.in, err = read()
		if err != nil {
			file, problem := v.store.path(x.place()...), err.Error()
			if corrupt, ok := errors.AsType[*CorruptError](err); ok {
				problem = corrupt.Err.Error()
			}
			o.damage = &Damage{File: file, Problem: problem}
		}
	}
	if o.damage != nil {
		o.damage.Checkpoints = append(o.damage.Checkpoints, v.now)
	}
	return o.in, nil
}
