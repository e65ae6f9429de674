// Package command runs the commands of a user's settings that print a key or credentials.
// They are bounded in time and output, and all their processes are ended if they do not end
// by themselves.
package command

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"sync"
	"time"
)

// MaxOutput bounds the kept bytes of each of a command's outputs.
const MaxOutput = 64 << 10

// leftTime is how long outputs may stay open once the shell itself has ended.
const leftTime = time.Second

// A Command is a line for the shell: sh -c, or cmd /C on Windows.
type Command struct {
	Line string
	Dir  string   // where it runs, "": here
	Env  []string // nil: the program's own
}

// An Output is the output of a command. It may hold secrets.
type Output struct {
	Text, Complaint string // stdout, stderr
	More            bool   // stdout went on past MaxOutput
}

// Run runs a command to its end or to that of ctx, whose error it returns then. In that
// case, or if the command's processes keep an output open, all of them are ended. Otherwise
// its background processes continue.
func Run(ctx context.Context, c Command) (Output, error) {
	var out, complaint limited
	cmd := exec.CommandContext(ctx, shell())
	cmd.Dir, cmd.Env = c.Dir, c.Env
	if cmd.Env == nil {
		cmd.Env = os.Environ()
	}
	cmd.Stdout, cmd.Stderr = &out, &complaint
	cmd.WaitDelay = leftTime
	var t tree
	var starting sync.Mutex // nothing is killed before it is known
	t.prepare(cmd, c.Line)
	cmd.Cancel = func() error {
		starting.Lock()
		defer starting.Unlock()
		t.kill()
		return os.ErrProcessDone // the shell is among those that were killed
	}
	starting.Lock()
	err := cmd.Start()
	began := err == nil
	if began {
		if err = t.adopt(cmd.Process); err != nil {
			_ = cmd.Process.Kill()
		}
	}
	starting.Unlock()
	if began {
		if ended := cmd.Wait(); err == nil {
			err = ended
		}
	}
	if errors.Is(err, exec.ErrWaitDelay) {
		t.kill()
		err = errors.New("the command ended, but a process that it started keeps its output open")
	}
	t.release()
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	return Output{Text: out.kept.String(), Complaint: complaint.kept.String(), More: out.more}, err
}

// limited keeps the first bytes that are written. It embeds no buffer, which would be
// filled past it by ReadFrom.
type limited struct {
	kept bytes.Buffer
	more bool // were written
}

func (l *limited) Write(p []byte) (int, error) {
	room := MaxOutput - l.kept.Len()
	l.more = l.more || len(p) > room
	l.kept.Write(p[:min(len(p), room)])
	return len(p), nil
}
