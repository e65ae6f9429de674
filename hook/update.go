package hook

import (
	"encoding/json"
	"strings"

	"github.com/openagent-go/agent/permission"
)

// An UpdateType is the kind of an [Update].
type UpdateType string

const (
	AddRules     UpdateType = "addRules"     // adds rules
	ReplaceRules UpdateType = "replaceRules" // those that hooks have added with the behavior
	RemoveRules  UpdateType = "removeRules"  // of those that hooks have added with the behavior
	SetMode      UpdateType = "setMode"      // sets the permission mode
)

// An Update changes permissions for the rest of the session. Rules that deny or ask still
// override rules that an update adds.
type Update struct {
	Type        UpdateType          `json:"type"`               // what is changed
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
