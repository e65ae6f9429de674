package slash

import (
	"context"

	"github.com/openagent-go/agent/cmd/openagent/internal/doctor"
	"github.com/openagent-go/agent/cmd/openagent/internal/term"
)

// doctor shows the checks of openagent doctor.
func (c *Commands) doctor(ctx context.Context) {
	h := c.H.Fork() // the checks have secrets of their own
	h.InTerminal, h.OutTerminal = c.H.InTerminal, c.H.OutTerminal
	findings := doctor.Examine(ctx, h, c.App.Project)
	rows, _ := doctor.Rows(findings)
	for i, r := range rows {
		colour := term.Plain
		if !findings[i].OK {
			colour = term.Red
		}
		c.Screen.Line(colour, "%s  %-13s %s", r[0], r[1], h.OneLine(r[2]))
	}
}
