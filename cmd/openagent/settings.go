package main

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
	"github.com/openagent-go/agent/config"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/catalog"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/workspace"
)

// sources say where the settings of a run in dir are.
func (h *host) sources(o *options, dir string) config.Options {
	from := config.Options{Dir: dir, Managed: h.managed, Given: append(o.given(), h.fromEnvironment()...), Extra: o.extra, Trusted: h.trustsFile}
	if home, err := h.home(); err == nil { // else nothing is kept
		from.Home = home
	}
	for _, name := range o.layers {
		from.Layers = append(from.Layers, config.Scope(name))
	}
	return from
}

// given are the settings that flags make.
func (o *options) given() []config.Given {
	var list []config.Given
	for _, f := range []struct {
		key   string
		there bool
		value any
	}{
		{"model", o.model != "", o.model},
		{"fallback_models", len(o.fallbacks) > 0, o.fallbacks},
		{"provider", o.provider != "", o.provider},
		{"base_url", o.base != "", o.base},
		{"permissions.allow", len(o.allow) > 0, o.allow},
		{"permissions.deny", len(o.deny) > 0, o.deny},
		{modeKey, o.mode != "", o.mode},
		{"sandbox.enabled", o.sandbox != "", o.sandbox != sandboxOff},
		{"sandbox.failIfUnavailable", o.sandbox == sandboxOn || o.sandbox == sandboxAuto, o.sandbox == sandboxOn},
		{foldersKey, len(o.dirs) > 0, o.dirs},
		{"tools", len(o.tools) > 0, o.tools},
		{"max_turns", o.turns > 0, o.turns},
		{"max_budget_usd", o.usd > 0, o.usd},
		{"max_tokens", o.maxTokens > 0, o.maxTokens},
		{"timeout", o.timeout > 0, o.timeout.String()},
		{"effort", o.effort != "", o.effort},
		{"prompt_cache", o.cache != "", o.cache},
		{"fastMode", o.fast, o.fast},
		{"max_thinking_tokens", o.thinking > 0, o.thinking},
	} {
		if !f.there {
			continue
		}
		k, _, err := config.Find(f.key)
		if err != nil {
			panic(err) // it is in the table
		}
		name := "--" + k.Flag
		if f.key == modeKey && o.bypass {
			name = "--dangerously-skip-permissions"
		}
		list = append(list, config.Given{Scope: config.Flags, Name: name, Key: f.key, Value: quoted(f.value)})
	}
	return list
}

const modeKey = "permissions.defaultMode"

// quoted is a text, a number or a list of texts as JSON.
func quoted(v any) json.RawMessage {
	data, err := encodeLine(v)
	if err != nil {
		panic(err)
	}
	return bytes.TrimSpace(data)
}

// fromEnvironment are the settings that variables make. Those of a vendor count
// only for that vendor: newProvider sees to them.
func (h *host) fromEnvironment() []config.Given {
	var list []config.Given
	for _, k := range config.Keys() {
		for _, name := range k.Env {
			s := environ(h.getenv).first(name)
			if s.value == "" || strings.HasPrefix(name, "ANTHROPIC_") || strings.HasPrefix(name, "OPENAI_") {
				continue
			}
			v := quoted(s.value)
			if k.Type == config.Bool {
				v = json.RawMessage("true") // NO_COLOR may be anything
			}
			list = append(list, config.Given{Scope: config.Environment, Name: s.source, Key: k.Name, Value: v})
		}
	}
	return list
}

