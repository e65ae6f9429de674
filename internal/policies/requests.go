package policies

import (
	"github.com/openagent-go/agent/internal/rules"
	"github.com/openagent-go/agent/permission"
)

// Parts says what the policy makes of each simple command of a call's command lines, see
// [rules.Policy.Parts].
func Parts(p permission.Policy, r permission.Request) []rules.Part {
	return policy(p).Parts(request(&r))
}

// Unclear says why the command lines of a call are not understood in full, "" if they are.
func Unclear(r permission.Request) string { return request(&r).Unclear() }

// Risks says which parts of a call's command lines a person should look at first.
func Risks(r permission.Request) []rules.Risk { return request(&r).Risks() }

// Files returns the files that the command lines of a call are known to name, see
// [rules.Request.Files].
func Files(r permission.Request) (read, written []string, all bool) { return request(&r).Files() }

// Suggest returns the rules of the usual width that would allow a call together, none if there
// are none that a person could judge.
func Suggest(r permission.Request) []permission.Rule {
	return rules.As[permission.Rule](request(&r).Suggest())
}

// Suggestions returns rules that would allow a call, those that allow least first.
func Suggestions(r permission.Request) []permission.Suggestion {
	var out []permission.Suggestion
	for _, s := range request(&r).Suggestions() {
		out = append(out, permission.Suggestion{Width: s.Width, Rules: rules.As[permission.Rule](s.Rules), Scopes: s.Scopes})
	}
	return out
}

// request returns a request in the types of the rule engine.
//
//go:noinline // called from many places: every program stays smaller
func request(r *permission.Request) rules.Request {
	out := rules.Request{Tool: r.Tool, Aliases: r.Aliases, ReadOnly: r.ReadOnly, NonDestructive: r.NonDestructive, Confined: r.Confined,
		Unbound: r.Unbound, WriteProtected: r.WriteProtected, Dir: r.Dir, Roots: r.Roots}
	for i := range r.Access {
		a := &r.Access[i]
		out.Access = append(out.Access, rules.Access{Kind: rules.AccessKind(a.Kind), Target: a.Target, Dir: a.Dir, Once: a.Once, Later: a.Later, Elsewhere: a.Elsewhere})
	}
	return out
}
