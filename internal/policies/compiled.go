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

// Decide is [permission.Policy.Decide].
func (c *Compiled) Decide(r permission.Request) permission.Decision {
	return decision(c.rules.Decide(request(r)))
}

// Denies judges a call by the deny rules alone, for input that was changed after a decision,
// and for the last look before the call runs.
func (c *Compiled) Denies(r permission.Request) (permission.Decision, bool) {
	d, ok := c.rules.Denies(request(r))
	return decision(d), ok
}

// Waits reports whether mode Plan, of the policy or of a parent, stops a call, so that a
// person cannot allow it. The decision denies the call.
func (c *Compiled) Waits(r permission.Request) (permission.Decision, bool) {
	d, ok := c.rules.Waits(request(r))
	return decision(d), ok
}

// Permits returns the decision of the allow rule that covers a call, if there is one and no
// rule speaks against it. The mode does not count, but for Plan.
func (c *Compiled) Permits(r permission.Request) (permission.Decision, bool) {
	d, ok := c.rules.Permits(request(r))
	return decision(d), ok
}

func decision(d rules.Decision) permission.Decision {
	return permission.Decision{Behavior: permission.Behavior(d.Behavior), Reason: d.Reason, Source: permission.Source(d.Source), Rule: d.Rule, Origin: d.Origin}
}
