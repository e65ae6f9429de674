package workspace

import (
	"bytes"
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"github.com/openagent-go/agent/internal/sandboxenv"
	"github.com/openagent-go/agent/internal/text"
)

// A dialect is the way in which a kind of shell loads, runs and saves. In both texts @name@
// stands for the path of a file, quoted, and @unsaved@ for the names of variables that are
// not saved, each after a separator.
type dialect struct {
	init string // defines __openagent_save, has it called on exit, and loads the last state
	// run is a single line, so that the shell has read all of it before the
	// command can disturb its reading, and counts the command's lines from 1.
	run string
	// light is run for a line that changes nothing: it loads and does not save. "" if the
	// dialect has no such form.
	light string
	// separator comes before each name in @unsaved@.
	separator string
}

//go:embed shell_bash.sh
var bashInit string

//go:embed shell_sh.sh
var shInit string

var (
	bashDialect = dialect{bashInit, `. @init@; builtin eval "$(<@command@)"; { __openagent_save $?; } 2>/dev/null`,
		`. @state@ 2>/dev/null; builtin eval "$(<@command@)"`, " | "}
	shDialect = dialect{init: shInit, run: `. @init@; . @command@; { __openagent_save $?; } 2>/dev/null`, separator: " "}
)

// maxState is how large the saved state of a shell may be.
const maxState = 4 << 20

// A CommandLine is a command line for the shell of a session.
type CommandLine struct {
	Session string // whose shell runs it; "": one of its own
	Command string // any script that the shell understands
	// Bash marks a Command that only bash reads correctly. Without bash, the line does not
	// run.
	Bash bool
	// Dir is where the session works, absolute; "" is the working directory. When
	// it changes the shell goes there.
	Dir string
	// State is the State of the session's last [Outcome], nil if there is none. A resumed
	// session continues in the directory that it names.
	State json.RawMessage
	// Outside runs the line without [Workspace].Confine, as only the host may
	// decide. It has a new shell, in the session's directory: nothing that confined
	// lines have left behind is loaded, and nothing is kept.
	Outside bool
	// Tail receives the last lines of output, the newest last, often: five at most, without
	// empty ones, each cut at 200 bytes. Of a line that carriage returns have overwritten it has
	// what a terminal would show. It may be nil.
	Tail func(lines []string)
	// Output receives the output as it comes, in pieces, each before Tail does. It must not
	// keep or change a piece. It may be nil.
	Output func(piece []byte)
}

// An Outcome is how a [CommandLine] went, or how a command in the background goes.
type Outcome struct {
	// Text is the output, for a model: UTF-8, without terminal escape sequences, at most
	// 30,000 characters, with a note in their middle about the missing part. Of a command
	// in the background it is the output since the last report.
	Text string
	Cut  bool   // Text lacks something
	File string // holds the output as it was written, up to 64 MB; "" if there is no such file

	// Running marks a command in the background that has not ended. It has no Exit yet.
	Running bool
	Exit

	// These are of a line that [Workspace.Run] has run.
	Dir   string          // where the shell is now
	Note  string          // what the caller should know of how the line was run, "" for nothing
	State json.RawMessage // a JSON object, for the next line of the session
}

// memory is the state of a session's shell that survives processes and hosts.
type memory struct {
	Dir  string `json:"dir"`            // where the shell is
	Base string `json:"base,omitempty"` // Line.Dir at that time
	Jobs int    `json:"jobs,omitempty"` // number of the newest job
}

// shell is the shell of a session. Each line runs in its own process that
// begins by loading what the last one has saved.
type shell struct {
	turn   chan struct{}   // full while someone has the turn
	life   context.Context // ends with the session
	end    context.CancelCauseFunc
	folder string // of its files, 0700
	memory memory // of whose turn it is
	bare   bool   // its saved state has neither functions nor aliases
	jobs   []*job // in the order of their start; under shells.mu
}

var errEnded = errors.New("the session has ended")

