package agent

import (
	"cmp"
	"context"
	"errors"

	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/session"
)

// A Compaction says when and how to shorten a conversation that comes near the end of the
// model's context window. First old results of tools are cleared, which needs no model. If
// that is not enough, a model summarises all but the newest messages.
//
// The user's pending request, the notes about the place, the list of steps and the names of
// files stay. Everything stays on record. Nil and zero fields mean the defaults.
type Compaction struct {
	Off     bool      // no automatic compaction, not even if the provider rejects a request as too long
	At      float64   // share of the window at which to compact, if that comes before the reserve
	Reserve int       // tokens of the window to keep free; 0: 10,000, or MaxTokens if that is more
	Keep    int       // tokens of the newest messages that a summary keeps unchanged; 0: 20,000
	Protect int       // tokens of the newest results, which are not cleared; 0: 40,000
	Model   llm.Model // model for summaries; nil: the model in use, which has most of the conversation cached
}

func (c *Compaction) configured() *fact.Compaction {
	if c == nil {
		return nil
	}
	out := fact.Compaction{Off: c.Off, At: c.At, Reserve: c.Reserve, Keep: c.Keep, Protect: c.Protect}
	if c.Model != nil {
		out.Model = c.Model.Name()
	}
	return &out
}

func (c *Compaction) check() error {
	if c != nil && (c.At < 0 || c.At > 1 || c.At != c.At || c.Reserve < 0 || c.Keep < 0 || c.Protect < 0) {
		return errors.New("Compaction has a negative number, or an At above 1")
	}
	return nil
}

// Compact summarises the conversation. instructions say what matters; "" gives none.
//
// During a run, Compact returns once the request is on record. The run compacts before its
// next model call. Otherwise Compact starts a run for it and waits for its end. You can
// resume that run like any other. If the conversation did not become shorter, an
// [*EndError] says why. A suspended session is not compacted, because its question would be
// lost: Compact fails with [ErrSuspended].
func (s *Session) Compact(ctx context.Context, instructions string) error {
	in := Input{ID: session.NewID(), Text: instructions, Compact: true}
	for {
		err := s.withRun(ctx, func(l *activeRun) error { return l.CommitHost(in.compactRequest()) })
		if !errors.Is(err, ErrNotRunning) {
			return err
		}
		if _, err = s.Do(ctx, in); !errors.Is(err, errPromptRuns) {
			return err
		}
	}
}

func (in Input) compactRequest() fact.CompactionRequested {
	return fact.CompactionRequested{ID: cmp.Or(in.ID, session.NewID()), Instructions: in.Text}
}
