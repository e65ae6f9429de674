package subagents_test

import (
	"context"
	"errors"
	"testing"

	"github.com/openagent-go/agent/hook"
	"github.com/openagent-go/agent/internal/policies"
	"github.com/openagent-go/agent/internal/rules"
	"github.com/openagent-go/agent/internal/subagents"
	"github.com/openagent-go/agent/permission"
)

// says is a policy with one answer.
type says permission.Behavior

func (s says) Decide(permission.Request) permission.Decision {
	return permission.Decision{Behavior: permission.Behavior(s)}
}

// conceals is one that hides a file.
type conceals struct{ says }

func (conceals) Conceals(path string) bool     { return path == "/secret" }
func (conceals) ConcealsIn(folder string) bool { return folder == "/" }

// A child's own policies may deny, ask and defer; what they allow does not count. Files that
// they hide stay hidden.
func TestDenyOnly(t *testing.T) {
	own := []permission.Decider{says(permission.Allowed), says(permission.Denied), says(permission.Asked), says(permission.Deferred), nil, conceals{says(permission.Allowed)}}
	got := subagents.DenyOnly(own)
	for i, want := range []permission.Behavior{permission.NoOpinion, permission.Denied, permission.Asked, permission.Deferred} {
		if d := got[i].Decide(permission.Request{}); d.Behavior != want {
			t.Errorf("%v counts as %v", own[i], d.Behavior)
		}
	}
	if own[0].Decide(permission.Request{}).Behavior != permission.Allowed || got[4] != nil {
		t.Error("the child's own list was changed")
	}
	for i, want := range map[int]bool{0: false, 5: true} {
		c := got[i].(concealer)
		if c.Conceals("/secret") != want || c.ConcealsIn("/") != want || c.Conceals("/open") {
			t.Errorf("policy %d conceals: %v", i, c.Conceals("/secret"))
		}
	}
}

// Hooks of a child answer no question, and add only rules that deny or ask.
func TestRestrictHooks(t *testing.T) {
	failed := errors.New("failed")
	updates := []hook.Update{{Type: "addRules", Behavior: permission.Allowed}, {Type: "addRules", Behavior: permission.Denied}, {Type: "addRules", Behavior: permission.Asked}, {Type: "setMode", Mode: permission.Bypass}}
	wants := hook.Output{Permission: permission.Allowed, Updates: updates, Reason: "why"}
	own := []hook.Hook{{On: hook.PreToolUse, Func: func(context.Context, *hook.Input) (hook.Output, error) { return wants, failed }}, {On: hook.Stop}}
	got := subagents.RestrictHooks(own)
	out, err := got[0].Func(t.Context(), new(hook.Input))
	if out.Permission != permission.NoOpinion || len(out.Updates) != 2 || out.Updates[0].Behavior != permission.Denied || out.Reason != "why" || err != failed {
		t.Errorf("the hook says %+v, %v", out, err)
	}
	if len(updates) != 4 || updates[0].Behavior != permission.Allowed || got[1].Func != nil {
		t.Error("the child's own hook was changed")
	}
	wants.Permission = permission.Denied
	if out, _ := got[0].Func(t.Context(), new(hook.Input)); out.Permission != permission.Denied {
		t.Errorf("a denial counts as %v", out.Permission)
	}
}

// The stricter of two modes bounds an agent.
func TestStricter(t *testing.T) {
	order := []permission.Mode{permission.Bypass, permission.Auto, permission.AcceptEdits, permission.Default, permission.DontAsk, permission.Plan}
	for i, mode := range order {
		for j, above := range order {
			if got := subagents.Stricter(mode, above); got != order[max(i, j)] {
				t.Errorf("%s under %s is %s", mode, above, got)
			}
		}
	}
}

// parent is what bounds an agent's calls.
type parent struct {
	policy permission.Policy
	mode   permission.Mode
}

func (p *parent) Rules() *policies.Compiled     { return policies.Compile(p.policy).In(p.mode) }
func (p *parent) Unreadable() *rules.Unreadable { return policies.Unreadable(p.policy, nil, "/w") }

// What the parent may not do, its agents may not: as its rules and its mode are at that moment.
func TestAbove(t *testing.T) {
	rules := func(s string) []permission.Rule {
		out, err := permission.ParseRules(s)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	p := &parent{mode: permission.Default}
	d := subagents.ParentPolicy(p)
	edit := permission.Request{Tool: "Edit", Dir: "/w", Roots: []string{"/w"}, Access: []permission.Access{{Kind: permission.EditFile, Target: "/w/a"}}}
	if got := d.Decide(edit); got.Behavior != permission.NoOpinion {
		t.Errorf("without rules: %v", got)
	}
	p.policy.Allow = rules("Edit")
	if got := d.Decide(edit); got.Behavior != permission.NoOpinion {
		t.Errorf("what the parent allows is for the child's own rules: %v", got)
	}
	p.policy.Deny = rules("Edit")
	if got := d.Decide(edit); got.Behavior != permission.Denied {
		t.Errorf("a denied tool: %v", got)
	}
	p.policy, p.mode = permission.Policy{}, permission.Plan
	if got := d.Decide(edit); got.Behavior != permission.Denied {
		t.Errorf("a change in plan mode, which no approval lifts: %v", got)
	}
	p.mode = permission.Default
	p.policy = permission.Policy{Deny: rules("Read(/w/.env)")}
	if c := d.(concealer); !c.Conceals("/w/.env") || c.Conceals("/w/a") || !c.ConcealsIn("/w") {
		t.Error("a file that the parent may not read is shown to its agent")
	}
}

// A concealer can tell of any file whether it may be read, see permission.Decider.
type concealer interface {
	Conceals(path string) bool
	ConcealsIn(folder string) bool
}
