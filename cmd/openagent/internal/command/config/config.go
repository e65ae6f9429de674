// Package config is the command "openagent config". It shows and changes settings.
package config

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/provider"
	"github.com/openagent-go/agent/cmd/openagent/internal/sessionstore"
	"github.com/openagent-go/agent/cmd/openagent/internal/settings"
	"github.com/openagent-go/agent/config"
	"github.com/openagent-go/agent/permission"
)

// configOptions are the flags of the command config.
type configOptions struct {
	settings.Options
	user, project, local bool // which file is changed
}

// Command returns the command "openagent config".
func Command(h *cli.IO) cli.Command {
	o := new(configOptions)
	verb := func(flags cli.Flags, c cli.Command) cli.Command {
		run := c.Run
		c.Flags = func() cli.Flags { return append(o.Flags(), flags...) }
		c.Run = func(ctx context.Context, args []string) error {
			if o.Output == cli.FormatStream {
				return cli.Usagef("config: --output-format is text or json")
			}
			if err := o.Check(); err != nil {
				return err
			}
			return run(ctx, args)
		}
		return c
	}
	return cli.Command{Name: "config", Summary: "Show and change settings, and where each comes from", Default: "list", Subcommands: []cli.Command{
		verb(nil, cli.Command{Name: "list", Summary: "List the settings with their sources", Examples: []string{"openagent config list"},
			Run: func(ctx context.Context, _ []string) error { return listConfig(ctx, h, o) }}),
		verb(nil, cli.Command{Name: "get", Args: "KEY", MinArgs: 1, MaxArgs: 1, Summary: "Print the value of a setting", Examples: []string{"openagent config get model"},
			Run: func(ctx context.Context, args []string) error { return getConfig(ctx, h, o, args[0]) }}),
		verb(cli.Flags{
			{Name: "user", Help: "change the user's file (default)", Set: cli.SetTrue(&o.user)},
			{Name: "project", Help: "change the project's file", Set: cli.SetTrue(&o.project)},
			{Name: "local", Help: "change the project's file that is not for sharing", Set: cli.SetTrue(&o.local)},
		}, cli.Command{Name: "set", Args: "KEY VALUE", MinArgs: 2, MaxArgs: 2, Summary: "Change a setting in a file", Examples: []string{"openagent config set model opus"},
			Run: func(ctx context.Context, args []string) error { return setConfig(ctx, h, o, args[0], args[1]) }}),
		verb(nil, cli.Command{Name: "explain", Args: "[KEY]", MaxArgs: 1, Summary: "Explain where settings come from", Examples: []string{"openagent config explain model"},
			Run: func(ctx context.Context, args []string) error { return explainConfig(ctx, h, o, args) }}),
		verb(nil, cli.Command{Name: "path", Summary: "List the files of settings", Examples: []string{"openagent config path"},
			Run: func(ctx context.Context, _ []string) error { return listSettingFiles(ctx, h, o) }}),
	}}
}

// inForce returns options with all settings that a run would have, those that
// the program finds out by itself among them.
func inForce(ctx context.Context, h *cli.IO, o *configOptions) (*settings.Options, provider.Provider, error) {
	dir, err := settings.WorkingDir()
	if err != nil {
		return nil, provider.Provider{}, err
	}
	c, err := settings.Configure(ctx, h, &o.Options, dir, false)
	if err != nil {
		return nil, provider.Provider{}, err
	}
	p, err := provider.Open(h, c)
	if err != nil {
		return nil, p, err
	}
	h.Secrets = append(p.Secrets(), c.SecretValues()...)
	var more []config.Given
	for _, s := range []struct {
		key string
		settings.Setting
	}{{"provider", p.Name}, {"model", p.Model}, {"small_model", p.Small}, {"base_url", p.BaseURL}} {
		if s.Value == "" || s.Source == c.Setting(s.key).Source.String() {
			continue
		}
		g := config.Given{Scope: config.Default, Name: s.Source, Key: s.key, Value: settings.EncodeValue(s.Value)}
		if k, _, err := config.Find(s.key); err == nil && slices.Contains(k.Env, s.Source) {
			g.Scope = config.Environment // a vendor's variable
		}
		more = append(more, g)
	}
	if c.Settings, err = c.Settings.With(more...); err != nil {
		return nil, p, cli.Usagef("%w", err)
	}
	return c, p, nil
}

// A configEntry is a setting as the command config shows it.
type configEntry struct {
	Name   string `json:"name"`
	Value  string `json:"value"`
	Source string `json:"source"`
}

func listConfig(ctx context.Context, h *cli.IO, o *configOptions) error {
	c, p, err := inForce(ctx, h, o)
	if err != nil {
		return err
	}
	entries, err := mergedConfig(h, c, p)
	if err != nil {
		return err
	}
	var rows [][]string
	for _, e := range entries {
		rows = append(rows, []string{e.Name, cmp.Or(e.Value, "-"), e.Source})
	}
	for _, p := range c.Settings.Problems() {
		h.Warn("%v", &p)
	}
	return h.WriteList(o.Output, entries, "SETTING VALUE SOURCE", rows)
}

