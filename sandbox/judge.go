package sandbox

import (
	"fmt"

	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/permission"
)

// Decide judges a call by the settings; it makes a [permission.Decider] of s. Denied files
// and command lines are denied in every mode. If the sandbox is enabled, but a command
// would run outside of it, the user is asked: the system has no backend, or the call asks
// for it.
func (s *Sandbox) Decide(q permission.Request) permission.Decision {
	v := s.at(q.Dir)
	if v.err != nil {
		return permission.Decision{Behavior: permission.Denied, Source: permission.FromPolicy, Reason: v.err.Error()}
	}
	for _, a := range q.Access {
		var err error
		switch a.Kind {
		case permission.ReadFile, permission.EditFile:
			err = v.rules.CheckPath(a.Target, a.Kind)
		case permission.RunCommand:
			dir := a.Dir
			if dir == "" {
				dir = q.Dir
			}
			err = v.rules.checkCommand(a.Target, dir, s.holdsFiles && q.Confined)
		}
		if err != nil {
			return permission.Decision{Behavior: permission.Denied, Source: permission.FromPolicy, Reason: err.Error()}
		}
	}
	return s.unconfined(q)
}

// Conceals makes s a [permission.Concealer]: searches do not show files that must not be
// read.
func (s *Sandbox) Conceals(path string) bool {
	if s.rules.mayBeCopy(path) {
		return s.now().rules.conceals(path)
	}
	return s.known().rules.conceals(path)
}

func (s *Sandbox) ConcealsIn(folder string) bool { return s.now().rules.concealsIn(folder) }

// unconfined asks about command lines that would run outside of a sandbox that
// is enabled. Those that are known to change nothing, and those that the user
// has excluded, are judged as without one.
func (s *Sandbox) unconfined(q permission.Request) permission.Decision {
	if !s.rules.settings.Enabled || q.Confined {
		return permission.Decision{}
	}
	for _, a := range q.Access {
		if a.Kind != permission.RunCommand || s.Outside(a.Target, a.Dir) {
			continue
		}
		if s.backend != nil {
			return permission.Decision{Behavior: permission.Asked, Source: permission.FromPolicy,
				Reason: fmt.Sprintf("the command %q would run outside of the sandbox", text.Bytes(a.Target, maxShown))}
		}
		if (permission.ReadOnly{}).Decide(q).Behavior != permission.Allowed {
			return permission.Decision{Behavior: permission.Asked, Source: permission.FromPolicy,
				Reason: fmt.Sprintf("the sandbox is enabled but there is none here (%s), so the command %q would run unconfined", s.whyNone(), text.Bytes(a.Target, maxShown))}
		}
	}
	return permission.Decision{}
}

// Outside reports whether a command line always runs outside of the sandbox: it is
// one simple command, and excluded.
func (s *Sandbox) Outside(line, dir string) bool { return s.rules.excludes(line, dir) }
