package workspace

import (
	"bytes"
	"context"
	"crypto/rand"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os/exec"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/openagent-go/agent/internal/text"
)

// A RemoteCommand is a command for an [Exec].
type RemoteCommand struct {
	Args           []string  // program and arguments
	Stdin          io.Reader // may stay open until the command has ended
	Stdout, Stderr io.Writer // may be written at the same time
}

// Line returns the command as one line for a POSIX shell.
func (c RemoteCommand) Line() string {
	quoted := make([]string, len(c.Args))
	for i, a := range c.Args {
		quoted[i] = text.QuoteShell(a)
	}
	return strings.Join(quoted, " ")
}

// An Exec runs a command elsewhere: in a container, on another machine. It returns once the
// command has ended, or soon after ctx has, with the command's exit code. The error says
// that the command could not be run. It is called by several goroutines at once.
type Exec func(ctx context.Context, c RemoteCommand) (code int, err error)

// ExecThrough returns an [Exec] that runs a program of this machine with the command's
// [RemoteCommand.Line] as last argument:
//
//	workspace.ExecThrough("docker", "exec", "-i", "box", "sh", "-c")
//	workspace.ExecThrough("kubectl", "exec", "-i", "pod", "--", "sh", "-c")
//	workspace.ExecThrough("ssh", "host")
//
// With it a [Workspace] reads and writes files and runs commands there. The place needs a
// POSIX shell as sh, and cat, cksum, cp, dd, env, find (with -mindepth and -maxdepth), grep,
// kill, ln, mkdir, mktemp, mv, readlink, rm, rmdir, sleep, stat (of GNU, BusyBox or BSD), tail,
// tr and wc, which Debian, Alpine and macOS have. With bash, shells keep functions and aliases
// too. Closing the input of a command ends it there, with all that it has started.
//
// Symlinks are followed there before rules judge a path. Programs that run there can
// replace a folder by a symlink in between: rules bind the agent's tools, not those
// programs.
func ExecThrough(program string, args ...string) Exec {
	return func(ctx context.Context, c RemoteCommand) (int, error) {
		cmd := exec.CommandContext(ctx, program, append(slices.Clone(args), c.Line())...)
		cmd.Stdout, cmd.Stderr = c.Stdout, c.Stderr
		cmd.WaitDelay = 2 * time.Second
		stdin, err := cmd.StdinPipe()
		if err != nil {
			return 0, err
		}
		if err := cmd.Start(); err != nil {
			return 0, err
		}
		go func() { // it ends with the input, which may be after the command
			_, _ = io.Copy(stdin, c.Stdin) // the command may not want all of it
			stdin.Close()
		}()
		err = cmd.Wait()
		var exit *exec.ExitError
		if errors.As(err, &exit) && ctx.Err() == nil && exit.ExitCode() >= 0 {
			return exit.ExitCode(), nil
		}
		return 0, err
	}
}

// A remote is the files and commands of a [Workspace] with an Exec.
type remote struct {
	Exec    Exec
	Root    string            // working directory there, absolute
	Env     map[string]string // extra variables for commands
	Timeout time.Duration     // how long it may be silent while it is asked for files

	mu   sync.Mutex
	base *remoteBase // nil: not asked for yet
}

// A remoteBase is what is known of the place.
type remoteBase struct {
	temp string // folder for the files of the shells
	home string
	bash bool
}

// newRemote returns the place that w.Exec leads to.
func newRemote(w *Workspace) *far {
	r := &remote{Exec: w.Exec, Root: w.Root, Env: w.Env, Timeout: w.Timeout}
	here := &Workspace{OutputDir: w.OutputDir, Env: w.Env}
	here.shell.away = &remoteHost{r}
	return &far{disk: r, root: w.Root, dirs: w.Dirs, here: here, patience: 2 * r.patience()}
}

func (r *remote) patience() time.Duration {
	if r.Timeout > 0 {
		return r.Timeout
	}
	return time.Minute
}

