package agent

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/openagent-go/agent/engine"
	"github.com/openagent-go/agent/event"
)

// A CheckpointFunc keeps the files of the folders as they are, so that they can be
// brought back, and returns the id under which it did. It should return when ctx
// ends. An error is recorded, and the run goes on.
type CheckpointFunc func(ctx context.Context, at CheckpointPlace) (id string, err error)

// A CheckpointPlace says what a checkpoint is of.
type CheckpointPlace struct {
	Session string
	Prompt  int64    // number of the prompt's fact
	Roots   []string // the folders that the agent works in, absolute
	Dir     string   // where it works now: in a root, or in a worktree
}

// checkpoint keeps the files before a prompt changes some.
func (x *executor) checkpoint(ctx context.Context, e engine.TakeCheckpoint) event.Fact {
	start := time.Now()
	f := event.Checkpointed{Key: e.Key(), Prompt: e.Prompt}
	if x.agent.Checkpoint == nil {
		f.Error = "the agent keeps no checkpoints any more"
		return f
	}
	at := CheckpointPlace{Session: x.session, Prompt: e.Prompt, Roots: x.roots, Dir: e.Dir}
	id, err := within(ctx, func() (string, error) { return x.agent.Checkpoint(ctx, at) })
	if ctx.Err() != nil {
		return nil
	}
	f.ID, f.Duration = id, time.Since(start)
	if err != nil {
		f.ID, f.Error = "", x.secrets.text(err.Error())
		x.log.Warn("keeping the files", "error", f.Error)
	}
	return f
}

// ErrNoCheckpoint is returned where files cannot be brought back because they were
// not kept.
var ErrNoCheckpoint = errors.New("the files were not kept")

// CheckpointBefore returns the id of the checkpoint that has the files as they were
// when the fact with the given sequence number was recorded, as far as the session
// has changed them since: the first one taken after it. It is "" if no prompt has
// changed files since.
func (s *Session) CheckpointBefore(ctx context.Context, seq int64) (id string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running {
		return "", ErrBusy
	}
	if err := s.open(ctx, ""); err != nil {
		return "", err
	}
	return s.checkpointBefore(ctx, seq)
}

// checkpointBefore is called with the lock, once the session is open.
func (s *Session) checkpointBefore(ctx context.Context, seq int64) (id string, err error) {
	for e, err := range s.store().Read(ctx, s.ID, max(seq, 0)) {
		if err != nil {
			return "", fmt.Errorf("agent: reading session %s: %w", s.ID, err)
		}
		f, ok := e.Data.(event.Checkpointed)
		switch {
		case !ok:
		case f.ID == "":
			return "", fmt.Errorf("agent: %w before the prompt at fact %d: %s", ErrNoCheckpoint, f.Prompt, f.Error)
		default:
			return f.ID, nil
		}
	}
	return "", nil
}

// A RestoreFunc brings back the files that were kept under id. It returns the id
// under which it has kept what was there before, "" where it did nothing, also if
// it fails.
type RestoreFunc func(ctx context.Context, id string) (undo string, err error)

// RewindFiles has the files brought back that CheckpointBefore finds for seq, by
// restore; where there are none to bring back it is not called. No run begins
// meanwhile. What was there before is on record as a checkpoint, so that another
// call can bring it back. The conversation stays: see Rewind. restore must not use
// the Session.
func (s *Session) RewindFiles(ctx context.Context, seq int64, restore RestoreFunc) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running {
		return ErrBusy
	}
	if err := s.open(ctx, ""); err != nil {
		return err
	}
	id, err := s.checkpointBefore(ctx, seq)
	if id == "" || err != nil {
		return err
	}
	start := time.Now()
	undo, err := restore(ctx, id)
	if undo == "" {
		return err
	}
	kept := event.Checkpointed{ID: undo, Duration: time.Since(start)}
	return errors.Join(err, s.append(context.WithoutCancel(ctx), s.fold.last, kept))
}
