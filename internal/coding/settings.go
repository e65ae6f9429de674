package coding

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/config"
	"github.com/openagent-go/agent/internal/parts"
	"github.com/openagent-go/agent/llm"
)

// loadSettings loads the settings and adds the options to them, so that managed settings bound both.
func (c *Coder) loadSettings(ctx context.Context) error {
	given, err := c.given()
	if err != nil {
		return err
	}
	if c.Settings = c.options.Settings; c.Settings != nil {
		if len(given) > 0 {
			c.Settings, err = c.Settings.With(given...)
		}
		return err
	}
	from := config.Options{Dir: c.finder.Project, Home: c.finder.Home, Managed: config.ManagedFile(), Given: given, Layers: c.options.Layers}
	if c.without(Settings) {
		from.Layers = []config.Scope{}
	}
	s, err := config.Load(from)
	if err != nil {
		return err
	}
	var trusted []string
	for _, f := range s.Files() {
		if len(s.Needs(f)) == 0 {
			continue
		}
		yes, err := c.trusts(ctx, parts.Source{Kind: parts.Settings, Path: f.Place(), Sum: f.Sum, Content: f})
		if err != nil {
			return err
		}
		if yes {
			trusted = append(trusted, f.Sum)
		}
	}
	if trusted != nil {
		from.Trusted = func(f config.File) bool { return slices.Contains(trusted, f.Sum) }
		if s, err = config.Load(from); err != nil {
			return err
		}
	}
	for _, p := range s.Problems() {
		if p.Kind != config.Idle {
			c.warn(Settings, &p)
		}
	}
	c.Settings = s
	return nil
}

// given returns the options as settings.
func (c *Coder) given() ([]config.Given, error) {
	a := &c.options.Agent
	p := a.Permissions
	values := map[string]any{}
	add := func(key string, set bool, value any) {
		if set {
			values[key] = value
		}
	}
	add("permissions.allow", len(p.Allow) > 0, p.Allow)
	add("permissions.ask", len(p.Ask) > 0, p.Ask)
	add("permissions.deny", len(p.Deny) > 0, p.Deny)
	add("permissions.defaultMode", p.Mode != "", p.Mode)
	add(parts.FoldersKey, len(a.AdditionalDirs) > 0, a.AdditionalDirs)
	add("model", c.options.Model != "", c.options.Model)
	add("tools", len(c.options.Tools) > 0, c.options.Tools)
	add("max_turns", a.Budget.Turns > 0, a.Budget.Turns)
	add("max_model_calls", a.Budget.ModelCalls > 0, a.Budget.ModelCalls)
	add("max_budget_usd", a.Budget.USD > 0, a.Budget.USD)
	add("timeout", a.Budget.Time > 0, a.Budget.Time.String())
	add("max_tokens", a.MaxTokens > 0, a.MaxTokens)
	add("effort", a.Thinking.Effort != "", a.Thinking.Effort)
	add("max_thinking_tokens", a.Thinking.Budget > 0, a.Thinking.Budget)
	if how := c.options.Sandbox; how != FromSettings {
		add("sandbox.enabled", true, how != Off)
		add("sandbox.failIfUnavailable", how != Off, how == Require)
		add("sandbox.autoAllowBashIfSandboxed", how != Off, true)
	}
	if s := c.options.SandboxSettings; s != nil {
		if err := addSandbox(values, s); err != nil {
			return nil, &OptionError{Option: "SandboxSettings", Err: err}
		}
	}
	var list []config.Given
	for _, k := range config.Keys() {
		v, ok := values[k.Name]
		if !ok {
			continue
		}
		data, err := json.Marshal(v)
		if err != nil {
			return nil, err
		}
		list = append(list, config.Given{Scope: config.Flags, Name: "coder.Options", Key: k.Name, Value: data})
	}
	return list, nil
}

// addSandbox adds the members of sandbox settings, except those that [Sandbox] stands for.
func addSandbox(values map[string]any, s any) error {
	data, err := json.Marshal(s)
	if err != nil {
		return err
	}
	for _, k := range config.Keys() {
		name, ours := strings.CutPrefix(k.Name, parts.SandboxPrefix)
		if _, said := values[k.Name]; !ours || said {
			continue
		}
		raw := data
		for member := range strings.SplitSeq(name, ".") {
			var object map[string]json.RawMessage
			if raw != nil && json.Unmarshal(raw, &object) != nil {
				object = nil
			}
			raw = object[member]
		}
		if len(raw) > 0 && !bytes.Equal(raw, []byte("null")) {
			values[k.Name] = json.RawMessage(raw)
		}
	}
	return nil
}

