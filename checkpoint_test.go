package agent_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/tool"
)

// The files are kept once for each prompt that may change some, before it does.
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
	var prompts []int64
	var marks []event.Checkpointed
	run := func() {
		for e, err := range s.Stream(t.Context(), "go") {
			if err != nil {
				t.Fatal(err)
			}
			switch d := e.Data.(type) {
			case event.UserMessage:
				prompts = append(prompts, e.Seq)
			case event.Checkpointed:
				marks = append(marks, d)
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
	if got, err := s.CheckpointBefore(t.Context(), 1<<40); got != "" || err != nil {
		t.Error(got, err)
	}
}
