package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/openagent-go/agent/checkpoint"
	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
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
func (h *host) pruneSessions(ctx context.Context, o *sessionsOptions) error {
	if o.olderThan == 0 && (o.all || o.tag != "") {
		return cli.Usagef("--all and --tag are about sessions: add --older-than with the age from which they are deleted, such as --older-than 90d")
	}
	done := pruned{DryRun: o.dry, Sessions: []session.Info{}}
	if o.olderThan > 0 {
		var err error
		if done.Sessions, err = h.pruneOld(ctx, o); err != nil {
			return err
		}
	}
	kept, _, err := h.keptFilesHere()
	if err != nil {
		return err
	}
	if done.Files, err = pruneKept(ctx, kept, o.dry); err != nil {
		return commandError(ctx, err)
	}
	if o.olderThan > 0 && len(done.Sessions) == 0 && o.format != formatJSON {
		h.complain("no session is that old")
	}
	var rows [][]string
	header := ""
	for _, info := range done.Sessions {
		header = map[bool]string{false: "DELETED UPDATED TITLE", true: "WOULD-DELETE UPDATED TITLE"}[o.dry]
		rows = append(rows, []string{info.Session, info.Updated.Local().Format(time.DateTime), short(cmp.Or(info.Title, info.Prompt), 60)})
	}
	if err := h.list(o.format, done, header, rows); err != nil || o.format == formatJSON {
		return err
	}
	return h.show(done.Files.line(o.dry) + "\n")
}

func (h *host) pruneOld(ctx context.Context, o *sessionsOptions) ([]session.Info, error) {
	stores, err := h.stores(o)
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
			if !o.dry {
				switch err := s.Delete(ctx, info.Session); {
				case errors.Is(err, session.ErrSessionBusy), errors.Is(err, session.ErrNotFound):
					continue
				case err != nil:
					return nil, commandError(ctx, err)
				}
			}
			gone = append(gone, info)
		}
	}
	return gone, nil
}

// pruneKept drops states of files that are of no use or too many.
func pruneKept(ctx context.Context, kept *checkpoint.Store, dry bool) (done prunedFiles, err error) {
	done.Quota = quotaOf(kept)
	before, err := kept.Usage(ctx)
	if err != nil {
		return done, err
	}
	done.Used = before.Bytes
	orphans, err := orphansOf(ctx, kept)
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

// orphansOf are the sessions that are gone and have states of files: they are
// named after their folders.
func orphansOf(ctx context.Context, kept *checkpoint.Store) (gone []string, err error) {
	names, err := kept.Sessions(ctx)
	for _, name := range names {
		if _, err := os.Lstat(name); errors.Is(err, fs.ErrNotExist) {
			gone = append(gone, name)
		}
	}
	return gone, err
}

func quotaOf(kept *checkpoint.Store) int64 { return cmp.Or(kept.Quota, checkpoint.DefaultQuota) }

func (f prunedFiles) line(dry bool) string {
	used := fmt.Sprintf("%s of at most %d MB used", megabytes(f.Used), f.Quota>>20)
	if dry {
		return fmt.Sprintf("Checkpoints of files: those of %s that are gone, too old ones and what is above the quota would be dropped; %s.", plural(f.Orphans, "session"), used)
	}
	return fmt.Sprintf("Checkpoints of files: %d dropped, %s MB freed; %s.", f.Checkpoints, megabytes(f.Freed), used)
}

func megabytes(bytes int64) string { return fmt.Sprintf("%.1f", float64(bytes)/(1<<20)) }
