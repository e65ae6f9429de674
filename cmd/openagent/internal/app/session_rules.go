package app

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/hook"
	"github.com/openagent-go/agent/internal/hookconst"
	"github.com/openagent-go/agent/internal/policies"
	"github.com/openagent-go/agent/internal/rules"
	"github.com/openagent-go/agent/internal/toolrun"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
)

// SessionRules are the rules that the user allowed for the rest of the session. They answer only
// questions that the mode would ask.
type SessionRules struct {
	Agent   *agent.Agent
	permits func(permission.Rule) error
	Roots   []string

	mu    sync.Mutex
	rules []permission.Rule
}

// NewSessionRules returns an empty set of session rules.
func NewSessionRules(s *App) *SessionRules {
	return &SessionRules{Agent: s.Agent, permits: s.Options.PermitsRule, Roots: append([]string{s.Project}, s.Options.Dirs...)}
}

// Check returns an error if one of the rules is not permitted.
func (g *SessionRules) Check(rules ...permission.Rule) error {
	for _, r := range rules {
		if err := g.permits(r); err != nil {
			return err
		}
	}
	return nil
}

// Add adds rules. It skips rules that the settings do not permit.
func (g *SessionRules) Add(rules ...permission.Rule) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, r := range rules {
		if r.Check() == nil && g.permits(r) == nil && !slices.Contains(g.rules, r) {
			g.rules = append(g.rules, r)
		}
	}
}

// Change adds, replaces or removes rules that allow. It returns those it could not remove.
func (g *SessionRules) Change(u hook.Update) (missing []permission.Rule) {
	g.mu.Lock()
	switch u.Type {
	case hookconst.ReplaceRules:
		g.rules = nil
	case hookconst.RemoveRules:
		defer g.mu.Unlock()
		missing = slices.DeleteFunc(slices.Clone(u.Rules), func(r permission.Rule) bool { return slices.Contains(g.rules, r) })
		g.rules = slices.DeleteFunc(g.rules, func(r permission.Rule) bool { return slices.Contains(u.Rules, r) })
		return missing
	}
	g.mu.Unlock()
	g.Add(u.Rules...)
	return nil
}

// List returns the rules.
func (g *SessionRules) List() []permission.Rule {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.rules)
}

// Covers reports whether a session rule allows a call that needs permission.
func (g *SessionRules) Covers(ctx context.Context, call tool.Call, verdict permission.Decision) bool {
	if verdict.Source != policies.FromMode {
		return false
	}
	g.mu.Lock()
	p := permission.Policy{Allow: slices.Clone(g.rules)}
	g.mu.Unlock()
	if len(p.Allow) == 0 {
		return false
	}
	t := g.Tool(ctx, call.Name)
	if t == nil {
		return false
	}
	r, class := requestOf(t, call, g.Roots)
	if class.ConfirmReason == "" {
		return p.Decide(r).Behavior == permission.Allowed
	}
	if class.ConfirmReason != toolrun.Approval(t, call) { // the question is about this call, not about calls like it
		return false
	}
	return policies.Compile(p).Permits(&r) != nil
}

// Risks returns the risks that the user should check before allowing a call.
func (g *SessionRules) Risks(ctx context.Context, call tool.Call) []rules.Risk {
	t := g.Tool(ctx, call.Name)
	if t == nil {
		return nil
	}
	r, _ := requestOf(t, call, g.Roots)
	return policies.Risks(r)
}

// Tool returns a tool of the agent, custom tools included, and nil if there is none.
func (g *SessionRules) Tool(ctx context.Context, name string) tool.Tool {
	pool, err := g.Agent.ResolveTools(ctx)
	i := slices.IndexFunc(pool, func(t tool.Tool) bool { return t.Spec().Name == name })
	if err != nil || i < 0 {
		return nil
	}
	return pool[i]
}

func requestOf(t tool.Tool, call tool.Call, roots []string) (permission.Request, tool.Traits) {
	s, class := t.Spec(), toolrun.Classify(t, call)
	return permission.Request{Tool: call.Name, Aliases: s.Aliases, Access: class.Access, ReadOnly: class.ReadOnly,
		NonDestructive: s.NonDestructive, Dir: call.Dir, Roots: roots}, class
}

// A PermissionUpdate is a change of permissions in control messages.
type PermissionUpdate struct {
	Type        string              `json:"type"`
	Rules       []ruleUpdate        `json:"rules,omitempty"`
	Behavior    permission.Behavior `json:"behavior,omitempty"`
	Mode        string              `json:"mode,omitempty"`
	Destination string              `json:"destination"`
}

type ruleUpdate struct {
	Tool    string `json:"toolName"`
	Content string `json:"ruleContent,omitempty"`
}

// SuggestUpdates returns the update that would allow rules.
func SuggestUpdates(rules []permission.Rule) []PermissionUpdate {
	if len(rules) == 0 {
		return []PermissionUpdate{}
	}
	u := PermissionUpdate{Type: "addRules", Behavior: permission.Allowed, Destination: "session"}
	for _, r := range rules {
		name, content, _ := strings.Cut(string(r), "(")
		u.Rules = append(u.Rules, ruleUpdate{name, strings.TrimSuffix(content, ")")})
	}
	return []PermissionUpdate{u}
}

// Honoured reports whether an update can change a running session.
func (u PermissionUpdate) Honoured() bool {
	switch u.Type {
	case hookconst.SetMode:
		return true
	case hookconst.AddRules, hookconst.ReplaceRules, hookconst.RemoveRules:
		return u.Behavior == permission.Allowed || u.Guards()
	}
	return false
}

// Guards reports whether an update is about rules that deny or ask.
func (u PermissionUpdate) Guards() bool {
	return u.Behavior == permission.Denied || u.Behavior == permission.Asked
}

// Change returns the update as a session takes it.
func (u PermissionUpdate) Change() hook.Update {
	out := hook.Update{Type: u.Type, Behavior: u.Behavior}
	for _, r := range u.Rules {
		rule := r.Tool
		if r.Content != "" {
			rule += "(" + r.Content + ")"
		}
		out.Rules = append(out.Rules, permission.Rule(rule))
	}
	return out
}

// SameJSON reports whether two values are equal apart from white space.
func SameJSON(a, b json.RawMessage) bool {
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

// PendingRequest returns the pending question about a call, of the session's run or of a sub-agent.
func PendingRequest(pending []event.PermissionRequest, session string, call tool.Call) event.PermissionRequest {
	id := call.ID
	if call.Session != session {
		id = call.Session + "/" + id
	}
	for _, p := range pending {
		if p.Call.ID == id {
			return p
		}
	}
	return event.PermissionRequest{}
}

// JoinRules formats rules as one line.
func JoinRules(rules []permission.Rule) string {
	words := make([]string, len(rules))
	for i, r := range rules {
		words[i] = string(r)
	}
	return strings.Join(words, " ")
}
