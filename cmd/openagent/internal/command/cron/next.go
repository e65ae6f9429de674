package cron

import (
	"context"
	"slices"
	"time"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/internal/cronstore"
	"github.com/openagent-go/agent/internal/text"
)

// cronNext lists the upcoming jobs, the next one first.
func cronNext(ctx context.Context, h *cli.IO, o *cronOptions) error {
	_, jobs, err := loadJobs(ctx, h, o)
	if err != nil {
		return err
	}
	entries, rows := upcoming(jobs)
	return h.WriteList(o.Output, entries, "NEXT NAME ID RUNS", rows)
}

func upcoming(jobs []cronstore.Job) ([]cronEntry, [][]string) {
	entries := slices.DeleteFunc(cronEntries(jobs), func(e cronEntry) bool { return e.Next == nil })
	slices.SortStableFunc(entries, func(a, b cronEntry) int { return a.Next.Compare(*b.Next) })
	var rows [][]string
	for _, e := range entries {
		when := e.when()
		if e.Due && e.Run == nil {
			when = "due"
		}
		rows = append(rows, []string{when, text.Runes(e.Name, 40), e.ID, text.Runes(e.what(), 60)})
	}
	return entries, rows
}

const ticksShown = 5

// cronTry shows the next times of a schedule.
func cronTry(h *cli.IO, o *cronOptions, schedule string) error {
	now := time.Now().Truncate(time.Second)
	s, err := cronstore.Parse(schedule, o.zone, now)
	if err != nil {
		return cli.Usagef("cron next: %w", err)
	}
	var ticks []time.Time
	var rows [][]string
	for t := s.Next(now); !t.IsZero() && len(ticks) < ticksShown; t = s.Next(t) {
		ticks = append(ticks, t)
		rows = append(rows, []string{t.Format(time.RFC3339)})
	}
	return h.WriteList(o.Output, ticks, "", rows)
}
