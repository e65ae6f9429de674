package tools

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/openagent-go/agent/internal/rules/shellscan"
	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/internal/toolapi"
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
)

type bashInput struct {
	Command         string `json:"command"`
	Timeout         int    `json:"timeout,omitempty"`
	Description     string `json:"description,omitempty"`
	RunInBackground bool   `json:"run_in_background,omitempty"`
}

// leavingInput is the input where a call may ask to run outside of the sandbox.
type leavingInput struct {
	bashInput
	Leave bool `json:"dangerouslyDisableSandbox,omitempty" jsonschema:"run this command outside of the sandbox; the user is asked"`
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
	*tool.Typed[leavingInput]
	shell toolapi.Shell
}

// Secrets are the values of the variables that the shell gives to commands.
func (b bash) Secrets() []string {
	if s, ok := b.shell.(interface{ Secrets() []string }); ok {
		return s.Secrets()
	}
	return nil
}

// Bash returns the tool that runs command lines in the shell of the session. in is the
// sandbox of the shell. Its calls count as confined only if in is set and the shell has a
// method Confines() bool that returns true. Rules do not follow the symlinks of a shell with a
// method Elsewhere() bool that returns true, see [permission.Access]. The tool's method Notices(session string)
// []string returns, once each, notes for the model about background commands that have
// ended. EndSession(session string) error ends the shell and the background commands of a
// session.
func Bash(shell Terminal, in ...Sandbox) tool.Tool {
	box := confinement{shell: shell}
	text := bashText
	if confines(shell) && len(in) > 0 {
		box.sandbox = in[0]
		text = strings.TrimRight(text, "\n") + "\n- " + box.sandbox.Note() + "\n"
	}
	spec := tool.Spec{
		Name: "Bash", Title: "Run a command", Description: text, OpenWorld: true, State: shellState,
		Barrier: true, // later lines are judged in the directory that this one leaves
		// Its own timeout comes first, and the end of a process tree takes a moment.
		Timeout: maxTimeout*time.Millisecond + time.Minute,
	}
	away := elsewhere(shell)
	if !box.mayLeave() {
		spec.Input = tool.New[bashInput](tool.Spec{Name: spec.Name}, nil).Spec().Input
	}
	return bash{shell: shell, Typed: tool.New(spec, func(ctx context.Context, call tool.Call, in leavingInput) (*tool.Result, error) {
		switch {
		case strings.TrimSpace(in.Command) == "":
			return tool.Errorf("command is empty"), nil
		case in.Timeout < 0:
			return tool.Errorf("timeout is %d; it is in milliseconds, from 1 to %d", in.Timeout, maxTimeout), nil
		}
		l := line(call, in.bashInput)
		l.Outside = box.leaves(call, in)
		if in.RunInBackground {
			return startInBackground(ctx, shell, l, in.bashInput)
		}
		return runCommand(ctx, shell, l, in.bashInput)
	}).OnClassify(func(call tool.Call, in leavingInput) tool.Traits {
		c := tool.Traits{Access: []permission.Access{{Kind: permission.RunCommand, Target: in.Command, Dir: box.dir(call), Elsewhere: away}}}
		c.Confined = box.sandbox != nil && !box.leaves(call, in)
		if box.mayLeave() && in.Leave {
			c.ConfirmReason = "the command would run outside of the sandbox"
		}
		return c
	})}
}

// confines reports whether the programs of a place are confined.
func confines(place any) bool {
	c, ok := place.(interface{ Confines() bool })
	return ok && c.Confines()
}

// elsewhere reports whether commands run in another file system than that of this machine.
func elsewhere(shell toolapi.Shell) bool {
	e, ok := shell.(interface{ Elsewhere() bool })
	return ok && e.Elsewhere()
}

// confinement is Bash's knowledge about the sandbox of its shell.
type confinement struct {
	shell   toolapi.Shell
	sandbox Sandbox // nil: commands are not confined
}

func (b confinement) mayLeave() bool { return b.sandbox != nil && b.sandbox.MayLeave() }

// leaves reports whether a call runs outside of the sandbox.
func (b confinement) leaves(call tool.Call, in leavingInput) bool {
	return b.mayLeave() && in.Leave || b.sandbox != nil && b.sandbox.Outside(in.Command, b.dir(call))
}

func (b confinement) dir(call tool.Call) string {
	return b.shell.Where(workspace.CommandLine{Session: call.Session, Dir: call.Dir, State: call.State})
}

// Notices returns the notes for the model, once.
func (b bash) Notices(session string) []string { return b.shell.Notices(session) }

// EndSession ends the shell and the jobs of a session.
func (b bash) EndSession(session string) error { return b.shell.EndSession(session) }

var errTimedOut = errors.New("the command's timeout is over")

func runCommand(ctx context.Context, shell toolapi.Shell, l workspace.CommandLine, in bashInput) (*tool.Result, error) {
	timeout := min(cmp.Or(in.Timeout, defaultTimeout), maxTimeout)
	limited, cancel := context.WithTimeoutCause(ctx, time.Duration(timeout)*time.Millisecond, errTimedOut)
	defer cancel()
	start := time.Now()
	progress := &reporter{ctx: ctx}
	defer progress.stop()
	l.Tail, l.Output = progress.report, progress.piece
	o, err := shell.Run(limited, l)
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
	r.Details = toolapi.Details(d)
	r.Patch.State = o.State
	if o.Stopped && late {
		return r, tool.ErrTimeout
	}
	return r, nil
}

func startInBackground(ctx context.Context, shell toolapi.Shell, l workspace.CommandLine, in bashInput) (*tool.Result, error) {
	id, state, err := shell.StartJob(ctx, l)
	if err != nil {
		return nil, err
	}
	r := tool.Text(fmt.Sprintf("Started in the background as %s. You will be told when it ends.", id))
	r.Title = title(in)
	r.Details = toolapi.Details(bashDetails{Status: jobRunning, Background: true, ShellID: id})
	r.Patch.State = state
	return r, nil
}

// line returns the line for the shell: the canonical form of the command, which was judged.
// A command without such a form is one that only the user allows; it runs unchanged.
func line(call tool.Call, in bashInput) workspace.CommandLine {
	form, err := shellscan.Canonical(in.Command)
	if err != nil {
		form = shellscan.Form{Line: in.Command}
	}
	return workspace.CommandLine{
		Session: call.Session, Command: form.Line, Bash: form.Bash, Dir: call.Dir, State: call.State,
	}
}

func title(in bashInput) string {
	return cmp.Or(in.Description, text.OneLine(in.Command))
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

// withNotes puts notes below text, each on its own line.
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
