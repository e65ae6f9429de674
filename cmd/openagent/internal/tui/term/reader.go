package term

import (
	"errors"
	"os"
	"time"

	"github.com/openagent-go/agent/cmd/openagent/internal/tui/input"
)

// A reader reads from a terminal in a goroutine that can be stopped: another program may be
// given the terminal, which must lose no key to the reader.
type reader struct {
	in      *os.File
	waiter  *waiter
	decoder Decoder
	quit    chan struct{} // closed by stop
	done    chan struct{} // closed when the goroutine has ended; nil: none was started
	ended   bool          // the terminal has ended
}

func newReader(in *os.File) (*reader, error) {
	w, err := newWaiter(in)
	if err != nil {
		return nil, err
	}
	return &reader{in: in, waiter: w}, nil
}

// start begins to read for t.
func (r *reader) start(t *Terminal) {
	if r.ended {
		return
	}
	r.quit, r.done = make(chan struct{}), make(chan struct{})
	go func() {
		defer close(r.done)
		defer t.Rescue()
		r.run(t)
	}()
}

// stop ends the goroutine and waits for it.
func (r *reader) stop() error {
	if r.done == nil {
		return nil
	}
	close(r.quit)
	err := r.waiter.wake()
	if err == nil {
		<-r.done
		r.done = nil
	}
	return err
}

// close releases what the reader holds. It is stopped before.
func (r *reader) close() error { return r.waiter.close() }

const readSize = 64 << 10

func (r *reader) run(t *Terminal) {
	buf := make([]byte, readSize)
	for {
		ready, woken, err := r.waiter.wait(r.decoder.Wait())
		if woken {
			return
		}
		if err == nil && !ready {
			if !r.send(t, r.decoder.Flush()) {
				return
			}
			continue
		}
		n := 0
		if err == nil {
			n, err = r.read(buf)
		}
		in, replies := r.decoder.decode(buf[:n])
		if len(replies) > 0 {
			t.learn(replies)
		}
		if (len(in) > 0 || len(replies) > 0) && !r.send(t, in) {
			return
		}
		if err != nil || n == 0 {
			r.ended = true
			close(t.inputs)
			return
		}
	}
}

// read reads what is there. Many bytes that end with a carriage return may be a part of a
// paste: the rest of it says whether the last line has ended, or Enter was pressed.
func (r *reader) read(buf []byte) (n int, err error) {
	n, err = r.in.Read(buf)
	for err == nil && n > 1 && n < len(buf) && (buf[n-1] == '\r' || r.decoder.LineFeed && buf[n-1] == '\n') {
		ready, woken, failed := r.waiter.wait(10 * time.Millisecond)
		if woken {
			return n, errors.Join(failed, r.waiter.wake())
		}
		if !ready || failed != nil {
			break
		}
		var more int
		more, err = r.in.Read(buf[n:])
		n += more
	}
	return n, err
}

// send passes a batch on, unless the reader is stopped first.
func (r *reader) send(t *Terminal, in []input.Input) bool {
	select {
	case t.inputs <- in:
		return true
	case <-r.quit:
		return false
	}
}
