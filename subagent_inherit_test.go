package agent

import (
	"context"
	"reflect"
	"slices"
	"testing"

	"github.com/openagent-go/agent/hook"
	"github.com/openagent-go/agent/internal/fill"
	"github.com/openagent-go/agent/internal/policies"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
)

// What becomes of each field of a sub-agent's Agent that is set for its parent.
const (
	own       = "is its own"
	completed = "is its parent's, unless it is set"
	joined    = "is added to its own"
	parents   = "is its parent's, whatever is set"
	dropped   = "counts for nobody"
	byItself  = "has a test of its own"
)

// A new field of Agent needs a decision whether sub-agents inherit it.
var inheritedFields = map[string]string{
	"Name": own, "Program": own, "System": own, "AllowedTools": own, "Inbox": own, "Budget": own, "MaxTokens": own, "Temperature": own, "ToolChoice": own, "Stop": own, "MaxParallelCalls": own, "Sessions": own,
	"SmallModel": completed, "SummarizeOver": completed, "Models": completed, "Tools": completed, "Toolsets": completed, "Context": completed,
	"Retry": completed, "Compaction": completed, "Loop": completed, "Output": completed, "Log": completed, "Trace": completed,
	"DisallowedTools": joined, "Secrets": joined, "Hooks": joined,
	"AskUser": parents, "Quota": parents, "AllowModeChange": parents, "AllowRuleGrant": parents,
	"CanUseTool": dropped, "Checkpoint": dropped,
	"Model": byItself, "Fallbacks": byItself, "Thinking": byItself, "Dir": byItself, "AdditionalDirs": byItself, "Permissions": byItself, "Deciders": byItself, "Cache": byItself, "AwaitAgents": byItself, "DeferredTools": byItself, "DeferAbove": byItself, "parentLink": byItself, "bound": byItself, "kept": byItself,
}

// A numberedQuota limits nothing. Its number tells it from others.
type numberedQuota int

func (numberedQuota) Meter(m llm.Model) llm.Model { return m }

// some returns a value of a field's type that is not the zero value, another one for each n.
func some(t *testing.T, f reflect.StructField, n int) reflect.Value {
	t.Helper()
	switch f.Type {
	case reflect.TypeFor[llm.Model]():
		return reflect.ValueOf(llm.Model(llmtest.Script(make([]llmtest.Step, n)...)))
	case reflect.TypeFor[Quota]():
		return reflect.ValueOf(numberedQuota(n))
	case reflect.TypeFor[[]hook.Hook]():
		fn := func(context.Context, *hook.Input) (hook.Output, error) { return hook.Output{}, nil }
		return reflect.ValueOf([]hook.Hook{{On: hook.Stop, Func: fn}})
	}
	switch f.Type.Kind() {
	case reflect.Func:
		return reflect.MakeFunc(f.Type, func([]reflect.Value) []reflect.Value { panic("not to be called") })
	case reflect.Pointer:
		return reflect.New(f.Type.Elem())
	case reflect.Slice:
		return reflect.MakeSlice(f.Type, n, n)
	case reflect.Int:
		return reflect.ValueOf(n)
	}
	return fill.New(f.Type)
}

func TestInheritedFields(t *testing.T) {
	now := parentNow{model: func() llm.Model { return nil }}
	typ := reflect.TypeFor[Agent]()
	for i := range typ.NumField() {
		f := typ.Field(i)
		rule, known := inheritedFields[f.Name]
		if !known {
			t.Errorf("nobody has decided whether sub-agents inherit Agent.%s", f.Name)
		}
		if rule == byItself || f.Name == "Sessions" { // the store is set by the program that starts the agent
			continue
		}
		theirs, mine := some(t, f, 1), some(t, f, 2)
		inherited := func(setMine bool) reflect.Value {
			from, child := new(Agent), new(Agent)
			reflect.ValueOf(from).Elem().Field(i).Set(theirs)
			if setMine {
				reflect.ValueOf(child).Elem().Field(i).Set(mine)
			}
			return reflect.ValueOf(inherit(from, *child, "", now)).Elem().Field(i)
		}
		unset, set := inherited(false), inherited(true)
		same := func(a, b reflect.Value) bool {
			switch a.Kind() {
			case reflect.Func, reflect.Pointer:
				return a.Pointer() == b.Pointer()
			case reflect.Slice:
				return a.Len() == b.Len()
			}
			return reflect.DeepEqual(a.Interface(), b.Interface())
		}
		length := func(v reflect.Value) int {
			if v.Kind() == reflect.Slice {
				return v.Len()
			}
			return 0
		}
		ok := map[string]bool{
			own:       unset.IsZero() && same(set, mine),
			completed: same(unset, theirs) && same(set, mine),
			joined:    length(unset) == length(theirs) && length(set) == length(theirs)+length(mine),
			parents:   same(unset, theirs) && same(set, theirs),
			dropped:   unset.IsZero() && set.IsZero(),
		}
		if !ok[rule] {
			t.Errorf("Agent.%s %q does not hold: %v, and set %v", f.Name, rule, unset, set)
		}
	}
	for name := range inheritedFields {
		if _, known := typ.FieldByName(name); !known {
			t.Errorf("there is no field Agent.%s", name)
		}
	}
}

