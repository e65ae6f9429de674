package tools

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/openagent-go/agent/internal/skillscope"
	"github.com/openagent-go/agent/internal/toolrun"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
	"github.com/openagent-go/agent/tool/tooltest"
)

// A shelf has skills by name and alias.
type shelf struct {
	skills  []skillscope.Info
	aliases map[string]string
}

func (s shelf) List() []skillscope.Info {
	return slices.DeleteFunc(slices.Clone(s.skills), func(i skillscope.Info) bool { return i.Manual })
}

func (s shelf) Find(name string) (skillscope.Info, bool) {
	if full, ok := s.aliases[name]; ok {
		name = full
	}
	i := slices.IndexFunc(s.skills, func(k skillscope.Info) bool { return strings.EqualFold(k.Name, name) })
	if i < 0 {
		return skillscope.Info{}, false
	}
	return s.skills[i], true
}

func (s shelf) Expand(name, args string) (*tool.Expansion, error) {
	info, _ := s.Find(name)
	if info.Name == "broken" {
		return nil, errors.New("the file is gone")
	}
	return &tool.Expansion{Name: info.Name, Args: args, Text: "Do " + info.Name + " with " + args, Scope: &skillscope.Scope{Skill: info.Name, Tools: info.Tools, Model: "m"}}, nil
}

func (s shelf) Unknown(name string) error { return fmt.Errorf("there is no skill %q", name) }

func newShelf() shelf {
	return shelf{skills: []skillscope.Info{
		{Name: "commit", Description: "Commits changes", When: "the user asks to commit", Tools: []permission.Rule{"Bash", "Read"}},
		{Name: "review", Description: "Reviews changes"},
		{Name: "broken"},
		{Name: "deploy", Description: "Deploys changes", Manual: true},
	}, aliases: map[string]string{"cr": "review"}}
}

func TestSkill(t *testing.T) {
	x := Skill(newShelf())
	tooltest.Check(t, x)
	for _, c := range []struct {
		input, want string
		fails       bool
	}{
		{`{"skill":"commit","args":"all"}`, "Do commit with all\n\nWhen the work of this skill is done", false},
		{`{"skill":"/Commit"}`, "Do commit with ", false},
		{`{"skill":"cr"}`, "Do review with ", false},
		{`{"skill":"comit"}`, `there is no skill "comit"; {"query": "words"} searches`, true},
		{`{"skill":"deploy"}`, "the user runs it by typing /deploy", true},
		{`{"skill":"broken"}`, "the file is gone", true},
		{`{"end":true}`, "no skill is in force", true},
		{`{}`, "commit\nreview\nbroken", false},
		{`{"query":"changes commit"}`, "- commit: Commits changes (when the user asks to commit)\n- review: Reviews changes", false},
		{`{"query":"cooking"}`, `no skill is about "cooking"`, true},
		{`{"skill":"commit","arguments":"a"}`, "arguments", true},
	} {
		r := tooltest.Run(t, x, c.input)
		if r.IsError != c.fails || !strings.Contains(r.Text(), c.want) {
			t.Errorf("%.60s: got %q, want %q", c.input, r.Text(), c.want)
		}
	}
	r := tooltest.Run(t, x, `{"skill":"commit","args":"all"}`)
	if want := `{"allowedTools":["Bash","Read"],"model":"m","skill":"commit"}`; string(r.Details) != want || r.Title != "Skill commit" {
		t.Errorf("%s, %s", r.Title, r.Details)
	}
	if b := r.Patch.Begin; b == nil || b.Skill != "commit" || len(b.Tools) != 2 {
		t.Errorf("begins %+v", b)
	}
	if r := tooltest.Run(t, Skill(shelf{}), `{}`); !strings.Contains(r.Text(), "there are no skills") {
		t.Errorf("got %q", r.Text())
	}
}

