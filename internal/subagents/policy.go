package subagents

import (
	"context"
	"slices"

	"github.com/openagent-go/agent/hook"
	"github.com/openagent-go/agent/permission"
)

// A strict policy is a child's own: it may deny, ask and defer, and allows nothing.
type strict struct{ own permission.Decider }

func (s strict) Decide(r permission.Request) permission.Decision {
	if d := s.own.Decide(r); d.Behavior != permission.Allowed {
		return d
	}
	return permission.Decision{}
}

// Conceals makes the policy a [permission.Concealer] where the one in it is.
func (s strict) Conceals(path string) bool {
	c, ok := s.own.(permission.Concealer)
	return ok && c.Conceals(path)
}

func (s strict) ConcealsIn(folder string) bool {
	c, ok := s.own.(permission.Concealer)
	return ok && c.ConcealsIn(folder)
}

// DenyOnly returns a child's own policies as they count: they allow nothing.
func DenyOnly(own []permission.Decider) []permission.Decider {
	out := slices.Clone(own)
	for i, j := range out {
		if j != nil {
			out[i] = strict{j}
		}
	}
	return out
}

// A Parent is what bounds the calls of an agent, as it is at the time of each call.
type Parent interface {
	// Rules are the parent's, in the mode that bounds its agents.
	Rules() *permission.Compiled
	// Unreadable is what the parent may not read.
	Unreadable() *permission.Unreadable
}

// Above returns the parent's deny rules and plan mode as a policy: what is forbidden while a
// child works is forbidden to it. Any mode that permits less bounds the child's, see
// [Stricter].
func Above(p Parent) permission.Decider { return above{p} }

type above struct{ parent Parent }

// Conceals is what the parent may not read now.
func (a above) Conceals(path string) bool { return a.parent.Unreadable().HidesPlain(path, "") }

func (a above) ConcealsIn(folder string) bool { return a.parent.Unreadable().Under(folder) != nil }

func (a above) Decide(r permission.Request) permission.Decision {
	rules := a.parent.Rules()
	if d, denied := rules.Denies(r); denied {
		return d
	}
	if d, waits := rules.Waits(r); waits {
		return d
	}
	if !rules.Plans() {
		return permission.Decision{}
	}
	if d := rules.Decide(r); d.Behavior == permission.Asked && d.Source == permission.FromMode {
		return d // the network
	}
	return permission.Decision{}
}

// RestrictHooks returns a child's own hooks as they count: they answer no question in
// the place of the parent's hooks and callback, and only add rules that deny or ask.
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
				return u.Type != hook.AddRules || u.Behavior != permission.Denied && u.Behavior != permission.Asked
			})
			return o, err
		}
	}
	return out
}

// Stricter returns a mode, or the one above it if that permits less.
func Stricter(mode, above permission.Mode) permission.Mode {
	if strictness(above) > strictness(mode) {
		return above
	}
	return mode
}

// strictness orders modes by how much they forbid.
func strictness(m permission.Mode) int {
	return slices.Index([]permission.Mode{"", permission.Bypass, permission.Auto, permission.AcceptEdits, permission.Default, permission.DontAsk, permission.Plan}, m)
}
