//go:build unix

package agent_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/hook"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/tool"
)

const (
	hookHostDir = "AGENT_TEST_HOOK_HOST_DIR"
	killHook    = "AGENT_TEST_KILL_HOOK" // the event at which the first hook kills the program
)

// hookedEvents are moments of a run with one call.
var hookedEvents = []hook.Event{hook.UserPromptSubmit, hook.PreToolUse, hook.PostToolUse, hook.PostToolBatch, hook.Stop}

// hookHost runs or resumes a session of one call. Its hooks and its tool note that
// they were called.
func hookHost(dir string) {
	note := func(text string) error {
		f, err := os.OpenFile(filepath.Join(dir, "calls"), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
		if err == nil {
			_, err = f.WriteString(text + "\n")
		}
		return errors.Join(err, f.Close())
	}
	a := &agent.Agent{Permissions: bypass, Sessions: session.Dir(dir), Tools: []tool.Tool{write(func(context.Context, tool.Call, int) (*tool.Result, error) {
		return tool.Text("written"), note("tool")
	})}}
	a.Model = &llmtest.Model{Rule: func(r *llmtest.Request, _ int) llmtest.Step {
		for _, m := range r.Messages {
			if m.Role == llm.Assistant {
				return say("end")
			}
		}
		return uses("write")
	}}
	for _, e := range hookedEvents {
		a.Hooks = append(a.Hooks, hook.Hook{On: e, Func: func(context.Context, *hook.Input) (hook.Output, error) {
			err := note(string(e))
			if string(e) == os.Getenv(killHook) {
				p, _ := os.FindProcess(os.Getpid())
				_ = p.Kill()
				select {} // until the signal is there
			}
			return hook.Output{}, err
		}})
	}
	s := a.Session("s")
	open, err := s.CanResume(context.Background())
	if err == nil {
		events := s.Resume(context.Background())
		if !open {
			events = s.StreamInput(context.Background(), agent.Input{ID: "p", Text: "go"})
		}
		for _, e := range events {
			err = errors.Join(err, e)
		}
	}
	if err = errors.Join(err, s.Close()); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

// A program is killed after it called a hook and before the record. When it resumes, it
// calls that hook once more and no other hook. Nothing that ran before is repeated. A
// session that has ended calls no hooks when it is opened again.
func TestKillBetweenHookAndRecord(t *testing.T) {
	for _, e := range hookedEvents {
		t.Run(string(e), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			start := func(kill hook.Event) error {
				cmd := exec.Command(os.Args[0])
				cmd.Env = append(os.Environ(), hookHostDir+"="+dir, killHook+"="+string(kill))
				out, err := cmd.CombinedOutput()
				if err != nil {
					return fmt.Errorf("%w: %s", err, out)
				}
				return nil
			}
			if err := start(e); err == nil || !strings.Contains(err.Error(), "killed") {
				t.Fatalf("the program was not killed: %v", err)
			}
			if err := start(""); err != nil {
				t.Fatal(err)
			}
			want := map[string]int{"tool": 1}
			for _, other := range hookedEvents {
				want[string(other)] = 1
			}
			want[string(e)] = 2
			check := func(when string) {
				t.Helper()
				data, err := os.ReadFile(filepath.Join(dir, "calls"))
				if err != nil {
					t.Fatal(err)
				}
				got := map[string]int{}
				for _, name := range strings.Fields(string(data)) {
					got[name]++
				}
				for name, n := range want {
					if got[name] != n {
						t.Errorf("%s: %s was called %d times, want %d: %q", when, name, got[name], n, data)
					}
				}
			}
			check("resumed")
			if err := start(""); err != nil && !strings.Contains(err.Error(), agent.ErrNotRunning.Error()) {
				t.Fatal(err)
			}
			check("opened again")
		})
	}
}
