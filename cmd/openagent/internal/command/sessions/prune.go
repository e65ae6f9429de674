package sessions

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/openagent-go/agent/cmd/openagent/internal/app"
	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/sessionstore"
	"github.com/openagent-go/agent/internal/checkpoint"
	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/session"
)

// A pruned is the result of pruning or of a dry run.
type pruned struct {
	DryRun   bool           `json:"dryRun"`
	Sessions []session.Info `json:"sessions"`
	Files    prunedFiles    `json:"files"`
}

// prunedFiles is the result for file checkpoints.
type prunedFiles struct {
	Orphans     int   `json:"orphans"`     // deleted sessions that still had checkpoints
	Checkpoints int   `json:"checkpoints"` // dropped
	Freed       int64 `json:"freed"`       // bytes
	Used        int64 `json:"used"`        // bytes, after it
	Quota       int64 `json:"quota"`       // bytes
}

// pruneSessions deletes sessions that did not change for a time. It also deletes file checkpoints
// that are old, above the quota, or belong to deleted sessions. Sessions in use stay.
func pruneSessions(ctx context.Context, h *cli.IO, o *sessionsOptions) error {
	if o.olderThan == 0 && (o.All || o.tag != "") {
		return cli.Usagef("--all and --tag need --older-than, the age from which sessions are deleted; add one such as --older-than 90d")
	}
	done := pruned{DryRun: o.DryRun, Sessions: []session.Info{}}
	if o.olderThan > 0 {
		var err error
		if done.Sessions, err = pruneOld(ctx, h, o); err != nil {
			return err
		}
	}
	kept, _, err := app.OpenCheckpoints(h)
	if err != nil {
		return err
	}
	if done.Files, err = pruneKept(ctx, kept, o.DryRun); err != nil {
		return cli.CommandError(ctx, err)
	}
	if o.olderThan > 0 && len(done.Sessions) == 0 && o.format != cli.FormatJSON {
		h.Warn("no session is that old")
	}
	var rows [][]string
	header := ""
	for _, info := range done.Sessions {
		header = map[bool]string{false: "DELETED UPDATED TITLE", true: "WOULD-DELETE UPDATED TITLE"}[o.DryRun]
		rows = append(rows, []string{info.Session, info.Updated.Local().Format(time.DateTime), text.Runes(cmp.Or(info.Title, info.Prompt), 60)})
	}
	if err := h.WriteList(o.format, done, header, rows); err != nil || o.format == cli.FormatJSON {
		return err
	}
	return h.Show(done.Files.line(o.DryRun) + "\n")
}

func pruneOld(ctx context.Context, h *cli.IO, o *sessionsOptions) ([]session.Info, error) {
	stores, err := sessionstore.Stores(ctx, h, o.place, o.All)
	if err != nil {
		return nil, err
	}
	before := time.Now().Add(-o.olderThan)
	gone := []session.Info{}
	for _, s := range stores {
		list, err := s.List(ctx)
		if err != nil {
			return nil, err
		}
		for _, info := range list {
			if o.others(info) || info.Updated.After(before) {
				continue
			}
			if !o.DryRun {
				switch err := session.Delete(ctx, s, info.Session); {
				case errors.Is(err, session.ErrBusy), errors.Is(err, session.ErrNotFound):
					continue
				case err != nil:
					return nil, cli.CommandError(ctx, err)
				}
			}
			gone = append(gone, info)
		}
	}
	return gone, nil
}

// pruneKept deletes file checkpoints that are no longer needed or exceed the quota.
func pruneKept(ctx context.Context, kept *checkpoint.Store, dry bool) (done prunedFiles, err error) {
	done.Quota = app.CheckpointQuota(kept)
	before, err := kept.Usage(ctx)
	if err != nil {
		return done, err
	}
	done.Used = before.Bytes
	orphans, err := app.OrphanCheckpoints(ctx, kept)
	if done.Orphans = len(orphans); err != nil || dry {
		return done, err
	}
	if err := kept.Drop(ctx, orphans...); err != nil {
		return done, err
	}
	if _, err := kept.Prune(ctx); err != nil {
		return done, err
	}
	after, err := kept.Usage(ctx)
	done.Checkpoints, done.Freed, done.Used = before.Checkpoints-after.Checkpoints, max(0, before.Bytes-after.Bytes), after.Bytes
	return done, err
}

func (f prunedFiles) line(dry bool) string {
	used := fmt.Sprintf("%s of at most %d MB used", cli.Megabytes(f.Used), f.Quota>>20)
	if dry {
		return fmt.Sprintf("File checkpoints: would delete those of %s, old ones and any above the quota; %s.", cli.Plural(f.Orphans, "deleted session"), used)
	}
	return fmt.Sprintf("File checkpoints: %d deleted, %s MB freed; %s.", f.Checkpoints, cli.Megabytes(f.Freed), used)
}
