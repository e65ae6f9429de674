package customtools

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/openagent-go/agent/internal/environ"
	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/workspace"
)

// maxErrors is how much of the end of standard error is kept.
const maxErrors = 4 << 10

// A process is one start of a file.
type process struct {
	args  []string
	dir   string
	input []byte
	max   int               // bytes that it may write to standard output
	line  func(line string) // sees the lines on standard error; may be nil

	stdout bytes.Buffer
	stderr tail
}

// run starts the file and waits for its end. An error is the reason for a missing exit
// code: the file could not be started, ctx ended, or it wrote too much.
func (p *process) run(ctx context.Context, ws *workspace.Workspace) (code int, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	p.stderr.line = p.line
	out := &bounded{to: &p.stdout, left: p.max, full: func() { cancel(fmt.Errorf("it wrote more than %d KB to standard output", p.max>>10)) }}
	started, err := ws.Start(ctx, workspace.Command{Args: p.args, Dir: p.dir, Env: environment(ws), Input: bytes.NewReader(p.input), Output: out, Errors: &p.stderr})
	if err != nil {
		return 0, err
	}
	exit := started.Wait()
	if err := context.Cause(ctx); err != nil {
		return 0, err
	}
	return exit.Code, nil
}

// environment is the environment of a file: without secrets, and without variables that
// make it write beside itself, which would change its folder.
func environment(ws *workspace.Workspace) []string {
	return append(environ.Child(ws.Pass, ws.Env), "PYTHONDONTWRITEBYTECODE=1")
}

// bounded writes up to left bytes and says so when there are more.
type bounded struct {
	to   io.Writer
	left int
	full func()
}

func (b *bounded) Write(data []byte) (int, error) {
	n := min(len(data), b.left)
	b.left -= n
	if n < len(data) {
		b.full()
	}
	if _, err := b.to.Write(data[:n]); err != nil {
		return 0, err
	}
	return len(data), nil
}

// tail keeps the end of the data written to it.
type tail struct {
	end  []byte
	line func(string)
}

func (t *tail) Write(data []byte) (int, error) {
	t.end = append(t.end, data[max(0, len(data)-maxErrors):]...)
	if len(t.end) > 2*maxErrors {
		t.end = append(t.end[:0], t.end[len(t.end)-maxErrors:]...)
	}
	if t.line != nil {
		if whole, _, ok := cutLast(t.end, '\n'); ok {
			_, last, _ := cutLast(whole, '\n')
			if text := oneLine(string(last), maxTitle); text != "" {
				t.line(text)
			}
		}
	}
	return len(data), nil
}

// cutLast is bytes.Cut at the last sep; without one all is after.
func cutLast(b []byte, sep byte) (before, after []byte, found bool) {
	if i := bytes.LastIndexByte(b, sep); i >= 0 {
		return b[:i], b[i+1:], true
	}
	return nil, b, false
}

// after returns the kept end behind a separator, "" if nothing was written.
func (t *tail) after(sep string) string {
	end := t.end[max(0, len(t.end)-maxErrors):]
	if text := strings.TrimSpace(text.Clean(string(end))); text != "" {
		return sep + text
	}
	return ""
}
