package tools

import (
	"context"
	"errors"
	"time"

	"github.com/openagent-go/agent/internal/toolapi"
	"github.com/openagent-go/agent/tool"
	"github.com/openagent-go/agent/workspace"
)

// shellWork returns background commands as [Background].
func shellWork(jobs Terminal) toolapi.Background { return shells{jobs} }

type shells struct{ jobs Terminal }

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
func backgroundOutput(ctx context.Context, sources []toolapi.Background, call tool.Call, id string, wait time.Duration) (*tool.Result, error) {
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
