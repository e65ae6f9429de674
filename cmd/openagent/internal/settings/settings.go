// Package settings turns flags, variables and settings files into one Options. It also
// records which files of a project the user trusts.
package settings

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/ratelimit"
	"github.com/openagent-go/agent/config"
	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/catalog"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/workspace"
)

// ConfigOptions say where the settings of a run in dir are.
func ConfigOptions(h *cli.IO, o *Options, dir string) config.Options {
	from := config.Options{Dir: dir, Managed: h.Managed, Given: append(o.given(), fromEnvironment(h)...), Extra: o.extra, Trusted: func(f config.File) bool { return trustsFile(h, f) }}
	if home, err := h.Home(); err == nil { // else nothing is kept
		from.Home = home
	}
	for _, name := range o.Layers {
		from.Layers = append(from.Layers, config.Scope(name))
	}
	return from
}

// given are the settings that flags make.
func (o *Options) given() []config.Given {
	var list []config.Given
	for _, f := range []struct {
		key   string
		there bool
		value any
	}{
		{"model", o.Model != "", o.Model},
		{"fallback_models", len(o.Fallbacks) > 0, o.Fallbacks},
		{"provider", o.Provider != "", o.Provider},
		{"base_url", o.BaseURL != "", o.BaseURL},
		{"permissions.allow", len(o.Allow) > 0, o.Allow},
		{"permissions.deny", len(o.Deny) > 0, o.Deny},
		{ModeKey, o.Mode != "", o.Mode},
		{"sandbox.enabled", o.sandbox != "", o.sandbox != sandboxOff},
		{"sandbox.failIfUnavailable", o.sandbox == sandboxOn || o.sandbox == sandboxAuto, o.sandbox == sandboxOn},
		{FoldersKey, len(o.Dirs) > 0, o.Dirs},
		{"tools", len(o.Tools) > 0, o.Tools},
		{"max_turns", o.Turns > 0, o.Turns},
		{"max_budget_usd", o.USD > 0, o.USD},
		{"max_tokens", o.MaxTokens > 0, o.MaxTokens},
		{"timeout", o.Timeout > 0, o.Timeout.String()},
		{"effort", o.Effort != "", o.Effort},
		{"prompt_cache", o.cache != "", o.cache},
		{"fastMode", o.Fast, o.Fast},
		{"max_thinking_tokens", o.Thinking > 0, o.Thinking},
	} {
		if !f.there {
			continue
		}
		k, _, err := config.Find(f.key)
		if err != nil {
			panic(err) // it is in the table
		}
		name := "--" + k.Flag
		if f.key == ModeKey && o.bypass {
			name = "--dangerously-skip-permissions"
		}
		list = append(list, config.Given{Scope: config.Flags, Name: name, Key: f.key, Value: EncodeValue(f.value)})
	}
	return list
}

// ModeKey is the setting of the permission mode.
const ModeKey = "permissions.defaultMode"

// EncodeValue is a text, a number or a list of texts as JSON.
func EncodeValue(v any) json.RawMessage {
	data, err := cli.EncodeLine(v)
	if err != nil {
		panic(err)
	}
	return bytes.TrimSpace(data)
}

// fromEnvironment are the settings that variables make. Those of a vendor count
// only for that vendor: newProvider sees to them.
func fromEnvironment(h *cli.IO) []config.Given {
	var list []config.Given
	for _, k := range config.Keys() {
		for _, name := range k.Env {
			s := Environ(h.Getenv).First(name)
			if s.Value == "" || strings.HasPrefix(name, "ANTHROPIC_") || strings.HasPrefix(name, "OPENAI_") {
				continue
			}
			v := EncodeValue(s.Value)
			if k.Type == config.Bool {
				v = json.RawMessage("true") // NO_COLOR may be anything
			}
			list = append(list, config.Given{Scope: config.Environment, Name: s.Source, Key: k.Name, Value: v})
		}
	}
	return list
}

