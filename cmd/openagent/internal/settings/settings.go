// Package settings turns flags, variables and settings files into one Options. It also
// records which files of a project the user trusts.
package settings

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/ratelimit"
	"github.com/openagent-go/agent/internal/config"
	"github.com/openagent-go/agent/internal/environ"
	"github.com/openagent-go/agent/internal/parts"
	"github.com/openagent-go/agent/internal/providers"
	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/llm/catalog"
	"github.com/openagent-go/agent/permission"
)

// ConfigOptions returns where the settings of a run in dir are stored.
func ConfigOptions(h *cli.IO, o *Options, dir string) config.Options {
	from := config.Options{Dir: cmp.Or(o.ConfigDir, dir), Managed: h.Managed, Given: append(o.given(), fromEnvironment(h)...), Extra: o.extra, Bounds: o.bounds, Trusted: func(f config.File) bool { return trustsFile(h, f) }}
	if home, err := h.Home(); err == nil { // without a home folder nothing is stored
		from.Home = home
	}
	from.Layers = o.Scopes()
	return from
}

// Scopes returns the layers of files that count; nil: all. Without any it is empty.
func (o *Options) Scopes() (scopes []config.Scope) {
	if o.Layers != nil {
		scopes = []config.Scope{}
	}
	for _, name := range o.Layers {
		scopes = append(scopes, config.Scope(name))
	}
	return scopes
}

// given returns the settings that come from flags.
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
		{parts.FoldersKey, len(o.Dirs) > 0, o.Dirs},
		{"tools", len(o.Tools) > 0, o.Tools},
		{"max_turns", o.Turns > 0, o.Turns},
		{"max_model_calls", o.ModelCalls > 0, o.ModelCalls},
		{"max_budget_usd", o.USD > 0, o.USD},
		{"max_tokens", o.MaxTokens > 0, o.MaxTokens},
		{"timeout", o.Timeout > 0, o.Timeout.String()},
		{"effort", o.Effort != "", o.Effort},
		{"prompt_cache", o.cache != "", o.cache},
		{"fastMode", o.Fast, o.Fast},
		{"no_animation", o.Still, o.Still},
		{"promptSuggestions", o.Suggest, o.Suggest},
		{"max_thinking_tokens", o.Thinking > 0, o.Thinking},
		{storeKey, o.store != "", o.store},
		{MemoryKey, o.memory != "", o.memory == "on"},
	} {
		if !f.there {
			continue
		}
		k, _, err := config.Find(f.key)
		if err != nil {
			panic(err) // the table has the key
		}
		name := "--" + k.Flag
		if f.key == ModeKey && o.bypass {
			name = "--dangerously-skip-permissions"
		}
		list = append(list, config.Given{Scope: config.Flags, Name: name, Key: f.key, Value: EncodeValue(f.value)})
	}
	return list
}

// ModeKey is the settings key of the permission mode.
const ModeKey = "permissions.defaultMode"

// EncodeValue encodes a text, a number or a list of texts as JSON.
func EncodeValue(v any) json.RawMessage {
	data, err := cli.EncodeLine(v)
	if err != nil {
		panic(err)
	}
	return bytes.TrimSpace(data)
}

// fromEnvironment returns the settings that come from environment variables. It leaves out
// variables of vendors: they count only for that vendor, and provider.New reads them.
func fromEnvironment(h *cli.IO) []config.Given {
	var list []config.Given
	for _, k := range config.Keys() {
		for _, name := range k.Env {
			s := providers.Environ(h.Getenv).First(name)
			if s.Value == "" || strings.HasPrefix(name, "ANTHROPIC_") || strings.HasPrefix(name, "OPENAI_") {
				continue
			}
			v := EncodeValue(s.Value)
			if k.Type == config.Bool {
				v = json.RawMessage("true") // NO_COLOR may have any value
			}
			list = append(list, config.Given{Scope: config.Environment, Name: s.Source, Key: k.Name, Value: v})
		}
	}
	return list
}

