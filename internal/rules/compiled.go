package rules

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/openagent-go/agent/internal/rules/shellword"
)

// A Compiled policy is a [Policy] whose rules are read once. It does not change and
// may be used by several goroutines at once.
type Compiled struct {
	mode             Mode
	allow, ask, deny *ruleSet
	private          []string
	secret           bool // deny rules for reading exist
	confined         bool // confined calls run where the mode would ask
	ceilings         []*Compiled
	bound            string   // what the bound comes from
	only             *ruleSet // nil: there is no bound
}

// Compile reads the rules of a policy.
func (p Policy) Compile() *Compiled {
	var origins map[Origin]string
	if len(p.Origins) > 0 {
		origins = make(map[Origin]string, len(p.Origins))
	}
	for _, o := range p.Origins {
		key := Origin{Behavior: o.Behavior, Rule: o.Rule}
		origins[key] = cmp.Or(origins[key], o.From)
	}
	read := func(b Behavior, rules []Rule) *ruleSet {
		return newRuleSet(rules, b == Allowed, func(r Rule) string { return origins[Origin{Behavior: b, Rule: r}] })
	}
	c := &Compiled{mode: cmp.Or(p.Mode, Default), allow: read(Allowed, p.Allow), ask: read(Asked, p.Ask), deny: read(Denied, p.Deny), private: slices.Clone(p.Private), confined: p.AllowConfined}
	c.secret = slices.ContainsFunc(c.deny.all, func(x rule) bool { return x.err == nil && x.tool == "Read" })
	for _, ceiling := range p.Parents {
		c.ceilings = append(c.ceilings, ceiling.Compile())
	}
	if p.Restriction != nil {
		c.bound, c.only = p.Restriction.By, newRuleSet(p.Restriction.Only, true, func(Rule) string { return "" })
	}
	return c
}

// In returns the policy in another mode. Its ceilings keep theirs.
func (c *Compiled) In(mode Mode) *Compiled {
	if c.mode == mode {
		return c
	}
	other := *c
	other.mode = mode
	return &other
}

// Plans is [Policy.InPlanMode].
func (c *Compiled) Plans() bool {
	return c.mode == Plan || slices.ContainsFunc(c.ceilings, (*Compiled).Plans)
}

// Decide is [Policy.Decide].
func (c *Compiled) Decide(r Request) Decision {
	about := newCase(r)
	return c.decide(&about)
}

// Denies is [Policy.Denies].
func (c *Compiled) Denies(r Request) (Decision, bool) {
	about := newCase(r)
	return c.denies(&about)
}

// decide puts what the policy says together with what its ceilings say: the
// strictest answer counts.
func (c *Compiled) decide(about *call) Decision {
	d := c.own(about)
	for _, ceiling := range c.ceilings {
		if d.Behavior == Denied {
			return d
		}
		if bound := ceiling.decide(about); bound.Behavior != Allowed && (bound.Behavior == Denied || d.Behavior == Allowed) {
			d = bound
		}
	}
	if c.asksNobody() {
		d = unasked(d)
	}
	return d
}

// asksNobody reports whether the policy or one of its ceilings is in mode DontAsk.
func (c *Compiled) asksNobody() bool {
	return c.mode == DontAsk || slices.ContainsFunc(c.ceilings, (*Compiled).asksNobody)
}

// own is what the policy without its ceilings says.
func (c *Compiled) own(about *call) Decision {
	if d, ok := c.forbids(about); ok {
		return d
	}
	mode := c.mode
	if mode == Bypass {
		return Decision{Behavior: Allowed, Source: FromMode, Reason: "the mode " + string(mode) + " asks nothing"}
	}
	why := about.whyChanges(c)
	if mode == Plan && about.waits(why) {
		return planned(Asked, about, why)
	}
	if d, ok := c.asks(about); ok {
		return d
	}
	if x, ok := about.allowedBy(c.allow); ok {
		return Decision{Behavior: Allowed, Source: FromRule, Rule: string(x.source), Origin: x.origin, Reason: about.String() + " is allowed by the rule " + x.name()}
	}
	if why == "" {
		return Decision{Behavior: Allowed, Source: FromMode, Reason: about.String() + " only reads"}
	}
	if c.confined && about.req.Confined {
		return decide(Allowed, FromMode, nil, "%s runs in the sandbox", about.String())
	}
	return about.byMode(mode, why)
}

