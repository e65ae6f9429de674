package faultdisk

import (
	"errors"
	"strings"
	"testing"

	"github.com/openagent-go/agent/internal/safefile"
)

// A Case is a kind of store whose changes must survive crashes. S is what programs open.
type Case[S any] struct {
	Open    func(folder string) S
	Close   func(S) error             // nil: nothing is to be closed
	Change  func(s S, n int) error    // makes change n, counting from 1; the same one every time
	State   func(s S) (string, error) // all that was changed, as a text
	Left    func(line string) bool    // lines of [Disk.Dump] about temporary files that may be left; nil: none
	Ordered bool                      // see [Disk]
	Same    func() S                  // a store that no crash can harm, such as one in memory
}

// changes are how many changes a program makes at most.
const changes = 6

// Check kills programs at each of their changes of files, with power losses and without, and
// lets single operations fail. The next program must find what was acknowledged, and perhaps the
// change in progress, whole. Nobody holds a lock or an open file then, and no temporary file is
// left once something more was changed.
func Check[S any](t *testing.T, c Case[S]) {
	t.Helper()
	states := c.states(t)
	for at := 1; ; at++ {
		alive := true
		for i, how := range []string{"kill", "power loss", "power loss", "kill and power loss", "error"} {
			ends := c.crash(t, at, uint64(10*at+i), how, states)
			alive = alive && !ends
			if t.Failed() {
				return
			}
		}
		if alive {
			if at < changes {
				t.Errorf("there were only %d changes of files", at-1)
			}
			return
		}
	}
}

// states returns the state after each change.
func (c Case[S]) states(t *testing.T) (states []string) {
	t.Helper()
	s := c.Same()
	for n := range 2*changes + 2 {
		if n > 0 {
			if err := c.Change(s, n); err != nil {
				t.Fatalf("change %d of the store that is compared with: %v", n, err)
			}
		}
		state, err := c.State(s)
		if err != nil {
			t.Fatal(err)
		}
		states = append(states, state)
	}
	return states
}

// crash lets a program end or an operation fail at a change of files, and reports whether it
// came to that.
func (c Case[S]) crash(t *testing.T, at int, seed uint64, how string, states []string) (ended bool) {
	t.Helper()
	d := New(seed)
	d.Ordered = c.Ordered
	defer d.Leave()
	p := d.Start()
	s := c.Open(p.Path("store"))
	cause := ErrDead
	done := func() int { return 0 }
	if how == "error" {
		cause = errFault
		d.Ask, done = At(at, false, cause, Changes...)
	} else {
		p.KillAt(at)
	}
	acked, tried := c.change(t, s, 0, changes, cause)
	d.Ask = nil
	ended = p.dead || done() >= at
	find := func(p *Program, s S) {
		t.Helper()
		got, err := c.State(s)
		switch {
		case err != nil:
			t.Fatalf("change %d, %s, seed %d: reading: %v\n%s", at, how, seed, err, d.Dump())
		case got == states[acked]:
		case got == states[tried]:
			acked = tried
		default:
			t.Fatalf("change %d, %s, seed %d: %d changes were acknowledged, and there is\n%s\nwant\n%s\n%s", at, how, seed, acked, got, states[acked], d.Dump())
		}
		tried = acked
	}
	if how == "error" {
		find(p, s) // the program continues
	} else {
		if how == "power loss" {
			d.PowerLoss()
		}
		p.Kill()
		_ = c.close(s) // a dead program, so it fails
		p = d.Start()
		s = c.Open(p.Path("store"))
		promised := acked
		find(p, s)
		if acked > promised && how == "kill and power loss" {
			return ended // it is there, but nobody has promised that it stays
		}
	}
	more := changes - acked + 2
	if acked, tried = c.change(t, s, acked, more, nil); acked < tried {
		t.Fatalf("change %d, %s, seed %d: it does not continue", at, how, seed)
	}
	if how == "kill and power loss" {
		d.PowerLoss()
		p = d.Start()
		s = c.Open(p.Path("store"))
	}
	find(p, s)
	if err := c.close(s); err != nil {
		t.Fatalf("change %d, %s, seed %d: closing: %v", at, how, seed, err)
	}
	if p.Locks() > 0 || len(p.Files()) > 0 {
		t.Fatalf("change %d, %s, seed %d: %d locks are held, and open is %q", at, how, seed, p.Locks(), p.Files())
	}
	if how == "kill and power loss" {
		return ended // nobody was there since who removes files
	}
	for line := range strings.Lines(d.Dump()) {
		temporary := strings.Contains(line, safefile.TempName("")) || strings.Contains(line, ".tmp-") || strings.Contains(line, "part ")
		if temporary && (c.Left == nil || !c.Left(line)) {
			t.Fatalf("change %d, %s, seed %d: a temporary file is left:\n%s", at, how, seed, d.Dump())
		}
	}
	return ended
}

var errFault = errors.New("the operation failed")

// change makes changes after number n until the first error. It returns how many changes the
// store has acknowledged, and how many it was asked for.
func (c Case[S]) change(t *testing.T, s S, n, more int, cause error) (acked, tried int) {
	t.Helper()
	for range more {
		err := c.Change(s, n+1)
		if err != nil {
			if cause == nil || !errors.Is(err, cause) {
				t.Fatalf("change %d: %v", n+1, err)
			}
			return n, n + 1
		}
		n++
	}
	return n, n
}

func (c Case[S]) close(s S) error {
	if c.Close == nil {
		return nil
	}
	return c.Close(s)
}
