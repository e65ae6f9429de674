package mcp

import (
	"context"
	"io"
	"sync"
	"syscall"
)

// A feed is the input of a process. Who sends a message writes it to the process's pipe,
// because waking another goroutine for it would delay each call. Where the pipe is full, the
// message waits in the queue, and the goroutine in WriteTo writes it.
type feed struct {
	queue   chan []byte
	resume  chan struct{} // holds one while rest is to be written
	closing sync.Once
	closed  chan struct{}

	mu     sync.Mutex
	pipe   syscall.RawConn // nil: each message is queued; guarded by mu
	behind int             // messages that WriteTo has to write; while there are any, each is queued; guarded by mu
	rest   []byte          // of the first of them; guarded by mu
}

func newFeed(size int) *feed {
	return &feed{queue: make(chan []byte, size), resume: make(chan struct{}, 1), closed: make(chan struct{})}
}

// send writes or queues a message. It waits while the queue is full, until ended is closed.
func (f *feed) send(ctx context.Context, data []byte, ended <-chan struct{}) error {
	if f.write(data) {
		return nil
	}
	var err error
	select {
	case f.queue <- data:
		return nil
	case <-f.closed:
		err = io.ErrClosedPipe
	case <-ended:
		err = io.ErrClosedPipe
	case <-ctx.Done():
		err = ctx.Err()
	}
	f.done()
	return err
}

// offer writes or queues a message, and drops it if the queue is full.
func (f *feed) offer(data []byte) {
	if f.write(data) {
		return
	}
	select {
	case f.queue <- data:
	default:
		f.done()
	}
}

// write writes a message if that does not wait. If it returns false the caller has to queue
// the message, or to call done.
func (f *feed) write(data []byte) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.pipe != nil && f.behind == 0 {
		switch n := writeNow(f.pipe, data); {
		case n == len(data):
			return true
		case n > 0:
			f.behind, f.rest = 1, data[n:]
			select {
			case f.resume <- struct{}{}:
			default: // WriteTo has not taken the last one: it wrote that rest with a message of the queue
			}
			return true
		}
	}
	f.behind++
	return false
}

// done notes that a message is no longer to be written.
func (f *feed) done() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.behind--
}

// WriteTo writes what is queued, until the feed is closed.
func (f *feed) WriteTo(w io.Writer) (written int64, err error) {
	f.mu.Lock()
	f.pipe = immediate(w)
	f.mu.Unlock()
	defer func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.pipe = nil
	}()
	for {
		queued, ok := f.next()
		if !ok {
			return written, nil
		}
		f.mu.Lock()
		rest := f.rest
		f.rest = nil
		f.mu.Unlock()
		for _, data := range [][]byte{rest, queued} {
			if data == nil {
				continue
			}
			n, err := w.Write(data)
			written += int64(n)
			if err != nil {
				return written, err
			}
			f.done()
		}
	}
}

// next waits for a message of the queue, nil for a rest alone. Once the feed is closed and
// the queue is empty it returns false.
func (f *feed) next() (data []byte, ok bool) {
	select {
	case data = <-f.queue:
		return data, true
	case <-f.resume:
		return nil, true
	default:
	}
	select {
	case data = <-f.queue:
		return data, true
	case <-f.resume:
		return nil, true
	case <-f.closed:
		return nil, false
	}
}

// Read is for those who do not know WriteTo. It needs room for a message.
func (f *feed) Read(p []byte) (int, error) {
	data, ok := f.next()
	if !ok {
		return 0, io.EOF
	}
	f.done()
	if len(data) > len(p) {
		return copy(p, data), io.ErrShortBuffer
	}
	return copy(p, data), nil
}

func (f *feed) Close() error {
	f.closing.Do(func() { close(f.closed) })
	return nil
}
