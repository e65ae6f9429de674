package slash

import (
	"context"
	"errors"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/term"
)

// jobs lists the running background commands, or stops them.
func (c *Commands) jobs(ctx context.Context, words []string) error {
	ids := c.App.JobIDs()
	switch {
	case len(words) == 0:
		for _, j := range c.App.RunningJobs() {
			c.Screen.Line(term.Plain, "%s  %s", j.ID, c.H.OneLine(j.Command))
		}
	case words[0] != "stop" || len(words) != 2:
		return errors.New("write /jobs, /jobs stop ID or /jobs stop all")
	case words[1] != "all":
		ids = words[1:]
	}
	if len(ids) == 0 {
		c.Screen.Line(term.Dim, "no background command is running")
	}
	if len(words) == 0 {
		return nil
	}
	var errs []error
	for _, id := range ids {
		err := c.App.StopJob(ctx, id)
		if err == nil {
			c.Screen.Line(term.Yellow, "ended the command %s", c.H.OneLine(id))
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// TellOfJobs reports running background commands and how to stop them.
func (c *Commands) TellOfJobs() {
	if n := len(c.App.JobIDs()); n > 0 {
		c.Screen.Line(term.Yellow, "still running: %s in the background; /jobs lists them, /jobs stop all ends them", cli.Plural(n, "command"))
	}
}
