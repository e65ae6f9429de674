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
)

// The test binary is also the program that runs a scenario, and its MCP server.
const (
	hostDir      = "PAIRS_HOST_DIR"
	hostFeatures = "PAIRS_FEATURES"
	hostKill     = "PAIRS_KILL"  // the append before which the program is killed; 0: none
	hostPhase    = "PAIRS_PHASE" // run, fork or rewind
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
	a, done, err := w.agent(client(server))
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
	s := a.Session(mainID)
	defer func() { err = errors.Join(err, s.Close()) }()
	switch phase {
	case "fork":
		f, err := s.Fork(ctx, 0)
		if err != nil {
			return err
		}
		defer f.Close()
		res, err := f.Do(ctx, agent.Input{ID: "more", Text: promptMore})
		if err == nil && res.Text != "done" {
			err = fmt.Errorf("the fork ends with %+v", res)
		}
		return err
	case "rewind":
		return w.rewind(ctx, s)
	}
	return finish(ctx, s)
}

// finish prompts the session, or continues with it, until its run ends, and answers what
// was deferred.
func finish(ctx context.Context, s *agent.Session) error {
	open, err := s.CanResume(ctx)
	if err != nil {
		return err
	}
	if !open {
		if res := s.Result(); res != nil {
			return nil
		}
		_, err = s.Do(ctx, agent.Input{ID: "p", Text: promptGo})
	}
	for i := 0; open || errors.Is(err, agent.ErrSuspended); i++ {
		if i == 10 {
			return fmt.Errorf("the run was suspended ten times: %w", err)
		}
		pending, failed := s.Pending(ctx)
		if failed != nil && !errors.Is(failed, agent.ErrNotRunning) {
			return failed
		}
		for _, q := range pending {
			if err := s.Decide(ctx, q.Call.ID, permission.Allow()); err != nil {
				return err
			}
		}
		open, err = false, nil
		for _, failed := range s.Resume(ctx) {
			err = errors.Join(err, failed)
		}
	}
	return err
}

func (w *world) rewind(ctx context.Context, s *agent.Session) error {
	kept := &checkpoint.Store{Dir: filepath.Join(w.dir, "checkpoints")}
	return s.RewindFiles(ctx, 1, func(ctx context.Context, id string, record func(string) error) error {
		_, err := kept.Restore(ctx, s.ID, id, checkpoint.Restoring{Kept: record})
		return err
	})
}
