package app

import (
	"context"
	"strings"
)

// A RunningJob is a background command of the session or of a sub-agent.
type RunningJob struct {
	ID      string `json:"job_id"` // for a sub-agent's command: the agent's id, "/" and the command's id
	Command string `json:"command"`
}

// RunningJobs lists the running background commands.
func (s *App) RunningJobs() []RunningJob {
	list := []RunningJob{}
	for _, j := range s.Workspace.RunningJobs() {
		id := j.ID
		if j.Session != s.Session.ID {
			id = j.Session + "/" + id
		}
		list = append(list, RunningJob{id, j.Command})
	}
	return list
}

// JobIDs returns the ids of the running background commands, or nil if there are none.
func (s *App) JobIDs() (ids []string) {
	for _, j := range s.RunningJobs() {
		ids = append(ids, j.ID)
	}
	return ids
}

// StopJob stops a background command and waits until it ends.
func (s *App) StopJob(ctx context.Context, id string) error {
	session, job, ofAgent := strings.Cut(id, "/")
	if !ofAgent {
		session, job = s.Session.ID, id
	}
	return s.Workspace.EndJob(ctx, session, job)
}

// A RunningAgent is a running sub-agent of the session.
type RunningAgent struct {
	ID         string `json:"agent_id"`
	Name       string `json:"agent_name"`
	Call       string `json:"call"` // the call that started it
	Background bool   `json:"background"`
}

// RunningAgents lists the running sub-agents.
func (s *App) RunningAgents() []RunningAgent {
	list := []RunningAgent{}
	for _, at := range s.Session.Children() {
		list = append(list, RunningAgent{at.Session, at.Agent, at.Call, at.Background})
	}
	return list
}
