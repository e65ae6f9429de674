package usage

import (
	"fmt"
	"strings"
	"time"

	"github.com/openagent-go/agent/cmd/openagent/internal/app"
	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/session/view"
)

// EndLine sums up a run in one line: its turns and calls, where its time went, and its cost.
func EndLine(end *view.End) string {
	head := "done"
	if cli.Outcomes[end.Fact.Reason].Subtype != cli.Success {
		head = "ended"
	}
	calls := cli.Plural(end.Calls, "call")
	if end.Denied > 0 {
		calls += fmt.Sprintf(", %d denied", end.Denied)
	}
	return strings.Join([]string{head, cli.Plural(end.Fact.Turns, "turn"), calls, timeText(end.Fact.Duration, end.Time), app.CostText(end.Fact.CostUSD)}, " · ")
}

// timeText says how long a run took, and with what. Parts that round to nothing are left out.
func timeText(total time.Duration, s view.Split) string {
	const (
		least = 50 * time.Millisecond
		short = 100 * time.Second // below, in seconds with a decimal
	)
	show, unit := func(d time.Duration) string { return fmt.Sprintf("%.1f", d.Seconds()) }, " s"
	if total >= short {
		show, unit = func(d time.Duration) string { return d.Round(time.Second).String() }, ""
	}
	var parts []string
	for _, p := range []struct {
		name string
		took time.Duration
	}{{"model", s.Model}, {"tools", s.Tools}, {"you", s.Waiting}, {"retries", s.Retry}, {"other", s.Other}} {
		if p.took >= least {
			parts = append(parts, p.name+" "+show(p.took))
		}
	}
	text := show(total) + unit
	if len(parts) > 0 {
		text += " (" + strings.Join(parts, ", ") + ")"
	}
	return text
}