// configure returns the options of a run in dir: what the flags say, and where
// they say nothing what the settings say. With ask a person at the terminal is
// asked whether a project's files are trusted.
func (h *host) configure(ctx context.Context, o *options, dir string, ask bool) (*options, error) {
	if o.flagged != nil { // they are configured already
		o = o.flagged
	}
	s, err := config.Load(h.sources(o, dir))
	if err == nil && ask {
		var yes bool
		if yes, err = h.offerSettings(ctx, s); yes {
			s, err = config.Load(h.sources(o, dir))
		}
	}
	if err != nil {
		return nil, unsettled(err)
	}
	c, flagged := *o, *o
	c.flagged, c.settings = &flagged, s
	p := s.Policy()
	c.allow, c.ask, c.deny, c.origins = p.Allow, p.Ask, p.Deny, p.Origins
	if v := c.setting(modeKey); v.Source.Scope != config.Default {
		c.mode = string(p.Mode)
		if err := s.Permits(p.Mode); err != nil {
			return nil, cli.Usagef("%s: %w; choose another mode", v.Source, err)
		}
	}
	c.dirs = h.folders(s, dir)
	s.Decode("env", &c.env)
	s.Decode("passEnv", &c.passed)
	if c.servers, err = languageServers(s); err != nil {
		return nil, err
	}
	s.Decode("fallback_models", &c.fallbacks)
	if s.Decode("tools", &c.tools) && len(c.tools) == 0 {
		c.tools = []string{"none"}
	}
	s.Decode("digest_above", &c.digestAbove)
	s.Decode("max_turns", &c.turns)
	s.Decode("max_budget_usd", &c.usd)
	s.Decode("max_tokens", &c.maxTokens)
	c.timeout, c.rates = s.Duration("timeout"), ratesOf(s)
	c.compaction = compactionOf(s)
	s.Decode("prompt_cache", &c.cache)
	s.Decode("fastMode", &c.fast)
	if o.thinking == 0 { // a flag's number of tokens counts before an effort of a file
		s.Decode("effort", &c.effort)
	}
	if o.effort == "" {
		s.Decode("max_thinking_tokens", &c.thinking)
	}
	if _, fixed := s.Managed("effort"); fixed {
		s.Decode("effort", &c.effort)
		c.thinking = 0
	}
	if v, bound := s.Managed("max_thinking_tokens"); bound {
		s.Decode(v.Key, &c.thinking)
	}
	return &c, nil
}

// unsettled is the error for settings that cannot be used.
func unsettled(err error) error {
	var p *config.Problem
	var e *cli.ExitError
	switch {
	case errors.As(err, &e):
		return err
	case errors.As(err, &p) && p.Source.File != "--settings":
		return cli.Usagef("%w; mend or remove the file", err)
	}
	return cli.Usagef("%w", err)
}

// setting returns what the settings say, nothing where there are none.
func (o *options) setting(key string) config.Value {
	if o.settings == nil {
		return config.Value{Key: key}
	}
	v, err := o.settings.Get(key)
	if err != nil {
		panic(err) // the keys are in the table
	}
	return v
}

// said is who says what a setting is: a flag, or a file with its line.
func (o *options) said(key, flag string) string {
	if v := o.setting(key); v.Source.Scope != "" {
		return v.Source.String()
	}
	return flag
}

// folders returns the folders of flags and settings, absolute. One that is not
// there is left out and complained of: flags were checked before.
func (h *host) folders(s *config.Settings, dir string) []string {
	var named, out []string
	s.Decode(foldersKey, &named)
	for _, name := range named {
		path := folderNamed(name, dir)
		if info, err := os.Stat(path); err != nil || !info.IsDir() {
			h.complain("%s: there is no folder %s", foldersKey, path)
			continue
		}
		if !slices.Contains(out, path) {
			out = append(out, path)
		}
	}
	return out
}

// secretValues are the values of variables for tools and language servers: none is to
// be shown.
func (o *options) secretValues() []string {
	list := (&workspace.Workspace{Env: o.env, Pass: o.passed}).Secrets()
	for _, s := range o.servers {
		list = append(list, (&workspace.Workspace{Env: s.Env}).Secrets()...)
	}
	return list
}

// warnOfSettings tells what in the settings does not do what it is there for.
func (h *host) warnOfSettings(o *options) {
	for _, p := range o.settings.Problems() {
		if p.Kind != config.Idle {
			h.complain("%v", &p)
		}
	}
	for _, v := range o.settings.Bounded() {
		h.complain("%s: %s does not count; %s says %s", v.Key, v.Value, v.Source, o.setting(v.Key).Value)
	}
	for _, f := range o.settings.Files() {
		if needs := o.settings.Needs(f); len(needs) > 0 {
			h.complain("%s is not trusted, so this is ignored: %s; look at it, then: openagent trust add %s", f.Path, needed(needs), cli.Quote(projectOf(f)))
		}
	}
}

// needed lists settings with their lines.
func needed(needs []config.Need) string {
	var words []string
	for _, n := range needs {
		words = append(words, n.String())
	}
	return strings.Join(words, ", ")
}

// projectOf is the folder of a project's file.
func projectOf(f config.File) string { return filepath.Dir(filepath.Dir(f.Path)) }

