package agent

import (
	"context"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/conversation"
	"github.com/openagent-go/agent/internal/fact"
)

// A recordedRun is the run of an input that the session knows.
type recordedRun struct {
	facts      []event.Event // from its first on
	end        *Result       // nil: it has no end
	unfinished bool          // resuming continues it
}

// recordedRun returns the run that has the input with the given id.
func (s *Session) recordedRun(ctx context.Context, id string) (r recordedRun, err error) {
	all, err := s.facts(ctx)
	if err != nil {
		return r, err
	}
	all = conversation.Path(all)
	first, open, found := 0, false, false
	for i := range all {
		begins, input := false, ""
		switch d := all[i].Data.(type) {
		case event.UserMessage:
			begins, input = d.Delivery == fact.AsPrompt, d.ID
		case fact.CompactionRequested:
			begins, input = true, d.ID
		case event.Resumed:
			open = true
		case event.RunEnd:
			open, r.end = false, &Result{Session: s.ID, RunEnd: d}
		}
		if begins && !open {
			if found { // the next run
				all = all[:i]
				break
			}
			first, open, r.end = i, true, nil
		}
		found = found || input == id
	}
	r.facts, r.unfinished = all[first:], open
	if r.end == nil {
		return r, nil
	}
	if s.mu.Lock(); r.end.Reason == event.Suspended && s.state != nil && s.state.Last == all[len(all)-1].Seq {
		r.unfinished = open || len(s.state.State.Asking()) == 0 // all decisions were made
	}
	s.mu.Unlock()
	return r, nil
}

// again returns the recorded run of a known input. If it is unfinished, again continues it
// and returns the run l. Otherwise err is the error that it ended with.
func (s *Session) again(ctx context.Context, id string, watched bool) (run recordedRun, l *activeRun, err error) {
	if run, err = s.recordedRun(ctx, id); err != nil {
		return run, nil, err
	}
	if !run.unfinished {
		return run, nil, run.end.failure()
	}
	run.end = nil
	l, err = s.start(ctx, nil, watched)
	return run, l, err
}
