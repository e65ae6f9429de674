package tools

import (
	"context"
	"errors"
	"time"

	"github.com/openagent-go/agent/tool"
	"github.com/openagent-go/agent/workspace"
)

// Background is work that continues beside the conversation of a session.
type Background interface {
	// Output shows the new output of the work of an id, after waiting up to wait for its
	// end. Nil without an error: there is no such work.
	Output(ctx context.Context, call tool.Call, id string, wait time.Duration) (*tool.Result, error)
	// Stop ends the work and shows its last output. Nil without an error: there is
	// no such work.
	Stop(ctx context.Context, call tool.Call, id string) (*tool.Result, error)
}

// An OwnerStopper is a [Background] that knows which agents it runs.
type OwnerStopper interface {
	// StopOwner ends the work of an agent, by its name, and returns a sentence about it; ""
	// if that agent does not run here.
	StopOwner(ctx context.Context, call tool.Call, owner string) (string, error)
}

// Jobs are background commands, as [workspace.Workspace] has them.
type Jobs interface {
	JobReader
	JobStopper
}

// Shells returns background commands as [Background].
func Shells(jobs Jobs) Background { return shells{jobs} }

type shells struct{ jobs Jobs }

func (s shells) Output(ctx context.Context, call tool.Call, id string, wait time.Duration) (*tool.Result, error) {
	start := time.Now()
	report, err := s.jobs.Job(ctx, call.Session, id, nil, wait)
	if errors.Is(err, workspace.ErrNoJob) {
		return nil, nil
	}
	return jobResult(id, report, time.Since(start), err)
}

func (s shells) Stop(ctx context.Context, call tool.Call, id string) (*tool.Result, error) {
	start := time.Now()
	report, err := s.jobs.StopJob(ctx, call.Session, id)
	if errors.Is(err, workspace.ErrNoJob) {
		return nil, nil
	}
	return jobResult(id, report, time.Since(start), err)
}

// backgroundOutput asks each source until one knows the id, none about ids of the
// list of tasks.
func backgroundOutput(ctx context.Context, sources []Background, call tool.Call, id string, wait time.Duration) (*tool.Result, error) {
	if isTaskID(id) {
		return nil, nil
	}
	for _, b := range sources {
		if r, err := b.Output(ctx, call, id, wait); r != nil || err != nil {
			return r, err
		}
	}
	return nil, nil
}
