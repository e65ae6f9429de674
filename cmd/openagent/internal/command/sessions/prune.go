package sessions

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/openagent-go/agent/checkpoint"
	"github.com/openagent-go/agent/cmd/openagent/internal/app"
	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/sessionstore"
	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/session"
)

// A pruned is what pruning has removed, or would remove.
type pruned struct {
	DryRun   bool           `json:"dryRun"`
	Sessions []session.Info `json:"sessions"`
	Files    prunedFiles    `json:"files"`
}

// prunedFiles says what became of the states of files.
type prunedFiles struct {
	Orphans     int   `json:"orphans"`     // sessions that are gone and had states
	Checkpoints int   `json:"checkpoints"` // dropped
	Freed       int64 `json:"freed"`       // bytes
	Used        int64 `json:"used"`        // bytes, after it
	Quota       int64 `json:"quota"`       // bytes
}

// pruneSessions deletes the sessions that did not change for a time, and what was
// kept of files for sessions that are gone, for too long, or above the quota.
// Sessions in use stay.
func pruneSessions(ctx context.Context, h *cli.IO, o *sessionsOptions) error {
	if o.olderThan == 0 && (o.All || o.tag != "") {
		return cli.Usagef("--all and --tag are about sessions: add --older-than with the age from which they are deleted, such as --older-than 90d")
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
	stores, err := sessionstore.Stores(h, o.Dir, o.All)
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
				switch err := s.Delete(ctx, info.Session); {
				case errors.Is(err, session.ErrSessionBusy), errors.Is(err, session.ErrNotFound):
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

// pruneKept drops states of files that are of no use or too many.
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
		return fmt.Sprintf("Checkpoints of files: those of %s that are gone, too old ones and what is above the quota would be dropped; %s.", cli.Plural(f.Orphans, "session"), used)
	}
	return fmt.Sprintf("Checkpoints of files: %d dropped, %s MB freed; %s.", f.Checkpoints, cli.Megabytes(f.Freed), used)
}