// Configure returns the options of a run in dir: what the flags say, and where
// they say nothing what the settings say. With ask a person at the terminal is
// asked whether a project's files are trusted.
func Configure(ctx context.Context, h *cli.IO, o *Options, dir string, ask bool) (*Options, error) {
	if o.FromFlags != nil { // they are configured already
		o = o.FromFlags
	}
	s, err := config.Load(ConfigOptions(h, o, dir))
	if err == nil && ask {
		var yes bool
		if yes, err = offerSettings(ctx, h, s); yes {
			s, err = config.Load(ConfigOptions(h, o, dir))
		}
	}
	if err != nil {
		return nil, LoadError(err)
	}
	c, flagged := *o, *o
	c.FromFlags, c.Settings = &flagged, s
	p := s.Policy()
	c.Allow, c.Ask, c.Deny, c.Origins = p.Allow, p.Ask, p.Deny, p.Origins
	if v := c.Setting(ModeKey); v.Source.Scope != config.Default {
		c.Mode = string(p.Mode)
		if err := s.Permits(p.Mode); err != nil {
			return nil, cli.Usagef("%s: %w; choose another mode", v.Source, err)
		}
	}
	c.Dirs = folders(h, s, dir)
	s.Decode("env", &c.Env)
	s.Decode("passEnv", &c.Passed)
	if c.Servers, err = LanguageServers(s); err != nil {
		return nil, err
	}
	s.Decode("fallback_models", &c.Fallbacks)
	if s.Decode("tools", &c.Tools) && len(c.Tools) == 0 {
		c.Tools = []string{"none"}
	}
	s.Decode("digest_above", &c.DigestAbove)
	s.Decode("max_turns", &c.Turns)
	s.Decode("max_budget_usd", &c.USD)
	s.Decode("max_tokens", &c.MaxTokens)
	c.Timeout, c.Rates = s.Duration("timeout"), ratelimit.ReadRates(s)
	c.Compaction = compactionOf(s)
	s.Decode("prompt_cache", &c.cache)
	s.Decode("fastMode", &c.Fast)
	if o.Thinking == 0 { // a flag's number of tokens counts before an effort of a file
		s.Decode("effort", &c.Effort)
	}
	if o.Effort == "" {
		s.Decode("max_thinking_tokens", &c.Thinking)
	}
	if _, fixed := s.Managed("effort"); fixed {
		s.Decode("effort", &c.Effort)
		c.Thinking = 0
	}
	if v, bound := s.Managed("max_thinking_tokens"); bound {
		s.Decode(v.Key, &c.Thinking)
	}
	return &c, nil
}

// LoadError is the error for settings that cannot be used.
func LoadError(err error) error {
	var p *config.Problem
	var e *cli.ExitError
	switch {
	case errors.As(err, &e):
		return err
	case errors.As(err, &p) && p.Source.File != "" && p.Source.File != "--settings":
		return cli.Usagef("%w; correct or remove the file", err)
	}
	return cli.Usagef("%w", err)
}

// Setting returns what the settings say, nothing where there are none.
func (o *Options) Setting(key string) config.Value {
	if o.Settings == nil {
		return config.Value{Key: key}
	}
	v, err := o.Settings.Get(key)
	if err != nil {
		panic(err) // the keys are in the table
	}
	return v
}

// SourceOf is who says what a setting is: a flag, or a file with its line.
func (o *Options) SourceOf(key, flag string) string {
	if v := o.Setting(key); v.Source.Scope != "" {
		return v.Source.String()
	}
	return flag
}

// folders returns the folders of flags and settings, absolute. One that is not
// there is left out and complained of: flags were checked before.
func folders(h *cli.IO, s *config.Settings, dir string) []string {
	var named, out []string
	s.Decode(FoldersKey, &named)
	for _, name := range named {
		path := ResolveFolder(name, dir)
		if info, err := os.Stat(path); err != nil || !info.IsDir() {
			h.Warn("%s: there is no folder %s", FoldersKey, path)
			continue
		}
		if !slices.Contains(out, path) {
			out = append(out, path)
		}
	}
	return out
}

// SecretValues are the values of variables for tools and language servers: none is to
// be shown.
func (o *Options) SecretValues() []string {
	list := (&workspace.Workspace{Env: o.Env, Pass: o.Passed}).Secrets()
	for _, s := range o.Servers {
		list = append(list, (&workspace.Workspace{Env: s.Env}).Secrets()...)
	}
	return list
}

// WarnOfSettings tells what in the settings does not do what it is there for.
func WarnOfSettings(h *cli.IO, o *Options) {
	for _, p := range o.Settings.Problems() {
		if p.Kind != config.Idle {
			h.Warn("%v", &p)
		}
	}
	for _, v := range o.Settings.Bounded() {
		h.Warn("%s: %s does not count; %s says %s", v.Key, v.Value, v.Source, o.Setting(v.Key).Value)
	}
	for _, f := range o.Settings.Files() {
		if needs := o.Settings.Needs(f); len(needs) > 0 {
			h.Warn("%s is not trusted, so this is ignored: %s; look at it, then: openagent trust add %s", f.Path, NeedNames(needs), text.QuoteShell(projectOf(f)))
		}
	}
}

// NeedNames lists settings with their lines.
func NeedNames(needs []config.Need) string {
	var words []string
	for _, n := range needs {
		words = append(words, n.String())
	}
	return strings.Join(words, ", ")
}

// projectOf is the folder of a project's file.
func projectOf(f config.File) string { return filepath.Dir(filepath.Dir(f.Path)) }

// Permits says why a run may not go over to a mode.
func (o *Options) Permits(mode permission.Mode) error {
	if o.Settings == nil {
		return nil
	}
	return o.Settings.Permits(mode)
}

// PermitsRule says why a rule may not allow calls.
func (o *Options) PermitsRule(r permission.Rule) error {
	if o.Settings == nil {
		return nil
	}
	return o.Settings.PermitsRule(r)
}

