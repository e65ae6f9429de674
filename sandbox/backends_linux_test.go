package sandbox

import (
	"errors"
	"os/exec"
	"slices"
	"testing"
)

// What bubblewrap does not hold is said by [bubblewrap.Lacks]. Its first process may
// be looked into: it has nothing that the others do not have.
func TestBubblewrapEscapes(t *testing.T) {
	if _, err := exec.LookPath("bwrap"); err != nil {
		t.Skip("bubblewrap is not installed")
	}
	if err := tryBubblewrap(Policy{}); err != nil {
		t.Skipf("bubblewrap does not work here: %v", err)
	}
	helper := tools(t)
	for _, a := range attempts {
		if a.user || slices.Contains([]string{
			"descriptors", "a link to settings", "descriptors of the first", "environment of the first", "memory of the first",
		}, a.name) {
			continue
		}
		t.Run(a.name, func(t *testing.T) {
			w := makeWorld(t, helper)
			if touched, output := w.try(t, a, helper, bubblewrap{}); touched != "" {
				t.Errorf("ESCAPE: %s\n%s", touched, output)
			}
		})
	}
	if out, code, _, _ := run(t, bubblewrap{}, Policy{}, "echo hello; exit 3"); out != "hello\n" || code != 3 {
		t.Errorf("%q, %d", out, code)
	}
}

// The first that works is taken, and it is said why those before it are not.
func TestSearch(t *testing.T) {
	no := errors.New("no")
	works := func(Policy) error { return nil }
	fails := func(Policy) error { return no }
	f := search([]candidate{{native{}, fails}, {bubblewrap{}, works}}, Policy{})
	if f.backend != Backend(bubblewrap{}) || len(f.attempts) != 1 || f.attempts[0] != (Attempt{"native", no}) {
		t.Errorf("%v", f)
	}
	if f := search([]candidate{{native{}, fails}}, Policy{}); f.backend != nil {
		t.Errorf("%v", f)
	}
}

func TestSeatbeltProfile(t *testing.T) {
	got := seatbeltProfile(Policy{
		Write: []string{"/w", "/w/h/rw"}, ReadOnly: []string{"/w/.git/hooks"}, Hidden: []string{"/w/h", `/odd"name`}, LocalBinding: true,
	})
	const want = `(version 1)
(allow default)
(deny signal)
(allow signal (target same-sandbox))
(deny process-info* (target others))
(deny file-write*)
(allow file-write* (literal "/dev/null"))
(allow file-write* (literal "/dev/zero"))
(allow file-write* (literal "/dev/tty"))
(allow file-write* (literal "/dev/stdout"))
(allow file-write* (literal "/dev/stderr"))
(allow file-write* (subpath "/dev/fd"))
(deny file-read* file-write* (subpath "/odd\"name"))
(allow file-read* file-write* (subpath "/w"))
(allow file-read* (subpath "/w/.git/hooks"))
(deny file-write* (subpath "/w/.git/hooks"))
(deny file-write-unlink (literal "/w/.git"))
(deny file-read* file-write* (subpath "/w/h"))
(allow file-read* file-write* (subpath "/w/h/rw"))
(deny network*)
(allow network-bind network-inbound (local ip "localhost:*"))
`
	if got != want {
		t.Errorf("got\n%s", got)
	}
}