// A sub-agent without a model uses the parent's current one, with its fallbacks and
// thinking. A sub-agent with a model uses its own.
func TestInheritedModel(t *testing.T) {
	first, inUse, mine := llmtest.Script(), llmtest.Script(), llmtest.Script()
	from := &Agent{Model: first, Fallbacks: []llm.Model{inUse}, Thinking: llm.Thought{Effort: "low"}}
	now := parentNow{model: func() llm.Model { return inUse }, thinking: llm.Thought{Effort: "high"}}
	if a := inherit(from, Agent{}, "", now); a.Model != llm.Model(inUse) || len(a.Fallbacks) != 1 || a.Thinking.Effort != "high" {
		t.Errorf("without a model: %v, %v, %v", a.Model, a.Fallbacks, a.Thinking)
	}
	if a := inherit(from, Agent{Thinking: llm.Thought{Effort: "max"}, Fallbacks: []llm.Model{}}, "", now); len(a.Fallbacks) != 0 || a.Thinking.Effort != "max" {
		t.Errorf("with thinking: %v, %v", a.Fallbacks, a.Thinking)
	}
	if a := inherit(from, Agent{Model: mine}, "", now); a.Model != llm.Model(mine) || a.Fallbacks != nil || a.Thinking.On() {
		t.Errorf("with a model: %v, %v, %v", a.Model, a.Fallbacks, a.Thinking)
	}
	now.model = func() llm.Model { return nil }
	if a := inherit(from, Agent{}, "", now); a.Model != llm.Model(first) {
		t.Errorf("where the one in use is gone: %v", a.Model)
	}
}

// A sub-agent works in the place and the folders of its parent. It never caches more than
// its parent does.
func TestInheritedPlace(t *testing.T) {
	now := parentNow{model: func() llm.Model { return nil }, dir: "/w/tree", roots: []string{"/w"}}
	a := inherit(&Agent{Cache: llm.Cache{Off: true}}, Agent{AdditionalDirs: []string{"/more"}}, "", now)
	if a.Dir != "/w/tree" || !slices.Equal(a.AdditionalDirs, []string{"/more", "/w"}) || !a.Cache.Off || !a.AwaitAgents {
		t.Errorf("it is in %s with %v, cache %v", a.Dir, a.AdditionalDirs, a.Cache)
	}
	if a := inherit(new(Agent), Agent{Dir: "/own", Cache: llm.Cache{Off: true}}, "", now); a.Dir != "/own" || !a.Cache.Off {
		t.Errorf("it is in %s, cache %v", a.Dir, a.Cache)
	}
}

// Tools of its parent come with the limits of which it may see; tools of its own do not.
func TestInheritedTools(t *testing.T) {
	now := parentNow{model: func() llm.Model { return nil }}
	from := &Agent{Tools: make([]tool.Tool, 1), AllowedTools: []string{"a"}, DeferredTools: []string{"b"}, DeferAbove: 0.1, parentLink: &parentLink{only: [][]string{{"a", "b"}}}}
	if a := inherit(from, Agent{}, "", now); len(a.Tools) != 1 || len(a.DeferredTools) != 1 || a.DeferAbove != 0.1 || len(a.parentLink.only) != 2 || len(from.parentLink.only) != 1 {
		t.Errorf("inherited: %d tools, only %v", len(a.Tools), a.parentLink.only)
	}
	if a := inherit(from, Agent{Tools: []tool.Tool{}}, "", now); len(a.Tools) != 0 || len(a.DeferredTools) != 0 || a.DeferAbove != 0 || len(a.parentLink.only) != 0 {
		t.Errorf("its own: %d tools, only %v", len(a.Tools), a.parentLink.only)
	}
}

// The parent's rules and mode bound a sub-agent, whatever its own are.
func TestInheritedPermissions(t *testing.T) {
	now := parentNow{model: func() llm.Model { return nil }, above: permission.DenyList("Web"),
		rules: permission.Policy{Mode: permission.Default, Deny: []permission.Rule{"Bash"}, Ask: []permission.Rule{"Read"}}}
	mine := Agent{Permissions: permission.Policy{Mode: permission.Bypass, Allow: []permission.Rule{"Bash"}, Deny: []permission.Rule{"Edit"}}, Deciders: []permission.Decider{permission.DenyList("Grep")}}
	from := &Agent{Deciders: []permission.Decider{permission.DenyList("Glob")}}
	a := inherit(from, mine, "", now)
	rules := policies.Compile(a.Permissions).In(a.Permissions.Mode)
	for name, want := range map[string]permission.Behavior{"Bash": permission.Denied, "Edit": permission.Denied, "Read": permission.Asked} {
		if d := rules.Decide(&permission.Request{Tool: name, Dir: "/w"}); d.Behavior != want {
			t.Errorf("%s is %v", name, d)
		}
	}
	if d := rules.Decide(&permission.Request{Tool: "Write", Dir: "/w"}); d.Behavior == permission.Allowed {
		t.Errorf("a mode of its own allows %v", d)
	}
	for _, name := range []string{"Glob", "Web", "Grep"} {
		if d := permission.Composite(a.Deciders...).Decide(permission.Request{Tool: name}); d.Behavior != permission.Denied {
			t.Errorf("%s is %v", name, d)
		}
	}
	if a := inherit(from, mine, permission.Plan, now); a.Permissions.Mode != permission.Plan {
		t.Errorf("the mode that its call wants is %s", a.Permissions.Mode)
	}
	if len(from.Deciders) != 1 || len(mine.Deciders) != 1 {
		t.Error("the lists of others were changed")
	}
}
