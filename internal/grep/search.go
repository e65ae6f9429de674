package grep

import (
	"context"
	"os"
	"path"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/openagent-go/agent/internal/walk"
)

// A Search looks for a pattern in many files.
type Search struct {
	Pattern       *Pattern
	Want          Want
	Before, After int // lines of context; at most MaxContext
	Max           int // lines that are kept of all files together; 0: no limit
}

const (
	maxWorkers = 16
	batchSize  = 16 // files searched in one go
)

// A batch is some files to search, with their results.
type batch struct {
	paths   []string
	reports chan []Report // one value; none if the search was given up
}

// Files searches the files at paths, relative to root, in parallel, and calls report for
// each in their order, until it returns false. The results depend on nothing but the files;
// memory is bounded for any content. Nothing leads out of root.
func (s *Search) Files(ctx context.Context, root *os.Root, paths []string, report func(path string, r Report) bool) error {
	ctx, cancel := context.WithCancel(ctx)
	workers := min(runtime.GOMAXPROCS(0), maxWorkers, len(paths)/batchSize+1)
	todo := make(chan batch)
	queue := make(chan batch, workers) // those handed out, in order
	var group sync.WaitGroup
	group.Go(func() { deal(ctx, paths, todo, queue) })
	for range workers {
		group.Go(func() { s.work(ctx, root, todo) })
	}
	defer group.Wait()
	defer cancel()
	for b := range queue {
		select {
		case reports := <-b.reports:
			for i, r := range reports {
				if !report(b.paths[i], r) {
					return nil
				}
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return ctx.Err()
}

// deal hands the files out in batches.
func deal(ctx context.Context, paths []string, todo, queue chan<- batch) {
	defer close(todo)
	defer close(queue)
	for len(paths) > 0 {
		n := min(batchSize, len(paths))
		b := batch{paths: paths[:n], reports: make(chan []Report, 1)}
		paths = paths[n:]
		for _, to := range []chan<- batch{queue, todo} {
			select {
			case to <- b:
			case <-ctx.Done():
				return
			}
		}
	}
}

// work searches batches.
func (s *Search) work(ctx context.Context, root *os.Root, todo <-chan batch) {
	at, err := walk.OpenFolder(root)
	if err == nil {
		defer at.Close()
	}
	one := &searcher{Search: s, ctx: ctx}
	for b := range todo {
		if err != nil {
			b.reports <- slices.Repeat([]Report{{Skipped: Unreadable}}, len(b.paths))
		} else if reports, err := one.batch(at, b.paths); err == nil {
			b.reports <- reports
		}
	}
}

// batch searches files, and stops keeping lines when the limits are reached.
func (s *searcher) batch(at *walk.Folder, paths []string) ([]Report, error) {
	s.restart()
	reports := make([]Report, len(paths))
	for i, name := range paths {
		dir, base := path.Split(name)
		err := at.Go(strings.TrimSuffix(dir, "/"))
		if err != nil {
			reports[i].Skipped = Unreadable
			continue
		}
		f, err := at.Open(base)
		if err != nil {
			reports[i].Skipped = Unreadable
			continue
		}
		reports[i], err = s.file(f)
		f.Close()
		if err != nil {
			return nil, err
		}
	}
	return reports, nil
}