// Configure returns the options of a run in dir. Flags override settings. With ask, it asks the
// user on the terminal whether to trust the project's files.
func Configure(ctx context.Context, h *cli.IO, o *Options, dir string, ask bool) (*Options, error) {
	if o.FromFlags != nil { // already configured
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
	c.Dirs = parts.Folders(s, dir, func(err error) { h.Warn("%v", err) })
	s.Decode("env", &c.Env)
	s.Decode("passEnv", &c.Passed)
	if c.Servers, err = parts.LanguageServers(s); err != nil {
		return nil, cli.Usagef("%w", err)
	}
	s.Decode("fallback_models", &c.Fallbacks)
	if s.Decode("tools", &c.Tools) && len(c.Tools) == 0 {
		c.Tools = []string{"none"}
	}
	c.Timeout, c.Rates = s.Duration("timeout"), ratelimit.ReadRates(s)
	s.Decode("fastMode", &c.Fast)
	s.Decode("no_animation", &c.Still)
	s.Decode("promptSuggestions", &c.Suggest)
	return &c, nil
}

// LoadError returns the error for settings that cannot be loaded.
func LoadError(err error) error {
	var p *config.Problem
	var e *cli.ExitError
	switch {
	case errors.As(err, &e):
		return err
	case errors.As(err, &p) && p.Source.File != "" && p.Source.File != "--settings" && p.Source.File != config.BoundsName:
		return cli.Usagef("%w; correct or remove the file", err)
	}
	return cli.Usagef("%w", err)
}

// Setting returns the value of a setting, or the zero value if there are no settings.
func (o *Options) Setting(key string) config.Value {
	if o.Settings == nil {
		return config.Value{Key: key}
	}
	v, err := o.Settings.Get(key)
	if err != nil {
		panic(err) // the table has the keys
	}
	return v
}

// SourceOf returns the source of a setting: a flag, or a file and line.
func (o *Options) SourceOf(key, flag string) string {
	if v := o.Setting(key); v.Source.Scope != "" {
		return v.Source.String()
	}
	return flag
}

// SecretValues returns the values of variables for tools and language servers. They must never be
// shown.
func (o *Options) SecretValues() []string {
	list := environ.Hidden(o.Passed, o.Env)
	for _, s := range o.Servers {
		list = append(list, environ.Given(s.Env)...)
	}
	return list
}

// WarnOfSettings warns about settings that have no effect.
func WarnOfSettings(h *cli.IO, o *Options) {
	for _, p := range o.Settings.Problems() {
		if p.Kind != config.Idle {
			h.Warn("%v", &p)
		}
	}
	for _, v := range o.Settings.Bounded() {
		h.Warn("%s: %s has no effect; %s says %s", v.Key, v.Value, v.Source, o.Setting(v.Key).Value)
	}
	for _, f := range o.Settings.Files() {
		if needs := o.Settings.Needs(f); len(needs) > 0 {
			h.Warn("%s is not trusted, so these settings are ignored: %s; review the file, then run openagent trust add %s", f.Path, NeedNames(needs), text.QuoteShell(projectOf(f)))
		}
	}
}

// NeedNames lists settings with their line numbers.
func NeedNames(needs []config.Need) string {
	var words []string
	for _, n := range needs {
		words = append(words, n.String())
	}
	return strings.Join(words, ", ")
}

// projectOf returns the project folder of a settings file.
func projectOf(f config.File) string { return filepath.Dir(filepath.Dir(f.Path)) }

// Permits returns an error if a run may not switch to a mode.
func (o *Options) Permits(mode permission.Mode) error {
	if o.Settings == nil {
		return nil
	}
	return o.Settings.Permits(mode)
}

// PermitsRule returns an error if a rule may not allow calls.
func (o *Options) PermitsRule(r permission.Rule) error {
	if o.Settings == nil {
		return nil
	}
	return o.Settings.PermitsRule(r)
}

// PermitsModel returns an error if managed settings require another model.
func (o *Options) PermitsModel(name string) error {
	v, ok := o.Managed("model")
	if !ok || string(v.Value) == string(EncodeValue(strings.TrimSpace(name))) {
		return nil
	}
	return fmt.Errorf("%s allows only the model %s", v.Source, v.Value)
}

// PermitsThinking returns an error if a run may not switch to a number of thinking tokens.
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

// Managed returns a value from the managed settings, and false if they do not set it.
func (o *Options) Managed(key string) (config.Value, bool) {
	if o.Settings == nil {
		return config.Value{Key: key}, false
	}
	return o.Settings.Managed(key)
}

// ProviderSettings holds the values that settings files set for the provider and its models.
type ProviderSettings struct {
	Model, Small, Name, Base FileSetting
	Models                   *catalog.Table // nil: not set
	// Stored returns the key that the user has stored for a provider. Nil: none.
	Stored func(provider string) providers.Setting
}

// A FileSetting is a setting from a file. Managed settings and --settings override flags and
// variables.
type FileSetting struct {
	providers.Setting
	Overrides bool
	Managed   bool
}

// FlagSetting returns the value of a flag as a setting.
func FlagSetting(name, value string) providers.Setting {
	if value == "" {
		return providers.Setting{}
	}
	return providers.Setting{Value: value, Source: "--" + name}
}

// OverrideOr returns the file's setting if it overrides flags and variables, and s otherwise.
func (k FileSetting) OverrideOr(s providers.Setting) providers.Setting {
	if k.Overrides {
		return k.Setting
	}
	return s
}

// ManagedBy names the managed setting that fixes the provider. It is "" if none does.
func (k ProviderSettings) ManagedBy() string {
	for _, s := range []FileSetting{k.Name, k.Base} {
		if s.Managed {
			return s.Source
		}
	}
	return ""
}

// ProviderSettings returns the values of settings files for the provider and its models.
func (o *Options) ProviderSettings() ProviderSettings {
	k := ProviderSettings{Models: parts.Catalog(o.Settings)}
	for key, to := range map[string]*FileSetting{"model": &k.Model, "small_model": &k.Small, "provider": &k.Name, "base_url": &k.Base} {
		v := o.Setting(key)
		if v.Source.File == "" {
			continue // provider.New reads flags and variables itself
		}
		to.Source, to.Managed = v.Source.String(), v.Source.Scope == config.Managed
		to.Overrides = to.Managed || v.Source.Scope == config.Flags
		if err := json.Unmarshal(v.Value, &to.Value); err != nil {
			panic(err) // it was checked
		}
	}
	return k
}
