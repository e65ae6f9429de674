package app

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/internal/cronstore"
	"github.com/openagent-go/agent/internal/triggerstore"
)

// CronFile returns the path of the schedule, which covers all folders.
func CronFile(home string) cronstore.File {
	return cronstore.File{Path: filepath.Join(home, "cron", "jobs.json")}
}

// TriggerFile returns the path of the trigger file, which covers all folders.
func TriggerFile(home string) *triggerstore.File {
	return &triggerstore.File{Path: filepath.Join(home, "triggers.json")}
}

// ScheduleTrigger adds, replaces or removes the job for a trigger's schedule.
func ScheduleTrigger(ctx context.Context, jobs cronstore.Store, dir string, t triggerstore.Trigger) error {
	_, err := cronstore.Put(ctx, jobs, cronstore.Job{Name: t.Name, Schedule: t.Schedule, Trigger: t.ID, Dir: dir, Disabled: !t.Enabled})
	return err
}

// CronError returns the error for a schedule that cannot be read or written.
func CronError(err error) error {
	var file *fs.PathError
	switch {
	case errors.Is(err, cronstore.ErrUnreadable):
		return cli.Usagef("%w", err)
	case errors.As(err, &file):
		return cli.Usagef("%w; set OPENAGENT_HOME to a writable folder", err)
	}
	return err
}
