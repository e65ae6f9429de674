package session

import (
	"context"
	"fmt"
	"io"
	"iter"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/safefile"
)

// Read implements [Store]. A record that is being written, or that a crash left
// unfinished, is not there yet. A missing or altered blob is an [ErrCorrupt].
func (d folderStore) Read(ctx context.Context, id string, after int64) iter.Seq2[event.Event, error] {
	return func(yield func(event.Event, error) bool) {
		if err := d.read(ctx, id, after, nil, func(e event.Event) bool { return yield(e, nil) }); err != nil {
			yield(event.Event{}, fmt.Errorf("reading session: %w", err))
		}
	}
}

// read reads the facts whose type keep wants, all where that is nil.
func (d folderStore) read(ctx context.Context, id string, after int64, keep func(typ string) bool, yield func(event.Event) bool) error {
	folder, err := d.existing(ctx, id)
	if err != nil {
		return err
	}
	path := filepath.Join(folder, journalName)
	f, err := safefile.Open(path, os.O_RDONLY)
	if err != nil {
		return err
	}
	defer f.Close()
	s := newScanner(path, io.NewSectionReader(f, 0, math.MaxInt64), 64<<10)
	if _, err := s.header(id); err != nil {
		return ignoreEOF(err)
	}
	if from := s.from; after > 0 {
		if begin, ok := nearEnd(f, after); ok {
			s = newScanner(path, io.NewSectionReader(f, begin, math.MaxInt64-begin), 64<<10)
			s.line, s.last, s.end, s.from = int(after)+1, after, begin, from
		}
	}
	b := batch{scanner: s, id: id, after: after, keep: keep,
		load: func(hash string, limit int64) ([]byte, error) { return loadBlob(folder, hash, limit) }}
	for most := 1; ; most = min(4*most, batchFacts) {
		end := b.gather(most)
		b.decode()
		for i := range b.items {
			item := &b.items[i]
			if err := ctx.Err(); err != nil {
				return err
			}
			if item.err != nil {
				return item.err
			}
			if !yield(item.event) {
				return nil
			}
		}
		if end != nil {
			return ignoreEOF(end)
		}
	}
}

// nearEnd returns the place of a journal after the fact with the given number. It looks for
// it in the last bytes, so that a reader of new facts does not read the old ones again. ok
// is false if the fact is not there, or if there is damage.
func nearEnd(f safefile.File, after int64) (place int64, ok bool) {
	info, err := f.Stat()
	if err != nil {
		return 0, false
	}
	lines := backwards{file: f, end: info.Size()}
	for info.Size()-lines.begin() < nearEndBytes {
		behind := lines.begin()
		line, finished, err := lines.next()
		switch {
		case err != nil:
			return 0, false
		case !finished && tornLine(line, false):
			continue // it is being written
		case !finished || !sealed(line):
			return 0, false
		}
		r, err := anyRecord(line)
		if err != nil || r.Seq < after {
			return 0, false
		}
		if r.Seq == after {
			return behind, true
		}
	}
	return 0, false
}

const nearEndBytes = 512 << 10

// How many facts are decoded together at most, and about how many bytes of them.
// The first batches are small: who reads a few facts does not wait for many.
const (
	batchFacts = 256
	batchBytes = 1 << 20
)

// A batch is a run of records: they are read in order and decoded in parallel, because
// decoding takes most of the time.
type batch struct {
	scanner *scanner
	id      string
	after   int64
	keep    func(typ string) bool
	load    func(hash string, limit int64) ([]byte, error)
	items   []item
	copies  []byte // of the content of the records
}

type item struct {
	record record
	line   int
	event  event.Event
	err    error
}

// gather reads at most so many wanted records. It returns the error after them, if there
// was one.
func (b *batch) gather(most int) error {
	clear(b.items)
	b.items, b.copies = b.items[:0], b.copies[:0]
	for size := 0; len(b.items) < most && size < batchBytes; {
		r, err := b.scanner.record()
		if err != nil {
			return err
		}
		if r.Seq <= b.after || b.keep != nil && !b.keep(r.Type) {
			continue
		}
		if len(r.Blobs) == 0 {
			// The line is overwritten by the next one. Where the copies outgrow their
			// array the earlier ones stay in the old one.
			at := len(b.copies)
			b.copies = append(b.copies, r.Data...)
			r.Data = b.copies[at:]
		} else if r.Data, err = r.restore(b.load); err != nil {
			return b.scanner.corrupt(err)
		}
		r.Blobs = nil // they are in data now
		size += len(r.Data)
		b.items = append(b.items, item{record: r, line: b.scanner.line})
	}
	return nil
}

// decode decodes the records, on as many processors as there are.
func (b *batch) decode() {
	inParallel(len(b.items), func(i int) {
		item := &b.items[i]
		var err error
		if item.event, err = item.record.event(b.id, b.load); err != nil {
			item.err = &corruptError{path: b.scanner.path, line: item.line, err: err}
		}
	})
}

// inParallel calls do with 0 to n-1, on as many processors as there are.
func inParallel(n int, do func(i int)) {
	var next atomic.Int64
	work := func() {
		for {
			i := next.Add(1) - 1
			if i >= int64(n) {
				return
			}
			do(int(i))
		}
	}
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), n) - 1 {
		wg.Go(work)
	}
	work()
	wg.Wait()
}