// Skills within each other have a limit, and end one by one.
func TestSkillNesting(t *testing.T) {
	x := Skill(newShelf())
	run := func(input string, scopes ...skillscope.Scope) *tool.Result {
		r, err := x.Run(t.Context(), tool.Call{Name: "Skill", Input: json.RawMessage(input), Scopes: scopes})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	four := []skillscope.Scope{{Skill: "a"}, {Skill: "b"}, {Skill: "c"}, {Skill: "d"}}
	if r := run(`{"skill":"review"}`, four...); !r.IsError || !strings.Contains(r.Text(), "4 skills are in force") || r.Patch.Begin != nil {
		t.Errorf("%q", r.Text())
	}
	if r := run(`{"skill":"review"}`, four[:3]...); r.IsError {
		t.Errorf("%q", r.Text())
	}
	if r := run(`{"end":true}`, four...); !r.Patch.End || !strings.Contains(r.Text(), "The skill d is over. The skill c is in force again.") {
		t.Errorf("%q", r.Text())
	}
	if r := run(`{"end":true}`, skillscope.Scope{Skill: "review", ByUser: true}); !r.IsError || r.Patch.End {
		t.Errorf("%q", r.Text())
	}
}

// The list in the description has its bound, however many skills there are; all of them
// can be found.
func TestSkillListBudget(t *testing.T) {
	var s shelf
	for i := range 300 {
		s.skills = append(s.skills, skillscope.Info{Name: fmt.Sprintf("skill-number-%d", i), Description: strings.Repeat("words about it ", 30), When: "long"})
		text := Skill(s).Spec().Description
		if len(text) > 2<<10+len(skillText) {
			t.Fatalf("%d skills take %d bytes", i+1, len(text))
		}
		if i < 10 && !strings.Contains(text, s.skills[i].Name+": words") {
			t.Errorf("%d skills: %s", i+1, text)
		}
	}
	text := Skill(s).Spec().Description
	if !strings.Contains(text, "more, found by") {
		t.Errorf("it does not say that there are more: %s", text)
	}
	if r := tooltest.Run(t, Skill(s), `{"query":"number-299"}`); !strings.Contains(r.Text(), "skill-number-299") {
		t.Errorf("%q", r.Text())
	}
	if r := tooltest.Run(t, Skill(s), `{"query":""}`); strings.Count(r.Text(), "\n") != 299 {
		t.Errorf("%q", r.Text())
	}
	if !strings.Contains(Skill(newShelf()).Spec().Description, "- commit: Commits changes (when the user asks to commit)") {
		t.Error(Skill(newShelf()).Spec().Description)
	}
}

// Rules know a skill by its own name, whatever the model calls it. A skill that gives
// more than the one in force needs permission.
func TestSkillClass(t *testing.T) {
	x := Skill(newShelf())
	for input, want := range map[string]string{`{"skill":"cr"}`: "review", `{"skill":"/COMMIT"}`: "commit", `{"skill":"what"}`: "what"} {
		c := toolrun.Classify(x, tool.Call{Input: json.RawMessage(input)})
		if !c.ReadOnly || !c.IgnoresSkillLimits || len(c.Access) != 1 || c.Access[0] != (permission.Access{Kind: permission.UseName, Target: want}) {
			t.Errorf("%s: %+v", input, c)
		}
	}
	request := func(input string) permission.Request {
		c := toolrun.Classify(x, tool.Call{Input: json.RawMessage(input)})
		return permission.Request{Tool: "Skill", Access: c.Access, ReadOnly: c.ReadOnly}
	}
	deny := permission.Policy{Deny: []permission.Rule{"Skill(review)"}}
	if d := deny.Decide(request(`{"skill":"cr"}`)); d.Behavior != permission.Denied {
		t.Errorf("an alias escapes the rule: %+v", d)
	}
	if d := deny.Decide(request(`{"skill":"commit"}`)); d.Behavior != permission.Allowed {
		t.Errorf("%+v", d)
	}
	for _, c := range []struct {
		in             []permission.Rule
		skill          string
		reads, unbound bool
	}{
		{[]permission.Rule{"Bash", "Read", "Grep"}, "commit", true, true},
		{[]permission.Rule{"Read"}, "commit", false, true},
		{[]permission.Rule{"Read"}, "review", true, true}, // has no list: the one in force stays
		{[]permission.Rule{"Read", "skill(commit)"}, "commit", true, false},
	} {
		got := toolrun.Classify(x, tool.Call{Input: json.RawMessage(`{"skill":"` + c.skill + `"}`), Scopes: []skillscope.Scope{{Skill: "x", Tools: c.in}, {Skill: "y"}}})
		if got.ReadOnly != c.reads || got.Internal != c.reads || got.IgnoresSkillLimits != c.unbound {
			t.Errorf("%s within %v: %+v", c.skill, c.in, got)
		}
	}
}