//go:embed remote_files.sh
var remoteFiles string

// maxAnswer bounds what is read of an answer other than the contents of files.
const maxAnswer = 512 << 20

// ask has the place carry out an operation of remote_files.sh. data is its input. read gets
// the parts of the answer.
func (r *remote) ask(ctx context.Context, op string, args []string, data []byte, read func(*parts) error) error {
	token := rand.Text()
	script := remoteFiles + "\nmain"
	for _, a := range append([]string{op, token}, args...) {
		script += " " + text.QuoteShell(a)
	}
	c := RemoteCommand{Args: []string{"sh", "-s"}, Stdin: strings.NewReader(script + " </dev/null\n")}
	if data != nil { // few arguments
		c = RemoteCommand{Args: []string{"sh", "-c", script}, Stdin: bytes.NewReader(data)}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	in, out := io.Pipe()
	var errs tailBuffer
	c.Stdout, c.Stderr = out, &errs
	done := make(chan error, 1)
	go func() {
		code, err := r.exec(ctx, c)
		if err == nil && code != 0 {
			err = fmt.Errorf("exit code %d", code)
		}
		out.CloseWithError(err) // nil is the end
		done <- err
	}()
	p := &parts{src: in, sep: "\n" + token + "\n", left: maxAnswer, silent: func() func() {
		timer := time.AfterFunc(r.patience(), func() {
			cancel(fmt.Errorf("no answer for %v", r.patience()))
			in.CloseWithError(errSilent)
		})
		return func() { timer.Stop() }
	}}
	defer context.AfterFunc(ctx, func() { in.CloseWithError(context.Cause(ctx)) })()
	err := p.skip() // what a login prints
	if err == nil {
		err = read(p)
	}
	in.CloseWithError(io.ErrClosedPipe)
	cause := context.Cause(ctx)
	if err != nil {
		cancel(nil)
	}
	select {
	case <-done:
	case <-time.After(remotePatience): // it does not keep to ctx
	}
	if err == nil {
		return nil
	}
	switch {
	case cause != nil:
		return fmt.Errorf("asking the place to %s: %w", op, cause)
	case errors.Is(err, errGarbage):
		if says := errs.String(); says != "" {
			return fmt.Errorf("asking the place to %s: %w (it says %s)", op, err, says)
		}
		return fmt.Errorf("asking the place to %s: %w", op, err)
	}
	return err
}

var errSilent = errors.New("no answer")

// exec calls Exec. A panic is an error.
func (r *remote) exec(ctx context.Context, c RemoteCommand) (code int, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("workspace.Workspace.Exec panicked: %v", p)
		}
	}()
	return r.Exec(ctx, c)
}

// tailBuffer keeps the end of what is written to it.
type tailBuffer struct {
	mu   sync.Mutex
	data []byte
}

const maxTail = 64 << 10

func (b *tailBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.data = append(b.data, p[max(0, len(p)-maxTail):]...)
	if len(b.data) > 2*maxTail {
		b.data = append(b.data[:0], b.data[len(b.data)-maxTail:]...)
	}
	return len(p), nil
}

// String returns the last line, shortened.
func (b *tailBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	text := strings.TrimSpace(string(b.data))
	text = text[strings.LastIndexByte(text, '\n')+1:]
	return abridged(text)
}

// parts reads an answer.
type parts struct {
	src    io.Reader
	sep    string
	buf    []byte
	room   []byte
	left   int64
	silent func() (stop func())
}

