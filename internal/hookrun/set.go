package hookrun

import (
	"fmt"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/openagent-go/agent/hook"
)

const defaultTimeout = time.Minute

func compile(h hook.Hook) (compiled, error) {
	switch {
	case !slices.Contains(hook.Events, h.On):
		return compiled{}, fmt.Errorf("there is no hook event %q; the events are %v", h.On, hook.Events)
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
	hook.Hook
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
	on map[hook.Event][]compiled
}

// Compile makes a Set. An error names the hook and its mistake.
func Compile(hooks []hook.Hook) (*Set, error) {
	if len(hooks) == 0 {
		return nil, nil
	}
	s := &Set{on: map[hook.Event][]compiled{}}
	for _, h := range hooks {
		c, err := compile(h)
		if err != nil {
			return nil, err
		}
		s.on[h.On] = append(s.on[h.On], c)
	}
	return s, nil
}

// Events lists the events that the set has hooks for.
//
//go:noinline // called from many places: every program stays smaller
func (s *Set) Events() []hook.Event {
	if s == nil {
		return nil
	}
	var list []hook.Event
	for _, e := range hook.Events {
		if len(s.on[e]) > 0 {
			list = append(list, e)
		}
	}
	return list
}

// Has reports whether a hook would be called at an event about the subject.
func (s *Set) Has(e hook.Event, subject string) bool {
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

// subjectOf is the text that a hook's Match is compared with.
func subjectOf(in *hook.Input) string {
	switch Subject(in.Event) {
	case "tool_name":
		return in.Tool
	case "source":
		return in.Source
	case "reason":
		return in.Reason
	case "error":
		return in.Error
	case "trigger":
		return in.Trigger
	case "command_name":
		return in.Fields["command_name"]
	case "notification_type":
		return in.Kind
	case "file_path":
		return path.Base(filepath.ToSlash(in.Fields["file_path"]))
	case "load_reason":
		return in.Fields["load_reason"]
	case "agent_type":
		return in.Agent
	case "mcp_server_name":
		return in.Server
	}
	return ""
}
