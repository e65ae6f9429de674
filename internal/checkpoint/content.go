package checkpoint

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const (
	readTries = 3  // of a file that changes while it is read
	readBatch = 32 // files that a goroutine takes at a time
)

// read reads the files that the walk could not know, with several goroutines. It stores
// them unless the scan is dry.
func (s *scan) read(ctx context.Context, left *counter) error {
	slices.SortFunc(s.unread, func(a, b place) int {
		if c := strings.Compare(a.dir, b.dir); c != 0 {
			return c
		}
		return strings.Compare(a.name, b.name)
	})
	var next atomic.Int64
	var group sync.WaitGroup
	for range min(workers(), len(s.unread)/readBatch+1) {
		group.Go(func() {
			r := reader{scan: s, at: cursor{top: s.top}, to: writer{s.Store, left}}
			defer r.at.close()
			for {
				end := int(next.Add(readBatch))
				for i := end - readBatch; i < min(end, len(s.unread)); i++ {
					if err := ctx.Err(); err != nil || s.failed() {
						s.fail(err)
						return
					}
					r.place(s.unread[i])
				}
				if end >= len(s.unread) {
					return
				}
			}
		})
	}
	group.Wait()
	return s.err
}

// A reader reads one file after the other.
type reader struct {
	*scan
	at  cursor
	to  writer
	buf bytes.Buffer
}

// place reads a file. One that is gone is as if it had never been seen; one that
// cannot be read is a gap.
func (r *reader) place(p place) {
	dir, err := r.at.to(p.dir)
	for try := 0; err == nil && try < readTries && !p.read; try++ {
		err = r.once(dir, p, try == readTries-1)
	}
	if err == nil {
		return
	}
	path := join(p.dir, p.name)
	_, reading := errors.AsType[readError](err)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		p.kind = 0
	case reading:
		r.leave(p.node, path, err)
	default:
		r.fail(err)
	}
}

// once reads a file. If the file changes during that, it reads it again, unless this is the
// last try.
func (r *reader) once(dir *os.Root, p place, last bool) error {
	start := time.Now()
	f, info, err := openIn(dir, p.name)
	if err != nil {
		return readError{err}
	}
	defer f.Close()
	if r.tooLarge(join(p.dir, p.name), info.Size()) {
		return readError{r.large()}
	}
	before := signatureOf(info)
	x, size, err := r.content(f, info.Size(), join(p.dir, p.name))
	if err != nil {
		return err
	}
	if info, err = f.Stat(); err != nil {
		return readError{err}
	}
	same := signatureOf(info) == before && size == info.Size()
	if same || last {
		p.sum, p.size, p.mode, p.signature = x, size, info.Mode().Perm(), signatureOf(info)
		p.settled, p.node.read = same && before.settled(start), true
	}
	return nil
}

// content reads, and stores, a file of about the given size.
func (r *reader) content(f *os.File, size int64, path string) (x sum, n int64, err error) {
	limit := r.maxFile()
	if r.past.kind(path) != 0 {
		limit = size // a file that is still being written never ends
	}
	if size > smallFile {
		if r.dry {
			return hashOf(io.LimitReader(f, limit))
		}
		x, n, err = r.to.copy(io.LimitReader(f, limit))
		return x, n, err
	}
	r.buf.Reset()
	r.buf.Grow(int(size) + bytes.MinRead)
	if _, err := r.buf.ReadFrom(io.LimitReader(f, min(smallFile, limit))); err != nil {
		return x, 0, readError{err}
	}
	x = sha256.Sum256(r.buf.Bytes())
	if !r.dry {
		err = r.to.put(object{contents, x}, r.buf.Bytes())
	}
	return x, int64(r.buf.Len()), err
}

func hashOf(f io.Reader) (x sum, size int64, err error) {
	hash := sha256.New()
	if size, err = io.Copy(hash, f); err != nil {
		return x, 0, readError{err}
	}
	hash.Sum(x[:0])
	return x, size, nil
}

// lists makes the lists of all folders, without entries that are gone by now, and hands
// each to keep. It returns the total length of their paths and sums.
func lists(n *node, path int, keep func(x sum, in []*node, data []byte) error) (size int, err error) {
	n.in = slices.DeleteFunc(n.in, func(n *node) bool { return n.kind == 0 })
	for _, in := range n.in {
		size += path + len(in.name) + 5*8 + sumSize
		if in.kind == folder {
			below, err := lists(in, path+len(in.name)+1, keep)
			if err != nil {
				return 0, err
			}
			size += below
		}
	}
	data := encode(n.in)
	if len(data) > maxList {
		return 0, fmt.Errorf("%w in the folder %q: its list has more than %d bytes", ErrTooMany, n.name, maxList)
	}
	n.sum = sha256.Sum256(data)
	return size, keep(n.sum, n.in, data)
}