// chunk returns the next bytes of the present part, and whether they are its last.
func (p *parts) chunk() (data []byte, end bool, err error) {
	for {
		if i := bytes.Index(p.buf, []byte(p.sep)); i >= 0 {
			data, p.buf = p.buf[:i], p.buf[i+len(p.sep):]
			return data, true, nil
		}
		if n := len(p.buf) - len(p.sep) + 1; n > 0 {
			data, p.buf = p.buf[:n], p.buf[n:]
			return data, false, nil
		}
		if p.room == nil {
			p.room = make([]byte, 64<<10)
		}
		stop := p.silent()
		n, err := p.src.Read(p.room)
		stop()
		if n == 0 && err != nil {
			if err == io.EOF {
				err = errGarbage
			}
			return nil, false, fmt.Errorf("reading the answer: %w", err)
		}
		p.buf = append(bytes.Clone(p.buf), p.room[:n]...)
	}
}

// skip reads up to the beginning of the first part.
func (p *parts) skip() error {
	_, err := p.next(maxTail)
	return err
}

// next reads the next part, of at most so many bytes.
func (p *parts) next(most int) (string, error) {
	var all []byte
	for {
		data, end, err := p.chunk()
		if err != nil {
			return "", err
		}
		p.left -= int64(len(data))
		if all = append(all, data...); len(all) > most || p.left < 0 {
			return "", errGarbage
		}
		if end {
			return string(all), nil
		}
	}
}

// content is the present part as a reader. Close reads the rest of it.
type content struct {
	*parts
	rest []byte
	end  bool
	err  error
}

func (c *content) Read(b []byte) (int, error) {
	for len(c.rest) == 0 {
		if c.end {
			return 0, io.EOF
		}
		if c.err != nil {
			return 0, c.err
		}
		c.rest, c.end, c.err = c.chunk()
	}
	n := copy(b, c.rest)
	c.rest = c.rest[n:]
	return n, nil
}

func (c *content) Close() error {
	for !c.end && c.err == nil {
		_, c.end, c.err = c.chunk()
	}
	return c.err
}

// answered reads the first part of an answer.
func (p *parts) answered() error {
	first, err := p.next(maxTail)
	if err != nil {
		return err
	}
	return refusal(first)
}

// refusal is the error that a part stands for, nil for "+".
func refusal(part string) error {
	why, ok := strings.CutPrefix(part, "!")
	switch {
	case part == "+":
		return nil
	case !ok:
		return errGarbage
	}
	why, _, _ = strings.Cut(why, " ")
	switch why {
	case "missing":
		return fs.ErrNotExist
	case "denied":
		return fs.ErrPermission
	case "changed":
		return ErrChanged
	case "file":
		return errors.New("one of its folders is a file")
	case "full":
		return errors.New("the place could not write all of it")
	case "pipe":
		return plain(&farInfo{mode: fs.ModeNamedPipe})
	case "socket":
		return plain(&farInfo{mode: fs.ModeSocket})
	case "device":
		return plain(&farInfo{mode: fs.ModeDevice})
	}
	return errGarbage
}

// known asks once what the place is like.
func (r *remote) known(ctx context.Context) (*remoteBase, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.base != nil {
		return r.base, nil
	}
	var b remoteBase
	err := r.ask(ctx, "setup", nil, nil, func(p *parts) error {
		temp, err := p.next(maxTail)
		home, err2 := p.next(maxTail)
		bash, err3 := p.next(maxTail)
		if err := errors.Join(err, err2, err3); err != nil {
			return err
		}
		var ok bool
		if temp, ok = strings.CutPrefix(temp, "+"); !ok || !path.IsAbs(temp) || strings.ContainsAny(temp, "\n\x00") {
			if ok {
				return errGarbage
			}
			return fmt.Errorf("making a folder for the shells: %w", refusal(temp))
		}
		b = remoteBase{temp: temp, home: home, bash: bash != ""}
		return nil
	})
	if err != nil {
		return nil, err
	}
	r.base = &b
	return r.base, nil
}

// home is the home folder there.
func (r *remote) home(ctx context.Context) (string, error) {
	b, err := r.known(ctx)
	if err != nil {
		return "", err
	}
	if !path.IsAbs(b.home) {
		return "", errors.New("the place has no home folder")
	}
	return b.home, nil
}
