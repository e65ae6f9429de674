package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/sandbox"
)

// TestScripts drives the program against a strict server. Beside the commands of
// testscript there are
//
//	model STEPS.json        starts a server that plays the steps, and points the environment to it
//	requests N              the server was asked N times
//	asked TEXT              some request to the server holds TEXT
//	code N openagent …      runs the program, which exits with N
//	drive N FILE openagent …  runs the program and follows FILE: send LINE, raw TEXT, wait SELECT [PATH=VALUE],
//	    signal NAME, pause TIME, eof
//	field SELECT PATH=VALUE…  a line of the last output that SELECT names has these values
//	lines FIRST LAST        the last output is whole: JSON lines with ids, the first and last of these kinds
//	web NAME               starts a web server, and puts host:port into the variable
//	tree DIR FILE           writes to FILE all that is in DIR but .git: paths, modes, links, hashes of contents
//
// SELECT is a type, or type/subtype. The condition sandbox is that the system
// confines commands.
func TestScripts(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the scripts use signals and a POSIX shell")
	}
	t.Parallel()
	t.Cleanup(func() {
		for url, s := range servers.byURL {
			for _, v := range s.Violations() {
				t.Errorf("server %s: %s", url, v)
			}
		}
	})
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata",
		RequireExplicitExec: true,
		Setup:               setUpScript,
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"model": cmdModel, "requests": cmdRequests, "asked": cmdAsked, "code": cmdCode, "drive": cmdDrive, "field": cmdField, "lines": cmdLines,
			"tree": cmdTree, "web": cmdWeb,
		},
		Condition: func(name string) (bool, error) {
			if name != "sandbox" {
				return false, fmt.Errorf("there is no condition %s", name)
			}
			return confines(), nil
		},
	})
}

// setUpScript gives a script a home of its own.
func setUpScript(e *testscript.Env) error {
	e.Setenv("HOME", e.WorkDir+"/home")
	e.Setenv("TERM", "dumb")
	e.Setenv("GORACE", quickEnd)
	e.Setenv("GOCOVERDIR", os.Getenv("GOCOVERDIR"))
	return os.MkdirAll(filepath.Join(e.WorkDir, "home"), 0o700)
}

// confines reports whether commands can be confined here.
func confines() bool {
	box, err := sandbox.New(sandbox.Settings{Enabled: true}, sandbox.Place{Dir: os.TempDir()})
	if err != nil {
		return false
	}
	_ = box.Close()
	return true
}

// A scriptStep is a step of a server as scripts write it.
type scriptStep struct {
	Text, Thinking string
	Calls          []struct {
		ID, Name string
		Input    json.RawMessage
	}
	Stop       string
	Status     int
	RetryAfter int `json:"retry_after"`
	Message    string
	Delay      string
	EventDelay string `json:"event_delay"`
	CutAfter   int    `json:"cut_after"`
	Pieces     int
	Usage      llm.Usage
}

func (s scriptStep) step() (llmtest.Step, error) {
	out := llmtest.Step{Text: s.Text, Thinking: s.Thinking, Stop: llm.StopReason(s.Stop), Usage: s.Usage, Status: s.Status, CutAfter: s.CutAfter, Pieces: s.Pieces}
	for _, c := range s.Calls {
		out.Calls = append(out.Calls, llmtest.Use(c.ID, c.Name, c.Input))
	}
	if s.Status != 0 {
		e := &llm.APIError{Status: s.Status, Message: s.Message}
		if s.RetryAfter > 0 {
			e.RetryAfter = time.Duration(s.RetryAfter) * time.Second
		}
		out.Err = e
	}
	for text, to := range map[string]*time.Duration{s.Delay: &out.Delay, s.EventDelay: &out.EventDelay} {
		if text == "" {
			continue
		}
		d, err := time.ParseDuration(text)
		if err != nil {
			return out, err
		}
		*to = d
	}
	return out, nil
}

const serverVar = "TEST_SERVER"

// servers are those of the scripts, by their URL.
var servers = struct {
	byURL map[string]*llmtest.Server
	turn  chan struct{}
}{map[string]*llmtest.Server{}, make(chan struct{}, 1)}

func serverOf(ts *testscript.TestScript) *llmtest.Server {
	servers.turn <- struct{}{}
	defer func() { <-servers.turn }()
	s := servers.byURL[ts.Getenv(serverVar)]
	if s == nil {
		ts.Fatalf("no server runs")
	}
	return s
}

