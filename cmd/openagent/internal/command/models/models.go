// Package models is the command "openagent models". It lists models.
package models

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/provider"
	"github.com/openagent-go/agent/cmd/openagent/internal/settings"
	"github.com/openagent-go/agent/config"
	"github.com/openagent-go/agent/llm"
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

// A knownModel is a model as lists show it.
type knownModel struct {
	catalog.Entry
	Origin string `json:"origin"`           // settings, or the program itself
	Key    bool   `json:"key_at_hand"`      // or it needs none
	Chosen bool   `json:"chosen,omitempty"` // runs begin with it
}

// builtIn says of a model that settings do not speak of it.
const builtIn = "built in"

// modelsSetup finds out which provider is meant, with the catalogue of the settings.
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
	if none := provider.NoModelError(""); errors.As(err, &none) { // what is known of models needs none
		err = nil
	}
	return p, c.Setting("models"), err
}

// knownAs describes an entry.
func knownAs(p provider.Provider, e catalog.Entry, said config.Value) knownModel {
	k := knownModel{Entry: e, Origin: builtIn, Key: hasKey(p, e.Provider), Chosen: e.Name == p.Model.Value}
	if own, ok := catalog.Embedded().Lookup(e.Provider, e.Name); !ok || own.Name != e.Name || own.Date != e.Date || own.Source != e.Source || own.Window != e.Window {
		k.Origin = cmp.Or(said.Source.String(), "settings")
	}
	return k
}

// hasKey reports whether models of a vendor can be reached.
func hasKey(p provider.Provider, maker string) bool {
	if maker == "" || maker == provider.Vendor(p.Name.Value) {
		return !p.NeedsKey()
	}
	return p.Environ.First(strings.ToUpper(maker)+"_API_KEY").Value != ""
}

func listModels(ctx context.Context, h *cli.IO, o *modelsOptions) error {
	p, said, err := modelsSetup(ctx, h, o)
	if err != nil {
		return err
	}
	list := []knownModel{}
	var rows [][]string
	for _, e := range p.Models.Entries() {
		if o.Provider != "" && e.Provider != "" && e.Provider != o.Provider && e.Provider != provider.Vendor(o.Provider) {
			continue
		}
		k := knownAs(p, e, said)
		list = append(list, k)
		in, out := "?", "?"
		if e.Price != nil {
			in, out = cli.PriceText(e.Price.Input), cli.PriceText(e.Price.Output)
		}
		rows = append(rows, []string{e.Name, cmp.Or(e.Provider, "any"), cli.TokenText(e.Window), cli.TokenText(e.MaxOutput), in, out, cmp.Or(e.Date, "-"), mark(k.Key, "yes") + mark(!k.Key, "no"), k.Origin})
	}
	if err := h.WriteList(o.Output, list, "MODEL PROVIDER WINDOW OUTPUT USD/M-IN USD/M-OUT PRICES-OF KEY FROM", rows); err != nil || o.Output == cli.FormatJSON {
		return err
	}
	begin := fmt.Sprintf("Runs begin with %s (%s) of the provider %s", p.Model.Value, p.Model.Source, p.Name.Value)
	if p.Model.Value == "" {
		begin = fmt.Sprintf("The provider %s has no default model", p.Name.Value)
	}
	return h.Show(fmt.Sprintf("\n%s. Prices are in USD per million tokens. Any other model works too:\nits window is assumed to be %d tokens (%d on this machine), and its cost is not known, unless the setting models says it.\n",
		begin, llm.AssumedWindow, llm.AssumedLocalWindow))
}

func mark(on bool, word string) string {
	if on {
		return word
	}
	return ""
}

// A shownModel is what is known of one model.
type shownModel struct {
	llm.ModelInfo
	Known  bool   `json:"known"` // it is in the catalogue
	Origin string `json:"origin,omitempty"`
	Key    bool   `json:"key_at_hand"`
}

func showModel(ctx context.Context, h *cli.IO, o *modelsOptions, name string) error {
	p, said, err := modelsSetup(ctx, h, o)
	if err != nil {
		return err
	}
	if to, rest, ok := p.SplitName(name); ok && rest != "" {
		if to != p.Name.Value {
			p, _ = p.OtherProvider(to) // what is known of it needs no key
		}
		name = rest
	}
	if provider.IsSize(name) {
		if name, err = p.ModelOfSize(name); err != nil {
			return cli.Usagef("%v", err)
		}
	}
	if err := provider.CheckModelName(settings.EncodeValue(name)); err != nil {
		return cli.Usagef("%v", err)
	}
	m := shownModel{}
	e, known := p.Models.Lookup(provider.Vendor(p.Name.Value), name)
	if !known && !slices.Contains(settings.Hosts, p.Name.Value) {
		e, known = p.Models.Lookup("", name)
	}
	if known {
		k := knownAs(p, e, said)
		m.ModelInfo, m.Known, m.Origin, m.Key = e.ModelInfo(), true, k.Origin, k.Key
		m.Value = name
	} else {
		m.ModelInfo, m.Key = llm.DescribeModel(p.NewModel(name)), !p.NeedsKey()
		if m.Known = m.Date != ""; m.Known { // under another name: a platform has its own
			m.Origin = "the catalogue, by another name"
		}
	}
	if o.Output == cli.FormatJSON {
		return h.WriteList(cli.FormatJSON, m, "", nil)
	}
	window := cli.TokenText(m.Window)
	if m.Assumed {
		window += " (assumed)"
	}
	rows := [][]string{{"name", m.DisplayName}, {"value", m.Value}, {"provider", cmp.Or(m.Provider, "any")}, {"key at hand", mark(m.Key, "yes") + mark(!m.Key, "no")}}
	if m.Description != "" {
		rows = append(rows, []string{"description", m.Description})
	}
	rows = append(rows, []string{"context window", window}, []string{"longest answer", cli.TokenText(m.MaxOutput)},
		[]string{"efforts", cmp.Or(strings.Join(m.Efforts, ", "), "none known")}, []string{"adaptive thinking", mark(m.Adaptive, "yes") + mark(!m.Adaptive, "no")}, []string{"fast mode", mark(m.Fast, "yes") + mark(!m.Fast, "no")})
	if c := m.Price; c != nil {
		rows = append(rows, []string{"input", "$" + cli.PriceText(c.Input) + " per million tokens"}, []string{"output", "$" + cli.PriceText(c.Output)}, []string{"cache read", "$" + cli.PriceText(c.CacheRead)}, []string{"cache write", "$" + cli.PriceText(c.CacheWrite)})
		if c.LongAt > 0 {
			rows = append(rows, []string{"above " + cli.TokenText(c.LongAt), fmt.Sprintf("input × %s, output × %s", cli.PriceText(c.LongInput), cli.PriceText(c.LongOutput))})
		}
	} else {
		rows = append(rows, []string{"price", "not known, and so is the cost"})
	}
	if m.Date != "" || m.Source != "" {
		rows = append(rows, []string{"as of", cmp.Or(m.Date, "?") + " " + m.Source})
	}
	rows = append(rows, []string{"from", cmp.Or(m.Origin, "not in the catalogue; what it accepts is guessed by its name")})
	return h.WriteList(cli.FormatText, nil, "", rows)
}
