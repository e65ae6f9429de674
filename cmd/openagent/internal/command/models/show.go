package models

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/provider"
	"github.com/openagent-go/agent/cmd/openagent/internal/settings"
	"github.com/openagent-go/agent/internal/modelinfo"
	"github.com/openagent-go/agent/internal/providers"
)

// A shownModel is the data of one model.
type shownModel struct {
	modelinfo.Info
	Known  bool   `json:"known"` // in the catalogue
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
			p.Provider, _ = p.OtherProvider(to) // model data needs no key
		}
		name = rest
	}
	if providers.IsSize(name) {
		if name, err = p.ModelOfSize(name); err != nil {
			return cli.Usagef("%v", err)
		}
	}
	if err := provider.CheckModelName(settings.EncodeValue(name)); err != nil {
		return cli.Usagef("%v", err)
	}
	m := shownModel{}
	e, known := p.Models.Lookup(providers.Vendor(p.Name.Value), name)
	if !known && !slices.Contains(providers.Hosts, p.Name.Value) {
		e, known = p.Models.Lookup("", name)
	}
	if known {
		k := knownAs(p, e, said)
		m.Info, m.Known, m.Origin, m.Key = modelinfo.OfEntry(e), true, k.Origin, k.Key
		m.Value = name
	} else {
		m.Info, m.Key = modelinfo.Of(p.NewModel(name)), !p.NeedsKey()
		if m.Known = m.Date != ""; m.Known { // under another name: platforms use their own names
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
	rows := [][]string{{"name", m.DisplayName}, {"value", m.Value}, {"provider", cmp.Or(m.Provider, "any")}, {"key available", mark(m.Key, "yes") + mark(!m.Key, "no")}}
	if m.Description != "" {
		rows = append(rows, []string{"description", m.Description})
	}
	rows = append(rows, []string{"context window", window}, []string{"longest answer", cli.TokenText(m.MaxOutput)},
		[]string{"efforts", cmp.Or(strings.Join(m.Efforts, ", "), "unknown")}, []string{"adaptive thinking", mark(m.Adaptive, "yes") + mark(!m.Adaptive, "no")}, []string{"fast mode", mark(m.Fast, "yes") + mark(!m.Fast, "no")})
	if c := m.Price; c != nil {
		rows = append(rows, []string{"input", "$" + cli.PriceText(c.Input) + " per million tokens"}, []string{"output", "$" + cli.PriceText(c.Output)}, []string{"cache read", "$" + cli.PriceText(c.CacheRead)}, []string{"cache write", "$" + cli.PriceText(c.CacheWrite)})
		if c.LongAt > 0 {
			rows = append(rows, []string{"above " + cli.TokenText(c.LongAt), fmt.Sprintf("input × %s, output × %s", cli.PriceText(c.LongInput), cli.PriceText(c.LongOutput))})
		}
	} else {
		rows = append(rows, []string{"price", "unknown, and so is the cost"})
	}
	if m.Date != "" || m.Source != "" {
		rows = append(rows, []string{"as of", cmp.Or(m.Date, "?") + " " + m.Source})
	}
	rows = append(rows, []string{"from", cmp.Or(m.Origin, "not in the catalogue; its features are guessed from its name")})
	return h.WriteList(cli.FormatText, nil, "", rows)
}