func cmdModel(ts *testscript.TestScript, neg bool, args []string) {
	s := new(llmtest.Server)
	if len(args) == 2 && args[0] == "-keyless" {
		s.Keyless, args = true, args[1:]
	}
	if neg || len(args) != 1 {
		ts.Fatalf("usage: model [-keyless] STEPS.json")
	}
	var list []scriptStep
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(args[0])), &list))
	for _, l := range list {
		step, err := l.step()
		ts.Check(err)
		s.Steps = append(s.Steps, step)
	}
	ts.Check(s.Listen())
	servers.turn <- struct{}{}
	servers.byURL[s.URL] = s
	<-servers.turn
	ts.Defer(s.Close)
	ts.Setenv(serverVar, s.URL)
	ts.Setenv("ANTHROPIC_API_KEY", "sk-test-SECRETSECRET")
	ts.Setenv("ANTHROPIC_BASE_URL", s.URL)
}

func cmdRequests(ts *testscript.TestScript, neg bool, args []string) {
	want, err := strconv.Atoi(strings.Join(args, ""))
	ts.Check(err)
	if got := len(serverOf(ts).Requests()); (got == want) == neg {
		ts.Fatalf("the server was asked %d times", got)
	}
}

func cmdAsked(ts *testscript.TestScript, neg bool, args []string) {
	want := strings.Join(args, " ")
	found := false
	for _, r := range serverOf(ts).Requests() {
		found = found || bytes.Contains(r.Body, []byte(want))
	}
	if found == neg {
		ts.Fatalf("asked %q: %v", want, found)
	}
}

// exitCode returns the code that err tells of.
func exitCode(err error) int {
	var e *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &e):
		return e.ExitCode()
	}
	return -1
}

func cmdCode(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: code N COMMAND…")
	}
	err := ts.Exec(args[1], args[2:]...)
	if got := strconv.Itoa(exitCode(err)); got != args[0] {
		ts.Fatalf("exit code %s, want %s (%v)", got, args[0], err)
	}
	ts.Check(os.WriteFile(ts.MkAbs("out"), []byte(ts.ReadFile("stdout")), 0o600))
}

const driveTime = 20 * time.Second

func cmdDrive(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 {
		ts.Fatalf("usage: drive N FILE COMMAND…")
	}
	ctx, cancel := context.WithTimeout(context.Background(), driveTime)
	defer cancel()
	path := ""
	for _, dir := range filepath.SplitList(ts.Getenv("PATH")) {
		if p := filepath.Join(dir, args[2]); path == "" && exec.Command(p).Err == nil {
			if _, err := os.Stat(p); err == nil {
				path = p
			}
		}
	}
	cmd := exec.CommandContext(ctx, path, args[3:]...)
	cmd.Dir = ts.MkAbs(".")
	for _, name := range []string{"PATH", "HOME", "TERM", "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "DEEPSEEK_API_KEY", "DEEPSEEK_BASE_URL", "GOCOVERDIR", "GORACE", managedVar} {
		cmd.Env = append(cmd.Env, name+"="+ts.Getenv(name))
	}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	in, err := cmd.StdinPipe()
	ts.Check(err)
	out, err := cmd.StdoutPipe()
	ts.Check(err)
	ts.Check(cmd.Start())
	all, failed := follow(ts, ts.ReadFile(args[1]), cmd, in, bufio.NewReader(out))
	in.Close()
	err = cmd.Wait()
	ts.Check(os.WriteFile(ts.MkAbs("out"), all, 0o600))
	ts.Check(os.WriteFile(ts.MkAbs("err"), stderr.Bytes(), 0o600))
	ts.Logf("%s%s", all, stderr.Bytes())
	if failed != nil {
		ts.Fatalf("%v", failed)
	}
	if got := strconv.Itoa(exitCode(err)); got != args[0] {
		ts.Fatalf("exit code %s, want %s", got, args[0])
	}
}

