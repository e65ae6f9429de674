package hook

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
)

// A Func is called at the moment that its [Hook] names. The input is not to be
// changed. It should return when ctx ends; one that does not is left behind.
type Func func(ctx context.Context, in *Input) (Output, error)

// A Hook is called at an event. Hooks of one moment run one after the other, in order, all
// of them, and each sees the changes of those before it. Hooks of different tool calls may
// run at once. If the event [Event.Guards], a hook that fails, panics or is late blocks the
// guarded action; at other events the failure is reported and changes nothing. A hook may
// be called again for the same moment after a crash.
type Hook struct {
	On Event
	// Match selects by the subject of the event, see [Event.Subject]: names with | between
	// them, as "Edit|Write", or else a regular expression that matches a part of it, as
	// "^mcp__". "" and "*" match everything.
	Match   string
	Timeout time.Duration // 0: 60 s
	Func    Func
	Name    string // what the hook is called in reports; "" is "function"
}

const defaultTimeout = time.Minute

func (h Hook) compile() (compiled, error) {
	switch {
	case !h.On.Known():
		return compiled{}, fmt.Errorf("there is no hook event %q; the events are %v", h.On, Events)
	case h.Func == nil:
		return compiled{}, fmt.Errorf("a hook for %s has no Func", h.On)
	case h.Timeout < 0:
		return compiled{}, fmt.Errorf("a hook for %s has a negative Timeout", h.On)
	}
	c := compiled{Hook: h}
	if h.Timeout == 0 {
		c.Timeout = defaultTimeout
	}
	if h.Name == "" {
		c.Name = "function"
	}
	if h.Match == "" || h.Match == "*" {
		return c, nil
	}
	if _, err := regexp.Compile(h.Match); err != nil {
		return compiled{}, fmt.Errorf("a hook for %s: Match: %w", h.On, err)
	}
	if plain.MatchString(h.Match) {
		c.names = strings.Split(h.Match, "|")
	} else {
		c.match = regexp.MustCompile(h.Match)
	}
	return c, nil
}

// plain matches names with | between them, the usual form: these match whole names.
var plain = regexp.MustCompile(`^[A-Za-z0-9_|-]+$`)

type compiled struct {
	Hook
	names []string       // what it matches; nil: see match
	match *regexp.Regexp // nil, without names: everything
}

func (c *compiled) matches(subject string) bool {
	switch {
	case c.names != nil:
		return slices.Contains(c.names, subject)
	case c.match != nil:
		return c.match.MatchString(subject)
	}
	return true
}

// A Set is hooks that are ready to be called. A nil Set has none. It is safe for
// concurrent use.
type Set struct {
	on map[Event][]compiled
}

// Compile makes a Set. An error names the hook and its mistake.
func Compile(hooks []Hook) (*Set, error) {
	if len(hooks) == 0 {
		return nil, nil
	}
	s := &Set{on: map[Event][]compiled{}}
	for _, h := range hooks {
		c, err := h.compile()
		if err != nil {
			return nil, err
		}
		s.on[h.On] = append(s.on[h.On], c)
	}
	return s, nil
}

// Events lists the events that the set has hooks for.
func (s *Set) Events() []Event {
	if s == nil {
		return nil
	}
	var list []Event
	for _, e := range Events {
		if len(s.on[e]) > 0 {
			list = append(list, e)
		}
	}
	return list
}

// Has reports whether a hook would be called at an event about the subject.
func (s *Set) Has(e Event, subject string) bool {
	if s == nil {
		return false
	}
	for i := range s.on[e] {
		if s.on[e][i].matches(subject) {
			return true
		}
	}
	return false
}

// ErrDepth is the error of a run whose hooks have started too many runs inside each other.
var ErrDepth = errors.New("hooks started too many runs inside each other")

// MaxDepth is how deep runs may be started by hooks of runs.
const MaxDepth = 3

// Depth returns how many hooks ctx is within.
func Depth(ctx context.Context) int {
	if c, ok := ctx.Value(contextKey{}).(*hookContext); ok {
		return c.depth
	}
	if n, ok := ctx.Value(depthKey{}).(int); ok {
		return n
	}
	return 0
}

// WithDepth returns a context that is within n hooks: for a program that was
// started by a hook.
func WithDepth(ctx context.Context, n int) context.Context {
	return context.WithValue(ctx, depthKey{}, n)
}

type depthKey struct{}

// Progress reports a line that a hook has written while it runs.
func Progress(ctx context.Context, line string) {
	if c, ok := ctx.Value(contextKey{}).(*hookContext); ok && c.progress != nil {
		c.progress(line)
	}
}
