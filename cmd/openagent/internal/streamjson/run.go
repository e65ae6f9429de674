package streamjson

import (
	"context"
	"errors"
	"iter"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/cmd/openagent/internal/app"
	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/event"
)

// NewSessionReport returns a report of the session that includes its past. asked is true if this
// start has a new prompt. tell reports messages about the permission mode to the user.
func NewSessionReport(ctx context.Context, s *app.App, put func(any), asked bool, tell func(format string, args ...any)) (*Report, error) {
	return newSessionReport(ctx, s, put, asked, tell, nil)
}

func newSessionReport(ctx context.Context, s *app.App, put func(any), asked bool, tell func(format string, args ...any), m *mirror) (*Report, error) {
	r := NewReport(s.Session.ID, s.Provider.Name.Value, put)
	r.servers, r.commands, r.skills, r.instructions, r.agentNames = s.ServerNames, s.SlashNames, s.SkillNames, s.InstructionFiles, s.Definitions.Names()
	if s.Options.Claude() {
		r.claude = newClaudeLines(s)
	}
	r.mirror = m
	r.watchKeyCommand(s)
	if s.Options.Partial {
		r.showPieces()
	}
	if s.Sandbox != nil {
		st := s.Sandbox.State()
		r.sandbox = &st
	}
	if !s.Existing {
		return r, nil
	}
	if err := r.past(ctx, s.Store); err != nil {
		return r, err
	}
	if err := s.RestoreMode(ctx, r.config.Mode, asked, tell); err != nil {
		return r, err
	}
	var err error
	r.Mode, err = s.Session.Mode(ctx)
	return r, err
}

// Run handles the events of a run. It returns an error if the run did not start or was not fully
// recorded.
func (r *Report) Run(s *agent.Session, events iter.Seq2[event.Event, error]) error {
	var failed error
	for e, err := range events {
		if err != nil {
			failed = err
			continue
		}
		r.Event(e)
	}
	if r.Started && r.End.Reason == "" {
		soFar := event.RunEnd{}
		if res := s.Result(); res != nil {
			soFar = res.RunEnd
		}
		if failed == nil {
			failed = errors.New("the run ended without a result")
		}
		r.broken(failed, soFar)
	}
	return failed
}

// CloseWriter closes the writer and returns the first error.
func CloseWriter(ctx context.Context, out *Writer, err error) error {
	if out == nil {
		return err
	}
	if closed := out.Close(ctx); err == nil {
		err = closed
	}
	return err
}

// RunError returns the error of the ended run, or of lost output.
func RunError(ctx context.Context, h *cli.IO, o cli.Outcome, err error) error {
	switch {
	case err == nil:
		return cli.ExitCode(o.Code)
	case cli.IsSignal(ctx):
		return cli.ExitCode(cli.SignalCode(ctx))
	}
	return &cli.ExitError{Code: cli.ExitInternal, Err: err}
}
