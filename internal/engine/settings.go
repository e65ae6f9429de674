package engine

import (
	"slices"
	"strings"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/hook"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/internal/hookconst"
	"github.com/openagent-go/agent/internal/llmconst"
	"github.com/openagent-go/agent/internal/policies"
	"github.com/openagent-go/agent/internal/skillscope"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/permission"
)

// settings are the configuration of a run with its later changes.
type settings struct {
	cfg      fact.Configured // without the system prompt and the models
	models   []knownModel
	fallback int // 0: the configured model is in use; n: the nth fallback
	mode     permission.Mode
	dir      string
	scopes   []scope                 // skills in force, the innermost last
	bound    *permission.Restriction // the tools that they allow; nil: all
	rules    *permission.Policy      // rules added by hooks; nil: none
}

// A knownModel is a model with its recorded facts. Runs know few models, and a short list
// takes a tenth of the memory of a map.
type knownModel struct {
	name string
	info llm.Info
}

func (t *settings) tools() toolset { return t.cfg.Tools }

// fires reports whether the run has hooks for an event.
//
//go:noinline // called from many places: every program stays smaller
func (t *settings) fires(e hook.Event) bool { return slices.Contains(t.cfg.Hooks, e) }

// stopEvent is that of the run's end.
func (t *settings) stopEvent() hook.Event {
	if t.cfg.Agent != "" {
		return hook.SubagentStop
	}
	return hook.Stop
}

// configure takes a configuration. It returns the folders that it adds.
func (t *settings) configure(f *fact.Configured) (added []string) {
	for _, dir := range f.Roots {
		if len(t.cfg.Roots) > 0 && !slices.Contains(t.cfg.Roots, dir) {
			added = append(added, dir)
		}
	}
	same := f.Program != "" && f.Program == t.cfg.Program
	if f.Start != "" && t.rules != nil && !same { // the rules were added for another program
		t.rules.Allow = nil
	}
	t.knowOnly(f.Models)
	t.cfg, t.mode, t.dir = *f, f.Mode, f.Dir
	t.cfg.System, t.cfg.Models = "", nil
	return added
}

// model returns the name of the model that the next call goes to.
func (t *settings) model() string {
	if n := t.fallback; n > 0 {
		return t.cfg.Fallbacks[n-1]
	}
	for _, sc := range slices.Backward(t.scopes) {
		if sc.Model != "" {
			return sc.Model
		}
	}
	return t.cfg.Model
}

// info returns the facts about a model, the zero Info if none are known.
//
//go:noinline // called from many places: every program stays smaller
func (t *settings) info(model string) llm.Info {
	for i := range t.models {
		if t.models[i].name == model {
			return t.models[i].info
		}
	}
	return llm.Info{}
}

// knowOnly forgets all models but these.
func (t *settings) knowOnly(models map[string]llm.Info) {
	t.models = make([]knownModel, 0, len(models))
	names := make([]string, 0, len(models))
	for name := range models {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		t.models = append(t.models, knownModel{name, models[name]})
	}
}

// know stores the facts about a model.
//
//go:noinline // called from many places: every program stays smaller
func (t *settings) know(model string, info llm.Info) {
	for i := range t.models {
		if t.models[i].name == model {
			t.models[i].info = info
			return
		}
	}
	t.models = append(t.models, knownModel{model, info})
}

// modeChanged takes another mode.
func (t *settings) modeChanged(f event.ModeChanged) {
	t.mode = f.Mode
	if p := t.cfg.Prompt; f.Lasts && p != nil && p.Mode != "" {
		own := *p
		own.SessionMode = f.Mode
		t.cfg.Prompt = &own
	}
}

// modeOfSession returns the mode of later prompts, which is not that of a prompt with a
// mode of its own.
func (t *settings) modeOfSession() permission.Mode {
	if p := t.cfg.Prompt; p != nil && p.Mode != "" {
		return p.SessionMode
	}
	return t.mode
}

// modelChanged takes another model, in the place of those of skills as well.
func (t *settings) modelChanged(f event.ModelChanged) {
	if p := t.cfg.Prompt; p != nil && p.Model != "" && f.Model != t.cfg.Model {
		own := *p
		own.Model = ""
		t.cfg.Prompt = &own
	}
	t.cfg.Model, t.cfg.Thinking = f.Model, f.Thinking
	t.know(f.Model, f.Info)
	if f.MaxTokens > 0 {
		t.cfg.MaxTokens = f.MaxTokens
	}
	for i := range t.scopes {
		t.scopes[i].Model = "" // the host's word counts
	}
	t.fallback = 0
}

// fallBack moves on to the next fallback model after a failure, if another model can
// help.
func (t *settings) fallBack(f *event.ModelFailed) bool {
	switch f.Class {
	case llm.TooLong, llmconst.TooLarge, llm.Invalid, llm.Auth, llm.Forbidden, llmconst.TLS:
		return false
	}
	for t.fallback < len(t.cfg.Fallbacks) {
		t.fallback++
		if t.model() != f.Model {
			return true
		}
	}
	return false
}