// follow does what a script of drive says, and returns the output.
func follow(ts *testscript.TestScript, script string, cmd *exec.Cmd, in io.WriteCloser, out *bufio.Reader) (all []byte, err error) {
	last := map[string]any{}
	defer func() {
		if err != nil {
			cmd.Process.Kill()
		}
		rest, _ := io.ReadAll(out)
		all = append(all, rest...)
	}()
	for line := range strings.Lines(script) {
		verb, arg, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch verb {
		case "send":
			id, _ := last["request_id"].(string)
			_, err = io.WriteString(in, strings.ReplaceAll(arg, "LAST_ID", id)+"\n")
		case "raw":
			_, err = io.WriteString(in, arg+"\n")
		case "pause":
			var d time.Duration
			d, err = time.ParseDuration(arg)
			time.Sleep(d)
		case "eof":
			err = in.Close()
		case "signal":
			err = cmd.Process.Signal(map[string]os.Signal{"INT": os.Interrupt, "TERM": syscall.SIGTERM, "KILL": os.Kill}[arg])
		case "wait":
			for {
				var text []byte
				if text, err = out.ReadBytes('\n'); err != nil {
					return all, fmt.Errorf("%s: %w", line, err)
				}
				all = append(all, text...)
				last = map[string]any{}
				if err = json.Unmarshal(text, &last); err != nil {
					return all, err
				}
				kind, value, _ := strings.Cut(arg, " ")
				if selects(kind, last) && (value == "" || holds(last, value)) {
					break
				}
			}
		case "":
		default:
			err = fmt.Errorf("unknown verb %q", verb)
		}
		if err != nil {
			return all, fmt.Errorf("%s: %w", line, err)
		}
	}
	return all, nil
}

// selects reports whether a line is of a kind: a type, or type/subtype, where a
// control message has the subtype of its body.
func selects(kind string, line map[string]any) bool {
	typ, sub, _ := strings.Cut(kind, "/")
	got := line["subtype"]
	for _, body := range []string{"request", "response", "event"} {
		if m, ok := line[body].(map[string]any); ok {
			got = m["subtype"]
			if body == "event" {
				got = m["type"]
			}
		}
	}
	return line["type"] == typ && (sub == "" || got == sub)
}

func outLines(ts *testscript.TestScript) []map[string]any {
	var list []map[string]any
	for text := range strings.Lines(ts.ReadFile("out")) {
		line := map[string]any{}
		if err := json.Unmarshal([]byte(text), &line); err != nil {
			ts.Fatalf("not a line of JSON: %q: %v", text, err)
		}
		list = append(list, line)
	}
	return list
}

func cmdField(ts *testscript.TestScript, neg bool, args []string) {
	var seen []string
	for _, line := range outLines(ts) {
		if !selects(args[0], line) {
			continue
		}
		if slices.IndexFunc(args[1:], func(want string) bool { return !holds(line, want) }) < 0 {
			if neg {
				ts.Fatalf("there is such a line: %v", line)
			}
			return
		}
		data, _ := json.Marshal(line)
		seen = append(seen, string(data))
	}
	if !neg {
		ts.Fatalf("no line %v among\n%s", args, strings.Join(seen, "\n"))
	}
}

// holds reports whether a line has a value: PATH=VALUE, or PATH~PART of it.
func holds(line map[string]any, want string) bool {
	i := strings.IndexAny(want, "=~")
	if i < 0 {
		return false
	}
	var v any = line
	for name := range strings.SplitSeq(want[:i], ".") {
		switch x := v.(type) {
		case map[string]any:
			v = x[name]
		case []any:
			n, err := strconv.Atoi(name)
			if err != nil || n >= len(x) {
				return false
			}
			v = x[n]
		default:
			return false
		}
	}
	text, ok := v.(string)
	if !ok {
		data, _ := json.Marshal(v)
		text = string(data)
	}
	if want[i] == '~' {
		return strings.Contains(text, want[i+1:])
	}
	return text == want[i+1:]
}

func cmdLines(ts *testscript.TestScript, neg bool, args []string) {
	list := outLines(ts)
	if neg || len(args) != 2 || len(list) == 0 {
		ts.Fatalf("usage: lines FIRST LAST, with an output")
	}
	if !selects(args[0], list[0]) || !selects(args[1], list[len(list)-1]) {
		ts.Fatalf("the output runs from %v to %v", list[0], list[len(list)-1])
	}
	seen := map[any]bool{}
	for _, l := range list {
		if l["uuid"] == nil || l["uuid"] == "" || l["session_id"] == nil || seen[l["uuid"]] {
			ts.Fatalf("a line without ids of its own: %v", l)
		}
		seen[l["uuid"]] = true
	}
}

func cmdTree(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: tree DIR FILE")
	}
	var b strings.Builder
	ts.Check(filepath.WalkDir(ts.MkAbs(args[0]), func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if e.Name() == ".git" {
			return fs.SkipDir
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		what := ""
		switch {
		case info.Mode().IsRegular():
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			what = fmt.Sprintf("%x", sha256.Sum256(data))
		case info.Mode().Type() == fs.ModeSymlink:
			if what, err = os.Readlink(path); err != nil {
				return err
			}
		}
		_, err = fmt.Fprintf(&b, "%s %v %s\n", path, info.Mode(), what)
		return err
	}))
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(b.String()), 0o600))
}