// applySettings sets the fields of the agent that settings have.
func (c *Coder) applySettings() error {
	a, s := c.Agent, c.Settings
	p := s.Policy()
	if v, err := s.Get("permissions.defaultMode"); err == nil && v.Source.Scope != config.Default {
		a.Permissions.Mode = p.Mode
		if err := s.Permits(p.Mode); err != nil {
			return fmt.Errorf("%s: %w; choose another mode", v.Source, err)
		}
	}
	a.Permissions.Allow, a.Permissions.Ask, a.Permissions.Deny, a.Permissions.Origins = p.Allow, p.Ask, p.Deny, p.Origins
	a.Permissions.KnownTools = slices.Concat(a.Permissions.KnownTools, p.KnownTools)
	a.Permissions.Private = append(slices.Clone(a.Permissions.Private), parts.PrivatePaths(c.finder.Home)...)
	a.AdditionalDirs = parts.Folders(s, c.Dir, func(err error) {
		if c.options.Settings == nil { // others were looked through before
			c.warn(Settings, err)
		}
	})
	s.Decode("max_turns", &a.Budget.Turns)
	s.Decode("max_model_calls", &a.Budget.ModelCalls)
	s.Decode("max_budget_usd", &a.Budget.USD)
	s.Decode("max_tokens", &a.MaxTokens)
	a.Budget.Time = cmp.Or(s.Duration("timeout"), a.Budget.Time)
	if a.SummarizeOver == 0 {
		s.Decode("digest_above", &a.SummarizeOver)
	}
	if a.Compaction == nil {
		a.Compaction = compaction(s)
	}
	if a.Loop == (event.Loop{}) {
		s.Decode("loop.off", &a.Loop.Off)
		s.Decode("loop.repeats", &a.Loop.Repeats)
		s.Decode("loop.failures", &a.Loop.Failures)
	}
	if a.Cache == (llm.Cache{}) {
		a.Cache = cache(s)
	}
	a.Thinking = c.thinking()
	if a.AllowModeChange == nil {
		a.AllowModeChange = s.Permits
	}
	if a.AllowRuleGrant == nil {
		a.AllowRuleGrant = s.PermitsRule
	}
	return c.limitDay()
}

// thinking returns how much the model thinks. An option overrides files; managed settings override
// the option.
func (c *Coder) thinking() llm.Thought {
	s, t := c.Settings, c.options.Agent.Thinking
	effort, tokens := c.explicit("effort"), c.explicit("max_thinking_tokens")
	if effort || !tokens {
		s.Decode("effort", &t.Effort)
	}
	if tokens || !effort {
		s.Decode("max_thinking_tokens", &t.Budget)
	}
	if _, fixed := s.Managed("effort"); fixed {
		s.Decode("effort", &t.Effort)
		t.Budget = 0
	}
	if v, bound := s.Managed("max_thinking_tokens"); bound {
		s.Decode(v.Key, &t.Budget)
	}
	return t
}

// explicit reports whether an option, not a file, sets a setting.
func (c *Coder) explicit(key string) bool {
	v, err := c.Settings.Get(key)
	return err == nil && v.Source.Scope == config.Flags && v.Source.File == ""
}

// trusts asks Options.Trust about a source. Without trust it warns about the source.
func (c *Coder) trusts(ctx context.Context, s parts.Source) (bool, error) {
	if c.options.Trust == nil {
		if s.Kind != parts.Tools { // the set of tools warns
			c.warn(Part(s.Kind), fmt.Errorf("%s is left out: it is not trusted, see coder.Options.Trust (kind: %s)", s.Path, s.Kind))
		}
		return false, nil
	}
	yes, err := c.options.Trust(ctx, Source{Part(s.Kind), s.Path, s.Sum, s.Content})
	return yes && err == nil, err
}

// compaction returns the compaction settings; nil means the defaults.
func compaction(s *config.Settings) *agent.Compaction {
	var c agent.Compaction
	s.Decode("compaction.off", &c.Off)
	s.Decode("compaction.reserve", &c.Reserve)
	s.Decode("compaction.keep", &c.Keep)
	if c == (agent.Compaction{}) {
		return nil
	}
	return &c
}

// cache returns how providers cache the prompt.
func cache(s *config.Settings) llm.Cache {
	word := ""
	s.Decode("prompt_cache", &word)
	switch word {
	case "off":
		return llm.Cache{Off: true}
	case "1h":
		return llm.Cache{TTL: time.Hour}
	}
	return llm.Cache{}
}
