package tools

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
	"github.com/openagent-go/agent/workspace"
)

//go:embed bash.md
var bashText string

const (
	defaultTimeout = 120_000 // ms
	maxTimeout     = 600_000 // ms
	// shellState is the slot of the session's state that says where its shell is.
	shellState = "shell"
	// progressPause is the least time between two progress reports.
	progressPause = 200 * time.Millisecond
)

// A Shell is what Bash runs commands in.
type Shell interface {
	Run(ctx context.Context, l workspace.Line) (*workspace.Outcome, error)
	Where(l workspace.Line) string
	StartJob(ctx context.Context, l workspace.Line) (id string, state json.RawMessage, err error)
	Notices(session string) []string
	EndSession(session string) error
}

type bashInput struct {
	Command         string `json:"command"`
	Timeout         int    `json:"timeout,omitempty"`
	Description     string `json:"description,omitempty"`
	RunInBackground bool   `json:"run_in_background,omitempty"`
}

// bashDetails are the Details of a result of Bash, BashOutput and KillShell.
type bashDetails struct {
	ExitCode   *int   `json:"exitCode,omitempty"` // absent while the command runs, and if it was stopped
	Status     string `json:"status,omitempty"`   // of a background command: running, exited, stopped
	DurationMS int64  `json:"durationMs"`
	Cwd        string `json:"cwd,omitempty"` // of the shell, after the command
	Truncated  bool   `json:"truncated"`
	OutputPath string `json:"outputPath,omitempty"` // holds the output as it was written
	Background bool   `json:"background"`
	ShellID    string `json:"shellId,omitempty"`
}

// bash is the tool Bash. It has notices of the background commands that ended.
type bash struct {
	*tool.Typed[bashInput]
	shell Shell
}

// Bash returns the tool that runs command lines in the shell of the session. Its
// method Notices(session string) []string returns, once each, what the model
// has to be told of background commands that have ended; EndSession(session
// string) error ends the shell and the background commands of a session.
func Bash(shell Shell) tool.Tool {
	return bash{shell: shell, Typed: tool.New(tool.Spec{
		Name: "Bash", Title: "Run a command", Description: bashText, OpenWorld: true, State: shellState,
		Barrier: true, // later lines are judged in the directory that this one leaves
		// Its own timeout comes first, and the end of a process tree takes a moment.
		Timeout: maxTimeout*time.Millisecond + time.Minute,
	}, func(ctx context.Context, call tool.Call, in bashInput) (*tool.Result, error) {
		switch {
		case strings.TrimSpace(in.Command) == "":
			return tool.Errorf("command is empty"), nil
		case in.Timeout < 0:
			return tool.Errorf("timeout is %d; it is in milliseconds, from 1 to %d", in.Timeout, maxTimeout), nil
		case in.RunInBackground:
			return startInBackground(ctx, shell, call, in)
		}
		return runCommand(ctx, shell, call, in)
	}).OnClassify(func(call tool.Call, in bashInput) tool.Class {
		dir := shell.Where(workspace.Line{Session: call.Session, Dir: call.Dir, State: call.State})
		return tool.Class{Access: []permission.Access{{Kind: permission.RunCommand, Target: in.Command, Dir: dir}}}
	})}
}

// Notices returns what the model has to be told, once.
func (b bash) Notices(session string) []string { return b.shell.Notices(session) }

// EndSession ends what runs in a session.
func (b bash) EndSession(session string) error { return b.shell.EndSession(session) }

var errTimedOut = errors.New("the command's timeout is over")

func runCommand(ctx context.Context, shell Shell, call tool.Call, in bashInput) (*tool.Result, error) {
	timeout := min(cmp.Or(in.Timeout, defaultTimeout), maxTimeout)
	limited, cancel := context.WithTimeoutCause(ctx, time.Duration(timeout)*time.Millisecond, errTimedOut)
	defer cancel()
	start := time.Now()
	o, err := shell.Run(limited, line(ctx, call, in))
	late := context.Cause(limited) == errTimedOut
	if err != nil {
		if late {
			return tool.Errorf("Command timed out after %d ms while it waited for the shell.", timeout), tool.ErrTimeout
		}
		return nil, err
	}

	d := bashDetails{
		DurationMS: time.Since(start).Milliseconds(), Cwd: o.Dir,
		Truncated: o.Cut, OutputPath: o.File,
	}
	notes := []string{o.Note, cutNote(in.Timeout)}
	failed := true
	switch {
	case !o.Stopped:
		d.ExitCode = &o.Code
		failed = o.Code != 0
		notes = append(notes, exitNote(o.Code), leftNote(o.Left))
	case late:
		notes = append(notes, fmt.Sprintf("Command timed out after %d ms and was ended. "+
			"For a long command set a longer timeout or run_in_background.", timeout))
	default:
		notes = append(notes, "The command was interrupted and ended.")
	}
	notes = append(notes, survivorNote(o.Survivors))
	r := tool.Text(withNotes(o.Text, notes...))
	r.IsError = failed
	r.Title = title(in)
	r.Truncated = o.Cut
	r.Details = details(d)
	r.Patch.State = o.State
	if o.Stopped && late {
		return r, tool.ErrTimeout
	}
	return r, nil
}

func startInBackground(ctx context.Context, shell Shell, call tool.Call, in bashInput) (*tool.Result, error) {
	l := line(ctx, call, in)
	l.Latest = nil // the call ends before there is any
	id, state, err := shell.StartJob(ctx, l)
	if err != nil {
		return nil, err
	}
	r := tool.Text(fmt.Sprintf("Started in the background as %s. You will be told when it ends.", id))
	r.Title = title(in)
	r.Details = details(bashDetails{Status: string(workspace.JobRunning), Background: true, ShellID: id})
	r.Patch.State = state
	return r, nil
}

func line(ctx context.Context, call tool.Call, in bashInput) workspace.Line {
	return workspace.Line{
		Session: call.Session, Command: in.Command, Dir: call.Dir, State: call.State, Latest: reporter(ctx),
	}
}

// reporter reports the newest line of output as progress, now and then.
func reporter(ctx context.Context) func(string) {
	var next atomic.Int64
	start := time.Now()
	return func(line string) {
		now := int64(time.Since(start))
		if due := next.Load(); now >= due && next.CompareAndSwap(due, now+int64(progressPause)) {
			tool.Progress(ctx, tool.Status{Text: line})
		}
	}
}

func title(in bashInput) string {
	return cmp.Or(in.Description, strings.Join(strings.Fields(in.Command), " "))
}

func cutNote(timeout int) string {
	if timeout <= maxTimeout {
		return ""
	}
	return fmt.Sprintf("The timeout was cut to %d ms, the longest that there is.", maxTimeout)
}

func exitNote(code int) string {
	if code == 0 {
		return ""
	}
	return fmt.Sprintf("Exit code: %d", code)
}

func leftNote(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("Processes that the command left running were ended: %d. Use run_in_background for what is to go on.", n)
}

func survivorNote(pids []int) string {
	if len(pids) == 0 {
		return ""
	}
	return fmt.Sprintf("Processes that could not be ended: %s", strings.Trim(fmt.Sprint(pids), "[]"))
}

// withNotes puts notes below text, each on a line of its own.
func withNotes(text string, notes ...string) string {
	var b strings.Builder
	b.WriteString(text)
	for _, n := range notes {
		if n == "" {
			continue
		}
		if b.Len() > 0 && !strings.HasSuffix(b.String(), "\n") {
			b.WriteByte('\n')
		}
		b.WriteString(n)
	}
	if b.Len() == 0 {
		return "(no output)"
	}
	return b.String()
}
