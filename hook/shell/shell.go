// Package shell runs shell commands as hooks. They read their input as JSON from standard
// input, and answer with their output and exit code, as Claude Code's hooks do.
//
//	a.Hooks = []hook.Hook{shell.Hook(hook.PostToolUse, "Bash", shell.Command{Workspace: ws, Line: "./audit.sh"})}
package shell

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/openagent-go/agent/hook"
	"github.com/openagent-go/agent/internal/environ"
	"github.com/openagent-go/agent/internal/hookctx"
	"github.com/openagent-go/agent/internal/hookrun"
	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/workspace"
)

// A Command is a shell command as a hook. Its exit codes: 0 is an answer on
// standard output (docs/hooks.md describes it), 2 blocks with standard error as the reason,
// any other is a failure. It gets no secrets of the environment, but the variables
// of its Workspace, and HOOK_EVENT, HOOK_TOOL_NAME, HOOK_SESSION_ID, HOOK_CWD and
// CLAUDE_PROJECT_DIR. All that it has started is ended with it.
type Command struct {
	Workspace *workspace.Workspace // starts the command; its working directory is that of the input
	Line      string               // for /bin/bash -c
	Project   string               // CLAUDE_PROJECT_DIR; "" is the Workspace's Root
	// Async: nothing waits for the command, and its output is ignored. It is stopped after
	// ten minutes, and when the Workspace is closed.
	Async bool
}

const (
	maxOutput  = 1 << 20 // bytes on standard output, and as many on standard error
	maxReason  = 10_000  // bytes of standard error that are a reason
	asyncLimit = 10 * time.Minute
)

// Hook returns a hook that runs a command.
func Hook(on hook.Event, match string, c Command) hook.Hook {
	return hook.Hook{On: on, Match: match, Func: c.run, Name: c.Line}
}

// run is the function of the command's hook.
func (c Command) run(ctx context.Context, in *hook.Input) (hook.Output, error) {
	switch {
	case c.Workspace == nil:
		return hook.Output{}, errors.New("the command has no Workspace to run in; set one")
	case strings.TrimSpace(c.Line) == "":
		return hook.Output{}, errors.New("the command is empty")
	}
	input, err := json.Marshal(in)
	if err != nil {
		return hook.Output{}, fmt.Errorf("encoding its input: %w", err)
	}
	run, end := context.WithCancelCause(context.WithoutCancel(ctx))
	r := &running{ctx: ctx, event: in.Event, end: end, early: make(chan struct{})}
	p, err := c.Workspace.Start(run, workspace.Command{Args: []string{bash(), "-c", c.Line}, Dir: c.dir(in), Env: c.environment(ctx, in),
		Input: bytes.NewReader(append(input, '\n')), Output: (*stdout)(r), Errors: (*stderr)(r)})
	if err != nil {
		end(nil)
		return hook.Output{}, err
	}
	if c.Async {
		go detach(p, run, end)
		return hook.Output{Async: true}, nil
	}
	exited := make(chan workspace.Exit, 1)
	go func() { exited <- p.Wait() }()
	select {
	case exit := <-exited:
		defer end(nil)
		select {
		case <-r.early: // it said so, and has ended already
			return hook.Output{Async: true}, nil
		default:
		}
		return r.answer(run, exit)
	case <-r.early:
		go detach(p, run, end)
		return hook.Output{Async: true}, nil
	case <-ctx.Done():
		end(context.Cause(ctx))
		<-exited
		return hook.Output{}, context.Cause(ctx)
	}
}

// detach lets a command go on by itself, for a bounded time.
func detach(p workspace.Process, ctx context.Context, end context.CancelCauseFunc) {
	limit := time.AfterFunc(asyncLimit, p.Stop)
	p.Wait()
	limit.Stop()
	end(context.Cause(ctx))
}

// bash is the shell that lines are for.
func bash() string {
	if runtime.GOOS == "windows" {
		return "bash"
	}
	return "/bin/bash"
}

// dir is where the command runs: the directory of the input, if there is one.
func (c Command) dir(in *hook.Input) string {
	if info, err := os.Stat(in.Dir); in.Dir == "" || err != nil || !info.IsDir() {
		return "" // the workspace's
	}
	return in.Dir
}

// environment is the environment of the command.
func (c Command) environment(ctx context.Context, in *hook.Input) []string {
	project := c.Project
	if project == "" {
		project = c.Workspace.Root
	}
	return append(environ.Child(c.Workspace.Pass, c.Workspace.Env), "HOOK_EVENT="+string(in.Event), "HOOK_TOOL_NAME="+in.Tool, "HOOK_SESSION_ID="+in.Session, "HOOK_CWD="+in.Dir,
		"CLAUDE_PROJECT_DIR="+project, hookctx.DepthVariable+"="+strconv.Itoa(hookctx.Depth(ctx)))
}

// running is one run of a command.
type running struct {
	ctx   context.Context // of the hook
	event hook.Event
	end   context.CancelCauseFunc
	early chan struct{} // closed: it continues by itself

	mu       sync.Mutex
	out, err bytes.Buffer
	asked    bool // the first line was looked at
}

type (
	stdout running
	stderr running
)

var errTooMuch = fmt.Errorf("it wrote more than %d KB", maxOutput>>10)

func (w *stdout) Write(data []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.out.Len()+len(data) > maxOutput {
		w.end(errTooMuch)
		return len(data), nil
	}
	w.out.Write(data)
	if line, _, whole := bytes.Cut(w.out.Bytes(), []byte("\n")); whole && !w.asked {
		w.asked = true
		if out, err := hookrun.Parse(w.event, line); err == nil && out.Async {
			close(w.early)
		}
	}
	return len(data), nil
}

func (w *stderr) Write(data []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err.Len()+len(data) > maxOutput {
		w.end(errTooMuch)
		return len(data), nil
	}
	w.err.Write(data)
	if line := lastLine(data); line != "" {
		hook.Progress(w.ctx, line)
	}
	return len(data), nil
}

func lastLine(data []byte) string {
	text := strings.TrimSpace(text.Clean(string(data[max(0, len(data)-maxLine):])))
	return text[strings.LastIndexByte(text, '\n')+1:]
}

const maxLine = 1000 // bytes of a line of progress

// answer turns the end of the command into a hook's answer.
func (r *running) answer(run context.Context, exit workspace.Exit) (hook.Output, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	said := text.Bytes(strings.TrimSpace(text.Clean(r.err.String())), maxReason)
	switch err := context.Cause(run); {
	case err != nil:
		return hook.Output{}, err
	case exit.Stopped:
		return hook.Output{}, errors.New("it was stopped because the workspace was closed")
	case exit.Code == 2:
		if said == "" {
			said = "a hook blocks it and gives no reason"
		}
		return hook.Output{Block: true, Reason: said}, nil
	case exit.Code != 0 && said != "":
		return hook.Output{}, fmt.Errorf("exit code %d: %s", exit.Code, said)
	case exit.Code != 0:
		return hook.Output{}, fmt.Errorf("exit code %d", exit.Code)
	}
	if hookrun.Guards(r.event) && len(bytes.TrimSpace(r.out.Bytes())) == 0 && hookrun.Attempts(r.err.Bytes()) {
		return hook.Output{}, errors.New("it wrote an answer to standard error; write the JSON object to standard output")
	}
	return hookrun.Parse(r.event, r.out.Bytes())
}