// mergedConfig lists the settings that a run with these options would have.
func mergedConfig(h *cli.IO, o *settings.Options, p provider.Provider) ([]configEntry, error) {
	dir, err := settings.WorkingDir()
	if err != nil {
		return nil, err
	}
	home, err := h.Home()
	if err != nil {
		return nil, err
	}
	sessions, err := sessionstore.SessionsDir(h, o.SessionDir, dir)
	if err != nil {
		return nil, err
	}
	homeSource := "default"
	if h.Getenv("OPENAGENT_HOME") != "" {
		homeSource = "OPENAGENT_HOME"
	}
	cwd := "default"
	if o.Dir != "" {
		cwd = "--cwd"
	}
	mode := o.Setting(settings.ModeKey)
	list := []configEntry{
		{"provider", p.Name.Value, p.Name.Source},
		{"model", p.Model.Value, p.Model.Source},
		{"small_model", p.Small.Value, p.Small.Source},
		{"base_url", h.OneLine(p.BaseURL.Value), p.BaseURL.Source},
		{"api_key", masked(p.Key.Value), cmp.Or(p.Key.Source, "not set")},
		{modeName, cmp.Or(o.Mode, string(permission.Default)), mode.Source.String()},
		{"cwd", dir, cwd},
		{"home", home, homeSource},
		{"session_dir", filepath.Clean(sessions), settings.FlagSetting("session-dir", o.SessionDir).Or(settings.Setting{Source: "default"}).Source},
	}
	for _, k := range config.Keys() {
		if slices.ContainsFunc(list, func(e configEntry) bool { return e.Name == k.Name }) || k.Name == settings.ModeKey {
			continue
		}
		v := o.Setting(k.Name)
		switch {
		case v.Value == nil:
		case k.Name == "no_color" && string(v.Value) == "false":
			list = append(list, configEntry{k.Name, "", v.Source.String()})
		default:
			list = append(list, configEntry{k.Name, shown(h, k, "", v.Value), v.Source.String()})
		}
	}
	return list, nil
}

// modeName is what lists call the mode.
const modeName = "permission_mode"

// keyOf returns the key that is meant by what lists show.
func keyOf(name string) string {
	if name == modeName {
		return settings.ModeKey
	}
	return name
}

func masked(key string) string {
	if key == "" {
		return ""
	}
	return "***"
}

// shown is a value for people and scripts: a text as it is, anything else as
// JSON, and nothing of what is secret but names.
func shown(h *cli.IO, k config.Key, member string, value json.RawMessage) string {
	if k.Secret() && member != "" {
		return "***"
	}
	value = k.Hide(value)
	var text string
	if json.Unmarshal(value, &text) == nil {
		return h.OneLine(text)
	}
	return h.OneLine(string(value))
}

func getConfig(ctx context.Context, h *cli.IO, o *configOptions, name string) error {
	k, member, err := config.Find(keyOf(name))
	if err != nil {
		return cli.Usagef("config get: %w", err)
	}
	c, _, err := inForce(ctx, h, o)
	if err != nil {
		return err
	}
	v := c.Setting(keyOf(name))
	if o.Output == cli.FormatJSON {
		e := explained{Key: v.Key}
		if v.Value != nil {
			e.Value, e.Source = shownJSON(h, k, member, v.Value), &v.Source
		}
		return h.WriteList(o.Output, e, "", nil)
	}
	if v.Value == nil {
		return nil
	}
	return h.Show(shown(h, k, member, v.Value) + "\n")
}

// shownJSON is a value for programs.
func shownJSON(h *cli.IO, k config.Key, member string, value json.RawMessage) json.RawMessage {
	var text string
	if shown := shown(h, k, member, value); k.Secret() && member == "" || json.Unmarshal(value, &text) != nil {
		return json.RawMessage(shown)
	} else {
		return settings.EncodeValue(shown)
	}
}

// valueOf reads a value of the command line: JSON, or where the setting is a text
// or a list the text itself. "null" is nil, which removes the setting.
func valueOf(k config.Key, member, text string) (json.RawMessage, error) {
	if strings.TrimSpace(text) == "null" {
		return nil, nil
	}
	asText := settings.EncodeValue(text)
	switch {
	case member != "", k.Type == config.Text, k.Type == config.Span:
		return asText, nil
	case k.Type == config.Rules && !strings.HasPrefix(strings.TrimSpace(text), "["):
		var list []permission.Rule
		if err := settings.RuleFlag(&list)(text); err != nil {
			return nil, err
		}
		return settings.EncodeValue(list), nil
	case k.Type == config.Texts && !strings.HasPrefix(strings.TrimSpace(text), "["):
		var words []string
		for _, w := range strings.Split(text, ",") {
			words = append(words, strings.TrimSpace(w))
		}
		return settings.EncodeValue(words), nil
	}
	if !json.Valid([]byte(text)) {
		return asText, nil // so that it is said what is expected
	}
	return json.RawMessage(text), nil
}

