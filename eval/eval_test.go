package eval

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/sandbox"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/tool"
	"github.com/openagent-go/agent/tools"
	"github.com/openagent-go/agent/workspace"
)

// unconfined switches the sandbox off: these tests also run where there is none.
var unconfined = &sandbox.Settings{}

// scriptedVariant answers with the steps in each trial, and has tools for files.
func scriptedVariant(name string, steps ...llmtest.Step) Variant {
	return Variant{Name: name, Open: func(_ context.Context, p *Place) (*agent.Agent, error) {
		ws := &workspace.Workspace{Root: p.Dir}
		p.Cleanup(ws.Close)
		return &agent.Agent{Model: llmtest.Script(steps...), Dir: p.Dir, Tools: []tool.Tool{tools.Write(ws), tools.Read(ws)}, Permissions: permission.Policy{Mode: permission.AcceptEdits}}, nil
	}}
}

func write(path, content string) llmtest.Step {
	return llmtest.Call(llmtest.Use("c_"+path, "Write", map[string]string{"file_path": path, "content": content}))
}

func ptr[T any](v T) *T { return &v }

func TestRun(t *testing.T) {
	var places []string
	suite := &Suite{Name: "s", Sandbox: unconfined, Repetitions: 2, Cases: []Case{
		{Name: "good", Tags: []string{"fast"}, Prompts: []string{"Write a file.", "Say done."}, Files: map[string]string{"sub/given.txt": "given"},
			Setup: []string{"echo made > made.txt"},
			Graders: []Grader{
				Command("grep -q hello out.txt && grep -q made made.txt && grep -q given sub/given.txt"),
				File("out.txt", Content{Equals: ptr("hello")}),
				Answer(Content{Contains: []string{"done"}}),
				Trajectory(TrajectoryRules{Used: []string{"Write"}, Unused: []string{"Bash"}, Calls: 1, Turns: 3, USD: 1}),
				{Name: "own", Grade: func(_ context.Context, p *Place, t *Trial) (Grade, error) {
					places = append(places, p.Dir)
					return Grade{Passed: len(p.Events) > 5 && t.Turns == 3, Score: 0.75}, nil
				}},
			}},
		{Name: "bad", Prompts: []string{"Write a file."}, Graders: []Grader{Answer(Content{Equals: ptr("something else")}), Command("echo why; exit 3")}},
	}}
	e := &Evaluation{Suite: suite, Parallel: 1, Variants: []Variant{scriptedVariant("v", write("out.txt", "hello"), llmtest.Say("written"), llmtest.Say("done"))}}
	report, err := e.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(report.Cases, []string{"good", "bad"}) || !slices.Equal(report.Variants, []string{"v"}) || report.Stopped != "" || len(report.Trials) != 4 {
		t.Fatalf("%+v", report)
	}
	good, bad := report.Trials[1], report.Trials[2]
	if !good.Passed || good.Repetition != 2 || good.Prompts != 2 || good.Turns != 3 || good.ToolCalls != 1 || !slices.Equal(good.Tools, []string{"Write"}) ||
		good.Answer != "done" || good.End != "completed" || good.CostUSD == 0 || !good.CostKnown || good.Usage.Input == 0 || len(good.Grades) != 5 || good.Workspace != "" || good.Session != "" {
		t.Errorf("%+v", good)
	}
	if got := good.Grades[4]; got != (Grade{Grader: "own", Kind: "go", Passed: true, Score: 0.75}) {
		t.Errorf("%+v", got)
	}
	if bad.Passed || bad.Error != "" || bad.Case != "bad" || bad.Grades[0].Passed || bad.Grades[1].Detail != "exit code 3: why" {
		t.Errorf("%+v", bad)
	}
	if places[0] == places[1] {
		t.Errorf("two trials in %s", places[0])
	}
	for _, dir := range places {
		if _, err := os.Stat(filepath.Dir(filepath.Dir(dir))); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is left: %v", dir, err)
		}
	}
}

