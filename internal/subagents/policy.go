package subagents

import (
	"context"
	"slices"

	"github.com/openagent-go/agent/hook"
	"github.com/openagent-go/agent/internal/hookconst"
	"github.com/openagent-go/agent/internal/policies"
	"github.com/openagent-go/agent/internal/rules"
	"github.com/openagent-go/agent/permission"
)

// strict is a child's own Decider, restricted: it may deny, ask and defer, but not allow.
type strict struct{ own permission.Decider }

func (s strict) Decide(r permission.Request) permission.Decision {
	if d := s.own.Decide(r); d.Behavior != permission.Allowed {
		return d
	}
	return permission.Decision{}
}

// Conceals implements [rules.Concealer] if the inner Decider does.
func (s strict) Conceals(path string) bool {
	c, ok := s.own.(rules.Concealer)
	return ok && c.Conceals(path)
}

func (s strict) ConcealsIn(folder string) bool {
	c, ok := s.own.(rules.Concealer)
	return ok && c.ConcealsIn(folder)
}

// DenyOnly returns a child's own Deciders, restricted so that they cannot allow anything.
func DenyOnly(own []permission.Decider) []permission.Decider {
	out := slices.Clone(own)
	for i, j := range out {
		if j != nil {
			out[i] = strict{j}
		}
	}
	return out
}

// A Parent returns the current limits on the calls of an agent.
type Parent interface {
	// Rules returns the parent's rules, in the mode that limits its agents.
	Rules() *policies.Compiled
	// Unreadable returns the files that the parent may not read.
	Unreadable() *rules.Unreadable
}

// ParentPolicy returns a Decider that applies the parent's deny rules and plan mode to a child, as
// they are at each call. For other modes, see [Stricter].
func ParentPolicy(p Parent) permission.Decider { return parentPolicy{p} }

type parentPolicy struct{ parent Parent }

// Conceals reports whether the parent may not read the file now.
func (a parentPolicy) Conceals(path string) bool { return a.parent.Unreadable().HidesPlain(path, "") }

func (a parentPolicy) ConcealsIn(folder string) bool {
	return a.parent.Unreadable().Under(folder) != nil
}

func (a parentPolicy) Decide(r permission.Request) permission.Decision {
	rules := a.parent.Rules()
	if d := rules.Denies(&r); d != nil {
		return *d
	}
	if d := rules.Waits(&r); d != nil {
		return *d
	}
	if !rules.Plans() {
		return permission.Decision{}
	}
	if d := rules.Decide(&r); d.Behavior == permission.Asked && d.Source == policies.FromMode {
		return *d // access to the network
	}
	return permission.Decision{}
}

// RestrictHooks returns a child's own hooks, restricted: they cannot allow a call in place
// of the parent's hooks and callback. They can only add rules that deny or ask.
func RestrictHooks(own []hook.Hook) []hook.Hook {
	out := slices.Clone(own)
	for i := range out {
		call := out[i].Func
		if call == nil {
			continue
		}
		out[i].Func = func(ctx context.Context, in *hook.Input) (hook.Output, error) {
			o, err := call(ctx, in)
			if o.Permission == permission.Allowed {
				o.Permission = permission.NoOpinion
			}
			o.Updates = slices.DeleteFunc(slices.Clone(o.Updates), func(u hook.Update) bool {
				return u.Type != hookconst.AddRules || u.Behavior != permission.Denied && u.Behavior != permission.Asked
			})
			return o, err
		}
	}
	return out
}

// Stricter returns mode, or above if that permits less.
//
//go:noinline // called from many places: every program stays smaller
func Stricter(mode, above permission.Mode) permission.Mode {
	if strictness(above) > strictness(mode) {
		return above
	}
	return mode
}

// strictness returns the rank of a mode: the higher, the more it forbids.
//
//go:noinline // called from many places: every program stays smaller
func strictness(m permission.Mode) int {
	return slices.Index([]permission.Mode{"", permission.Bypass, permission.Auto, permission.AcceptEdits, permission.Default, permission.DontAsk, permission.Plan}, m)
}
