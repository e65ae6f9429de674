package permission

import (
	"fmt"
	"slices"
	"strings"

	"github.com/openagent-go/agent/internal/rules"
	"github.com/openagent-go/agent/internal/rules/shellword"
	"github.com/openagent-go/agent/internal/text"
)

// A Decider has an opinion about calls. Decide must be pure: it does no I/O, keeps
// nothing between calls and may be called by several goroutines at once. Of its
// answer, Denied is final, Asked asks a person, Deferred suspends the run, Allowed
// settles what the mode would ask, and NoOpinion leaves the call to others. No
// answer lifts a deny or ask rule, a hook's refusal, mode [Plan] or [DontAsk].
// The Input of an answer has to be nil: a decider changes nothing.
//
// A decider that can tell of any file whether it may be read has two more methods. The path is
// absolute and clean. Searches ask about each file, so both should be quick:
//
//	Conceals(path string) bool     // reports whether a file must not be shown
//	ConcealsIn(folder string) bool // reports whether it may conceal the folder, or something in it
//
// A decider that knows what the operating system keeps confined calls from writing returns it,
// absolute and without links, for calls in a folder. A command may then open a file that an
// Edit rule denies, for reading or running, without a question:
//
//	WriteProtected(dir string) []string
type Decider interface{ Decide(Request) Decision }

// fromPolicy is the source of the deciders of this package.
const fromPolicy Source = "policy"

// AllowList returns a [Decider] that allows the given tools, by name or alias, and denies all
// others. Without names it denies every call. A name may hold "*" for any text.
func AllowList(tools ...string) Decider { return allowList(tools) }

type allowList []string

func (l allowList) Decide(r Request) Decision {
	if rules.NamesTool(l, r.Tool, r.Aliases...) {
		return Decision{Behavior: Allowed, Source: fromPolicy, Reason: fmt.Sprintf("%s is one of the tools that the policy allows", r.Tool)}
	}
	if len(l) == 0 {
		return Decision{Behavior: Denied, Source: fromPolicy, Reason: "the policy allows no tool"}
	}
	return Decision{Behavior: Denied, Source: fromPolicy, Reason: fmt.Sprintf("%s is none of the tools that the policy allows: %s", r.Tool, text.Bytes(strings.Join(l, ", "), shellword.MaxShown))}
}

// DenyList returns a [Decider] that denies the given tools, by name or alias, and has no
// opinion about others. A name may hold "*" for any text.
func DenyList(tools ...string) Decider { return denyList(tools) }

type denyList []string

func (l denyList) Decide(r Request) Decision {
	if !rules.NamesTool(l, r.Tool, r.Aliases...) {
		return Decision{}
	}
	return Decision{Behavior: Denied, Source: fromPolicy, Reason: fmt.Sprintf("%s is one of the tools that the policy denies", r.Tool)}
}

// ReadOnly returns a [Decider] that allows calls that change nothing and denies all others.
// Looking something up in the network changes nothing; a command line is read-only if all of
// its commands are known to be.
func ReadOnly() Decider { return readOnly{} }

type readOnly struct{}

func (readOnly) Decide(r Request) Decision {
	call := r.engine()
	if why := call.WhyWrites(); why != "" {
		return Decision{Behavior: Denied, Source: fromPolicy, Reason: fmt.Sprintf("%s is denied by the read-only policy because %s", call, why)}
	}
	return Decision{Behavior: Allowed, Source: fromPolicy, Reason: fmt.Sprintf("%s only reads", call)}
}

// Composite returns a [Decider] that asks the given ones in their order. The first that
// denies settles the call; else one that asks or defers counts before one that allows, and
// those without an opinion are passed over. Where none has an opinion it has none. It conceals
// what one of them conceals.
func Composite(deciders ...Decider) Decider { return composite(deciders) }

type composite []Decider

func (l composite) Conceals(path string) bool {
	return slices.ContainsFunc(l, func(j Decider) bool {
		c, ok := j.(rules.Concealer)
		return ok && c.Conceals(path)
	})
}

func (l composite) ConcealsIn(folder string) bool {
	return slices.ContainsFunc(l, func(j Decider) bool {
		c, ok := j.(rules.Concealer)
		return ok && c.ConcealsIn(folder)
	})
}

func (l composite) Decide(r Request) Decision {
	var best Decision
	for _, j := range l {
		d := j.Decide(r)
		switch d.Behavior {
		case NoOpinion:
			continue
		case Denied:
			return d
		case Asked, Deferred:
			if best.Behavior == NoOpinion || best.Behavior == Allowed {
				best = d
			}
		case Allowed:
			if best.Behavior == NoOpinion {
				best = d
			}
		default:
			return Deny(fmt.Sprintf("a policy answered %q, which is no behavior", text.Bytes(string(d.Behavior), shellword.MaxShown)))
		}
		if d.Input != nil {
			return Deny("a policy wants to change the input, which only hooks and CanUseTool can")
		}
	}
	return best
}
