package config

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/internal/config"
)

// explained is a setting with its value in each layer, as JSON.
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
			return cli.Usagef("config explain: %w (see openagent config list)", err)
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
