package repl

import (
	"context"
	"errors"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/term"
)

// jobs lists the running background commands, or stops them.
func (c *REPL) jobs(ctx context.Context, words []string) error {
	ids := c.s.JobIDs()
	switch {
	case len(words) == 0:
		for _, j := range c.s.RunningJobs() {
			c.screen.Line(term.Plain, "%s  %s", j.ID, c.h.OneLine(j.Command))
		}
	case words[0] != "stop" || len(words) != 2:
		return errors.New("write /jobs, /jobs stop ID or /jobs stop all")
	case words[1] != "all":
		ids = words[1:]
	}
	if len(ids) == 0 {
		c.screen.Line(term.Dim, "no background command is running")
	}
	if len(words) == 0 {
		return nil
	}
	var errs []error
	for _, id := range ids {
		err := c.s.StopJob(ctx, id)
		if err == nil {
			c.screen.Line(term.Yellow, "ended the command %s", c.h.OneLine(id))
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// tellOfJobs reports running background commands and how to stop them.
func (c *REPL) tellOfJobs() {
	if n := len(c.s.JobIDs()); n > 0 {
		c.screen.Line(term.Yellow, "still running: %s in the background; /jobs lists them, /jobs stop all ends them", cli.Plural(n, "command"))
	}
}
