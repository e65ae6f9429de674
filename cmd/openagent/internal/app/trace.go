package app

import (
	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/trace"
)

// record writes the agent's spans to a file, one per line.
func (s *App) record(name string) error {
	rec, err := trace.Create(name)
	if err != nil {
		return cli.Usagef("--trace: %v", err)
	}
	s.recorder, s.Agent.Trace = rec, rec.Trace
	return nil
}
