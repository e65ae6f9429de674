package agent

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/openagent-go/agent/engine"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/tool"
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

// takeCheckpoint takes a checkpoint.
func (x *runSetup) takeCheckpoint(ctx context.Context, e engine.TakeCheckpoint) (id string, err error) {
	return x.agent.Checkpoint(ctx, CheckpointPlace{Session: x.Session, Prompt: e.Prompt, Roots: x.Roots, Dir: e.Dir})
}

// ErrNoCheckpoint is returned where files cannot be brought back because they were
// not kept.
var ErrNoCheckpoint = errors.New("the files were not kept")

// CheckpointBefore returns the id of the checkpoint that has the files as they were
// when the fact with the given sequence number was recorded: the first one taken
// after it. It is "" if the session has changed no files since. It fails with
// [ErrNoCheckpoint] where a call has changed some that were not kept before it: as
// they were in the middle of a prompt, or in a prompt without checkpoints.
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
	keeps, kept := false, false   // whether the prompt keeps files, and has
	changing := map[string]bool{} // its calls
	missing := func(why string) error { return fmt.Errorf("agent: %w: %s", ErrNoCheckpoint, why) }
	for e, err := range s.store().Read(ctx, s.ID, 0) {
		if err != nil {
			return "", fmt.Errorf("agent: reading session %s: %w", s.ID, err)
		}
		switch f := e.Data.(type) {
		case event.Configured:
			keeps, kept = f.Checkpoints, false
			clear(changing)
		case event.Authorized:
			changing[f.Call] = changes(f.Class)
		case event.Answered:
			if f.Class != nil {
				changing[f.Call] = changes(*f.Class)
			}
		case event.ToolStart:
			switch {
			case e.Seq <= seq || !changing[f.Call]:
			case !keeps:
				return "", missing(fmt.Sprintf("fact %d is of a prompt without checkpoints", e.Seq))
			case kept:
				return "", missing(fmt.Sprintf("fact %d is in the middle of a prompt, and files are kept before its first change", seq))
			}
		case event.Checkpointed:
			switch {
			case e.Seq <= seq:
				kept = kept || f.Key != ""
			case f.ID == "":
				return "", missing(fmt.Sprintf("before the prompt at fact %d: %s", f.Prompt, f.Error))
			default:
				return f.ID, nil
			}
		}
	}
	return "", nil
}

func changes(c tool.Traits) bool { return !c.ReadOnly && !c.Internal }

// A RestoreFunc brings back the files that were kept under id. Before it changes the
// first one it calls record, once, with the id under which it has kept what is there;
// where that fails it changes none.
type RestoreFunc func(ctx context.Context, id string, record func(undo string) error) error

// RewindFiles has the files brought back that CheckpointBefore finds for seq, by
// restore; where there are none to bring back it is not called. No run begins
// meanwhile. What was there before is on record as a checkpoint before the first
// file changes, so that another call can bring it back, also if the program is
// killed meanwhile. The conversation stays: see Rewind. restore must not use the
// Session.
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
	return restore(ctx, id, func(undo string) error {
		if s.fold == nil { // a call before this one could not be recorded
			return fmt.Errorf("agent: recording in session %s: it is not open any more", s.ID)
		}
		kept := event.Checkpointed{ID: undo, Duration: time.Since(start)}
		return s.append(context.WithoutCancel(ctx), s.fold.Last, kept)
	})
}