// PermitsModel says why a run may not go over to a model: managed settings name
// another one.
func (o *Options) PermitsModel(name string) error {
	v, ok := o.Managed("model")
	if !ok || string(v.Value) == string(EncodeValue(strings.TrimSpace(name))) {
		return nil
	}
	return fmt.Errorf("%s allows only the model %s", v.Source, v.Value)
}

// PermitsThinking says why a run may not go over to a number of thinking tokens.
func (o *Options) PermitsThinking(tokens int) error {
	most := 0
	v, ok := o.Managed("max_thinking_tokens")
	if ok && json.Unmarshal(v.Value, &most) == nil && tokens > most {
		return fmt.Errorf("%s allows no more than %d thinking tokens", v.Source, most)
	}
	if v, ok := o.Managed("effort"); ok {
		return fmt.Errorf("%s sets the effort to %s", v.Source, v.Value)
	}
	return nil
}

// Managed returns a setting of the managed settings, false if they do not set it.
func (o *Options) Managed(key string) (config.Value, bool) {
	if o.Settings == nil {
		return config.Value{Key: key}, false
	}
	return o.Settings.Managed(key)
}

// FoldersKey is the setting of further folders to work in.
const FoldersKey = "permissions.additionalDirectories"

// ResolveFolder returns the path of a folder that settings name, for a working folder.
func ResolveFolder(name, dir string) string {
	path := name
	if rest, ok := strings.CutPrefix(name, "~/"); ok || name == "~" {
		if home, err := os.UserHomeDir(); err == nil {
			path = filepath.Join(home, rest)
		}
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	return filepath.Clean(path)
}

// ProviderSettings are the values that files set for the provider and its models.
type ProviderSettings struct {
	Model, Small, Name, Base FileSetting
	Models                   *catalog.Table // nil: they say of none
}

// A FileSetting is a setting of a file. Managed ones, and those of --settings,
// count before flags and variables.
type FileSetting struct {
	Setting
	Overrides bool
	Managed   bool
}

// OverrideOr returns the setting of the file if it overrides flags and variables, else s.
func (k FileSetting) OverrideOr(s Setting) Setting {
	if k.Overrides {
		return k.Setting
	}
	return s
}

// ManagedBy is who in the managed settings says where models are, "" if nobody does.
func (k ProviderSettings) ManagedBy() string {
	for _, s := range []FileSetting{k.Name, k.Base} {
		if s.Managed {
			return s.Source
		}
	}
	return ""
}

// ProviderSettings returns what settings files say about the provider and its models.
func (o *Options) ProviderSettings() ProviderSettings {
	k := ProviderSettings{Models: o.table()}
	for key, to := range map[string]*FileSetting{"model": &k.Model, "small_model": &k.Small, "provider": &k.Name, "base_url": &k.Base} {
		v := o.Setting(key)
		if v.Source.File == "" {
			continue // newProvider knows flags and variables itself
		}
		to.Source, to.Managed = v.Source.String(), v.Source.Scope == config.Managed
		to.Overrides = to.Managed || v.Source.Scope == config.Flags
		if err := json.Unmarshal(v.Value, &to.Value); err != nil {
			panic(err) // it was checked
		}
	}
	return k
}

// table is the catalogue with the models of settings, nil where these name none.
func (o *Options) table() *catalog.Table {
	var list []struct {
		catalog.Entry
		Price *struct {
			llm.Price
			CacheRead  *float64 `json:"cache_read"`
			CacheWrite *float64 `json:"cache_write"`
		} `json:"price"`
	}
	if o.Settings == nil || !o.Settings.Decode("models", &list) || len(list) == 0 {
		return nil
	}
	t := new(catalog.Table)
	for _, m := range list {
		e := m.Entry
		if m.Price != nil {
			p := m.Price.Price
			p.CacheRead, p.CacheWrite = p.Input, p.Input // where nothing is said of caches they save nothing
			if m.Price.CacheRead != nil {
				p.CacheRead = *m.Price.CacheRead
			}
			if m.Price.CacheWrite != nil {
				p.CacheWrite = *m.Price.CacheWrite
			}
			e.Price = &p
		}
		if err := t.Register(e); err != nil {
			panic(err) // it was checked
		}
	}
	return t
}

// compactionOf says how long conversations are made shorter; nil is the default.
func compactionOf(s *config.Settings) *agent.Compaction {
	var c agent.Compaction
	s.Decode("compaction.off", &c.Off)
	s.Decode("compaction.reserve", &c.Reserve)
	s.Decode("compaction.keep", &c.Keep)
	if c == (agent.Compaction{}) {
		return nil
	}
	return &c
}

// PromptCache is how providers are to keep the prompt.
func (o *Options) PromptCache() llm.Cache {
	switch o.cache {
	case "off":
		return llm.Cache{Off: true}
	case "1h":
		return llm.Cache{TTL: time.Hour}
	}
	return llm.Cache{}
}
