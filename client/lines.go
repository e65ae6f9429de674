package client

import (
	"bytes"
	"fmt"
	"io"
	"sync"
)

// lines splits what is written into lines. Write never fails; after a line that is too long
// everything is passed over.
type lines struct {
	take    func(line []byte)
	tooLong func(error)
	kept    []byte // of a line that has not ended
	over    bool
}

func (l *lines) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 && !l.over {
		part, rest, whole := bytes.Cut(p, []byte("\n"))
		if len(l.kept)+len(part) > maxLine {
			l.over, l.kept = true, nil
			l.tooLong(fmt.Errorf("the program wrote a line of more than %d MB", maxLine>>20))
			break
		}
		if !whole {
			l.kept = append(l.kept, part...)
			break
		}
		line := append(l.kept, part...)
		l.kept = nil
		if line = bytes.TrimSpace(line); len(line) > 0 {
			l.take(line)
		}
		p = rest
	}
	return n, nil
}

// A feed is a queue of lines that a process or a server reads as its input.
type feed struct {
	mu     sync.Mutex
	more   sync.Cond
	queue  [][]byte
	bytes  int
	closed bool
}

func newFeed() *feed {
	f := new(feed)
	f.more.L = &f.mu
	return f
}

// add appends a line. It does not wait for the reader.
func (f *feed) add(line []byte) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return errEnded
	}
	if f.bytes+len(line) > maxUnread {
		return fmt.Errorf("%d MB wait for the reader, which does not read", maxUnread>>20)
	}
	f.queue = append(f.queue, append(line, '\n'))
	f.bytes += len(line) + 1
	f.more.Signal()
	return nil
}

// Read waits for a line. After Close it returns the lines that are there, then [io.EOF].
func (f *feed) Read(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for len(f.queue) == 0 {
		if f.closed {
			return 0, io.EOF
		}
		f.more.Wait()
	}
	n := copy(p, f.queue[0])
	if f.queue[0] = f.queue[0][n:]; len(f.queue[0]) == 0 {
		f.queue[0] = nil
		f.queue = f.queue[1:]
	}
	f.bytes -= n
	return n, nil
}

// Close ends the input.
func (f *feed) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	f.more.Broadcast()
	return nil
}

// stderr keeps the end of the program's error output.
type stderr Session

func (w *stderr) Write(p []byte) (int, error) {
	w.mu.Lock()
	w.stderr = append(w.stderr, p[max(0, len(p)-keptError):]...)
	w.stderr = append(w.stderr[:0], w.stderr[max(0, len(w.stderr)-keptError):]...)
	w.mu.Unlock()
	if w.o.Stderr != nil {
		return w.o.Stderr.Write(p)
	}
	return len(p), nil
}
