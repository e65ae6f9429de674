// Package models is the command "openagent models". It lists models.
package models

import (
	"cmp"
	"context"
	"errors"
	"strings"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/provider"
	"github.com/openagent-go/agent/cmd/openagent/internal/settings"
	"github.com/openagent-go/agent/internal/config"
	"github.com/openagent-go/agent/internal/providers"
	"github.com/openagent-go/agent/llm/catalog"
)

// modelsOptions are the flags of the command models.
type modelsOptions struct {
	settings.Options
	json bool
}

// Command returns the command "openagent models".
func Command(h *cli.IO) cli.Command {
	o := new(modelsOptions)
	verb := func(c cli.Command) cli.Command {
		run := c.Run
		c.Flags = func() cli.Flags {
			fs := append(cli.ListFlags(&o.Output), cli.Flag{Name: "json", Help: "the same as --output-format json", Set: cli.SetTrue(&o.json)})
			return append(fs, o.Flags().Named("provider", "base-url", "model", "settings", "setting-sources", "cwd")...)
		}
		c.Run = o.RunChecked(&o.Output, func(ctx context.Context, args []string) error {
			if o.json {
				o.Output = cli.FormatJSON
			}
			return run(ctx, args)
		})
		return c
	}
	return cli.Command{Name: "models", Summary: "List the known models with windows and prices", Default: "list", Subcommands: []cli.Command{
		verb(cli.Command{Name: "list", Summary: "List the known models", Examples: []string{"openagent models list --provider openai"},
			Run: func(ctx context.Context, _ []string) error { return listModels(ctx, h, o) }}),
		verb(cli.Command{Name: "show", Args: "NAME", MinArgs: 1, MaxArgs: 1, Summary: "Show the data of a model", Examples: []string{"openagent models show opus"},
			Run: func(ctx context.Context, args []string) error { return showModel(ctx, h, o, args[0]) }}),
	}}
}

// A knownModel is a model in lists.
type knownModel struct {
	catalog.Entry
	Origin string `json:"origin"`           // the settings, or "built in"
	Key    bool   `json:"key_at_hand"`      // or no key is needed
	Chosen bool   `json:"chosen,omitempty"` // the default model of runs
}

// builtIn is the source of a model that the settings do not mention.
const builtIn = "built in"

// modelsSetup finds the provider, and the catalogue with the settings' models.
func modelsSetup(ctx context.Context, h *cli.IO, o *modelsOptions) (provider.Provider, config.Value, error) {
	dir, err := settings.WorkingDir()
	if err != nil {
		return provider.Provider{}, config.Value{}, err
	}
	c, err := settings.Configure(ctx, h, &o.Options, dir, false)
	if err != nil {
		return provider.Provider{}, config.Value{}, err
	}
	settings.WarnOfSettings(h, c)
	p, err := provider.Open(h, c)
	if none := provider.NoModelError(""); errors.As(err, &none) { // model data needs no key
		err = nil
	}
	return p, c.Setting("models"), err
}

// knownAs describes a catalogue entry.
func knownAs(p provider.Provider, e catalog.Entry, said config.Value) knownModel {
	k := knownModel{Entry: e, Origin: builtIn, Key: hasKey(p, e.Provider), Chosen: e.Name == p.Model.Value}
	if own, ok := catalog.Embedded().Lookup(e.Provider, e.Name); !ok || own.Name != e.Name || own.Date != e.Date || own.Source != e.Source || own.Window != e.Window {
		k.Origin = cmp.Or(said.Source.String(), "settings")
	}
	return k
}

// hasKey reports whether the key of a vendor is available.
func hasKey(p provider.Provider, maker string) bool {
	if maker == "" || maker == providers.Vendor(p.Name.Value) {
		return !p.NeedsKey()
	}
	return p.Environ.First(strings.ToUpper(maker)+"_API_KEY").Value != ""
}
