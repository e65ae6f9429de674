package sessionlist

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
)

// ErrNone is the error of a list without sessions.
var ErrNone = cli.Usagef("there is no session of this folder yet; leave the flag out to begin one")

const maxLines = 20 // sessions in lines

// Choose lets the person choose a session by its number, in lines. It reports false if they leave.
func (l *List) Choose(ctx context.Context) (Chosen, bool, error) {
	c, _, err := l.First(ctx)
	switch {
	case err != nil:
		return Chosen{}, false, err
	case len(c.Items) == 0:
		return Chosen{}, false, ErrNone
	}
	items := c.Items[:min(len(c.Items), maxLines)]
	for i, it := range items {
		fmt.Fprintf(l.H.Err, "%3d  %s  (%s)\n", i+1, it.Text, strings.TrimSpace(strings.TrimSpace(it.Cells[0])+" "+it.Cells[1]))
	}
	if len(items) < len(c.Items) {
		fmt.Fprintln(l.H.Err, "     openagent sessions list shows older ones")
	}
	for {
		l.H.DiscardInput()
		answer, err := l.H.AskLine(ctx, "a number (empty: leave): ")
		answer = strings.TrimSpace(answer)
		switch {
		case ctx.Err() != nil:
			fmt.Fprintln(l.H.Err)
			return Chosen{}, false, cli.ExitCode(cli.SignalCode(ctx))
		case err != nil || answer == "":
			return Chosen{}, false, err
		}
		n, err := strconv.Atoi(answer)
		if err != nil || n < 1 || n > len(items) {
			l.H.Warn("%s is not a number from 1 to %d", cli.Clip(answer), len(items))
			continue
		}
		chosen, err := l.Chosen(ctx, items[n-1].Value)
		if err == nil {
			return chosen, true, nil
		}
		l.H.Warn("%v", err)
	}
}
