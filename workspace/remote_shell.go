package workspace

import (
	"bytes"
	"context"
	"crypto/rand"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/openagent-go/agent/internal/text"
)

// A shellHost is where the shells of a workspace run, if that is not this machine.
type shellHost interface {
	// open makes a folder for the files of the shells.
	open() (folder string, err error)
	// check reports whether there is a shell that reads a line as it is meant.
	check(ctx context.Context, l CommandLine) error
	// dir returns an absolute directory for a shell.
	dir(dir string) string
	// start runs a line in a shell whose files are in folder.
	start(ctx context.Context, s *shells, folder string, l CommandLine, dir string, out io.Writer) (Process, error)
	// copyState makes a folder for a shell that begins like another one.
	copyState(ctx context.Context, from, to string) error
	remove(folder string) error
}

// remoteHost runs the shells of a remote.
type remoteHost struct{ *remote }

func (h *remoteHost) open() (string, error) {
	b, err := h.known(context.Background())
	if err != nil {
		return "", err
	}
	return b.temp, nil
}

func (h *remoteHost) check(ctx context.Context, l CommandLine) error {
	if !l.Bash {
		return nil
	}
	b, err := h.known(ctx)
	if err == nil && !b.bash {
		err = errNoBash
	}
	return err
}

func (h *remoteHost) dir(dir string) string {
	if path.IsAbs(dir) {
		return path.Clean(dir)
	}
	return path.Join("/", h.Root, dir)
}

func (h *remoteHost) copyState(ctx context.Context, from, to string) error {
	if err := h.ask(ctx, "keep", []string{from, to}, nil, (*parts).answered); err != nil {
		return fmt.Errorf("preparing the shell: %w", err)
	}
	return nil
}

func (h *remoteHost) remove(folder string) error {
	return h.ask(context.Background(), "erase", []string{folder}, nil, ended)
}

//go:embed remote_run.sh
var remoteRun string

const (
	// remoteGrace is the time for a stopped command to end there. It is asked for 2 s and
	// then killed.
	remoteGrace = 8 * time.Second
	// remotePatience is the time for an Exec to return once its context has ended.
	remotePatience = 5 * time.Second
)

func (h *remoteHost) start(ctx context.Context, s *shells, folder string, l CommandLine, dir string, out io.Writer) (Process, error) {
	if strings.ContainsRune(l.Command, 0) {
		return nil, errors.New("the command holds a NUL byte")
	}
	if err := context.Cause(ctx); err != nil {
		return nil, fmt.Errorf("starting the shell: %w", err)
	}
	b, err := h.known(ctx)
	if err != nil {
		return nil, fmt.Errorf("starting the shell: %w", err)
	}
	if err := s.enter(); err != nil {
		return nil, fmt.Errorf("starting the shell: %w", err)
	}
	shell, speech := "sh", shDialect
	if b.bash {
		shell, speech = "bash", bashDialect
	}
	var quoted []string
	for _, name := range []string{"env", "init", "command", "state", "save", "folder"} {
		quoted = append(quoted, "@"+name+"@", text.QuoteShell(path.Join(folder, name)))
	}
	paths := strings.NewReplacer(append(quoted, "@unsaved@", "")...)
	var env strings.Builder
	for _, name := range slices.Sorted(maps.Keys(h.Env)) {
		fmt.Fprintf(&env, "export %s=%s\n", name, text.QuoteShell(h.Env[name]))
	}
	files := []string{env.String(), paths.Replace(speech.init), l.Command + "\n", paths.Replace("[ -e @state@ ] || . @env@; " + speech.run + "\n")}
	var input bytes.Buffer
	for _, f := range files {
		fmt.Fprintln(&input, len(f))
	}
	for _, f := range files {
		input.WriteString(f)
	}
	p := &remoteProcess{token: rand.Text(), owner: s, stop: make(chan struct{}), done: make(chan struct{})}
	go p.live(ctx, h.remote, []string{"sh", "-c", remoteRun, "sh", p.token, folder, dir, shell}, &input, out)
	return p, nil
}

// A remoteProcess is a command line that runs elsewhere.
type remoteProcess struct {
	token string
	owner *shells
	once  sync.Once
	stop  chan struct{} // closed: someone wants it to end
	done  chan struct{} // closed: it has ended
	exit  Exit          // complete once done is closed, as what follows
	dir   string        // where the shell is now, "" if it has not changed
	note  string        // what went wrong
}