// An error, such as that of a provider which was down, is no result: the next Run repeats the trial,
// and the trials that have a result stay. If it is interrupted before, the report has the error.
func TestErrorsRunAgain(t *testing.T) {
	fine := Grader{Name: "fine", Grade: func(context.Context, *Place, *Trial) (Grade, error) { return Grade{Passed: true}, nil }}
	suite := &Suite{Name: "s", Sandbox: unconfined, Parallel: 1, Cases: []Case{
		{Name: "first", Prompts: []string{"p"}, Graders: []Grader{fine}},
		{Name: "second", Prompts: []string{"p"}, Graders: []Grader{fine}},
		{Name: "third", Prompts: []string{"p"}, Graders: []Grader{fine}},
	}}
	var runs []string
	down, interrupted := true, func() {}
	e := &Evaluation{Suite: suite, Dir: t.TempDir(), Variants: []Variant{{Name: "v", Open: func(_ context.Context, p *Place) (*agent.Agent, error) {
		runs = append(runs, p.Case.Name)
		interrupted()
		if down && p.Case.Name != "second" {
			return nil, errors.New("the provider is down")
		}
		return &agent.Agent{Model: llmtest.Script(llmtest.Say("a"))}, nil
	}}}}
	run := func(ctx context.Context, wantErr error, stopped bool, want ...string) {
		t.Helper()
		runs = nil
		report, err := e.Run(ctx)
		if !errors.Is(err, wantErr) {
			t.Fatalf("error %v, want %v", err, wantErr)
		}
		got := slices.Clone(runs)
		for _, x := range report.Trials {
			got = append(got, x.Case+": "+strconv.FormatBool(x.Error == ""))
		}
		if !slices.Equal(got, want) || (report.Stopped != "") != stopped {
			t.Errorf("got %q, want %q; stopped: %q", got, want, report.Stopped)
		}
	}
	run(t.Context(), nil, false, "first", "second", "third", "first: false", "second: true", "third: false")
	ctx, cancel := context.WithCancel(t.Context())
	interrupted = cancel
	run(ctx, context.Canceled, true, "first", "first: false", "second: true", "third: false")
	down, interrupted = false, func() {}
	run(t.Context(), nil, false, "first", "third", "first: true", "second: true", "third: true")
	run(t.Context(), nil, false, "first: true", "second: true", "third: true")
}

