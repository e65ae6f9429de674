package sandbox

import "sync"

// A candidate is a backend that may work on this system.
type candidate struct {
	backendKind
	try func(p confinement) error // nil: it works
}

// needs are the parts of a policy that decide whether a backend works.
type needs struct{ weaker, nested bool }

type finding struct {
	backend  backendKind
	attempts []refusal
}

var (
	foundMu sync.Mutex
	found   = map[needs]finding{}
)

// detect returns the strongest backend that works here, tried out with a real process, and
// the reasons why stronger ones do not. It is nil if there is none. The result is cached
// for the life of the process.
func detect(p confinement) (backendKind, []refusal) {
	foundMu.Lock()
	defer foundMu.Unlock()
	n := needs{weaker: p.Weaker, nested: p.Nested}
	f, ok := found[n]
	if !ok {
		f = search(candidates(), confinement{Weaker: n.weaker, Nested: n.nested})
		found[n] = f
	}
	return f.backend, f.attempts
}

// search tries the candidates in their order.
func search(all []candidate, p confinement) (f finding) {
	for _, c := range all {
		err := c.try(p)
		if err == nil {
			f.backend = c.backendKind
			return f
		}
		f.attempts = append(f.attempts, refusal{Name: c.Name(), Err: err})
	}
	return f
}
