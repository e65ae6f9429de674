package agent_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/tool"
)

// The files are saved once for each prompt that may change some, before the first change.
func TestCheckpoint(t *testing.T) {
	var happened []string
	fail := false
	a := &agent.Agent{Permissions: bypass, Dir: t.TempDir(),
		Tools: []tool.Tool{double, write(func(_ context.Context, c tool.Call, n int) (*tool.Result, error) {
			happened = append(happened, fmt.Sprint("write ", n))
			return tool.Text("ok"), nil
		})},
		Checkpoint: func(_ context.Context, at agent.CheckpointPlace) (string, error) {
			if len(at.Roots) != 1 || at.Roots[0] != at.Dir || at.Session == "" {
				t.Errorf("%+v", at)
			}
			happened = append(happened, fmt.Sprint("keep ", at.Prompt))
			if fail {
				return "", errors.New("the disk is full")
			}
			return fmt.Sprint("k", at.Prompt), nil
		},
		Model: llmtest.Script(uses("double", "write", "write"), uses("write"), say("1"), say("2"), uses("write"), say("3"), uses("write"), say("4"))}
	s := a.Session("")
	defer s.Close()
	var prompts, middles, starts, ends []int64
	var marks []fact.Checkpointed
	run := func() {
		for e, err := range s.Stream(t.Context(), "go") {
			if err != nil {
				t.Fatal(err)
			}
			switch d := e.Data.(type) {
			case event.UserMessage:
				prompts = append(prompts, e.Seq)
			case fact.Checkpointed:
				marks, middles = append(marks, d), append(middles, e.Seq)
			case event.ToolStart:
				starts = append(starts, e.Seq)
			case event.RunEnd:
				ends = append(ends, e.Seq)
			}
		}
	}
	run()
	run() // changes nothing
	run()
	want := []string{fmt.Sprint("keep ", prompts[0]), "write 1", "write 2", "write 0", fmt.Sprint("keep ", prompts[2]), "write 0"}
	if !slices.Equal(happened, want) {
		t.Errorf("%v, not %v", happened, want)
	}
	for i, id := range []string{fmt.Sprint("k", prompts[0]), fmt.Sprint("k", prompts[2]), fmt.Sprint("k", prompts[2])} {
		if got, err := s.CheckpointBefore(t.Context(), prompts[i]); got != id || err != nil {
			t.Errorf("before prompt %d: %q, %v", i, got, err)
		}
	}
	fail = true
	run()
	if last := marks[len(marks)-1]; last.Error != "the disk is full" || last.ID != "" || happened[len(happened)-1] != "write 0" {
		t.Errorf("%+v %v", last, happened)
	}
	if _, err := s.CheckpointBefore(t.Context(), prompts[3]); !errors.Is(err, agent.ErrNoCheckpoint) {
		t.Error(err)
	}
	if _, err := s.CheckpointBefore(t.Context(), middles[0]); !errors.Is(err, agent.ErrNoCheckpoint) { // changes of its prompt came after it
		t.Error(err)
	}
	if got, err := s.CheckpointBefore(t.Context(), starts[3]); !errors.Is(err, agent.ErrNoCheckpoint) { // the call writes after its start
		t.Error(got, err)
	}
	if got, err := s.CheckpointBefore(t.Context(), ends[0]); got != fmt.Sprint("k", prompts[2]) || err != nil {
		t.Error(got, err)
	}
	careless := *a
	careless.Checkpoint, careless.Model = nil, llmtest.Script(uses("write"), say("5"))
	other := careless.Session("")
	defer other.Close()
	if _, err := other.Prompt(t.Context(), "go"); err != nil {
		t.Fatal(err)
	}
	if _, err := other.CheckpointBefore(t.Context(), 1); !errors.Is(err, agent.ErrNoCheckpoint) {
		t.Error(err)
	}
	if got, err := s.CheckpointBefore(t.Context(), 1<<40); got != "" || err != nil {
		t.Error(got, err)
	}
}

// Files are restored for the requested fact, and you can undo it: the replaced files are on
// record.
func TestRewindFiles(t *testing.T) {
	state := "a"
	kept := map[string]string{} // by id
	keep := func() string {
		id := fmt.Sprint("k", len(kept)+1)
		kept[id] = state
		return id
	}
	var s *agent.Session
	a := &agent.Agent{Permissions: bypass, Dir: t.TempDir(), Sessions: session.Dir(t.TempDir()),
		Tools: []tool.Tool{write(func(context.Context, tool.Call, int) (*tool.Result, error) {
			err := s.RewindFiles(t.Context(), 0, nil)
			if !errors.Is(err, agent.ErrBusy) {
				t.Error(err)
			}
			state += "+"
			return tool.Text("ok"), nil
		})},
		Checkpoint: func(context.Context, agent.CheckpointPlace) (string, error) { return keep(), nil },
		Model:      llmtest.Script(uses("write"), say("1"), say("only talk"), uses("write"), say("2"))}
	s = a.Session("s")
	defer s.Close()
	var prompts []int64
	var end int64
	for range 3 {
		for e, err := range s.Stream(t.Context(), "go") {
			if err != nil {
				t.Fatal(err)
			}
			if _, ok := e.Data.(event.UserMessage); ok {
				prompts = append(prompts, e.Seq)
			}
			end = e.Seq
		}
	}
	rewind := func(to int64, want string) {
		t.Helper()
		err := s.RewindFiles(t.Context(), to, func(_ context.Context, id string, record func(string) error) error {
			undo := keep()
			if err := record(undo); err != nil {
				return err
			}
			var last event.Data // what a program would find that is started after a kill
			for e, err := range a.Sessions.Read(t.Context(), "s", 0) {
				if last = e.Data; err != nil {
					return err
				}
			}
			if c, ok := last.(fact.Checkpointed); !ok || c.ID != undo {
				t.Errorf("before the first file changes the last fact is %+v", last)
			}
			state = kept[id]
			return nil
		})
		if err != nil || state != want {
			t.Errorf("%q, not %q: %v", state, want, err)
		}
	}
	rewind(end, "a++") // nothing has changed since
	rewind(prompts[1], "a+")
	rewind(end, "a++")
	rewind(prompts[0], "a")
	s.Close()
	s = a.Session("s") // as another process would
	rewind(end, "a++")
	rewind(end+1, "a+")

	// What restore says counts, whatever became of it.
	broken := errors.New("the disk failed")
	err := s.RewindFiles(t.Context(), prompts[0], func(context.Context, string, func(string) error) error { return broken })
	if !errors.Is(err, broken) {
		t.Error(err)
	}
	err = s.RewindFiles(t.Context(), prompts[0], func(_ context.Context, _ string, record func(string) error) error {
		return errors.Join(record("half"), broken)
	})
	if !errors.Is(err, broken) {
		t.Error(err)
	}
	info, err := session.Stat(t.Context(), a.Sessions, "s")
	if err != nil {
		t.Fatal(err)
	}
	if id, err := s.CheckpointBefore(t.Context(), info.Facts-1); id != "half" || err != nil {
		t.Error(id, err)
	}
}
