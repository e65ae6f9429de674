package hook

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/openagent-go/agent/permission"
)

// An UpdateType is the kind of an [Update].
type UpdateType string

const (
	AddRules     UpdateType = "addRules"
	ReplaceRules UpdateType = "replaceRules" // those that hooks have added with the behavior
	RemoveRules  UpdateType = "removeRules"  // of those that hooks have added with the behavior
	SetMode      UpdateType = "setMode"
)

// An Update changes permissions for the rest of the session. Rules that deny or ask still
// override rules that an update adds.
type Update struct {
	Type        UpdateType          `json:"type"`
	Behavior    permission.Behavior `json:"behavior,omitempty"` // with rules: allow, ask or deny
	Rules       []permission.Rule   `json:"-"`
	Mode        permission.Mode     `json:"mode,omitempty"`        // with SetMode
	Destination string              `json:"destination,omitempty"` // "session", which any other counts as
}

// wireRule is a rule as Claude Code writes it.
type wireRule struct {
	Tool    string `json:"toolName"`
	Content string `json:"ruleContent,omitempty"`
}

// MarshalJSON writes Claude Code's form.
func (u Update) MarshalJSON() ([]byte, error) {
	type plain Update
	w := struct {
		plain
		Rules []wireRule `json:"rules,omitempty"`
	}{plain: plain(u)}
	for _, r := range u.Rules {
		name, rest, pattern := strings.Cut(string(r), "(")
		if pattern {
			rest = strings.TrimSuffix(rest, ")")
		}
		w.Rules = append(w.Rules, wireRule{name, rest})
	}
	return json.Marshal(w)
}

// UnmarshalJSON reads Claude Code's form.
func (u *Update) UnmarshalJSON(data []byte) error {
	type plain Update
	var w struct {
		plain
		Rules []wireRule `json:"rules"`
	}
	if err := json.Unmarshal(data, &w); err != nil {
		return err
	}
	*u = Update(w.plain)
	for _, r := range w.Rules {
		text := r.Tool
		if r.Content != "" {
			text += "(" + r.Content + ")"
		}
		u.Rules = append(u.Rules, permission.Rule(text))
	}
	return nil
}

// maxRules bounds the rules of one update.
const maxRules = 200

// Check returns the first mistake in an update.
func (u Update) Check() error {
	switch u.Type {
	case AddRules, ReplaceRules, RemoveRules:
	case SetMode:
		if u.Mode == "" {
			return fmt.Errorf("%s has no mode; set one", u.Type)
		}
		_, err := permission.ParseMode(string(u.Mode))
		return err
	default:
		return fmt.Errorf("there is no permission update %.50q; there are %s, %s, %s and %s", u.Type, AddRules, ReplaceRules, RemoveRules, SetMode)
	}
	switch u.Behavior {
	case permission.Allowed, permission.Asked, permission.Denied:
	default:
		return fmt.Errorf("%s: the behavior is %.50q; it must be allow, ask or deny", u.Type, u.Behavior)
	}
	if len(u.Rules) > maxRules {
		return fmt.Errorf("%s: %d rules are too many; the limit is %d", u.Type, len(u.Rules), maxRules)
	}
	for _, r := range u.Rules {
		if err := r.Check(); err != nil {
			return fmt.Errorf("%s: %w", u.Type, err)
		}
	}
	return nil
}
