package app

import (
	"context"
	"strings"
)

// A RunningJob is a background command that runs for the session or for one of its agents.
type RunningJob struct {
	ID      string `json:"job_id"` // of an agent's: the agent's id, "/" and the command's
	Command string `json:"command"`
}

// RunningJobs lists the background commands that run.
func (s *App) RunningJobs() []RunningJob {
	list := []RunningJob{}
	for _, j := range s.workspace.RunningJobs() {
		id := j.ID
		if j.Session != s.Session.ID {
			id = j.Session + "/" + id
		}
		list = append(list, RunningJob{id, j.Command})
	}
	return list
}

// JobIDs are the ids of the background commands that run, nil where none does.
func (s *App) JobIDs() (ids []string) {
	for _, j := range s.RunningJobs() {
		ids = append(ids, j.ID)
	}
	return ids
}

// StopJob ends a background command and waits for its end.
func (s *App) StopJob(ctx context.Context, id string) error {
	session, job, ofAgent := strings.Cut(id, "/")
	if !ofAgent {
		session, job = s.Session.ID, id
	}
	return s.workspace.EndJob(ctx, session, job)
}

// A RunningAgent is an agent that is at work for the session.
type RunningAgent struct {
	ID         string `json:"agent_id"`
	Name       string `json:"agent_name"`
	Call       string `json:"call"` // that has started it
	Background bool   `json:"background"`
}

// RunningAgents lists the agents that are at work.
func (s *App) RunningAgents() []RunningAgent {
	list := []RunningAgent{}
	for _, at := range s.Session.Children() {
		list = append(list, RunningAgent{at.Session, at.Agent, at.Call, at.Background})
	}
	return list
}