// fallbacksChanged takes other fallback models. One that is in use stays in use as
// long as it is one of them: dropped reports that it is not.
func (t *settings) fallbacksChanged(f fact.FallbacksChanged) (dropped bool) {
	moved := func(n int) int {
		if n == 0 || n > len(t.cfg.Fallbacks) {
			return 0
		}
		return slices.Index(f.Fallbacks, t.cfg.Fallbacks[n-1]) + 1
	}
	was := t.fallback
	t.fallback = moved(was)
	t.scopes = slices.Clone(t.scopes)
	for i := range t.scopes {
		t.scopes[i].fallback = moved(t.scopes[i].fallback)
	}
	t.cfg.Fallbacks = f.Fallbacks
	for _, name := range f.Fallbacks {
		t.know(name, f.Models[name])
	}
	return was > 0 && t.fallback == 0
}

// permissionsChanged takes in changes of the rules.
func (t *settings) permissionsChanged(f event.PermissionsChanged) bool {
	if t.rules == nil {
		t.rules = new(permission.Policy)
	}
	for _, u := range f.Updates {
		list := &t.rules.Allow
		switch u.Behavior {
		case permission.Asked:
			list = &t.rules.Ask
		case permission.Denied:
			list = &t.rules.Deny
		}
		had := *list
		switch u.Type {
		case hookconst.ReplaceRules:
			had = nil
		case hookconst.RemoveRules:
			*list = slices.DeleteFunc(slices.Clone(had), func(r permission.Rule) bool { return slices.Contains(u.Rules, r) })
			continue
		}
		added := slices.Clone(had) // a running decision may still hold the old ones
		for _, r := range u.Rules {
			if !slices.Contains(added, r) {
				added = append(added, r)
			}
		}
		*list = added
	}
	return true
}

// compaction is how the conversation is to be compacted.
func (t *settings) compaction() fact.Compaction {
	if t.cfg.Compaction != nil {
		return *t.cfg.Compaction
	}
	return fact.Compaction{}
}

// noCompaction reports whether the conversation is not to be compacted by itself.
func (t *settings) noCompaction() bool { return t.cfg.Compaction != nil && t.cfg.Compaction.Off }

// A scope is a skill in force.
type scope struct {
	skillscope.Scope
	fallback int // that was in use when it began, if it changed the model
}

func (t *settings) beginScope(sc skillscope.Scope, byUser bool) {
	sc.ByUser = byUser
	sc.Tools = t.tools().canonical(sc.Tools)
	f := scope{sc, t.fallback}
	if sc.Model != "" {
		t.fallback = 0 // it falls back from the skill's model
		t.know(sc.Model, sc.Info)
	}
	t.scopes = append(slices.Clip(t.scopes), f)
	t.bind()
}

// endScope ends the innermost skill, unless the user began it.
func (t *settings) endScope() {
	if n := len(t.scopes); n > 0 && !t.scopes[n-1].ByUser {
		t.dropScope()
		t.bind()
	}
}

// endScopes ends all skills.
func (t *settings) endScopes() {
	for len(t.scopes) > 0 {
		t.dropScope()
	}
	t.bind()
}

func (t *settings) dropScope() {
	last := len(t.scopes) - 1
	if t.scopes[last].Model != "" {
		t.fallback = t.scopes[last].fallback
	}
	t.scopes = t.scopes[:last:last]
}

// bind sets the tools that the skills in force allow: the list of the innermost skill that
// has one.
func (t *settings) bind() {
	for _, sc := range slices.Backward(t.scopes) {
		if len(sc.Tools) == 0 {
			continue
		}
		t.bound = &permission.Restriction{By: "the skill " + sc.Skill, Only: sc.Tools}
		return
	}
	t.bound = nil
}

// canonical writes the names of tools in rules as the tools have them: a skill may
// say bash, or an alias. Who may use all the tools in whose place another one is
// offered may use that one.
func (ts toolset) canonical(list []permission.Rule) []permission.Rule {
	if len(list) == 0 {
		return nil
	}
	out := make([]permission.Rule, 0, len(list))
	for _, r := range list {
		if name, ok := ts.resolve(policies.ToolOf(r)); ok {
			r = permission.Rule(name + strings.TrimPrefix(string(r), policies.ToolOf(r)))
		}
		out = append(out, r)
	}
	for i := range ts {
		t := &ts[i]
		all := len(t.Replaces) > 0
		for _, name := range t.Replaces {
			all = all && slices.Contains(out, permission.Rule(name))
		}
		if all {
			out = append(out, permission.Rule(t.Name))
		}
	}
	return out
}