// Run runs a line in the shell of its session: bash, or sh where there is no bash. The
// session's next line begins with its directory, variables, functions, aliases, umask and
// options (except errexit, nounset, pipefail, noclobber and xtrace), unless the line was
// ended by a signal, by ctx or by exec. Lines of a session run one after the other.
// Processes that a line leaves running are ended.
//
// An error means that the line did not run.
func (w *Workspace) Run(ctx context.Context, l CommandLine) (*Outcome, error) {
	w, err := w.commands()
	if err != nil {
		return nil, err
	}
	if err := w.checkLine(ctx, l); err != nil {
		return nil, err
	}
	sh, leave, err := w.take(ctx, l.Session)
	if err != nil {
		return nil, err
	}
	defer leave()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(sh.life, func() { cancel(context.Cause(sh.life)) })()

	sh.memory = sh.memory.recall(l)
	out := &output{folder: w.outputDir, last: l.Tail, pieces: l.Output}
	defer out.close()
	dir, note := w.shellDir(sh.memory.Dir)
	light := sh.bare && !leavesTrace(l.Command) // saving takes longer than most commands
	var p Process
	switch {
	case w.shell.away != nil:
		p, err = w.shell.away.start(ctx, &w.shell, sh.folder, l, dir, out)
	case l.Outside:
		light = true
		p, err = w.startOutside(ctx, l.Command, dir, out)
	default:
		p, err = w.startShell(ctx, sh.folder, l, dir, light, out)
	}
	if err != nil {
		return nil, err
	}
	o := &Outcome{Exit: p.Wait(), Note: note}
	o.Text, o.Cut, o.File = out.take(false)
	sh.memory.Dir = dir
	if far, ok := p.(*remoteProcess); ok {
		o.Note, sh.memory.Dir = far.note, cmp.Or(far.dir, dir)
	} else if !light && !o.Signaled && !o.Stopped {
		sh.keep()
	}
	o.Dir = sh.memory.Dir
	o.State = sh.memory.encode()
	return o, nil
}

// take takes the turn in the shell of a session, which it makes if need be.
// Close waits for leave.
func (w *Workspace) take(ctx context.Context, name string) (_ *shell, leave func(), err error) {
	s := &w.shell
	if err := s.enter(); err != nil {
		return nil, nil, fmt.Errorf("opening a shell: %w", err)
	}
	sh, err := s.session(name)
	if err != nil {
		s.running.Done()
		return nil, nil, err
	}
	select {
	case sh.turn <- struct{}{}:
		return sh, func() { <-sh.turn; s.running.Done() }, nil
	case <-ctx.Done():
		err = context.Cause(ctx)
	case <-sh.life.Done():
		err = context.Cause(sh.life)
	}
	s.running.Done()
	return nil, nil, fmt.Errorf("waiting for the shell: %w", err)
}

// session returns the shell of a session, which it makes if need be.
func (s *shells) session(name string) (*shell, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if sh := s.sessions[name]; sh != nil {
		return sh, nil
	}
	folder := filepath.Join(s.temp, strconv.FormatInt(s.count.Add(1), 10))
	if s.away == nil {
		if err := os.Mkdir(folder, 0o700); err != nil {
			return nil, fmt.Errorf("opening a shell: %w", err)
		}
	}
	sh := &shell{turn: make(chan struct{}, 1), folder: folder}
	sh.life, sh.end = context.WithCancelCause(context.Background())
	s.sessions[name] = sh
	return sh, nil
}

// Where returns the directory that a line with a Dir would run in, absolute.
func (w *Workspace) Where(l CommandLine) string {
	w = w.host()
	dir, _ := w.shellDir(memory{}.recall(l).Dir)
	return dir
}

// recall updates a shell's memory from the session's journal. State that is not in the
// journal counts only for lines without a Dir, which have no other source.
func (was memory) recall(l CommandLine) memory {
	var m memory
	if json.Unmarshal(l.State, &m) != nil {
		m = memory{}
	}
	m.Jobs = max(m.Jobs, was.Jobs)
	if !filepath.IsAbs(m.Dir) && l.Dir == "" {
		m.Dir, m.Base = was.Dir, was.Base
	}
	if !filepath.IsAbs(m.Dir) || m.Base != l.Dir {
		m.Dir, m.Base = l.Dir, l.Dir
	}
	return m
}

func (m memory) encode() json.RawMessage {
	data, _ := json.Marshal(m) // strings and a number
	return data
}

// shellDir returns dir if it is there, else the working directory and a note.
func (w *Workspace) shellDir(dir string) (_, note string) {
	if w.shell.away != nil {
		return w.shell.away.dir(dir), "" // what runs there sees whether it is gone
	}
	work := w.folders().work
	if dir == "" {
		return work, ""
	}
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(work, dir)
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return work, fmt.Sprintf("The shell's directory %s is gone; this ran in %s.", dir, work)
	}
	return dir, ""
}

