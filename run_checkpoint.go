package agent

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/engine"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/tool"
)

// A CheckpointPlace says which files a checkpoint saves.
type CheckpointPlace struct {
	Session string   // the id of the session
	Prompt  int64    // sequence number of the prompt's fact
	Roots   []string // the folders in which the agent works, absolute
	Dir     string   // its current folder: in a root, or in a worktree
}

// takeCheckpoint calls [Agent].Checkpoint.
func (x *runSetup) takeCheckpoint(ctx context.Context, e engine.TakeCheckpoint) (id string, err error) {
	return x.agent.Checkpoint(ctx, CheckpointPlace{Session: x.Session, Prompt: e.Prompt, Roots: x.Roots, Dir: e.Dir})
}

// ErrNoCheckpoint is matched when files cannot be restored because no checkpoint has them.
var ErrNoCheckpoint = errors.New("the files were not kept")

// CheckpointBefore returns the id of the checkpoint with the files as they were at the fact
// with the given sequence number. That is the first checkpoint after it. The id is "" if
// the session has changed no files since.
//
// CheckpointBefore fails with [ErrNoCheckpoint] if a later call has changed files that were
// not saved. This happens in a prompt without checkpoints, and in the middle of a prompt,
// because files are saved before its first change. A call that was running at the fact, and an
// agent in the background, may have changed files after it. What such an agent did until the
// next checkpoint stays.
func (s *Session) CheckpointBefore(ctx context.Context, seq int64) (id string, err error) {
	if err := s.lockIdle(ctx); err != nil {
		return "", err
	}
	defer s.mu.Unlock()
	if err := s.open(ctx, ""); err != nil {
		return "", err
	}
	return s.checkpointBefore(ctx, seq)
}

// checkpointBefore is CheckpointBefore for an open session. The caller holds s.mu.
func (s *Session) checkpointBefore(ctx context.Context, seq int64) (id string, err error) {
	keeps, kept := false, false   // whether the prompt has checkpoints, and has taken one
	changing := map[string]bool{} // calls of the prompt that may change files
	var at working                // at the fact seq
	missing := func(why string) error { return fmt.Errorf("agent: %w: %s", ErrNoCheckpoint, why) }
	for e, err := range s.store().Read(ctx, s.ID, 0) {
		if err != nil {
			return "", fmt.Errorf("agent: reading session %s: %w", s.ID, err)
		}
		if e.Seq <= seq {
			at.apply(e.Data, changing)
		} else if at.continues(e.Data) {
			return "", missing(fmt.Sprintf("a call was running at fact %d and may have changed files after it", seq))
		}
		switch f := e.Data.(type) {
		case fact.Configured:
			keeps, kept = f.Checkpoints, false
			clear(changing)
		case fact.Authorized:
			changing[f.Call] = changes(f.Class)
		case fact.Answered:
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
		case fact.Checkpointed:
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
	if len(at.agents) > 0 || at.continues(nil) {
		return "", missing(fmt.Sprintf("a call or an agent was running at fact %d and may have changed files after it", seq))
	}
	return "", nil
}

// working holds what may change files without a fact that says so first: the calls that have
// started and have no result, those of a run that is suspended, and agents in the background.
type working struct{ calls, paused, agents map[string]bool }

func (w *working) apply(d event.Data, changing map[string]bool) {
	if w.calls == nil {
		w.calls, w.paused, w.agents = map[string]bool{}, map[string]bool{}, map[string]bool{}
	}
	switch f := d.(type) {
	case event.ToolStart:
		if changing[f.Call] {
			w.calls[f.Call] = true
		}
	case event.ToolResult:
		delete(w.calls, f.Call)
	case event.AgentStart:
		if f.Background {
			w.agents[f.Session] = true
		}
	case event.AgentEnd:
		delete(w.agents, f.Session)
	case event.Resumed:
		w.calls, w.paused = w.paused, map[string]bool{}
	case event.RunEnd:
		w.calls, w.paused = map[string]bool{}, w.calls
	}
}

// continues reports whether the work goes on with the next fact; nil: there is none.
func (w *working) continues(next event.Data) bool {
	_, resumed := next.(event.Resumed)
	return len(w.calls) > 0 || resumed && len(w.paused) > 0
}

func changes(c tool.Traits) bool { return !c.ReadOnly && !c.Internal }

// RewindFiles restores the files that CheckpointBefore finds for seq. It calls restore,
// unless there is nothing to restore. No run can begin until it returns.
//
// restore restores the files of the checkpoint with the given id. Before it changes the
// first file, it saves the current files and calls record once, with the id of that
// checkpoint. If record fails, it changes no file.
//
// The current files are on record as a checkpoint before the first file changes, so you can
// undo the call. This holds even if the program is killed. The conversation stays as it is:
// see Rewind. restore must not use the Session.
func (s *Session) RewindFiles(ctx context.Context, seq int64, restore func(ctx context.Context, id string, record func(undo string) error) error) error {
	if err := s.lockIdle(ctx); err != nil {
		return err
	}
	defer s.mu.Unlock()
	if err := s.open(ctx, ""); err != nil {
		return err
	}
	id, err := s.checkpointBefore(ctx, seq)
	if id == "" || err != nil {
		return err
	}
	start := time.Now()
	return restore(ctx, id, func(undo string) error {
		if s.state == nil { // an earlier record failed and closed the session
			return fmt.Errorf("agent: recording in session %s: it is not open any more", s.ID)
		}
		kept := fact.Checkpointed{ID: undo, Duration: time.Since(start)}
		return s.append(context.WithoutCancel(ctx), s.state.Last, kept)
	})
}
