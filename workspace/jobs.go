package workspace

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/openagent-go/agent/internal/text"
)

const (
	// maxJobs is how many jobs of a session run at a time.
	maxJobs = 16
	// keptJobs is how many jobs of a session are kept for their output.
	keptJobs = 64
)

// ErrNoJob is matched by the error for a job that a session does not have.
var ErrNoJob = errors.New("there is no such job")

// job is a command line that runs beside its session's shell.
type job struct {
	id      string
	command string
	process Process
	output  *output
	told    bool // the session knows that it has ended; under shells.mu
	done    chan struct{}
	exit    Exit // complete once done is closed
}

// StartJob runs a line in the background and returns the id of the job, unique
// in its session. The job begins with the shell's directory and environment and
// changes neither. It ends with w or its session. The state is as in [Outcome].
func (w *Workspace) StartJob(ctx context.Context, l CommandLine) (id string, state json.RawMessage, err error) {
	w, err = w.commands()
	if err != nil {
		return "", nil, err
	}
	if err := w.checkLine(ctx, l); err != nil {
		return "", nil, err
	}
	sh, leave, err := w.take(ctx, l.Session)
	if err != nil {
		return "", nil, err
	}
	defer leave()
	if err := w.makeRoom(sh); err != nil {
		return "", nil, err
	}
	sh.memory = sh.memory.recall(l)
	sh.memory.Jobs++
	j := &job{
		id:      "bash_" + strconv.Itoa(sh.memory.Jobs),
		command: l.Command,
		output:  &output{folder: w.outputDir, keep: true, last: l.Tail},
		done:    make(chan struct{}),
	}
	if err := w.launchJob(ctx, sh, j, l); err != nil {
		return "", nil, err
	}
	return j.id, sh.memory.encode(), nil
}

// launchJob starts j with a copy of the shell's state and sees it to its end.
func (w *Workspace) launchJob(ctx context.Context, sh *shell, j *job, l CommandLine) error {
	s := &w.shell
	if err := s.enter(); err != nil {
		return err
	}
	folder := filepath.Join(sh.folder, j.id)
	var err error
	if s.away != nil {
		err = s.away.copyState(ctx, sh.folder, folder)
	} else {
		err = copyState(sh.folder, j.id)
	}
	if err == nil {
		var dir string
		dir, _ = w.shellDir(sh.memory.Dir) // the next line says it if the directory is gone
		// It outlives the call: Stop, EndSession and Close end it.
		ctx = context.WithoutCancel(ctx)
		switch {
		case s.away != nil:
			j.process, err = s.away.start(ctx, s, folder, l, dir, j.output)
		case l.Outside:
			j.process, err = w.startOutside(ctx, j.command, dir, j.output)
		default:
			j.process, err = w.startShell(ctx, folder, l, dir, false, j.output)
		}
	}
	if err != nil {
		s.running.Done()
		return errors.Join(err, s.remove(folder))
	}
	s.mu.Lock()
	sh.jobs = append(sh.jobs, j)
	s.mu.Unlock()
	go func() {
		defer s.running.Done()
		defer close(j.done)
		j.exit = j.process.Wait()
		j.output.close()
		_ = s.remove(folder) // Close and EndSession remove the rest
	}()
	return nil
}

// makeRoom forgets the oldest jobs that have ended, once there are many.
func (w *Workspace) makeRoom(sh *shell) error {
	w.shell.mu.Lock()
	defer w.shell.mu.Unlock()
	running := 0
	for _, j := range sh.jobs {
		if !j.ended() {
			running++
		}
	}
	if running >= maxJobs {
		return fmt.Errorf("%d jobs are running, which is the most there may be: end one first", running)
	}
	for len(sh.jobs) >= keptJobs {
		i := slices.IndexFunc(sh.jobs, func(j *job) bool { return j.ended() && j.told })
		if i < 0 {
			i = slices.IndexFunc(sh.jobs, (*job).ended)
		}
		sh.jobs = slices.Delete(sh.jobs, i, i+1)
	}
	return nil
}

func (j *job) ended() bool {
	select {
	case <-j.done:
		return true
	default:
		return false
	}
}

// Job reports on a job of a session after waiting up to wait for its end. With
// filter the report has only the lines that match; the others are not shown
// later either. A report that says how the job ended takes the place of its
// notice.
func (w *Workspace) Job(ctx context.Context, session, id string, filter *regexp.Regexp, wait time.Duration) (*Outcome, error) {
	j, err := w.job(session, id)
	if err != nil {
		return nil, err
	}
	if wait > 0 {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		select {
		case <-j.done:
		case <-timer.C:
		case <-ctx.Done():
			return nil, fmt.Errorf("waiting for %s: %w", id, context.Cause(ctx))
		}
	}
	return w.report(j, filter), nil
}

