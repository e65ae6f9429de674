package rules

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/openagent-go/agent/internal/order"
	"github.com/openagent-go/agent/internal/rules/shellword"
	"github.com/openagent-go/agent/internal/text"
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

// Check reports the first thing that is wrong with the policy.
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
	}) || order.Any(len(p.Parents), func(i int) bool { return p.Parents[i].Hides(tool, aliases...) })
}

// Within returns the policy bounded by another: a call runs only if both let it run.
func (p Policy) Within(parent Policy) Policy {
	p.Parents = append(slices.Clone(p.Parents), parent)
	return p
}

// Decide judges a call. The decision is Allowed, Denied or Asked and says why.
func (p Policy) Decide(r Request) Decision { return *p.Compile().Decide(&r) }

// Denies judges a call by the deny rules alone. It returns the denial, nil for none.
func (p Policy) Denies(r Request) *Decision { return p.Compile().Denies(&r) }
