package agent

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

// denyOnly returns a child's own policies as they count.
func denyOnly(own []permission.Decider) []permission.Decider {
	out := slices.Clone(own)
	for i, j := range out {
		if j != nil {
			out[i] = strict{j}
		}
	}
	return out
}

// parentPolicy is the parent's deny rules and plan mode as they are at the time of each call:
// what is forbidden while a child works is forbidden to it. Any mode that permits less
// bounds the child's, see [Agent.strictestMode].
type parentPolicy struct{ parent *Session }

// Conceals is what the parent may not read now.
func (a parentPolicy) Conceals(path string) bool {
	x := a.executor()
	return x.Unreadable.Load().HidesPlain(path, "")
}

func (a parentPolicy) ConcealsIn(folder string) bool {
	x := a.executor()
	return x.Unreadable.Load().Under(folder) != nil
}

// executor is that of the parent.
func (a parentPolicy) executor() *runSetup {
	a.parent.mu.Lock()
	defer a.parent.mu.Unlock()
	return a.parent.loop.x
}

func (a parentPolicy) Decide(r permission.Request) permission.Decision {
	x := a.executor()
	rules := x.Rules.Load().In(a.parent.currentMode())
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

// restrictHooks returns a child's own hooks as they count: they answer no question in
// the place of the parent's hooks and callback, and only add rules that deny or ask.
func restrictHooks(own []hook.Hook) []hook.Hook {
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
