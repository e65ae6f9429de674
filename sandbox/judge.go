package sandbox

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/openagent-go/agent/internal/policies"
	"github.com/openagent-go/agent/internal/rules/paths"
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
		return permission.Decision{Behavior: permission.Denied, Source: policies.FromPolicy, Reason: v.err.Error()}
	}
	var doubt permission.Decision
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
		var denied *DeniedError
		switch {
		case err == nil:
		case errors.As(err, &denied) && denied.doubt:
			doubt = permission.Decision{Behavior: permission.Asked, Source: policies.FromPolicy,
				Reason: fmt.Sprintf("the command %q is told to open %s: %s", text.Bytes(a.Target, maxShown), denied.Path, denied.Why)}
		default:
			return permission.Decision{Behavior: permission.Denied, Source: policies.FromPolicy, Reason: err.Error()}
		}
	}
	if doubt.Behavior != permission.NoOpinion {
		return doubt
	}
	return s.unconfined(q)
}

// WriteProtected is asked by permission rules, see [permission.Decider]. It lists nothing if the backend
// does not enforce all rules about files.
func (s *Sandbox) WriteProtected(dir string) []string {
	if !s.holdsFiles {
		return nil
	}
	v := s.at(dir)
	if v.err != nil {
		return nil
	}
	return v.rules.writeProtected()
}

// writeProtected lists the paths that are not written. Behind a symlink a path is not
// protected by its own name: the link can be replaced.
func (r *Rules) writeProtected() (list []string) {
	dir, real := filepath.Clean(r.place.Dir), paths.RealPath(r.place.Dir)
	for _, e := range slices.Concat(r.keep, r.denied) {
		clean := e.clean
		if below(dir, clean) {
			clean = real + clean[len(dir):]
		}
		if clean == e.real {
			list = append(list, e.real)
		}
	}
	return list
}

// Conceals is asked by permission rules, see [permission.Decider]: searches do not show files that must not be
// read.
func (s *Sandbox) Conceals(path string) bool {
	if s.rules.mayBeCopy(path) {
		return s.now().rules.conceals(path)
	}
	return s.known().rules.conceals(path)
}

// ConcealsIn reports whether a rule hides something in a folder.
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
			return permission.Decision{Behavior: permission.Asked, Source: policies.FromPolicy,
				Reason: fmt.Sprintf("the command %q would run outside of the sandbox", text.Bytes(a.Target, maxShown))}
		}
		if permission.ReadOnly().Decide(q).Behavior != permission.Allowed {
			return permission.Decision{Behavior: permission.Asked, Source: policies.FromPolicy,
				Reason: fmt.Sprintf("the sandbox is enabled but there is none here (%s), so the command %q would run unconfined", s.whyNone(), text.Bytes(a.Target, maxShown))}
		}
	}
	return permission.Decision{}
}

// Outside reports whether a command line always runs outside of the sandbox: it is
// one simple command, and excluded.
func (s *Sandbox) Outside(line, dir string) bool { return s.rules.excludes(line, dir) }
