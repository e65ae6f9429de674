//go:build linux

package pairs

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/internal/checkpoint"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/replay"
)

// The test binary is also the program that runs a scenario, and its MCP server.
const (
	hostDir      = "PAIRS_HOST_DIR"
	hostFeatures = "PAIRS_FEATURES"
	hostKill     = "PAIRS_KILL"  // the append before which the program is killed; 0: none
	hostPhase    = "PAIRS_PHASE" // run, decide, fork or rewind
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(serverDir); dir != "" {
		if err := serveMarks(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		return
	}
	if dir := os.Getenv(hostDir); dir != "" {
		if err := host(dir); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		return
	}
	flag.Parse()
	if f := flag.Lookup("test.parallel"); f.Value.String() == f.DefValue { // scenarios wait for their programs more than they work
		_ = f.Value.Set(strconv.Itoa(4 * runtime.GOMAXPROCS(0)))
	}
	os.Exit(m.Run())
}

func host(dir string) error {
	place = dir
	w := &world{dir: dir, features: strings.Split(os.Getenv(hostFeatures), ",")}
	var wrong strict
	server := llmtest.NewPipe(&wrong)
	server.Rule = w.features.answer
	a, done, err := w.agent(models(server))
	if err == nil {
		if n, _ := strconv.Atoi(os.Getenv(hostKill)); n > 0 {
			a.Sessions = mortal{a.Sessions, &n}
		}
		err = w.phase(a, os.Getenv(hostPhase))
	}
	err = errors.Join(err, done())
	for i := len(wrong.cleanups) - 1; i >= 0; i-- {
		wrong.cleanups[i]()
	}
	for _, text := range wrong.errs {
		err = errors.Join(err, errors.New(text))
	}
	return errors.Join(err, goleak.Find())
}

func (w *world) phase(a *agent.Agent, phase string) (err error) {
	ctx := context.Background()
	if phase == "replay" {
		list, err := (&replay.Session{Agent: a, ID: mainID}).Replay(ctx)
		for _, d := range list {
			err = errors.Join(err, fmt.Errorf("session %s: %s", d.Session, d))
		}
		return err
	}
	s := a.Session(mainID)
	defer func() { err = errors.Join(err, s.Close()) }()
	switch phase {
	case "fork":
		f, err := s.Fork(ctx, 0)
		if err != nil {
			return err
		}
		defer f.Close()
		err = w.finish(ctx, f, agent.Input{ID: "more", Text: promptMore})
		if res := f.Result(); err == nil && (res == nil || res.Text != "done") {
			err = fmt.Errorf("the fork ends with %+v", res)
		}
		return err
	case "rewind":
		return w.rewind(ctx, s)
	case "decide":
		n, err := decide(ctx, s)
		fmt.Println(n, decided)
		return err
	}
	return w.finish(ctx, s, w.features.prompt())
}

// decided follows the number of questions that a program has answered.
const decided = "questions are answered"

// prompt is the first prompt, with the options that bound it.
func (f features) prompt() agent.Input {
	in := agent.Input{ID: "p", Text: promptGo}
	if f.has("options") {
		in.Model, in.Mode, in.Budget = optionModel, permission.AcceptEdits, agent.Budget{ModelCalls: 200}
		in.Tools = []string{"Read", "Write", "Bash", "Grep", "Agent", "Batch", "EnterPlanMode", "ExitPlanMode", "EnterWorktree", "Deploy"}
		if f.has("skill") {
			in.Tools = append(in.Tools, "Skill")
		}
		if f.has("memory") {
			in.Tools = append(in.Tools, "Memory")
		}
		if f.has("MCP") {
			in.Tools = append(in.Tools, "mcp__*")
		}
	}
	return in
}

// decide answers the open questions of a session.
func decide(ctx context.Context, s *agent.Session) (n int, err error) {
	pending, err := s.Pending(ctx)
	if errors.Is(err, agent.ErrNotRunning) {
		err = nil
	}
	for _, q := range pending {
		d := permission.Allow()
		d.By = person
		err = errors.Join(err, s.Decide(ctx, q.Call.ID, d))
	}
	return len(pending), err
}

// finish prompts the session, or continues with it, until its run ends. It answers what was
// deferred, unless another program does.
func (w *world) finish(ctx context.Context, s *agent.Session, in agent.Input) error {
	open, err := s.CanResume(ctx)
	if err != nil {
		return err
	}
	if !open {
		if res := s.Result(); res != nil && in.Text == promptGo {
			return nil
		}
		_, err = s.Do(ctx, in)
	}
	for i := 0; open || errors.Is(err, agent.ErrSuspended); i++ {
		switch {
		case i == 10:
			return fmt.Errorf("the run was suspended ten times: %w", err)
		case !w.elsewhere(in):
			if _, err := decide(ctx, s); err != nil {
				return err
			}
		case !open:
			return nil
		}
		open, err = false, nil
		for _, failed := range s.Resume(ctx) {
			err = errors.Join(err, failed)
		}
	}
	return err
}

// elsewhere reports whether another program answers the questions of a prompt.
func (w *world) elsewhere(in agent.Input) bool {
	return w.features.has("approval") && in.Text == promptGo
}

func (w *world) rewind(ctx context.Context, s *agent.Session) error {
	kept := &checkpoint.Store{Dir: filepath.Join(w.dir, "checkpoints")}
	return s.RewindFiles(ctx, 1, func(ctx context.Context, id string, record func(string) error) error {
		_, err := kept.Restore(ctx, s.ID, id, checkpoint.Restoring{Kept: record})
		return err
	})
}
