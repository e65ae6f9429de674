// Package doctor is the command "openagent doctor". It checks the environment.
package doctor

import (
	"context"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/doctor"
	"github.com/openagent-go/agent/cmd/openagent/internal/settings"
)

// Command returns the command "openagent doctor".
func Command(h *cli.IO) cli.Command {
	format := ""
	return cli.Command{Name: "doctor", Summary: "Check the parts that openagent needs", Examples: []string{"openagent doctor"}, Flags: func() cli.Flags { return cli.ListFlags(&format) }, Run: func(ctx context.Context, args []string) error {
		if err := cli.NoArgs("doctor", args); err != nil {
			return err
		}
		dir, err := settings.WorkingDir()
		if err != nil {
			return err
		}
		findings := doctor.Examine(ctx, h, dir)
		rows, healthy := doctor.Rows(findings)
		if err := h.WriteList(format, findings, "", rows); err != nil {
			return err
		}
		if !healthy {
			return cli.ExitCode(cli.ExitUsage)
		}
		return nil
	}}
}
