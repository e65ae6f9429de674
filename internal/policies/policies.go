// Package policies answers the questions about a [permission.Policy] that only this module
// asks, such as the rules that it would suggest for a call. The engine is package rules.
package policies

import (
	"cmp"
	"slices"
	"time"

	"github.com/openagent-go/agent/internal/rules"
	"github.com/openagent-go/agent/permission"
)

// Sources of decisions.
const (
	FromRule     permission.Source = "rule"
	FromMode     permission.Source = "mode"
	FromPolicy   permission.Source = "policy"   // a [permission.Decider]
	FromCallback permission.Source = "callback" // CanUseTool
	FromHook     permission.Source = "hook"
	FromPerson   permission.Source = "person"  // an answer to a question
	FromGuard    permission.Source = "guard"   // the doom-loop guard
	FromDefault  permission.Source = "default" // nobody could be asked
)

// makers names the sources whose decisions name nobody.
var makers = map[permission.Source]string{
	FromRule: "a rule", FromMode: "the mode", FromPolicy: "a policy", FromCallback: "CanUseTool", FromHook: "a hook",
	FromPerson: "a person", FromGuard: "the loop guard", FromDefault: "nobody",
}

// Maker names who made a decision, for people: By, the rule, or the Source.
func Maker(d permission.Decision) string {
	if d.By == "" && d.Source == FromRule && d.Rule != "" {
		return "rule " + d.Rule
	}
	return cmp.Or(d.By, makers[d.Source])
}

// Expired reports whether a decision has ended.
func Expired(d permission.Decision, now time.Time) bool {
	return !d.Expires.IsZero() && !now.Before(d.Expires)
}

// Modes lists every mode, the strictest last but one.
var Modes = rules.As[permission.Mode](rules.Modes)

// Hides reports whether a deny rule without a pattern names the tool or one of its aliases,
// so that the model need not see it.
func Hides(p permission.Policy, tool string, aliases ...string) bool {
	return policy(p).Hides(tool, aliases...)
}

// Restrict returns the policy with one more restriction, beside its own; nil is none.
func Restrict(p permission.Policy, r *permission.Restriction) permission.Policy {
	switch {
	case r == nil:
		return p
	case p.Restriction == nil:
		p.Restriction = r
		return p
	}
	return p.Within(permission.Policy{Mode: permission.Bypass, Restriction: r})
}

// Covers reports whether a restriction lets pass all calls that another list of rules would:
// it holds each of them, or a rule without a pattern for its tool.
func Covers(r *permission.Restriction, others []permission.Rule) bool {
	return rules.Covers(rules.As[rules.Rule](r.Only), rules.As[rules.Rule](others))
}

// ToolOf is the name of the tool that a rule is for, as it is written.
func ToolOf(r permission.Rule) string { return rules.Rule(r).Tool() }

// Lint looks for rules that do not do what they seem to be for. tools are the names, and other
// names, of the tools that there are, beside the policy's KnownTools.
func Lint(p permission.Policy, tools []string) []rules.Finding {
	if tools != nil {
		tools = slices.Concat(tools, p.KnownTools)
	}
	return policy(p).Lint(tools)
}

// Unreadable returns what the deny rules for reading, the private paths, the parents and those
// deciders hide that are a [rules.Concealer], see [rules.Policy.DeniedReadPatterns].
func Unreadable(p permission.Policy, deciders []permission.Decider, roots ...string) *rules.Unreadable {
	var conceal []rules.Concealer
	for _, d := range deciders {
		if c, ok := d.(rules.Concealer); ok {
			conceal = append(conceal, c)
		}
	}
	return policy(p).DeniedReadPatterns(conceal, roots...)
}

// A WriteProtector is a decider that knows what the operating system keeps confined calls from
// writing, see [permission.Decider].
type WriteProtector interface {
	WriteProtected(dir string) []string
}

// policy returns a policy in the types of the rule engine.
func policy(p permission.Policy) rules.Policy {
	out := rules.Policy{Mode: rules.Mode(p.Mode), Allow: rules.As[rules.Rule](p.Allow), Ask: rules.As[rules.Rule](p.Ask), Deny: rules.As[rules.Rule](p.Deny),
		AllowConfined: p.AllowConfined, Private: p.Private}
	for _, o := range p.Origins {
		out.Origins = append(out.Origins, rules.Origin{Behavior: rules.Behavior(o.Behavior), Rule: rules.Rule(o.Rule), From: o.From})
	}
	for _, parent := range p.Parents {
		out.Parents = append(out.Parents, policy(parent))
	}
	if r := p.Restriction; r != nil {
		out.Restriction = &rules.Restriction{By: r.By, Only: rules.As[rules.Rule](r.Only)}
	}
	return out
}
