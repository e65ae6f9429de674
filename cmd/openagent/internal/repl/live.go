package repl

import (
	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/live"
	"github.com/openagent-go/agent/cmd/openagent/internal/term"
)

// watched tells how many people see the session elsewhere, when that changes.
func (c *REPL) watched(s live.Status) {
	was := c.viewers.Swap(int64(s.Viewers))
	if s.Word != "" && was != int64(s.Viewers) {
		c.screen.Line(term.Dim, "%s: %s", s.Word, cli.Plural(s.Viewers, "viewer"))
	}
}
