package permission

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/permission/internal/shellword"
)

// ParseMode reads the name of a mode; "" is [Default].
func ParseMode(s string) (Mode, error) {
	m := Mode(s)
	if m == "" {
		return Default, nil
	}
	if !slices.Contains(Modes, m) {
		return "", fmt.Errorf("unknown permission mode %q, want one of %s", text.Bytes(s, shellword.MaxShown), modeNames())
	}
	return m, nil
}

func modeNames() string {
	names := make([]string, len(Modes))
	for i, m := range Modes {
		names[i] = string(m)
	}
	return strings.Join(names, ", ")
}

// Check reports the first thing that is wrong with the policy. [Policy.Decide]
// works without it, on the safe side: a malformed deny rule denies every call,
// a malformed ask rule asks for every call, a malformed allow rule does nothing,
// and an unknown mode is [Default].
func (p Policy) Check() error {
	if _, err := ParseMode(string(p.Mode)); err != nil {
		return err
	}
	for _, r := range slices.Concat(p.Deny, p.Ask, p.Allow) {
		if err := r.Check(); err != nil {
			return err
		}
	}
	for _, c := range p.Parents {
		if err := c.Check(); err != nil {
			return fmt.Errorf("checking the policy of a parent: %w", err)
		}
	}
	if p.Restriction != nil {
		for _, r := range p.Restriction.Only {
			if err := r.Check(); err != nil {
				return fmt.Errorf("checking the tools that %s allows: %w", text.Bytes(p.Restriction.By, shellword.MaxShown), err)
			}
		}
	}
	for _, dir := range p.Private {
		if !filepath.IsAbs(dir) {
			return fmt.Errorf("checking the private path %q: it is not absolute", text.Bytes(dir, shellword.MaxShown))
		}
	}
	return nil
}

// Hides reports whether a deny rule without a pattern names the tool or one of
// its aliases, so that the model need not see it.
func (p Policy) Hides(tool string, aliases ...string) bool {
	return slices.ContainsFunc(p.Deny, func(r Rule) bool {
		x, err := r.parse()
		return err == nil && x.pattern == "" && (x.names(tool) || slices.ContainsFunc(aliases, x.names))
	}) || slices.ContainsFunc(p.Parents, func(c Policy) bool { return c.Hides(tool, aliases...) })
}

// Within returns the policy bounded by another: a call runs only if both let it
// run. What either denies is denied, what either asks about is asked about, and
// where either is in mode [DontAsk] what would be asked about is denied. It is how
// a sub-agent is kept to what its parent may do, at any depth.
func (p Policy) Within(parent Policy) Policy {
	p.Parents = append(slices.Clone(p.Parents), parent)
	return p
}

// RestrictedTo returns the policy with one more restriction, beside its own; nil is none.
func (p Policy) RestrictedTo(r *Restriction) Policy {
	switch {
	case r == nil:
		return p
	case p.Restriction == nil:
		p.Restriction = r
		return p
	}
	return p.Within(Policy{Mode: Bypass, Restriction: r})
}

// InPlanMode reports whether the policy or one of its ceilings is in mode [Plan].
func (p Policy) InPlanMode() bool {
	return p.Mode == Plan || slices.ContainsFunc(p.Parents, Policy.InPlanMode)
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
func (p Policy) Decide(r Request) Decision { return p.Compile().Decide(r) }

// Denies judges a call by the deny rules alone, for input that was changed after
// a decision, and for the last look before the call runs.
func (p Policy) Denies(r Request) (Decision, bool) { return p.Compile().Denies(r) }
