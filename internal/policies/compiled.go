package policies

import (
	"github.com/openagent-go/agent/internal/rules"
	"github.com/openagent-go/agent/permission"
)

// A Compiled policy is a [permission.Policy] whose rules are read once. It does not change and
// may be used by several goroutines at once.
type Compiled struct{ rules *rules.Compiled }

// Compile reads the rules of a policy.
func Compile(p permission.Policy) *Compiled { return &Compiled{policy(p).Compile()} }

// In returns the policy in another mode. Its parents keep theirs.
func (c *Compiled) In(mode permission.Mode) *Compiled {
	if in := c.rules.In(rules.Mode(mode)); in != c.rules {
		return &Compiled{in}
	}
	return c
}

// Plans reports whether the policy or one of its parents is in mode Plan.
func (c *Compiled) Plans() bool { return c.rules.Plans() }

// Decide is [permission.Policy.Decide]. It is never nil.
func (c *Compiled) Decide(r *permission.Request) *permission.Decision {
	q := request(r)
	return decision(c.rules.Decide(&q))
}

// Denies judges a call by the deny rules alone, for input that was changed after a decision,
// and for the last look before the call runs. It returns the denial, nil for none.
func (c *Compiled) Denies(r *permission.Request) *permission.Decision {
	q := request(r)
	return decision(c.rules.Denies(&q))
}

// Waits returns the denial of a call that mode Plan, of the policy or of a parent, stops, so
// that a person cannot allow it. It is nil if nothing stops the call.
func (c *Compiled) Waits(r *permission.Request) *permission.Decision {
	if !c.Plans() {
		return nil
	}
	q := request(r)
	return decision(c.rules.Waits(&q))
}

// Permits returns the decision of the allow rule that covers a call, nil if there is none or
// a rule speaks against it. The mode does not count, but for Plan.
func (c *Compiled) Permits(r *permission.Request) *permission.Decision {
	q := request(r)
	return decision(c.rules.Permits(&q))
}

// decision returns a decision in the types of package permission. Nil stays nil.
//
//go:noinline // called from many places: every program stays smaller
func decision(d *rules.Decision) *permission.Decision {
	if d == nil {
		return nil
	}
	return &permission.Decision{Behavior: permission.Behavior(d.Behavior), Reason: d.Reason, Source: permission.Source(d.Source), Rule: d.Rule, Origin: d.Origin}
}
