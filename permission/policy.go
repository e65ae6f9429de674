package permission

import (
	"slices"

	"github.com/openagent-go/agent/internal/rules"
	"github.com/openagent-go/agent/internal/rules/shellscan"
)

// ParseMode reads the name of a mode; "" is [Default].
func ParseMode(s string) (Mode, error) {
	m, err := rules.ParseMode(s)
	return Mode(m), err
}

// Canonical returns the form of a command line as it is judged and run, and whether the form
// uses what a shell other than bash may read in another way. The error says why the line is
// not understood; no rule with a pattern and no mode but [Bypass] allows such a line. Give
// the shell the form of a line that was judged.
func Canonical(line string) (form string, bash bool, err error) {
	f, err := shellscan.Canonical(line)
	return f.Line, f.Bash, err
}

// ParseRule reads one rule; see [Rule.Check].
func ParseRule(s string) (Rule, error) {
	r, err := rules.ParseRule(s)
	return Rule(r), err
}

// ParseRules reads a list of rules separated by commas or white space. Commas
// and white space inside parentheses belong to the pattern. The error names the
// rule that is wrong.
func ParseRules(s string) ([]Rule, error) {
	list, err := rules.ParseRules(s)
	return rules.As[Rule](list), err
}

// Check reports what is wrong with a rule. A rule is the name of a tool, which
// may hold "*", or such a name with a pattern in parentheses. A pattern needs a
// tool that says what it touches, so external tools (mcp__…) take none.
//
// A name alone covers every call of the tool. "Edit" and "Read" also cover
// edits and reads that other tools declare, with and without a pattern: a rule
// for Edit that Write escapes would be none. Rules for Bash with a pattern that deny
// or ask also cover the commands of other tools. "mcp__server" covers all tools of
// the server. What a pattern is matched against depends on the access: files by
// gitignore-style patterns, see below; command lines by each of their simple commands, with "*" for any
// text and "git diff:*" or "git diff *" for the command with any arguments or
// none (rules that allow match word by word up to the first "*", and their words
// may be quoted as for a shell); addresses by "domain:example.com", which covers sub-domains, or by a
// text with "*"; names by a text with "*", without regard to case where the rule
// forbids.
//
// Of the patterns for files "*.env" and "secrets/" match at any depth below the folder that
// they are seen from, "/src/**" from that folder, "//etc/**" from the root of the file
// system, "~/.ssh/**" from the home folder. A pattern that names a folder covers all below
// it, and one that ends in "/**" covers what is in the folder, not the folder. Whole
// segments are compared, without regard to case where file systems have none.
func (r Rule) Check() error { return rules.Rule(r).Check() }

// Check reports the first thing that is wrong with the policy. [Policy.Decide]
// works without it, on the safe side: a malformed deny rule denies every call,
// a malformed ask rule asks for every call, a malformed allow rule does nothing,
// and an unknown mode is [Default].
func (p Policy) Check() error { return p.engine().Check() }

// Within returns the policy bounded by another: a call runs only if both let it
// run. What either denies is denied, what either asks about is asked about, and
// where either is in mode [DontAsk] what would be asked about is denied. It is how
// a sub-agent is kept to what its parent may do, at any depth.
func (p Policy) Within(parent Policy) Policy {
	p.Parents = append(slices.Clone(p.Parents), parent)
	return p
}

// Decide judges a call by rules and mode. Deny rules come first, then [Plan],
// ask rules, allow rules and the mode, whatever the order of the rules. The
// decision is Allowed, Denied or Asked and says why.
//
// A deny or ask rule holds if it matches anything that the call touches, an
// allow rule if the rules together cover all of it. Deny and ask rules start
// from every root and from the directory of the call, allow rules from the
// first root. A command line is covered if each simple command is, or is
// read-only, and each file that it redirects into is covered by an Edit rule; a
// rule for all calls of the tool covers any line. Where a deny or ask rule cannot
// be checked, because parts of a line are only known when it runs or because the
// tool does not say what it touches, no rule allows the call; a deny rule then
// makes [Bypass] deny it. An Edit(…) rule that denies or asks does not keep a file
// from being read or run. It cannot be checked for a command that is told to open
// the file and is not known to change it, unless the operating system holds the file
// (see [Request].WriteProtected). Read(…) and Edit(…) rules that deny or ask also hold
// for the arguments of commands that open files, or change them: for all that file patterns,
// braces and the working folder in them may stand for, and for what is in
// folders given to programs that copy, search or change whole folders. What else
// is not known of the arguments makes such a rule one that cannot be checked.
// What programs open without being told on the line is not seen.
//
// [Plan] runs what is read-only, and addresses that a rule allows; no rule makes
// it run anything else. [AcceptEdits] and [Auto] leave files that decide what
// runs later (.git, settings of agents, editors, shells and build tools) to a person.
// [Bypass] ignores ask rules.
func (p Policy) Decide(r Request) Decision {
	d := p.engine().Decide(r.engine())
	return Decision{Behavior: Behavior(d.Behavior), Reason: d.Reason, Source: Source(d.Source), Rule: d.Rule, Origin: d.Origin}
}

// engine returns the policy in the types of the rule engine.
func (p Policy) engine() rules.Policy {
	out := rules.Policy{Mode: rules.Mode(p.Mode), Allow: rules.As[rules.Rule](p.Allow), Ask: rules.As[rules.Rule](p.Ask), Deny: rules.As[rules.Rule](p.Deny),
		AllowConfined: p.AllowConfined, Private: p.Private}
	for _, o := range p.Origins {
		out.Origins = append(out.Origins, rules.Origin{Behavior: rules.Behavior(o.Behavior), Rule: rules.Rule(o.Rule), From: o.From})
	}
	for _, parent := range p.Parents {
		out.Parents = append(out.Parents, parent.engine())
	}
	if r := p.Restriction; r != nil {
		out.Restriction = &rules.Restriction{By: r.By, Only: rules.As[rules.Rule](r.Only)}
	}
	return out
}

// engine returns the request in the types of the rule engine.
func (r Request) engine() rules.Request {
	out := rules.Request{Tool: r.Tool, Aliases: r.Aliases, ReadOnly: r.ReadOnly, NonDestructive: r.NonDestructive, Confined: r.Confined,
		Unbound: r.Unbound, WriteProtected: r.WriteProtected, Dir: r.Dir, Roots: r.Roots}
	for _, a := range r.Access {
		out.Access = append(out.Access, rules.Access{Kind: rules.AccessKind(a.Kind), Target: a.Target, Dir: a.Dir, Once: a.Once, Later: a.Later, Elsewhere: a.Elsewhere})
	}
	return out
}
