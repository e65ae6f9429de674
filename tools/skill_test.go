package tools

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
	"github.com/openagent-go/agent/tool/tooltest"
)

// A shelf has skills by name and alias.
type shelf struct {
	skills  []SkillInfo
	aliases map[string]string
}

func (s shelf) List() []SkillInfo { return s.skills }

func (s shelf) Find(name string) (SkillInfo, bool) {
	if full, ok := s.aliases[name]; ok {
		name = full
	}
	i := slices.IndexFunc(s.skills, func(k SkillInfo) bool { return strings.EqualFold(k.Name, name) })
	if i < 0 {
		return SkillInfo{}, false
	}
	return s.skills[i], true
}

func newShelf() shelf {
	return shelf{skills: []SkillInfo{
		{Name: "commit", Instructions: "Commit $ARGUMENTS.\nSay $ARGUMENTS, not $1.", AllowedTools: []string{"Bash"}},
		{Name: "review", Instructions: "Review.", Dir: "/skills/review", Model: "large"},
		{Name: "empty", Instructions: " \n"},
		{Name: "huge", Instructions: strings.Repeat("$ARGUMENTS ", 1000)},
		{Name: "vast", Instructions: strings.Repeat("x", maxSkill+1)},
	}, aliases: map[string]string{"cr": "review"}}
}

func TestSkill(t *testing.T) {
	x := Skill(newShelf())
	tooltest.Check(t, x)
	for _, c := range []struct {
		input, want string
		fails       bool
	}{
		{`{"skill":"commit","args":" all & $1 "}`, "Commit all & $1.\nSay all & $1, not $1.", false},
		{`{"skill":"/Commit"}`, "Commit .\nSay , not $1.", false},
		{`{"skill":"cr","args":"this"}`, "Review.\n\nThe user's request: this\n\nFiles of this skill are in /skills/review", false},
		{`{"skill":"comit"}`, `skill "comit" is unknown; did you mean "commit"?; there are commit, review, empty, huge, vast`, true},
		{`{"skill":""}`, `skill "" is unknown`, true},
		{`{"skill":"empty"}`, "has no instructions", true},
		{`{"skill":"vast"}`, "more than the 200000 that can be loaded", true},
		{`{"skill":"huge","args":"` + strings.Repeat("a", 9000) + `"}`, "more than the 200000", true},
		{`{"skill":"commit","args":"` + strings.Repeat("a", maxSkillArgs+1) + `"}`, "args has 10001 bytes", true},
		{`{"skill":"commit","arguments":"a"}`, "arguments", true},
	} {
		r := tooltest.Run(t, x, c.input)
		if r.IsError != c.fails || !strings.Contains(r.Text(), c.want) || !c.fails && r.Text() != c.want {
			t.Errorf("%.60s: got %q, want %q", c.input, r.Text(), c.want)
		}
	}
	r := tooltest.Run(t, x, `{"skill":"commit"}`)
	if want := `{"allowedTools":["Bash"],"dir":"","model":"","skill":"commit"}`; string(r.Details) != want || r.Title != "Skill commit" {
		t.Errorf("%s, %s", r.Title, r.Details)
	}
	if r := tooltest.Run(t, Skill(shelf{}), `{"skill":"x"}`); !strings.Contains(r.Text(), "there is none here") {
		t.Errorf("got %q", r.Text())
	}
}

// Rules know a skill by its own name, whatever the model calls it.
func TestSkillClass(t *testing.T) {
	x := Skill(newShelf())
	for input, want := range map[string]string{`{"skill":"cr"}`: "review", `{"skill":"/COMMIT"}`: "commit", `{"skill":"what"}`: "what"} {
		c := tool.Classify(x, tool.Call{Input: json.RawMessage(input)})
		if !c.ReadOnly || len(c.Access) != 1 || c.Access[0] != (permission.Access{Kind: permission.UseName, Target: want}) {
			t.Errorf("%s: %+v", input, c)
		}
	}
	request := func(input string) permission.Request {
		c := tool.Classify(x, tool.Call{Input: json.RawMessage(input)})
		return permission.Request{Tool: "Skill", Access: c.Access, ReadOnly: c.ReadOnly}
	}
	deny := permission.Policy{Deny: []permission.Rule{"Skill(review)"}}
	if d := deny.Decide(request(`{"skill":"cr"}`)); d.Behavior != permission.Denied {
		t.Errorf("an alias escapes the rule: %+v", d)
	}
	if d := deny.Decide(request(`{"skill":"commit"}`)); d.Behavior != permission.Allowed {
		t.Errorf("%+v", d)
	}
}
