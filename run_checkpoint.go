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
// next checkpoint stays. A call or an agent that waits for a decision changes nothing until it
// continues.
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
	// What was running at the fact seq.
	at := working{calls: map[string]bool{}, paused: map[string]bool{}, agents: map[string]int64{}, waits: map[string]bool{}}
	missing := func(why string) error { return fmt.Errorf("agent: %w: %s", ErrNoCheckpoint, why) }
	for e, err := range s.store().Read(ctx, s.ID, 0) {
		if err != nil {
			return "", fmt.Errorf("agent: reading session %s: %w", s.ID, err)
		}
		if at.next(e.Data); e.Seq > seq && len(at.calls) > 0 {
			return "", missing(fmt.Sprintf("a call was running at fact %d and may have changed files after it", seq))
		}
		if at.end(e, e.Seq <= seq); e.Seq <= seq {
			at.begin(e, changing)
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
	if at.next(nil); len(at.calls) > 0 || len(at.agents) > len(at.waits) {
		return "", missing(fmt.Sprintf("a call or an agent was running at fact %d and may have changed files after it", seq))
	}
	return "", nil
}

// working holds the work that may change files after a fact without another fact before the change:
// calls that have started and have no result, such calls of a suspended run, and agents in the background.
type working struct {
	calls, paused map[string]bool
	agents        map[string]int64 // by key, with the number of the fact with which they started
	waits         map[string]bool  // those of them that wait for a decision
	resumed       bool             // by the last fact
}

// next takes in the next fact, nil if there is none. If the last fact has resumed the run, calls and
// agents that waited continue, unless the resume only ends the run because a new prompt follows.
func (w *working) next(d event.Data) {
	if stop, ok := d.(fact.Stopped); w.resumed && (!ok || stop.Message != fact.Superseded) {
		w.calls, w.paused = w.paused, w.calls
		clear(w.paused)
		clear(w.waits)
	}
	w.resumed = false
}

// end takes in what ends or pauses with a fact. An agent at work that ends after the fact has worked
// until then.
func (w *working) end(e event.Event, before bool) {
	switch f := e.Data.(type) {
	case event.ToolResult:
		delete(w.calls, f.Call)
		delete(w.paused, f.Call)
	case event.AgentEnd:
		if before || w.waits[f.Key] {
			w.endAgent(f.Key)
		}
	case event.Resumed:
		clear(w.calls) // if one was running, the program has died
		w.resumed = true
	case event.RunEnd:
		w.calls, w.paused = w.paused, w.calls
		clear(w.calls)
	case event.Rewound:
		clear(w.calls)
		clear(w.paused)
		for key, start := range w.agents {
			if w.waits[key] && start > e.Prev { // nobody can answer it
				w.endAgent(key)
			}
		}
	}
}

// endAgent forgets an agent that has ended.
func (w *working) endAgent(key string) {
	delete(w.agents, key)
	delete(w.waits, key)
}

// begin takes in what begins with a fact.
func (w *working) begin(e event.Event, changing map[string]bool) {
	switch f := e.Data.(type) {
	case event.ToolStart:
		if changing[f.Call] {
			w.calls[f.Call] = true
		}
	case event.AgentStart:
		if f.Background {
			w.agents[f.Key] = e.Seq
		}
	case fact.AgentSuspended:
		if w.agents[f.Key] > 0 {
			w.waits[f.Key] = true
		}
	}
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