// startShell starts a shell in dir that loads the state in folder and runs the command of
// l. It saves its own state there, or with light, if that is enough, saves nothing.
func (w *Workspace) startShell(ctx context.Context, folder string, l CommandLine, dir string, light bool, out io.Writer) (Process, error) {
	program, speech, err := findShell()
	if err != nil {
		return nil, err
	}
	if strings.ContainsRune(l.Command, 0) {
		return nil, errors.New("the command holds a NUL byte")
	}
	var quoted []string
	for _, name := range []string{"init", "command", "state", "save", "folder"} {
		quoted = append(quoted, "@"+name+"@", text.QuoteShell(filepath.Join(folder, name)))
	}
	unsaved := ""
	if w.Confine != nil {
		for _, name := range sandboxenv.Names() {
			unsaved += speech.separator + name
		}
	}
	paths := strings.NewReplacer(append(quoted, "@unsaved@", unsaved)...)
	script, files := speech.run, map[string]string{"command": l.Command + "\n", "save": "", "folder": ""}
	if light && speech.light != "" {
		script = speech.light
	} else {
		files["init"] = paths.Replace(speech.init)
	}
	// Once there is a state the other variables are in it.
	env := w.unsaved()
	if err := inFolder(folder, func(shell *os.Root) error {
		for name, text := range files {
			if err := newFile(shell, name, []byte(text)); err != nil {
				return err
			}
		}
		if !hasPlain(shell, "state") {
			env = w.environ()
			return shell.RemoveAll("state")
		}
		return nil
	}); err != nil {
		return nil, fmt.Errorf("preparing the shell: %w", err)
	}
	return w.Start(ctx, Command{
		Args:   []string{program, "-c", paths.Replace(script), filepath.Base(program)},
		Dir:    dir,
		Env:    append(env, "PWD="+dir),
		Output: out,
		run:    w.workingDir(l),
		own:    []string{folder},
	})
}

// startOutside starts a shell that is not confined. It reads no file that a
// confined process could write.
func (w *Workspace) startOutside(ctx context.Context, command, dir string, out io.Writer) (Process, error) {
	program, _, err := findShell()
	if err != nil {
		return nil, err
	}
	if strings.ContainsRune(command, 0) {
		return nil, errors.New("the command holds a NUL byte")
	}
	return w.Start(ctx, Command{
		Args:    []string{program, "-c", command, filepath.Base(program)},
		Dir:     dir,
		Env:     append(w.environ(), "PWD="+dir),
		Output:  out,
		Outside: true,
	})
}

// workingDir is the folder that the run of a line works in.
func (w *Workspace) workingDir(l CommandLine) string {
	if l.Dir == "" {
		return w.folders().work
	}
	return l.Dir
}

// unsaved is the part of the environment that no state of a shell holds. A sandbox
// may set these variables otherwise for each command.
func (w *Workspace) unsaved() []string {
	if w.Confine == nil {
		return nil
	}
	return sandboxenv.Only(w.environ())
}

// findShell finds a shell. The bash in a Windows PATH is usually that of
// another system.
func findShell() (program string, _ dialect, err error) {
	if runtime.GOOS != "windows" {
		if program, err = exec.LookPath("bash"); err == nil {
			return program, bashDialect, nil
		}
	}
	if program, err = exec.LookPath("sh"); err == nil {
		return program, shDialect, nil
	}
	return "", dialect{}, fmt.Errorf("finding a shell: %w", err)
}

// errNoBash is the error for a line that needs bash if there is none.
var errNoBash = errors.New("the command line needs bash, and there is none in PATH: install bash, or write the line for sh")

// check reports whether there is a shell that reads the line as it is meant.
func (l CommandLine) check() error {
	if !l.Bash {
		return nil
	}
	_, found, err := findShell()
	if err == nil && found.init != bashInit {
		err = errNoBash
	}
	return err
}

// checkLine is [CommandLine.check] where the shells of w run.
func (w *Workspace) checkLine(ctx context.Context, l CommandLine) error {
	if w.shell.away != nil {
		return w.shell.away.check(ctx, l)
	}
	return l.check()
}

// keep makes the state that the last line has saved the shell's state, if it is complete:
// exec may have replaced the shell, or the state may be too large.
func (sh *shell) keep() {
	_ = inFolder(sh.folder, func(shell *os.Root) error { // without, the last state stays
		data, err := plainFile(shell, "save", maxState)
		if err != nil || !bytes.HasSuffix(data, []byte("\n# complete\n")) {
			return err
		}
		dir, err := plainFile(shell, "folder", 1<<16)
		if err != nil {
			return err
		}
		if err := shell.Rename("save", "state"); err != nil {
			return err
		}
		sh.memory.Dir = strings.TrimSuffix(string(dir), "\n")
		sh.bare = !bytes.Contains(data, []byte(" () \n")) && !bytes.Contains(data, []byte("\nalias "))
		return nil
	})
}

// EndSession ends the shell and the jobs of a session and waits for them. A
// later line of the session has a new shell.
func (w *Workspace) EndSession(name string) error {
	s := &w.host().shell
	s.mu.Lock()
	sh := s.sessions[name]
	delete(s.sessions, name)
	s.mu.Unlock()
	if sh == nil {
		return nil
	}
	sh.end(errEnded)
	sh.turn <- struct{}{} // permanently: no caller finds this shell any more
	for _, j := range sh.jobs {
		j.process.Stop()
	}
	for _, j := range sh.jobs {
		<-j.done
	}
	if err := s.remove(sh.folder); err != nil {
		return fmt.Errorf("removing the files of the shell: %w", err)
	}
	return nil
}