// asks reports whether a rule, or what rules cannot be checked for, needs a person.
func (c *Compiled) asks(about *call) (Decision, bool) {
	if x, a, ok := about.match(c.ask); ok {
		return decide(Asked, FromRule, x, "%s needs permission because of the rule %s", about.on(a), x.name()), true
	}
	if where, a, ok := about.terminal(); ok {
		return decide(Asked, FromRule, terminalRule, "%s needs permission because %s may be the terminal that questions are asked on", about.on(a), shellword.Show(where)), true
	}
	if path, doubt := about.whyTouchesPrivate(c.private); doubt != "" {
		return decide(Asked, FromRule, &rule{source: readRule(path)}, "%s needs permission because it may touch %s, which the program keeps for itself: %s", about.String(), shellword.Show(path), doubt), true
	}
	for _, list := range []*ruleSet{c.deny, c.ask} {
		if x, doubt := about.uncertain(list); doubt != "" {
			return decide(Asked, FromRule, x, "%s needs permission because the rule %s cannot be checked: %s", about.String(), x.name(), doubt), true
		}
	}
	return Decision{}, false
}

// waits reports whether a call has to wait in mode Plan, for which whyChanges says why.
func (c *call) waits(why string) bool {
	return why != "" && !(c.onlyFetches() && c.req.ReadOnly)
}

func planned(b Behavior, about *call, why string) Decision {
	return decide(b, FromMode, nil, "%s has to wait in mode plan because %s; it can run once the plan is approved", about.String(), why)
}

// Waits reports whether mode [Plan], of the policy or of a ceiling, stops a call, so
// that a person cannot allow it. The decision denies the call.
func (c *Compiled) Waits(r Request) (Decision, bool) {
	if !c.Plans() {
		return Decision{}, false
	}
	about := newCase(r)
	return c.waits(&about)
}

func (c *Compiled) waits(about *call) (Decision, bool) {
	if c.mode == Plan {
		if why := about.whyChanges(c); about.waits(why) {
			return planned(Denied, about, why), true
		}
	}
	for _, ceiling := range c.ceilings {
		if d, ok := ceiling.waits(about); ok {
			return d, true
		}
	}
	return Decision{}, false
}

// Permits returns the decision of the allow rule that covers a call, if there is one
// and no rule speaks against it. The mode does not count, but for [Plan].
func (c *Compiled) Permits(r Request) (Decision, bool) {
	if c.mode == Bypass {
		c = c.In(Default) // which looks at rules
	}
	d := c.Decide(r)
	return d, d.Behavior == Allowed && d.Source == FromRule
}

func (c *Compiled) denies(about *call) (Decision, bool) {
	if d, ok := c.forbids(about); ok {
		return d, true
	}
	for _, ceiling := range c.ceilings {
		if d, ok := ceiling.denies(about); ok {
			return d, true
		}
	}
	return Decision{}, false
}

// forbids judges a call by the deny rules of the policy without its ceilings.
func (c *Compiled) forbids(about *call) (Decision, bool) {
	if x := c.deny.broken(); x != nil {
		return decide(Denied, FromRule, x, "%s is denied because a deny rule cannot be read: %v", about.String(), x.err), true
	}
	if x, a, ok := about.match(c.deny); ok {
		return decide(Denied, FromRule, x, "%s is denied by the rule %s", about.on(a), x.name()), true
	}
	if path, a, ok := about.private(c.private); ok {
		return decide(Denied, FromRule, &rule{source: readRule(path)}, "%s is denied because the program keeps %s for itself", about.on(a), shellword.Show(path)), true
	}
	if c.only != nil && !about.req.Unbound && !about.within(c.only) {
		return decide(Denied, FromRule, nil, "%s is not among what %s may use: %s", about.String(), c.bound, c.only.names()), true
	}
	if c.mode == Bypass {
		if where, a, ok := about.terminal(); ok {
			return decide(Denied, FromRule, terminalRule, "%s is denied because %s may be the terminal that questions are asked on", about.on(a), shellword.Show(where)), true
		}
		if x, doubt := about.uncertain(c.deny); doubt != "" {
			return decide(Denied, FromRule, x, "%s is denied because the rule %s cannot be checked: %s", about.String(), x.name(), doubt), true
		}
	}
	return Decision{}, false
}

// unasked turns a question into a refusal where nothing may be asked.
func unasked(d Decision) Decision {
	if d.Behavior == Asked {
		d.Behavior = Denied
		d.Reason = "denied in mode dontAsk: " + d.Reason
	}
	return d
}

// decide makes a decision, of the rule x unless that is nil.
func decide(b Behavior, from Source, x *rule, format string, args ...any) Decision {
	d := Decision{Behavior: b, Source: from, Reason: fmt.Sprintf(format, args...)}
	if x != nil {
		d.Rule, d.Origin = string(x.source), x.origin
	}
	return d
}
