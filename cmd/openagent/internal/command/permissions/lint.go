package permissions

import (
	"context"

	"github.com/openagent-go/agent/cmd/openagent/internal/app"
	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
)

// lintRules shows the rules that have no effect or an unexpected one.
func lintRules(ctx context.Context, h *cli.IO, o *app.ToolsOptions) error {
	found, err := app.RuleFindings(ctx, h, o, true)
	if err != nil {
		return err
	}
	var rows [][]string
	for _, f := range found {
		rows = append(rows, []string{f.Kind, string(f.Behavior), string(f.Rule), f.Origin, f.Text})
	}
	if len(found) == 0 && o.Output != cli.FormatJSON {
		return h.Show("no problems found\n")
	}
	if err := h.WriteList(o.Output, found, "KIND DOES RULE SOURCE WHY", rows); err != nil {
		return err
	}
	return cli.ExitCode(cli.ExitInternal)
}