func (p *remoteProcess) Wait() Exit {
	<-p.done
	return p.exit
}

func (p *remoteProcess) Stop() { p.once.Do(func() { close(p.stop) }) }

// live runs the command and sees it to its end.
func (p *remoteProcess) live(ctx context.Context, r *remote, args []string, input io.Reader, out io.Writer) {
	defer p.owner.running.Done()
	defer close(p.done)
	hold, release := io.Pipe() // nothing comes from it: its end is the end of the command
	defer release.Close()
	report := &trailer{token: p.token, done: func() { release.Close() }}
	sink := &gate{w: out}
	defer sink.shut()
	type result struct {
		code int
		err  error
	}
	run, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	ended := make(chan result, 1)
	go func() {
		code, err := r.exec(run, RemoteCommand{Args: args, Stdin: io.MultiReader(input, hold), Stdout: sink, Stderr: report})
		ended <- result{code, err}
	}()
	var got *result
	wait := func(d time.Duration) {
		var late <-chan time.Time
		if d > 0 {
			timer := time.NewTimer(d)
			defer timer.Stop()
			late = timer.C
		}
		select {
		case x := <-ended:
			got = &x
		case <-late:
		}
	}
	select {
	case x := <-ended:
		got = &x
	case <-ctx.Done():
		p.exit.Stopped = true
	case <-p.stop:
		p.exit.Stopped = true
	case <-p.owner.closing:
		p.exit.Stopped = true
	}
	if got == nil {
		release.Close()
		wait(remoteGrace)
	}
	if got == nil { // its input did not end it
		cancel()
		wait(remotePatience)
		p.note = "The place did not end the command when it was asked to. It may still run there."
	}
	code, left, dir, ok := report.read()
	switch {
	case ok && code == "gone":
		p.exit.Code, p.dir = 1, r.Root
		p.note = fmt.Sprintf("The shell's directory %s is gone, so the command did not run; the next one runs in %s.", args[6], r.Root)
	case ok:
		p.exit.Code, p.exit.Left, p.dir = atoi(code), atoi(left), dir
		p.exit.Signaled = p.exit.Code > 128
	case got != nil && !p.exit.Stopped:
		p.exit.Code = max(got.code, 1)
		p.note = "The connection to the place broke, so how the command ended is not known."
		if got.err != nil {
			p.note += " The error is: " + got.err.Error()
		} else if text := report.String(); text != "" {
			p.note += " It says: " + text
		}
	case p.exit.Stopped:
		p.exit.Code = 137
	}
}

func atoi(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil || n < 0 || n > 1<<20 {
		return 1
	}
	return n
}

// A gate passes writes on until it is shut: an Exec may write after it should have ended.
type gate struct {
	mu   sync.Mutex
	w    io.Writer
	over bool
}

func (g *gate) Write(b []byte) (int, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.over {
		return 0, io.ErrClosedPipe
	}
	write(g.w, b)
	return len(b), nil
}

func (g *gate) shut() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.over = true
}

// A trailer takes the errors of remote_run.sh, whose last line says how the command ended.
type trailer struct {
	tailBuffer
	token string
	done  func() // called once the last line is there
}

func (t *trailer) Write(b []byte) (int, error) {
	n, err := t.tailBuffer.Write(b)
	if _, _, _, ok := t.read(); ok {
		t.done()
	}
	return n, err
}

// read returns the exit code, the number of processes left and the directory of the shell.
func (t *trailer) read() (code, left, dir string, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := string(t.data)
	_, last, ok := strings.Cut(all, "\n"+t.token+" ")
	if !ok {
		return "", "", "", false
	}
	last, _, ok = strings.Cut(last, "\n")
	code, left, found := strings.Cut(last, " ")
	if _, rest, kept := strings.Cut(all, "\n"+t.token+"+\n"); kept {
		rest, _, kept = strings.Cut(rest, "\n"+t.token+"-\n")
		if rest = strings.TrimSuffix(rest, "\n"); kept && path.IsAbs(rest) && !strings.ContainsRune(rest, 0) {
			dir = rest
		}
	}
	return code, left, dir, ok && found
}
