package hook

import (
	"encoding/json"
	"strings"

	"github.com/openagent-go/agent/permission"
)

// An Update changes permissions for the rest of the session. Rules that deny or ask still
// override rules that an update adds.
type Update struct {
	// Type says what is changed. "addRules" adds the Rules, "replaceRules" puts them in the
	// place of those that hooks have added with the Behavior, and "removeRules" takes away
	// some of those. "setMode" sets the Mode.
	Type        string              `json:"type"`
	Behavior    permission.Behavior `json:"behavior,omitempty"` // with rules: allow, ask or deny
	Rules       []permission.Rule   `json:"-"`
	Mode        permission.Mode     `json:"mode,omitempty"` // with "setMode"
	destination string              // as it was read; every update holds for the session
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
		Destination string     `json:"destination,omitempty"`
		Rules       []wireRule `json:"rules,omitempty"`
	}{plain: plain(u), Destination: u.destination}
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
		Destination string     `json:"destination"`
		Rules       []wireRule `json:"rules"`
	}
	if err := json.Unmarshal(data, &w); err != nil {
		return err
	}
	*u = Update(w.plain)
	u.destination = w.Destination
	for _, r := range w.Rules {
		text := r.Tool
		if r.Content != "" {
			text += "(" + r.Content + ")"
		}
		u.Rules = append(u.Rules, permission.Rule(text))
	}
	return nil
}
