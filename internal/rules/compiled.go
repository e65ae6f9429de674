package rules

import (
	"cmp"
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
func (c *Compiled) Decide(r *Request) *Decision {
	var about call
	about.init(r)
	return c.decide(&about)
}

// Denies is [Policy.Denies]. It returns the denial, nil for none.
func (c *Compiled) Denies(r *Request) *Decision {
	var about call
	about.init(r)
	return c.denies(&about)
}

// decide puts what the policy says together with what its ceilings say: the
// strictest answer counts. It is never nil.
func (c *Compiled) decide(about *call) *Decision {
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
		d.unasked()
	}
	return d
}

// asksNobody reports whether the policy or one of its ceilings is in mode DontAsk.
func (c *Compiled) asksNobody() bool {
	return c.mode == DontAsk || slices.ContainsFunc(c.ceilings, (*Compiled).asksNobody)
}

// own is what the policy without its ceilings says. It is never nil.
func (c *Compiled) own(about *call) *Decision {
	if d := c.forbids(about); d != nil {
		return d
	}
	mode := c.mode
	if mode == Bypass {
		return decide(Allowed, FromMode, nil, "the mode "+string(mode)+" asks nothing")
	}
	why := about.whyChanges(c)
	if mode == Plan && about.waits(why) {
		return planned(Asked, about, why)
	}
	if d := c.asks(about); d != nil {
		return d
	}
	if x := about.allowedBy(c.allow); x != nil {
		return decide(Allowed, FromRule, x, about.String()+" is allowed by the rule "+x.name())
	}
	if why == "" {
		return decide(Allowed, FromMode, nil, about.String()+" only reads")
	}
	if c.confined && about.req.Confined {
		return decide(Allowed, FromMode, nil, about.String()+" runs in the sandbox")
	}
	return about.byMode(mode, why)
}

// asks returns the question if a rule, or what rules cannot be checked for, needs a person,
// nil if nothing does.
func (c *Compiled) asks(about *call) *Decision {
	if x, a := about.match(c.ask); x != nil {
		return decide(Asked, FromRule, x, about.on(a)+" needs permission because of the rule "+x.name())
	}
	if where, a := about.terminal(); where != "" {
		return decide(Asked, FromRule, terminalRule, about.on(a)+" needs permission because "+shellword.Show(where)+" may be the terminal that questions are asked on")
	}
	if path, doubt := about.whyTouchesPrivate(c.private); doubt != "" {
		return decide(Asked, FromRule, &rule{source: readRule(path)}, about.String()+" needs permission because it may touch "+shellword.Show(path)+", which the program keeps for itself: "+doubt)
	}
	for _, list := range []*ruleSet{c.deny, c.ask} {
		if x, doubt := about.uncertain(list); doubt != "" {
			return decide(Asked, FromRule, x, about.String()+" needs permission because the rule "+x.name()+" cannot be checked: "+doubt)
		}
	}
	return nil
}

// waits reports whether a call has to wait in mode Plan, for which whyChanges says why.
func (c *call) waits(why string) bool {
	return why != "" && !(c.onlyFetches() && c.req.ReadOnly)
}

func planned(b Behavior, about *call, why string) *Decision {
	return decide(b, FromMode, nil, about.String()+" has to wait in mode plan because "+why+"; it can run once the plan is approved")
}

// Waits returns the denial of a call that mode [Plan], of the policy or of a ceiling,
// stops, so that a person cannot allow it. It is nil if nothing stops the call.
func (c *Compiled) Waits(r *Request) *Decision {
	if !c.Plans() {
		return nil
	}
	var about call
	about.init(r)
	return c.waits(&about)
}

func (c *Compiled) waits(about *call) *Decision {
	if c.mode == Plan {
		if why := about.whyChanges(c); about.waits(why) {
			return planned(Denied, about, why)
		}
	}
	for _, ceiling := range c.ceilings {
		if d := ceiling.waits(about); d != nil {
			return d
		}
	}
	return nil
}

// Permits returns the decision of the allow rule that covers a call, nil if there is none
// or a rule speaks against it. The mode does not count, but for [Plan].
func (c *Compiled) Permits(r *Request) *Decision {
	if c.mode == Bypass {
		c = c.In(Default) // which looks at rules
	}
	if d := c.Decide(r); d.Behavior == Allowed && d.Source == FromRule {
		return d
	}
	return nil
}

func (c *Compiled) denies(about *call) *Decision {
	if d := c.forbids(about); d != nil {
		return d
	}
	for _, ceiling := range c.ceilings {
		if d := ceiling.denies(about); d != nil {
			return d
		}
	}
	return nil
}

// forbids judges a call by the deny rules of the policy without its ceilings. It returns
// the denial, nil for none.
func (c *Compiled) forbids(about *call) *Decision {
	if x := c.deny.broken(); x != nil {
		return decide(Denied, FromRule, x, about.String()+" is denied because a deny rule cannot be read: "+x.err.Error())
	}
	if x, a := about.match(c.deny); x != nil {
		return decide(Denied, FromRule, x, about.on(a)+" is denied by the rule "+x.name())
	}
	if path, a := about.private(c.private); path != "" {
		return decide(Denied, FromRule, &rule{source: readRule(path)}, about.on(a)+" is denied because the program keeps "+shellword.Show(path)+" for itself")
	}
	if c.only != nil && !about.req.Unbound && !about.within(c.only) {
		return decide(Denied, FromRule, nil, about.String()+" is not among what "+c.bound+" may use: "+c.only.names())
	}
	if c.mode == Bypass {
		if where, a := about.terminal(); where != "" {
			return decide(Denied, FromRule, terminalRule, about.on(a)+" is denied because "+shellword.Show(where)+" may be the terminal that questions are asked on")
		}
		if x, doubt := about.uncertain(c.deny); doubt != "" {
			return decide(Denied, FromRule, x, about.String()+" is denied because the rule "+x.name()+" cannot be checked: "+doubt)
		}
	}
	return nil
}

// unasked turns a question into a refusal where nothing may be asked.
func (d *Decision) unasked() {
	if d.Behavior == Asked {
		d.Behavior = Denied
		d.Reason = "denied in mode dontAsk: " + d.Reason
	}
}

// decide makes a decision, of the rule x unless that is nil.
//
//go:noinline // called from many places: every program stays smaller
func decide(b Behavior, from Source, x *rule, reason string) *Decision {
	d := &Decision{Behavior: b, Source: from, Reason: reason}
	if x != nil {
		d.Rule, d.Origin = string(x.source), x.origin
	}
	return d
}
