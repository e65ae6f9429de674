package tools

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"regexp"
	"time"

	"github.com/openagent-go/agent/internal/toolapi"
	"github.com/openagent-go/agent/tool"
	"github.com/openagent-go/agent/workspace"
)

//go:embed bashoutput.md
var bashOutputText string

// maxFilter is how long a filter may be, in bytes.
const maxFilter = 1000

type bashOutputInput struct {
	BashID string `json:"bash_id"`
	Filter string `json:"filter,omitempty"`
	WaitMS int    `json:"wait_ms,omitempty"`
}

// BashOutput returns the tool that shows the output of background commands.
func BashOutput(jobs Terminal) tool.Tool {
	return tool.New(tool.Spec{
		Name: "BashOutput", Title: "Read a background command", Description: bashOutputText, ReadOnly: true,
		Timeout: maxTimeout*time.Millisecond + time.Minute,
	}, func(ctx context.Context, call tool.Call, in bashOutputInput) (*tool.Result, error) {
		var filter *regexp.Regexp
		if in.Filter != "" {
			if len(in.Filter) > maxFilter {
				return tool.Errorf("filter is longer than %d bytes", maxFilter), nil
			}
			var err error
			if filter, err = regexp.Compile(in.Filter); err != nil {
				return tool.Errorf("filter: %v", err), nil
			}
		}
		wait := time.Duration(min(max(in.WaitMS, 0), maxTimeout)) * time.Millisecond
		start := time.Now()
		report, err := jobs.Job(ctx, call.Session, in.BashID, filter, wait)
		return jobResult(in.BashID, report, time.Since(start), err)
	})
}

// jobRunning is the state of a background command that has not ended.
const jobRunning = "running"

// jobResult tells the model of a job.
func jobResult(id string, j *workspace.Outcome, took time.Duration, err error) (*tool.Result, error) {
	if errors.Is(err, workspace.ErrNoJob) {
		return tool.Errorf("%v", err), nil
	}
	if err != nil {
		return nil, err
	}
	state := jobRunning
	switch {
	case j.Running:
	case j.Stopped:
		state = "stopped"
	default:
		state = "exited"
	}
	d := bashDetails{
		Status: state, DurationMS: took.Milliseconds(), Truncated: j.Cut, OutputPath: j.File,
		Background: true, ShellID: id,
	}
	status := "Status: " + state
	if !j.Running {
		d.ExitCode = &j.Code
		status += fmt.Sprintf("\nExit code: %d", j.Code)
	}
	text := j.Text
	if text == "" {
		text = "(no new output)"
	}
	var file string
	if j.File != "" {
		file = "Output file: " + j.File
	}
	r := tool.Text(withNotes(text, status, leftNote(j.Left), survivorNote(j.Survivors), file))
	r.Title = id + " " + state
	r.Truncated = j.Cut
	r.Details = toolapi.Details(d)
	return r, nil
}
