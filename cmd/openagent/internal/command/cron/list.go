package cron

import (
	"context"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/internal/text"
)

func cronList(ctx context.Context, h *cli.IO, o *cronOptions) error {
	_, jobs, err := loadJobs(ctx, h, o)
	if err != nil {
		return err
	}
	entries := cronEntries(jobs)
	if len(entries) == 0 && o.Output != cli.FormatJSON {
		h.Warn("no jobs here yet; add one with openagent cron add SCHEDULE PROMPT, or list all folders with --all")
	}
	header := "ID NAME SCHEDULE NEXT LAST RUNS"
	if o.all {
		header += " FOLDER"
	}
	var rows [][]string
	for _, e := range entries {
		last := "-"
		if l, ok := e.Last(); ok {
			last = string(l.Status)
		}
		if e.Run != nil {
			last = "running"
		}
		row := []string{e.ID, text.Runes(e.Name, 40), e.times(), e.when(), last, text.Runes(e.what(), 60)}
		if o.all {
			row = append(row, e.Dir)
		}
		rows = append(rows, row)
	}
	return h.WriteList(o.Output, entries, header, rows)
}