// Secrets of the environment are in no report and no journal of trials, also if an answer, a grader
// or an error has them. Sessions keep what models write.
func TestSecretsOfResults(t *testing.T) {
	const secret = "sk-test-0123456789abcdef"
	t.Setenv("SERVICE_API_KEY", secret)
	dir := t.TempDir()
	e := &Evaluation{Dir: dir, Variants: []Variant{scriptedVariant("v", llmtest.Say("the key is "+secret))}, Suite: &Suite{Name: "s", Sandbox: unconfined, Cases: []Case{
		{Name: "told", Prompts: []string{"p"}, Graders: []Grader{
			Answer(Content{Contains: []string{secret}}), // graders see it
			{Name: "tells", Grade: func(context.Context, *Place, *Trial) (Grade, error) { return Grade{Detail: secret}, nil }}}},
		{Name: "broken", Prompts: []string{"p"}, Setup: []string{"echo " + secret + "; exit 1"}, Graders: []Grader{Answer(Content{Contains: []string{"x"}})}},
	}}}
	report, err := e.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if told := report.Trials[0]; !told.Grades[0].Passed || told.Answer != "the key is ***" {
		t.Errorf("%+v", told)
	}
	err = filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.Name() == sessionsDir {
			return filepath.SkipDir
		}
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if strings.Contains(string(data), secret) {
			t.Errorf("%s has the secret", path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestErrorsOfTrials(t *testing.T) {
	one := Grader{Name: "fine", Grade: func(context.Context, *Place, *Trial) (Grade, error) { return Grade{Passed: true}, nil }}
	panics := one
	panics.Name, panics.Grade = "broken", func(context.Context, *Place, *Trial) (Grade, error) { panic("oh") }
	slow := Command("sleep 60")
	slow.Timeout = 50 * time.Millisecond
	for _, c := range []struct {
		name string
		c    Case
		v    Variant
		want string
	}{
		{"setup", Case{Setup: []string{"echo bad; exit 4"}, Graders: []Grader{one}}, scriptedVariant("v", llmtest.Say("a")), `preparing the trial: setup: "echo bad; exit 4" ended with exit code 4: bad`},
		{"silent setup", Case{Setup: []string{"exit 3"}, Graders: []Grader{one}}, scriptedVariant("v", llmtest.Say("a")), "\"exit 3\" ended with exit code 3"},
		{"panic of a grader", Case{Graders: []Grader{one, panics}}, scriptedVariant("v", llmtest.Say("a")), `grader "broken": panic: oh`},
		{"slow grader", Case{Graders: []Grader{slow}}, scriptedVariant("v", llmtest.Say("a")), "it took more than 50ms"},
		{"model", Case{Graders: []Grader{one}}, scriptedVariant("v", llmtest.Fail(&llm.APIError{Class: llm.Auth, Message: "wrong key"})), "wrong key"},
		{"open", Case{Graders: []Grader{one}}, Variant{Name: "v", Open: func(context.Context, *Place) (*agent.Agent, error) { panic("ah") }}, "opening the agent: panic: ah"},
		{"no agent", Case{Graders: []Grader{one}}, Variant{Name: "v", Open: func(context.Context, *Place) (*agent.Agent, error) { return nil, nil }}, "opening the agent: there is none"},
		{"cleanup", Case{Graders: []Grader{one}}, Variant{Name: "v", Open: func(_ context.Context, p *Place) (*agent.Agent, error) {
			p.Cleanup(func() error { return errors.New("stuck") })
			return &agent.Agent{Model: llmtest.Script(llmtest.Say("a"))}, nil
		}}, "cleaning up: stuck"},
		{"repository", Case{Repository: "/nowhere/at/all", Graders: []Grader{one}}, scriptedVariant("v", llmtest.Say("a")), "cloning /nowhere/at/all"},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.c.Name, c.c.Prompts = "c", []string{"p"}
			report, err := (&Evaluation{Suite: &Suite{Name: "s", Sandbox: unconfined, Cases: []Case{c.c}}, Variants: []Variant{c.v}}).Run(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if got := report.Trials[0]; got.Passed || got.Grades != nil || !strings.Contains(got.Error, c.want) || strings.HasSuffix(got.Error, ":") {
				t.Errorf("%+v, want %q", got, c.want)
			}
		})
	}
}

// Limits of a case end the agent, and graders look at what is there.
func TestLimits(t *testing.T) {
	many := make([]llmtest.Step, 10)
	for i := range many {
		many[i] = write(fmt.Sprint(i), "x")
	}
	for _, c := range []struct {
		name   string
		budget agent.Budget
		steps  []llmtest.Step
		end    event.EndReason
		turns  int
	}{
		{"turns", agent.Budget{Turns: 2}, many, event.MaxTurns, 2},
		{"usd", agent.Budget{USD: 1e-9}, many, event.MaxBudget, 0},
		{"time", agent.Budget{Time: 20 * time.Millisecond}, []llmtest.Step{{Delay: time.Minute}}, event.TimedOut, 0},
		{"turns of all prompts", agent.Budget{Turns: 1}, []llmtest.Step{llmtest.Say("one"), llmtest.Say("two")}, event.Completed, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			suite := &Suite{Name: "s", Cases: []Case{{Name: "c", Prompts: []string{"p", "q"}, Budget: c.budget, Graders: []Grader{File("nothing", Content{Absent: true})}}}}
			report, err := (&Evaluation{Suite: suite, Variants: []Variant{scriptedVariant("v", c.steps...)}}).Run(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if got := report.Trials[0]; got.End != string(c.end) || got.Turns != c.turns || !got.Passed || got.Prompts != 1 {
				t.Errorf("%+v", got)
			}
		})
	}
}

// The permissions of a case are joined with those of the agent; what would ask is denied.
func TestPermissions(t *testing.T) {
	steps := []llmtest.Step{write("a.txt", "x"), llmtest.Say("done")}
	variant := scriptedVariant("v", steps...)
	open := variant.Open
	variant.Open = func(ctx context.Context, p *Place) (*agent.Agent, error) {
		a, err := open(ctx, p)
		a.Permissions.Mode = permission.Default
		return a, err
	}
	there, absent := File("a.txt", Content{}), File("a.txt", Content{Absent: true})
	suite := &Suite{Name: "s", Cases: []Case{
		{Name: "asks", Prompts: []string{"p"}, Graders: []Grader{absent}},
		{Name: "mode", Prompts: []string{"p"}, Permissions: permission.Policy{Mode: permission.AcceptEdits}, Graders: []Grader{there}},
		{Name: "allow", Prompts: []string{"p"}, Permissions: permission.Policy{Allow: []permission.Rule{"Write"}}, Graders: []Grader{there}},
		{Name: "deny", Prompts: []string{"p"}, Permissions: permission.Policy{Mode: permission.AcceptEdits, Deny: []permission.Rule{"Write"}}, Graders: []Grader{absent}},
	}}
	Test(t, Evaluation{Suite: suite, Variants: []Variant{variant}})
}

// Trials in parallel do not spend more than the budget together, and nothing is recorded of a trial
// that the budget has stopped.
func TestBudget(t *testing.T) {
	suite := &Suite{Name: "s"}
	for i := range 20 {
		suite.Cases = append(suite.Cases, Case{Name: fmt.Sprint("c", i), Prompts: []string{"p"}, Graders: []Grader{Answer(Content{Contains: []string{"a"}})}})
	}
	dir := t.TempDir()
	variant := Variant{Name: "v", Open: func(context.Context, *Place) (*agent.Agent, error) {
		m := llmtest.Script(llmtest.Step{Text: "a", Usage: llm.Usage{Input: 100_000, Output: 1000}})
		m.Facts.MaxOutput = 1000
		return &agent.Agent{Model: m, MaxTokens: 1000}, nil
	}}
	e := &Evaluation{Suite: suite, Variants: []Variant{variant}, Parallel: 4, BudgetUSD: 0.5, Dir: dir}
	report, err := e.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var spent float64
	for _, trial := range report.Trials {
		spent += trial.CostUSD
	}
	if report.Stopped != "the budget of 0.5 USD is used up" || len(report.Trials) == 0 || len(report.Trials) >= 20 {
		t.Fatalf("%d trials, %.2f USD, %q", len(report.Trials), spent, report.Stopped)
	}
	before := len(report.Trials)
	e.BudgetUSD = 5
	if report, err = e.Run(t.Context()); err != nil || report.Stopped != "" || len(report.Trials) != 20 {
		t.Fatalf("after %d: %d trials, %q, %v", before, len(report.Trials), report.Stopped, err)
	}
}

func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	begun := make(chan bool, 2)
	variant := Variant{Name: "v", Open: func(context.Context, *Place) (*agent.Agent, error) {
		begun <- true
		return &agent.Agent{Model: llmtest.Script(llmtest.Step{Text: "a", Delay: time.Hour})}, nil
	}}
	suite := &Suite{Name: "s", Cases: []Case{{Name: "c", Prompts: []string{"p"}, Graders: []Grader{Answer(Content{Contains: []string{"a"}})}}}}
	enough := errors.New("enough")
	go func() { <-begun; cancel(enough) }()
	report, err := (&Evaluation{Suite: suite, Variants: []Variant{variant}, Dir: t.TempDir()}).Run(ctx)
	if !errors.Is(err, enough) || report.Stopped != "it was interrupted: enough" || len(report.Trials) != 0 {
		t.Errorf("%+v, %v", report, err)
	}
}

func TestResume(t *testing.T) {
	dir := t.TempDir()
	var runs sync.Map
	count := func(c string) *atomic.Int32 { v, _ := runs.LoadOrStore(c, new(atomic.Int32)); return v.(*atomic.Int32) }
	suite := &Suite{Name: "s"}
	for _, name := range []string{"a", "b", "c"} {
		suite.Cases = append(suite.Cases, Case{Name: name, Prompts: []string{"p"}, Graders: []Grader{Answer(Content{Contains: []string{"hi"}})}})
	}
	stop := 2
	ctx, cancel := context.WithCancel(t.Context())
	variant := Variant{Name: "v", Open: func(_ context.Context, p *Place) (*agent.Agent, error) {
		count(p.Case.Name).Add(1)
		return &agent.Agent{Model: llmtest.Script(llmtest.Say("hi"))}, nil
	}}
	e := &Evaluation{Suite: suite, Variants: []Variant{variant}, Parallel: 1, Dir: dir, Progress: func(Trial) {
		if stop--; stop == 0 {
			cancel()
		}
	}}
	if _, err := e.Run(ctx); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	// A crash has torn the last line.
	path := filepath.Join(dir, journalFile)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data[:len(data)-7], 0o600); err != nil {
		t.Fatal(err)
	}
	report, err := e.Run(t.Context())
	if err != nil || len(report.Trials) != 3 {
		t.Fatalf("%+v, %v", report, err)
	}
	for name, want := range map[string]int32{"a": 1, "b": 2, "c": 1} {
		if got := count(name).Load(); got != want {
			t.Errorf("case %s ran %d times, want %d", name, got, want)
		}
	}
	saved, err := os.ReadFile(filepath.Join(dir, reportFile))
	if err != nil {
		t.Fatal(err)
	}
	var again Report
	if err := json.Unmarshal(saved, &again); err != nil || !reflect.DeepEqual(&again, report) {
		t.Errorf("report.json: %v\n%s", err, saved)
	}
	// The sessions are kept.
	if _, _, err := sessionFacts(session.Dir(filepath.Join(dir, sessionsDir)), report.Trials[0].Session); err != nil {
		t.Error(err)
	}

	// Another suite, another version of it, other variants.
	for _, c := range []struct {
		change func(*Evaluation)
		want   string
	}{
		{func(e *Evaluation) { e.Suite.Cases[1].Prompts = []string{"q"} }, "the case b has changed"},
		{func(e *Evaluation) { e.Suite.Cases[1].Graders = []Grader{Command("true")} }, "the case b has changed"},
		{func(e *Evaluation) { e.Suite.Cases = e.Suite.Cases[:2] }, "the case c is gone"},
		{func(e *Evaluation) { e.Variants = append(e.Variants, scriptedVariant("w")) }, "the variants were v"},
		{func(e *Evaluation) { e.Repetitions = 3 }, "the repetitions were 1"},
	} {
		changed, other := *e, *suite
		other.Cases = slices.Clone(suite.Cases)
		changed.Suite = &other
		c.change(&changed)
		if _, err := changed.Run(t.Context()); !errors.Is(err, ErrChanged) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
	// A damaged line.
	if err := os.WriteFile(path, []byte(strings.Replace(string(data), `{"case"`, `{case`, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "trials.jsonl:2 is damaged") {
		t.Error(err)
	}
}

// Two evaluations do not write to the same folder.
func TestLocked(t *testing.T) {
	dir := t.TempDir()
	suite := &Suite{Name: "s", Cases: []Case{{Name: "c", Prompts: []string{"p"}, Graders: []Grader{Answer(Content{Contains: []string{"a"}})}}}}
	var inner error
	e := &Evaluation{Suite: suite, Dir: dir, Variants: []Variant{scriptedVariant("v", llmtest.Say("a"))}}
	e.Progress = func(Trial) {
		other := *e
		other.Progress = nil
		_, inner = other.Run(context.Background())
	}
	if _, err := e.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if inner == nil || !strings.Contains(inner.Error(), "another evaluation is writing") {
		t.Error(inner)
	}
}

func TestKeep(t *testing.T) {
	suite := &Suite{Name: "s", Cases: []Case{{Name: "c", Prompts: []string{"p"}, Graders: []Grader{File("out.txt", Content{Equals: ptr("hello")})}}}}
	e := &Evaluation{Suite: suite, Keep: true, Variants: []Variant{scriptedVariant("v", write("out.txt", "hello"), llmtest.Say("a"))}}
	report, err := e.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	kept := report.Trials[0].Workspace
	defer os.RemoveAll(filepath.Dir(filepath.Dir(kept)))
	if data, err := os.ReadFile(filepath.Join(kept, "out.txt")); err != nil || string(data) != "hello" {
		t.Errorf("%q, %v", data, err)
	}
}

func TestMistakes(t *testing.T) {
	v := scriptedVariant("v")
	fine := Case{Name: "c", Prompts: []string{"p"}, Graders: []Grader{Command("true")}}
	with := func(change func(*Case)) *Suite {
		c := fine
		change(&c)
		return &Suite{Name: "s", Cases: []Case{c}}
	}
	for _, c := range []struct {
		e    Evaluation
		want string
	}{
		{Evaluation{}, "must be set"},
		{Evaluation{Suite: &Suite{}, Variants: []Variant{v}}, "no cases"},
		{Evaluation{Suite: &Suite{Name: "s", Cases: []Case{fine, fine}}, Variants: []Variant{v}}, `two cases have the name "c"`},
		{Evaluation{Suite: &Suite{Name: "s", Cases: []Case{fine}}, Variants: []Variant{v, v}}, `variant "v" needs a name of its own`},
		{Evaluation{Suite: with(func(c *Case) { c.Name = "../c" }), Variants: []Variant{v}}, "its name must be letters"},
		{Evaluation{Suite: with(func(c *Case) { c.Prompts = []string{" "} }), Variants: []Variant{v}}, "a prompt is empty"},
		{Evaluation{Suite: with(func(c *Case) { c.Files = map[string]string{"../x": ""} }), Variants: []Variant{v}}, `the file "../x"`},
		{Evaluation{Suite: with(func(c *Case) { c.Repository = "--upload-pack=x" }), Variants: []Variant{v}}, "must not begin with -"},
		{Evaluation{Suite: with(func(c *Case) { c.Graders = nil }), Variants: []Variant{v}}, "it has no graders"},
		{Evaluation{Suite: with(func(c *Case) { c.Graders = []Grader{Judge("good?", 0)} }), Variants: []Variant{v}}, "there is no model for it"},
	} {
		if _, err := c.e.Run(t.Context()); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
}
