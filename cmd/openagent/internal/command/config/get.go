package config

import (
	"context"
	"encoding/json"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/settings"
	"github.com/openagent-go/agent/internal/config"
)

func getConfig(ctx context.Context, h *cli.IO, o *configOptions, name string) error {
	k, member, err := config.Find(keyOf(name))
	if err != nil {
		return cli.Usagef("config get: %w (see openagent config list)", err)
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

// shownJSON formats a value for programs.
func shownJSON(h *cli.IO, k config.Key, member string, value json.RawMessage) json.RawMessage {
	var text string
	if shown := shown(h, k, member, value); k.Secret() && member == "" || json.Unmarshal(value, &text) != nil {
		return json.RawMessage(shown)
	} else {
		return settings.EncodeValue(shown)
	}
}
