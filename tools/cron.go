package tools

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/openagent-go/agent/cron"
	"github.com/openagent-go/agent/internal/cronstore"
	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/internal/toolapi"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
)

var (
	//go:embed croncreate.md
	cronCreateText string
	//go:embed crondelete.md
	cronDeleteText string
	//go:embed cronlist.md
	cronListText string
)

const (
	maxCronShown = 100 // jobs that CronList shows
	maxCronText  = 160 // characters shown of a prompt, a command or an outcome
	cronResource = "cron"
)

// A Crontab holds the store and the clock of the Cron tools.
type Crontab struct {
	Jobs *cron.Store // where the jobs are
	// Dir is the folder, absolute, whose jobs are seen, and in which new ones work.
	// "": all jobs are seen, and a new one works in the directory of the call.
	Dir string
	// Running reports whether this program runs the schedule, as a
	// [cron.Scheduler] tells. Nil: it does not.
	Running func() bool
}

func (c Crontab) store() cronstore.Store {
	jobs := (*cronstore.Handle)(c.Jobs).Jobs()
	if c.Dir == "" {
		return jobs
	}
	return cronstore.In(jobs, c.Dir)
}

func (c Crontab) running() bool { return c.Running != nil && c.Running() }

// lives says who fires the jobs.
func (c Crontab) lives() string {
	if c.running() {
		return "The schedule runs while this program lives; after that `openagent cron run` or another agent of this folder has to."
	}
	return "Nothing in this program runs the schedule: it fires while `openagent cron run` or another program with a scheduler lives."
}

type cronCreateInput struct {
	Name     string `json:"name"`
	Schedule string `json:"schedule"`
	Prompt   string `json:"prompt,omitempty" jsonschema:"either this or command"`
	Command  string `json:"command,omitempty"`
	Zone     string `json:"zone,omitempty" jsonschema:"such as Europe/Berlin; by default this machine's"`
	Missed   string `json:"missed,omitempty" jsonschema:"times at which nothing ran: once (default) makes up for all, skip, or all"`
}

// cronJob is a job in the Details of results.
type cronJob struct {
	ID       string             `json:"id"`
	Name     string             `json:"name"`
	Schedule string             `json:"schedule"`
	Zone     string             `json:"zone,omitempty"`
	Prompt   string             `json:"prompt,omitempty"`
	Command  string             `json:"command,omitempty"`
	Trigger  string             `json:"trigger,omitempty"`
	Dir      string             `json:"dir"`
	Missed   cronstore.Missed   `json:"missed,omitempty"`
	Disabled bool               `json:"disabled,omitempty"`
	Next     *time.Time         `json:"next,omitempty"`
	Run      *cronstore.Run     `json:"run,omitempty"`
	Last     *cronstore.Outcome `json:"last,omitempty"`
}

func showCron(j cronstore.Job) cronJob {
	out := cronJob{ID: j.ID, Name: j.Name, Schedule: j.Schedule, Zone: j.Zone, Prompt: j.Prompt, Command: j.Command, Trigger: j.Trigger, Dir: j.Dir,
		Missed: cmp.Or(j.Missed, cronstore.Once), Disabled: j.Disabled, Run: j.Run}
	if next := j.Next(time.Now()); !next.IsZero() {
		out.Next = &next
	}
	if last, ok := j.Last(); ok {
		out.Last = &last
	}
	return out
}

// CronCreate returns the tool that schedules prompts and commands.
func CronCreate(c Crontab) tool.Tool {
	return tool.New(tool.Spec{
		Name: "CronCreate", Title: "Schedule a job", Description: cronCreateText, NonDestructive: true,
	}, func(ctx context.Context, call tool.Call, in cronCreateInput) (*tool.Result, error) {
		j := c.job(call, in)
		if err := j.Check(); err != nil {
			return tool.Errorf("The job was not scheduled: %v.", err), nil
		}
		j, err := cronstore.Add(ctx, c.store(), j)
		if err != nil {
			return nil, fmt.Errorf("scheduling the job: %w", err)
		}
		next := j.Next(time.Now()).Format(time.RFC3339)
		r := tool.Text(fmt.Sprintf("Scheduled %q as %s. Next run: %s. %s", j.Name, j.ID, next, c.lives()))
		r.Title = fmt.Sprintf("Schedule %s, next %s", j.Name, next)
		r.Details = toolapi.Details(struct {
			Job     cronJob `json:"job"`
			Running bool    `json:"running"`
		}{showCron(j), c.running()})
		return r, nil
	}).OnClassify(func(call tool.Call, in cronCreateInput) tool.Traits {
		class := tool.Traits{Touches: []string{cronResource}}
		if strings.TrimSpace(in.Command) == "" {
			class.Access = []permission.Access{{Kind: permission.UseName, Target: in.Name, Once: true}} // the model makes names up
			class.ConfirmReason = "it schedules a prompt, which runs later and again"
			return class
		}
		class.Access = []permission.Access{{Kind: permission.RunCommand, Target: in.Command, Dir: cmp.Or(c.Dir, call.Dir), Later: true}}
		class.ConfirmReason = "it schedules a command, which runs later and again"
		return class
	}).OnPreview(func(call tool.Call, in cronCreateInput) string {
		return previewFields(previewField{"job", in.Name}, previewField{"schedule", in.Schedule}, previewField{"time zone", in.Zone},
			previewField{"missed times", in.Missed}, previewField{"folder", cmp.Or(c.Dir, call.Dir)}, previewField{"command", in.Command}, previewField{"prompt", in.Prompt})
	})
}

