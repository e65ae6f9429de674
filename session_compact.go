package agent

import (
	"cmp"
	"context"
	"errors"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/session"
)

// A Compaction says when and how a conversation is made shorter that comes near the end
// of the model's context window. First old results of tools are cleared, without a
// model; where that is not enough a model summarises all but the newest messages. The
// user's pending request, what was told of the place, the list of steps and the names of
// the files stay. Everything stays on record. Nil and zero fields are the defaults.
type Compaction struct {
	Off     bool      // never by itself, and not when the provider finds a request too long
	At      float64   // share of the window from which on, if that is earlier than the reserve
	Reserve int       // tokens of the window to keep free; 0: 10,000, or MaxTokens if that is more
	Keep    int       // tokens of the newest messages that a summary leaves as they are; 0: 20,000
	Protect int       // newest tokens of results that are not cleared; 0: 40,000
	Model   llm.Model // that writes summaries; nil: the one in use, which has most of the conversation cached
}

func (c *Compaction) configured() *event.Compaction {
	if c == nil {
		return nil
	}
	out := event.Compaction{Off: c.Off, At: c.At, Reserve: c.Reserve, Keep: c.Keep, Protect: c.Protect}
	if c.Model != nil {
		out.Model = c.Model.Name()
	}
	return &out
}

func (c *Compaction) check() error {
	if c != nil && (c.At < 0 || c.At > 1 || c.At != c.At || c.Reserve < 0 || c.Keep < 0 || c.Protect < 0) {
		return errors.New("Compaction has a negative number, or an At beyond 1")
	}
	return nil
}

// Compact has the conversation summarised. The instructions say what matters, "" for
// nothing in particular. Without a run that goes on it waits for the end of it, which is
// a run of its own in the session's record and can be resumed like any other; an
// [*EndError] says why nothing has become shorter. A session whose run is suspended is
// not compacted ([ErrSuspended]): its question would be lost. Else it returns once the wish is on
// record: it is fulfilled before the next call of the model.
func (s *Session) Compact(ctx context.Context, instructions string) error {
	in := Input{ID: session.NewID(), Text: instructions, Compact: true}
	for {
		err := s.withRun(ctx, func(l *activeRun) error { return l.CommitHost(in.compactRequest()) })
		if !errors.Is(err, ErrNotRunning) {
			return err
		}
		if _, err = s.Do(ctx, in); !errors.Is(err, ErrBusy) {
			return err
		}
	}
}

func (in Input) compactRequest() event.CompactionRequested {
	return event.CompactionRequested{ID: cmp.Or(in.ID, session.NewID()), Instructions: in.Text}
}
