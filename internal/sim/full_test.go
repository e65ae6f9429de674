package sim

import (
	"sync"
	"syscall"
	"time"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/faultdisk"
	"github.com/openagent-go/agent/session"
)

// DiskError lets changes of files fail for a while: the disk is full, or broken.
type DiskError struct {
	Changes int // how many still succeed
	Stays   bool
	Full    bool
	For     time.Duration
}

func (o DiskError) run(w *world) {
	if w.fault.disk != nil {
		w.fault.errors.arm(o)
	}
}

// diskErrors says which operations of the disk fail. The zero value is none.
type diskErrors struct {
	mu         sync.Mutex
	op         DiskError
	until      time.Time
	last       time.Time // when the last one failed; zero: none has
	syncFailed bool      // a system forgets then what it could not write
	world      *world
}

func (d *diskErrors) arm(o DiskError) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.op, d.until = o, time.Now().Add(o.For)
}

// ask fails an operation.
func (d *diskErrors) ask(op faultdisk.Op) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	o := &d.op
	frees := op.Kind == faultdisk.Remove || op.Kind == faultdisk.Truncate || op.Kind == faultdisk.Sync || op.Kind == faultdisk.SyncFolder || op.Kind == faultdisk.Chmod
	if !op.Kind.Changes() || !time.Now().Before(d.until) || o.Full && frees {
		return nil
	}
	if o.Changes > 0 {
		o.Changes--
		return nil
	}
	if !o.Stays {
		d.until = time.Time{}
	}
	d.last = time.Now()
	if o.Full {
		d.world.meet("disk full")
		return syscall.ENOSPC
	}
	d.world.meet("disk fails")
	d.syncFailed = d.syncFailed || op.Kind == faultdisk.Sync || op.Kind == faultdisk.SyncFolder
	return syscall.EIO
}

// since reports whether an operation has failed since a time.
func (d *diskErrors) since(t time.Time) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return !d.last.IsZero() && !d.last.Before(t)
}

// expected are the errors that calls may meet while the disk fails, and from sessions whose log
// has failed.
func (d *diskErrors) expected() []error {
	if d.since(time.Time{}) {
		return []error{syscall.ENOSPC, syscall.EIO, session.ErrBroken}
	}
	return nil
}

// reopened takes in what the disk has of a session whose log had failed: the facts that were
// being written may be there.
func (w *world) reopened(path string, last int64) {
	w.ledger.mu.Lock()
	tried := w.fault.tried[path]
	var there []event.Event
	for _, e := range tried {
		if e.Seq <= last && e.Seq > int64(len(w.ledger.facts[path])) {
			there = append(there, e)
		}
	}
	delete(w.fault.tried, path)
	w.ledger.mu.Unlock()
	if len(there) > 0 {
		w.recorded(path, there, false)
	}
}

// renew opens a session again if the disk has failed since it was opened.
func (w *world) renew(h *handle) {
	if h.open == nil || !w.fault.errors.since(h.opened) {
		return
	}
	w.expect(h.open.Close(), "closing a session after the disk has failed")
	w.await(h)
	h.open = nil
	w.showTools()
}
