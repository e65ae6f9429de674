package term

import (
	"os"
	"time"

	"golang.org/x/sys/windows"
)

// A waiter waits until a console has something to read, or is woken.
type waiter struct{ in, event windows.Handle }

func newWaiter(in *os.File) (*waiter, error) {
	event, err := windows.CreateEvent(nil, 0, 0, nil)
	if err != nil {
		return nil, err
	}
	return &waiter{in: windows.Handle(in.Fd()), event: event}, nil
}

// wait waits for something to read, for wake, or for a time if it is not 0.
func (w *waiter) wait(d time.Duration) (ready, woken bool, err error) {
	timeout := uint32(windows.INFINITE)
	if d > 0 {
		timeout = uint32(d.Milliseconds())
	}
	which, err := windows.WaitForMultipleObjects([]windows.Handle{w.event, w.in}, false, timeout)
	return which == windows.WAIT_OBJECT_0+1, which == windows.WAIT_OBJECT_0 && err == nil, err
}

func (w *waiter) wake() error  { return windows.SetEvent(w.event) }
func (w *waiter) close() error { return windows.CloseHandle(w.event) }