func (c Crontab) job(call tool.Call, in cronCreateInput) cronstore.Job {
	return cronstore.Job{Name: in.Name, Schedule: in.Schedule, Zone: in.Zone, Prompt: in.Prompt, Command: in.Command,
		Missed: cronstore.Missed(in.Missed), Dir: cmp.Or(c.Dir, call.Dir)}
}

type cronDeleteInput struct {
	ID string `json:"id"`
}

// CronDelete returns the tool that deletes scheduled jobs.
func CronDelete(c Crontab) tool.Tool {
	return tool.New(tool.Spec{
		Name: "CronDelete", Title: "Delete a scheduled job", Description: cronDeleteText,
	}, func(ctx context.Context, _ tool.Call, in cronDeleteInput) (*tool.Result, error) {
		j, err := cronstore.Remove(ctx, c.store(), in.ID)
		switch {
		case errors.Is(err, cronstore.ErrNotFound):
			return tool.Errorf("There is no job %q here; CronList shows the ids.", text.Runes(in.ID, maxCronText)), nil
		case errors.Is(err, cronstore.ErrOfTrigger):
			return tool.Errorf("The job %q was not deleted: it is the schedule of a trigger. RemoteTrigger, action update with an empty schedule, ends it.", text.Runes(in.ID, maxCronText)), nil
		case err != nil:
			return nil, fmt.Errorf("deleting the job: %w", err)
		}
		r := tool.Text(fmt.Sprintf("Deleted %q (%s, %s).", j.Name, j.ID, j.Schedule))
		r.Title = "Delete the scheduled job " + j.Name
		r.Details = toolapi.Details(struct {
			Job cronJob `json:"job"`
		}{showCron(j)})
		return r, nil
	}).OnClassify(func(_ tool.Call, in cronDeleteInput) tool.Traits {
		return tool.Traits{Touches: []string{cronResource}, Access: []permission.Access{{Kind: permission.UseName, Target: in.ID}}}
	})
}

// CronList returns the tool that lists scheduled jobs.
func CronList(c Crontab) tool.Tool {
	return tool.New(tool.Spec{
		Name: "CronList", Title: "List scheduled jobs", Description: cronListText, ReadOnly: true, Idempotent: true,
	}, func(ctx context.Context, _ tool.Call, _ struct{}) (*tool.Result, error) {
		jobs, err := c.store().Load(ctx)
		if err != nil {
			return nil, fmt.Errorf("listing jobs: %w", err)
		}
		list := []cronJob{}
		var b strings.Builder
		for i, j := range jobs {
			if i == maxCronShown {
				fmt.Fprintf(&b, "… and %d more.\n", len(jobs)-i)
				break
			}
			list = append(list, showCron(j))
			describeCron(&b, j)
		}
		if len(jobs) == 0 {
			b.WriteString("No jobs are scheduled in this folder.\n")
		}
		r := tool.Text(b.String() + c.lives())
		r.Title = fmt.Sprintf("%d scheduled jobs", len(jobs))
		r.Details = toolapi.Details(struct {
			Jobs    []cronJob `json:"jobs"`
			Total   int       `json:"total"`
			Running bool      `json:"running"`
		}{list, len(jobs), c.running()})
		return r, nil
	}).OnClassify(func(tool.Call, struct{}) tool.Traits {
		return tool.Traits{ReadOnly: true, Touches: []string{cronResource}}
	})
}

// describeCron writes a job in a line or two.
func describeCron(b *strings.Builder, j cronstore.Job) {
	what, words := "prompt", j.Prompt
	if j.Command != "" {
		what, words = "command", j.Command
	}
	if j.Trigger != "" {
		what, words = "trigger", j.Trigger
	}
	fmt.Fprintf(b, "%s %q, %s", j.ID, j.Name, text.Runes(j.Schedule, maxCronText))
	if j.Zone != "" {
		fmt.Fprintf(b, " in %s", text.Runes(j.Zone, maxCronText))
	}
	fmt.Fprintf(b, ", %s %q, ", what, text.Runes(words, maxCronText))
	switch err := j.Check(); {
	case err != nil:
		fmt.Fprintf(b, "cannot run: %v", err)
	case j.Disabled:
		b.WriteString("disabled")
	default:
		fmt.Fprintf(b, "next %s", j.Next(time.Now()).Format(time.RFC3339))
	}
	if j.Run != nil {
		fmt.Fprintf(b, ", running since %s", j.Run.Started.Local().Format(time.RFC3339))
	}
	if last, ok := j.Last(); ok {
		fmt.Fprintf(b, "\n  last: %s at %s %q", last.Status, last.Ended.Local().Format(time.RFC3339), text.Runes(last.Note, maxCronText))
	}
	b.WriteString("\n")
}