func (w *Workspace) report(j *job, filter *regexp.Regexp) *Outcome {
	s := &w.host().shell
	s.mu.Lock()
	defer s.mu.Unlock()
	r := &Outcome{Running: !j.ended()}
	if !r.Running {
		r.Exit = j.exit
		j.told = true
	}
	r.Text, r.Cut, r.File = j.output.take(filter != nil && r.Running)
	if filter != nil {
		r.Text = matching(r.Text, filter)
	}
	return r
}

func matching(text string, filter *regexp.Regexp) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if filter.MatchString(strings.TrimRight(line, "\r\n")) {
			b.WriteString(line)
		}
	}
	return b.String()
}

// StopJob ends a job, waits for its end and reports on it. A job that has ended
// already is only reported.
func (w *Workspace) StopJob(ctx context.Context, session, id string) (*Outcome, error) {
	j, err := w.job(session, id)
	if err != nil {
		return nil, err
	}
	if err := j.stop(ctx); err != nil {
		return nil, err
	}
	return w.report(j, nil), nil
}

// A RunningJob is a background command that has not ended.
type RunningJob struct {
	Session string // whose job it is: a session's, or an agent's that works for it
	ID      string // unique in its session
	Command string // the line as it was given
}

// RunningJobs lists the jobs of all sessions that have not ended, by session and in the
// order in which they began.
func (w *Workspace) RunningJobs() []RunningJob {
	w = w.host()
	w.shell.mu.Lock()
	defer w.shell.mu.Unlock()
	var list []RunningJob
	for _, session := range slices.Sorted(maps.Keys(w.shell.sessions)) {
		for _, j := range w.shell.sessions[session].jobs {
			if !j.ended() {
				list = append(list, RunningJob{session, j.id, j.command})
			}
		}
	}
	return list
}

// AwaitJob waits for the end of a job, as long as ctx lasts. It returns the file of the output, and how
// the job ended unless it is still Running. It does not report to the model: [Workspace.Notices] does
// that.
func (w *Workspace) AwaitJob(ctx context.Context, session, id string) (*Outcome, error) {
	j, err := w.job(session, id)
	if err != nil {
		return nil, err
	}
	select {
	case <-j.done:
	case <-ctx.Done():
	}
	o := &Outcome{File: j.output.name(), Running: !j.ended()}
	if !o.Running {
		o.Exit = j.exit
	}
	return o, nil
}

// EndJob ends a job for a person and waits for its end. It does not report to the model:
// [Workspace.Notices] does that. A job that has ended stays as it is.
func (w *Workspace) EndJob(ctx context.Context, session, id string) error {
	j, err := w.job(session, id)
	if err != nil {
		return err
	}
	return j.stop(ctx)
}

// stop ends the job and waits for its end.
func (j *job) stop(ctx context.Context) error {
	j.process.Stop()
	select {
	case <-j.done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("waiting for the end of %s: %w", j.id, context.Cause(ctx))
	}
}

func (w *Workspace) job(session, id string) (*job, error) {
	w = w.host()
	w.shell.mu.Lock()
	defer w.shell.mu.Unlock()
	var ids []string
	if sh := w.shell.sessions[session]; sh != nil {
		for _, j := range sh.jobs {
			if j.id == id {
				return j, nil
			}
			ids = append(ids, j.id)
		}
	}
	if ids == nil {
		return nil, fmt.Errorf("%w: %q (this session has none; those of earlier processes have ended)", ErrNoJob, id)
	}
	return nil, fmt.Errorf("%w: %q (there are %s)", ErrNoJob, id, strings.Join(ids, ", "))
}

// Notices returns, once each, a line for every job of a session that has ended
// and whose end neither [Workspace.Job] nor [Workspace.StopJob] has reported.
func (w *Workspace) Notices(session string) []string {
	w = w.host()
	w.shell.mu.Lock()
	defer w.shell.mu.Unlock()
	sh := w.shell.sessions[session]
	if sh == nil {
		return nil
	}
	var notices []string
	for _, j := range sh.jobs {
		if j.told || !j.ended() {
			continue
		}
		j.told = true
		how := "exited"
		if j.exit.Stopped {
			how = "stopped"
		}
		notices = append(notices, fmt.Sprintf("Background command %s (%s) %s with exit code %d. BashOutput shows its output.",
			j.id, abridged(j.command), how, j.exit.Code))
	}
	return notices
}

// abridged is a command on one short line.
func abridged(command string) string {
	return text.Runes(text.OneLine(command), 80)
}