// permits says why a run may not go over to a mode.
func (o *options) permits(mode permission.Mode) error {
	if o.settings == nil {
		return nil
	}
	return o.settings.Permits(mode)
}

// permitsRule says why a rule may not allow calls.
func (o *options) permitsRule(r permission.Rule) error {
	if o.settings == nil {
		return nil
	}
	return o.settings.PermitsRule(r)
}

// permitsModel says why a run may not go over to a model: managed settings name
// another one.
func (o *options) permitsModel(name string) error {
	v, ok := o.managed("model")
	if !ok || string(v.Value) == string(quoted(strings.TrimSpace(name))) {
		return nil
	}
	return fmt.Errorf("%s allows no model but %s", v.Source, v.Value)
}

// permitsThinking says why a run may not go over to a number of thinking tokens.
func (o *options) permitsThinking(tokens int) error {
	most := 0
	v, ok := o.managed("max_thinking_tokens")
	if ok && json.Unmarshal(v.Value, &most) == nil && tokens > most {
		return fmt.Errorf("%s allows no more than %d thinking tokens", v.Source, most)
	}
	if v, ok := o.managed("effort"); ok {
		return fmt.Errorf("%s says that the effort is %s", v.Source, v.Value)
	}
	return nil
}

func (o *options) managed(key string) (config.Value, bool) {
	if o.settings == nil {
		return config.Value{Key: key}, false
	}
	return o.settings.Managed(key)
}

const foldersKey = "permissions.additionalDirectories"

// folderNamed returns the path of a folder that settings name, for a working folder.
func folderNamed(name, dir string) string {
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

// kept are what files say about the provider and its models.
type kept struct {
	model, small, name, base keptSetting
	models                   *catalog.Table // nil: they say of none
}

// A keptSetting is a setting of a file. Managed ones, and those of --settings,
// count before flags and variables.
type keptSetting struct {
	setting
	above   bool
	managed bool
}

func (k keptSetting) before(s setting) setting {
	if k.above {
		return k.setting
	}
	return s
}

// holder is who in the managed settings says where models are, "" if nobody does.
func (k kept) holder() string {
	for _, s := range []keptSetting{k.name, k.base} {
		if s.managed {
			return s.source
		}
	}
	return ""
}

func (o *options) kept() kept {
	k := kept{models: o.table()}
	for key, to := range map[string]*keptSetting{"model": &k.model, "small_model": &k.small, "provider": &k.name, "base_url": &k.base} {
		v := o.setting(key)
		if v.Source.File == "" {
			continue // newProvider knows flags and variables itself
		}
		to.source, to.managed = v.Source.String(), v.Source.Scope == config.Managed
		to.above = to.managed || v.Source.Scope == config.Flags
		if err := json.Unmarshal(v.Value, &to.value); err != nil {
			panic(err) // it was checked
		}
	}
	return k
}

// table is the catalogue with the models of settings, nil where these name none.
func (o *options) table() *catalog.Table {
	var list []struct {
		catalog.Entry
		Price *struct {
			llm.Price
			CacheRead  *float64 `json:"cache_read"`
			CacheWrite *float64 `json:"cache_write"`
		} `json:"price"`
	}
	if o.settings == nil || !o.settings.Decode("models", &list) || len(list) == 0 {
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

// provider finds out which provider is meant by options that are configured.
func (h *host) provider(o *options) (provider, error) {
	p, err := newProvider(o, h.getenv, o.kept())
	p.limits, p.rates = &h.limits, o.rates
	if err == nil {
		err = p.reached(o)
	}
	return p, err
}

// noColor reports whether there are to be no colours.
func (h *host) noColor() bool {
	dir, err := workingDir()
	if err != nil {
		return false
	}
	s, err := config.Load(h.sources(new(options), dir))
	none := false
	if err == nil { // else the run says what is wrong
		s.Decode("no_color", &none)
	}
	return none || h.getenv("NO_COLOR") != ""
}

// colours reports whether the output is a terminal that is to be coloured.
func (h *host) colours() bool {
	return h.outTerminal && h.getenv("TERM") != "dumb" && !h.noColor()
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

// promptCache is how providers are to keep the prompt.
func (o *options) promptCache() llm.Cache {
	switch o.cache {
	case "off":
		return llm.Cache{Off: true}
	case "1h":
		return llm.Cache{TTL: time.Hour}
	}
	return llm.Cache{}
}
