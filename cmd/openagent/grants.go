package main

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
)

// sessionRules are the rules that a person has allowed for the rest of the session.
// They spare the question that the mode would ask, and no other.
type sessionRules struct {
	agent   *agent.Agent
	permits func(permission.Rule) error
	roots   []string

	mu    sync.Mutex
	rules []permission.Rule
}

func newGrants(s *setup) *sessionRules {
	return &sessionRules{agent: s.agent, permits: s.options.permitsRule, roots: append([]string{s.project}, s.options.dirs...)}
}

// check says why one of the rules may not be granted.
func (g *sessionRules) check(rules ...permission.Rule) error {
	for _, r := range rules {
		if err := g.permits(r); err != nil {
			return err
		}
	}
	return nil
}

// add grants rules, but for those that may not be granted.
func (g *sessionRules) add(rules ...permission.Rule) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, r := range rules {
		if r.Check() == nil && g.permits(r) == nil && !slices.Contains(g.rules, r) {
			g.rules = append(g.rules, r)
		}
	}
}

// cover reports whether a call that would be asked about is granted.
func (g *sessionRules) cover(ctx context.Context, call tool.Call, verdict permission.Decision) bool {
	if verdict.Source != permission.FromMode {
		return false
	}
	g.mu.Lock()
	p := permission.Policy{Allow: slices.Clone(g.rules)}
	g.mu.Unlock()
	if len(p.Allow) == 0 {
		return false
	}
	r, class, ok := g.request(ctx, call)
	if !ok || class.ConfirmReason != "" { // this call, and not its kind
		return false
	}
	return p.Decide(r).Behavior == permission.Allowed
}

// risks are what a person should look at first before they allow a call.
func (g *sessionRules) risks(ctx context.Context, call tool.Call) []permission.Risk {
	r, _, ok := g.request(ctx, call)
	if !ok {
		return nil
	}
	return r.Risks()
}

// request is what rules are told of a call. It is false for a call of no tool of the agent.
func (g *sessionRules) request(ctx context.Context, call tool.Call) (permission.Request, tool.Traits, bool) {
	pool, err := g.agent.ResolveTools(ctx) // with the tools of folders
	i := slices.IndexFunc(pool, func(t tool.Tool) bool { return t.Spec().Name == call.Name })
	if err != nil || i < 0 {
		return permission.Request{}, tool.Traits{}, false
	}
	r, class := requestOf(pool[i], call, g.roots)
	return r, class, true
}

func requestOf(t tool.Tool, call tool.Call, roots []string) (permission.Request, tool.Traits) {
	s, class := t.Spec(), tool.Classify(t, call)
	return permission.Request{Tool: call.Name, Aliases: s.Aliases, Access: class.Access, ReadOnly: class.ReadOnly,
		NonDestructive: s.NonDestructive, Dir: call.Dir, Roots: roots}, class
}

// A permissionUpdate is a change of permissions as control messages have it.
type permissionUpdate struct {
	Type        string       `json:"type"`
	Rules       []ruleUpdate `json:"rules,omitempty"`
	Behavior    string       `json:"behavior,omitempty"`
	Mode        string       `json:"mode,omitempty"`
	Destination string       `json:"destination"`
}

type ruleUpdate struct {
	Tool    string `json:"toolName"`
	Content string `json:"ruleContent,omitempty"`
}

// suggest returns rules as the update that would allow them.
func suggest(rules []permission.Rule) []permissionUpdate {
	if len(rules) == 0 {
		return []permissionUpdate{}
	}
	u := permissionUpdate{Type: "addRules", Behavior: "allow", Destination: "session"}
	for _, r := range rules {
		name, content, _ := strings.Cut(string(r), "(")
		u.Rules = append(u.Rules, ruleUpdate{name, strings.TrimSuffix(content, ")")})
	}
	return []permissionUpdate{u}
}

// rulesOf returns the rules that an update allows.
func (u permissionUpdate) rulesOf() []permission.Rule {
	if u.Type != "addRules" || u.Behavior != "allow" {
		return nil
	}
	var out []permission.Rule
	for _, r := range u.Rules {
		rule := r.Tool
		if r.Content != "" {
			rule += "(" + r.Content + ")"
		}
		out = append(out, permission.Rule(rule))
	}
	return out
}

// sameJSON reports whether two values are the same but for white space.
func sameJSON(a, b json.RawMessage) bool {
	x, err := compact(a)
	y, err2 := compact(b)
	return err == nil && err2 == nil && x == y
}

func compact(raw json.RawMessage) (string, error) {
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		return "", err
	}
	out, err := json.Marshal(v)
	return string(out), err
}
