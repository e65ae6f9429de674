package main

import (
	"context"
	"errors"
	"strings"
)

// A workingJob is a background command that runs for the session or for one of its agents.
type workingJob struct {
	ID      string `json:"job_id"` // of an agent's: the agent's id, "/" and the command's
	Command string `json:"command"`
}

// jobsAtWork lists the background commands that run.
func (s *setup) jobsAtWork() []workingJob {
	list := []workingJob{}
	for _, j := range s.workspace.RunningJobs() {
		id := j.ID
		if j.Session != s.session.ID {
			id = j.Session + "/" + id
		}
		list = append(list, workingJob{id, j.Command})
	}
	return list
}

// jobIDs are the ids of the background commands that run, nil where none does.
func (s *setup) jobIDs() (ids []string) {
	for _, j := range s.jobsAtWork() {
		ids = append(ids, j.ID)
	}
	return ids
}

// stopJob ends a background command and waits for its end.
func (s *setup) stopJob(ctx context.Context, id string) error {
	session, job, ofAgent := strings.Cut(id, "/")
	if !ofAgent {
		session, job = s.session.ID, id
	}
	return s.workspace.EndJob(ctx, session, job)
}

// jobs lists the background commands that run, or ends them.
func (c *repl) jobs(ctx context.Context, words []string) error {
	ids := c.s.jobIDs()
	switch {
	case len(words) == 0:
		for _, j := range c.s.jobsAtWork() {
			c.screen.line(inPlain, "%s  %s", j.ID, c.h.oneLine(j.Command))
		}
	case words[0] != "stop" || len(words) != 2:
		return errors.New("write /jobs, /jobs stop ID or /jobs stop all")
	case words[1] != "all":
		ids = words[1:]
	}
	if len(ids) == 0 {
		c.screen.line(inDim, "no command runs in the background")
	}
	if len(words) == 0 {
		return nil
	}
	var errs []error
	for _, id := range ids {
		err := c.s.stopJob(ctx, id)
		if err == nil {
			c.screen.line(inYellow, "ended the command %s", c.h.oneLine(id))
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// tellOfJobs says that background commands go on, and how to end them.
func (c *repl) tellOfJobs() {
	if n := len(c.s.jobIDs()); n > 0 {
		c.screen.line(inYellow, "still running: %s in the background; /jobs lists them, /jobs stop all ends them", plural(n, "command"))
	}
}
