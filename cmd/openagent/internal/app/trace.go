package app

import (
	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/trace"
)

// record makes the agent's spans lines of a file.
func (s *App) record(name string) error {
	rec, err := trace.Create(name)
	if err != nil {
		return cli.Usagef("--trace: %v", err)
	}
	s.recorder, s.Agent.Trace = rec, rec.Trace
	return nil
}