func setConfig(ctx context.Context, h *cli.IO, o *configOptions, name, text string) error {
	name = keyOf(name)
	k, member, err := config.Find(name)
	if err != nil {
		return cli.Usagef("config set: %w", err)
	}
	scopes := map[config.Scope]bool{config.User: o.user, config.Project: o.project, config.Local: o.local}
	scope := config.User
	chosen := 0
	for s, wanted := range scopes {
		if wanted {
			scope = s
			chosen++
		}
	}
	if chosen > 1 {
		return cli.Usagef("--user, --project and --local do not go together; leave all but one out")
	}
	dir, err := settings.WorkingDir()
	if err != nil {
		return err
	}
	f, ok := settings.ConfigOptions(h, &o.Options, dir).File(scope)
	switch {
	case !ok && scope == config.User:
		return cli.Usagef("config set: there is no home folder; set OPENAGENT_HOME")
	case !ok:
		return cli.Usagef("config set: %s is your own folder, not a project; use --user", dir)
	}
	value, err := valueOf(k, member, text)
	if err != nil {
		return cli.Usagef("config set: %s: %w", name, err)
	}
	change, err := config.Set(ctx, f, name, value)
	if err != nil {
		return cli.Usagef("config set: %w", err)
	}
	if scope != config.User && change.After != "" {
		if err := settings.TrustChange(ctx, h, f, change); err != nil {
			return err
		}
	}
	return tellOfChange(ctx, h, o, f, name)
}

// tellOfChange says where a setting counts from now, where that is not the file
// that was changed.
func tellOfChange(ctx context.Context, h *cli.IO, o *configOptions, f config.File, name string) error {
	c, _, err := inForce(ctx, h, o)
	if err != nil {
		h.Warn("%v", err) // it was changed all the same
		return nil
	}
	layers, err := c.Settings.Explain(name)
	if err != nil {
		return err
	}
	for _, l := range layers {
		if l.Source.File == f.Path && !l.Counts {
			h.Warn("%s in %s: %s", name, f.Path, l.Why)
		}
	}
	return nil
}

// explained is a setting with what each layer says of it, as JSON.
type explained struct {
	Key    string          `json:"key"`
	Value  json.RawMessage `json:"value"`
	Source *config.Source  `json:"source"`
	Layers []config.Layer  `json:"layers,omitempty"`
}

func explainConfig(ctx context.Context, h *cli.IO, o *configOptions, args []string) error {
	var names []string
	for _, k := range config.Keys() {
		names = append(names, k.Name)
	}
	if len(args) == 1 {
		names = []string{keyOf(args[0])}
		if _, _, err := config.Find(names[0]); err != nil {
			return cli.Usagef("config explain: %w", err)
		}
	}
	c, _, err := inForce(ctx, h, o)
	if err != nil {
		return err
	}
	list := []explained{}
	var rows [][]string
	for _, name := range names {
		k, member, err := config.Find(name)
		layers, err2 := c.Settings.Explain(name)
		if err := errors.Join(err, err2); err != nil {
			return err
		}
		if len(layers) == 0 {
			if len(args) == 1 {
				rows = append(rows, []string{name, "-", "-", "nothing is set: " + k.Doc})
				list = append(list, explained{Key: name})
			}
			continue
		}
		v := c.Setting(name)
		e := explained{Key: name, Layers: layers}
		if v.Value != nil {
			e.Value, e.Source = shownJSON(h, k, member, v.Value), &v.Source
		}
		for i, l := range layers {
			rows = append(rows, []string{name, shown(h, k, member, l.Value), l.Source.String(), l.Why})
			layers[i].Value = shownJSON(h, k, member, l.Value)
		}
		list = append(list, e)
	}
	return h.WriteList(o.Output, list, "SETTING VALUE SOURCE WHY", rows)
}

func listSettingFiles(ctx context.Context, h *cli.IO, o *configOptions) error {
	c, _, err := inForce(ctx, h, o)
	if err != nil {
		return err
	}
	files := c.Settings.Files()
	var rows [][]string
	for _, f := range files {
		state := "not there"
		switch {
		case f.Exists && f.Trusted:
			state = "read"
		case f.Exists && len(c.Settings.Needs(f)) > 0:
			state = "not trusted, so only what restricts counts"
		case f.Exists:
			state = "read"
		}
		rows = append(rows, []string{string(f.Scope), f.Path, state})
	}
	return h.WriteList(o.Output, files, "LAYER FILE STATE", rows)
}
