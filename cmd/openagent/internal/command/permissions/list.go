package permissions

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/openagent-go/agent/cmd/openagent/internal/app"
	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/settings"
	"github.com/openagent-go/agent/internal/config"
)

// listRules shows the mode, and the rules of all layers with their sources.
func listRules(ctx context.Context, h *cli.IO, o *app.ToolsOptions) error {
	c, err := ruled(ctx, h, o)
	if err != nil {
		return err
	}
	rules := c.Settings.Rules()
	mode := c.Setting(settings.ModeKey)
	var rows [][]string
	for _, r := range rules {
		rows = append(rows, []string{string(r.Behavior), string(r.Rule), r.Source.String(), string(r.Source.Scope), r.Why})
	}
	if o.Output == cli.FormatJSON {
		return h.WriteList(o.Output, struct {
			Mode   json.RawMessage     `json:"mode"`
			Source config.Source       `json:"mode_source"`
			Rules  []config.RuleSource `json:"rules"`
		}{mode.Value, mode.Source, append([]config.RuleSource{}, rules...)}, "", nil)
	}
	if err := h.Show(fmt.Sprintf("mode: %s (%s)\n", strings.Trim(string(mode.Value), `"`), mode.Source)); err != nil {
		return err
	}
	if len(rows) == 0 {
		h.Warn("no rules are set; only the mode decides")
		return nil
	}
	return h.WriteList(o.Output, nil, "DOES RULE SOURCE LAYER COUNTS", rows)
}
