package streamjson

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
)

// Writer writes JSON objects to stdout, one per line. Answers to control requests overtake waiting lines.
// Writing data waits for a slow reader. The run continues, because its events are queued.
type Writer struct {
	w    io.Writer
	fail func(error) // called once when writing to stdout fails

	mu      sync.Mutex
	changed *sync.Cond
	control [][]byte
	data    [][]byte
	closed  bool
	hurried bool // closed when slow readers are no longer waited for
	err     error
	done    chan struct{}
}

// Maximum numbers of waiting lines.
const (
	maxData    = 16
	maxControl = 1024
)

// NewWriter returns a Writer. fail is called once if w cannot be written.
func NewWriter(w io.Writer, fail func(error)) *Writer {
	l := &Writer{w: w, fail: fail, done: make(chan struct{})}
	l.changed = sync.NewCond(&l.mu)
	go l.run()
	return l
}

// StopWaiting makes Put stop waiting for the reader once ctx has ended. The remaining lines are
// kept until they are read or Close gives up.
func (l *Writer) StopWaiting(ctx context.Context) (stop func() bool) {
	return context.AfterFunc(ctx, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.hurried = true
		l.changed.Broadcast()
	})
}

func (l *Writer) run() {
	defer close(l.done)
	for {
		line, ok := l.next()
		if !ok {
			return
		}
		if _, err := l.w.Write(line); err != nil {
			err = fmt.Errorf("writing to stdout: %w", err)
			l.mu.Lock()
			l.err = err
			l.control, l.data = nil, nil
			l.changed.Broadcast()
			l.mu.Unlock()
			l.fail(err)
			return
		}
	}
}

func (l *Writer) next() ([]byte, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.control) == 0 && len(l.data) == 0 && !l.closed {
		l.changed.Wait()
	}
	defer l.changed.Broadcast()
	for _, queue := range []*[][]byte{&l.control, &l.data} {
		if len(*queue) > 0 {
			line := (*queue)[0]
			*queue = (*queue)[1:]
			return line, true
		}
	}
	return nil, false
}

// Put queues a line of data.
func (l *Writer) Put(v any) { l.add(&l.data, maxData, v) }

// ask queues a control request, or its withdrawal. It comes after the lines that it is about, and does
// not wait for a slow reader.
func (l *Writer) ask(v any) { l.add(&l.data, maxControl, v) }

// answer queues a control line.
func (l *Writer) answer(v any) { l.add(&l.control, maxControl, v) }

func (l *Writer) add(queue *[][]byte, most int, v any) {
	line, err := cli.EncodeLine(v)
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil {
		l.err = err
	}
	for len(*queue) >= most && l.err == nil && !l.closed && !l.hurried {
		l.changed.Wait()
	}
	if l.err == nil && !l.closed {
		*queue = append(*queue, line)
		l.changed.Broadcast()
	}
}

// Close waits until everything is written. Once ctx has ended, it waits only briefly for a stalled
// reader.
func (l *Writer) Close(ctx context.Context) error {
	l.mu.Lock()
	l.closed = true
	l.changed.Broadcast()
	l.mu.Unlock()
	select {
	case <-l.done:
	case <-ctx.Done():
		select {
		case <-l.done:
		case <-time.After(time.Second):
			return fmt.Errorf("writing to stdout: the reader stopped reading")
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}
