package app

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
)

// SessionRules are the rules that a person has allowed for the rest of the session.
// They spare the question that the mode would ask, and no other.
type SessionRules struct {
	Agent   *agent.Agent
	permits func(permission.Rule) error
	Roots   []string

	mu    sync.Mutex
	rules []permission.Rule
}

// NewSessionRules returns the rules of a session, empty at first.
func NewSessionRules(s *App) *SessionRules {
	return &SessionRules{Agent: s.Agent, permits: s.Options.PermitsRule, Roots: append([]string{s.Project}, s.Options.Dirs...)}
}

// Check says why one of the rules is not permitted.
func (g *SessionRules) Check(rules ...permission.Rule) error {
	for _, r := range rules {
		if err := g.permits(r); err != nil {
			return err
		}
	}
	return nil
}

// Add adds rules. It leaves out those that the settings do not permit.
func (g *SessionRules) Add(rules ...permission.Rule) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, r := range rules {
		if r.Check() == nil && g.permits(r) == nil && !slices.Contains(g.rules, r) {
			g.rules = append(g.rules, r)
		}
	}
}

// Covers reports whether a call that would be asked about is allowed by a rule of the session.
func (g *SessionRules) Covers(ctx context.Context, call tool.Call, verdict permission.Decision) bool {
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

// Risks are what a person should look at first before they allow a call.
func (g *SessionRules) Risks(ctx context.Context, call tool.Call) []permission.Risk {
	r, _, ok := g.request(ctx, call)
	if !ok {
		return nil
	}
	return r.Risks()
}

// request is what rules are told of a call. It is false for a call of no tool of the agent.
func (g *SessionRules) request(ctx context.Context, call tool.Call) (permission.Request, tool.Traits, bool) {
	pool, err := g.Agent.ResolveTools(ctx) // with the tools of folders
	i := slices.IndexFunc(pool, func(t tool.Tool) bool { return t.Spec().Name == call.Name })
	if err != nil || i < 0 {
		return permission.Request{}, tool.Traits{}, false
	}
	r, class := requestOf(pool[i], call, g.Roots)
	return r, class, true
}

func requestOf(t tool.Tool, call tool.Call, roots []string) (permission.Request, tool.Traits) {
	s, class := t.Spec(), tool.Classify(t, call)
	return permission.Request{Tool: call.Name, Aliases: s.Aliases, Access: class.Access, ReadOnly: class.ReadOnly,
		NonDestructive: s.NonDestructive, Dir: call.Dir, Roots: roots}, class
}

// A PermissionUpdate is a change of permissions as control messages have it.
type PermissionUpdate struct {
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

// SuggestUpdates returns rules as the update that would allow them.
func SuggestUpdates(rules []permission.Rule) []PermissionUpdate {
	if len(rules) == 0 {
		return []PermissionUpdate{}
	}
	u := PermissionUpdate{Type: "addRules", Behavior: "allow", Destination: "session"}
	for _, r := range rules {
		name, content, _ := strings.Cut(string(r), "(")
		u.Rules = append(u.Rules, ruleUpdate{name, strings.TrimSuffix(content, ")")})
	}
	return []PermissionUpdate{u}
}

// AllowedRules returns the rules that an update allows.
func (u PermissionUpdate) AllowedRules() []permission.Rule {
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

// SameJSON reports whether two values are the same but for white space.
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

// PendingRequest returns the question about a call among those that wait, of the session's
// run and of its agents.
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

// JoinRules returns rules as one line.
func JoinRules(rules []permission.Rule) string {
	words := make([]string, len(rules))
	for i, r := range rules {
		words[i] = string(r)
	}
	return strings.Join(words, " ")
}
