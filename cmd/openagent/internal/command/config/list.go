package config

import (
	"cmp"
	"context"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
)

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

func listSettingFiles(ctx context.Context, h *cli.IO, o *configOptions) error {
	c, _, err := inForce(ctx, h, o)
	if err != nil {
		return err
	}
	files := c.Settings.Files()
	var rows [][]string
	for _, f := range files {
		state := "missing"
		switch {
		case f.Exists && f.Trusted:
			state = "read"
		case f.Exists && len(c.Settings.Needs(f)) > 0:
			state = "not trusted, so only restrictions apply"
		case f.Exists:
			state = "read"
		}
		rows = append(rows, []string{string(f.Scope), f.Path, state})
	}
	return h.WriteList(o.Output, files, "LAYER FILE STATE", rows)
}
