// Package config is the command "openagent config". It shows and changes settings.
package config

import (
	"cmp"
	"context"
	"encoding/json"
	"path/filepath"
	"slices"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/provider"
	"github.com/openagent-go/agent/cmd/openagent/internal/sessionstore"
	"github.com/openagent-go/agent/cmd/openagent/internal/settings"
	"github.com/openagent-go/agent/internal/config"
	"github.com/openagent-go/agent/internal/providers"
	"github.com/openagent-go/agent/permission"
)

// configOptions are the flags of the command config.
type configOptions struct {
	settings.Options
	user, project, local bool // the file to change
}

// Command returns the command "openagent config".
func Command(h *cli.IO) cli.Command {
	o := new(configOptions)
	verb := func(flags cli.Flags, c cli.Command) cli.Command {
		run := c.Run
		c.Flags = func() cli.Flags { return slices.Concat(flags, cli.ListFlags(&o.Output), o.SettingFlags()) }
		c.Run = func(ctx context.Context, args []string) error {
			if err := o.Check(); err != nil {
				return err
			}
			return run(ctx, args)
		}
		return c
	}
	return cli.Command{Name: "config", Summary: "Show and change settings, and show where each comes from", Default: "list", Subcommands: []cli.Command{
		verb(nil, cli.Command{Name: "list", Summary: "List the settings with their sources", Examples: []string{"openagent config list"},
			Run: func(ctx context.Context, _ []string) error { return listConfig(ctx, h, o) }}),
		verb(nil, cli.Command{Name: "get", Args: "KEY", MinArgs: 1, MaxArgs: 1, Summary: "Print the value of a setting", Examples: []string{"openagent config get model"},
			Run: func(ctx context.Context, args []string) error { return getConfig(ctx, h, o, args[0]) }}),
		verb(cli.Flags{
			{Name: "user", Help: "change the user's file (default)", Set: cli.SetTrue(&o.user)},
			{Name: "project", Help: "change the project's file", Set: cli.SetTrue(&o.project)},
			{Name: "local", Help: "change the project's local file, which is not shared", Set: cli.SetTrue(&o.local)},
		}, cli.Command{Name: "set", Args: "KEY VALUE", MinArgs: 2, MaxArgs: 2, Summary: "Change a setting in a file", Examples: []string{"openagent config set model opus"},
			Run: func(ctx context.Context, args []string) error { return setConfig(ctx, h, o, args[0], args[1]) }}),
		verb(nil, cli.Command{Name: "explain", Args: "[KEY]", MaxArgs: 1, Summary: "Explain where settings come from", Examples: []string{"openagent config explain model"},
			Run: func(ctx context.Context, args []string) error { return explainConfig(ctx, h, o, args) }}),
		verb(nil, cli.Command{Name: "path", Summary: "List the files of settings", Examples: []string{"openagent config path"},
			Run: func(ctx context.Context, _ []string) error { return listSettingFiles(ctx, h, o) }}),
	}}
}

// inForce returns the options with all effective settings, including those that the program
// detects.
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
		providers.Setting
	}{{"provider", p.Name}, {"model", p.Model}, {"small_model", p.Small}, {"base_url", p.BaseURL}} {
		if s.Value == "" || s.Source == c.Setting(s.key).Source.String() {
			continue
		}
		g := config.Given{Scope: config.Default, Name: s.Source, Key: s.key, Value: settings.EncodeValue(s.Value)}
		if k, _, err := config.Find(s.key); err == nil && slices.Contains(k.Env, s.Source) {
			g.Scope = config.Environment // a variable of a vendor
		}
		more = append(more, g)
	}
	if c.Settings, err = c.Settings.With(more...); err != nil {
		return nil, p, cli.Usagef("%w", err)
	}
	return c, p, nil
}

// A configEntry is a setting in the output of config.
type configEntry struct {
	Name   string `json:"name"`
	Value  string `json:"value"`
	Source string `json:"source"`
}

// mergedConfig lists the effective settings of a run with these options.
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
		{"session_dir", filepath.Clean(sessions), settings.FlagSetting("session-dir", o.SessionDir).Or(providers.Setting{Source: "default"}).Source},
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

// modeName returns the mode's name in lists.
const modeName = "permission_mode"

// keyOf returns the settings key for a name in lists.
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

// shown formats a value for users and scripts: texts unchanged, other values as JSON. Of secrets it
// shows only the names.
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
