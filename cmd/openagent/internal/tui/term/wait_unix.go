//go:build unix

package term

import (
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// A waiter waits until a terminal has something to read, or is woken. It uses select, because
// poll of macOS does not know terminals.
type waiter struct {
	fd         int
	awake, own *os.File // the ends of a pipe
}

func newWaiter(in *os.File) (*waiter, error) {
	awake, own, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	w := &waiter{fd: int(in.Fd()), awake: awake, own: own}
	if w.fd >= unix.FD_SETSIZE || int(awake.Fd()) >= unix.FD_SETSIZE {
		return nil, errors.Join(fmt.Errorf("reading from the terminal: the program has too many open files; close some, or start it with fewer"), w.close())
	}
	return w, nil
}

// wait waits for something to read, for wake, or for a time if it is not 0.
func (w *waiter) wait(d time.Duration) (ready, woken bool, err error) {
	var end time.Time
	if d > 0 {
		end = time.Now().Add(d)
	}
	awake := int(w.awake.Fd())
	for {
		var set unix.FdSet
		set.Set(w.fd)
		set.Set(awake)
		var left *unix.Timeval
		if d > 0 {
			tv := unix.NsecToTimeval(int64(max(time.Until(end), 0)))
			left = &tv
		}
		_, err = unix.Select(max(w.fd, awake)+1, &set, nil, nil, left)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return false, false, err
		}
		if set.IsSet(awake) {
			_, err = w.awake.Read(make([]byte, 1))
			return false, true, err
		}
		return set.IsSet(w.fd), false, nil
	}
}

func (w *waiter) wake() error {
	_, err := w.own.Write([]byte{0})
	return err
}

func (w *waiter) close() error { return errors.Join(w.awake.Close(), w.own.Close()) }
