// Package demo is the command "openagent demo". It shows the library with scripted models,
// so it needs no key and costs nothing.
package demo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/settings"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/llmconst"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/anthropic"
	"github.com/openagent-go/agent/llm/catalog"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
	"github.com/openagent-go/agent/workspace"
)

const (
	demoRules  = "demo-rules"
	demoBackup = "demo-rules-backup" // answers where demoRules does not
	// demoPrices is the model whose prices a demo reckons with.
	demoPrices = llmconst.DefaultModel
	demoSystem = "This is a demo: rules answer in the place of a model."
	// demoPace is how long a terminal waits for each piece of an answer, and
	// demoPiece how long such a piece is in bytes.
	demoPace  = 12 * time.Millisecond
	demoPiece = 9
	// demoPatience is how long a call may take.
	demoPatience = 15 * time.Second
)

const demoDetails = `
The model's replies are rules, simulated. The loop, the wire, the tools, the
files and the permissions are real.

  fix      repairs a program whose tests fail, in a folder of its own (default)
  survey   reads a folder of yours, without changing anything, and reports
  chaos    does its work while everything goes wrong: refused calls, broken
           streams and inputs, tools that hang, panic and flood, a killed process
  team     starts six agents at once, and adds up what they report
`

var demoScenarios = []string{"fix", "survey", "chaos", "team"}

// Command returns the command "openagent demo".
func Command(h *cli.IO) cli.Command {
	c := &demoCall{scenario: "fix", format: cli.FormatText}
	return cli.Command{Name: "demo", Args: "[" + cli.Choice(demoScenarios) + "]", Choices: demoScenarios,
		Summary: "See an agent at work, without a key or a network", Details: demoDetails,
		Examples: []string{"openagent demo", "openagent demo survey --dir ."}, Flags: c.flags,
		Run: func(ctx context.Context, args []string) error { return showDemo(ctx, h, c, args) }}
}

// A demoCall is how the demo was called.
type demoCall struct {
	scenario string
	dir      string
	format   string
	keep     bool
}

func (c *demoCall) flags() cli.Flags {
	return cli.Flags{
		{Name: "dir", Arg: "DIR", Path: true, Help: "the folder that survey reads; the working folder if not given", Set: cli.Text(&c.dir)},
		{Name: "output-format", Arg: cli.Choice(settings.Formats), Words: settings.Formats, Help: "what goes to stdout", Set: cli.OneOf(&c.format, settings.Formats)},
		{Name: "keep", Help: "keep the folder that fix, chaos or team worked in", Set: cli.SetTrue(&c.keep)},
	}
}

// choose reads the arguments of the demo.
func (c *demoCall) choose(rest []string) error {
	names := demoScenarios
	switch {
	case len(rest) > 1:
		return cli.Usagef("demo takes one scenario: openagent demo %s", cli.Choice(names))
	case len(rest) == 1 && !slices.Contains(append(slices.Clip(names), demoVictim), rest[0]):
		return cli.Usagef("demo: %q is not a scenario%s: openagent demo %s", cli.Clip(rest[0]), cli.Suggestion(rest[0], names), cli.Choice(names))
	case len(rest) == 1:
		c.scenario = rest[0]
	}
	switch {
	case slices.Contains([]string{"fix", "chaos", "team"}, c.scenario) && c.dir != "":
		return cli.Usagef("--dir: demo %s works in a folder of its own; leave it out, or use openagent demo survey --dir %s", c.scenario, cli.Clip(c.dir))
	case c.scenario == "survey" && c.keep:
		return cli.Usagef("--keep: demo survey makes nothing that could be kept; leave it out")
	case c.scenario == "survey", c.scenario == demoVictim:
		c.dir = cmp.Or(c.dir, ".")
		return settings.CheckDir("--dir", c.dir)
	}
	return nil
}

// A showing is what a demo shows.
type showing struct {
	title string
	place string // a line about the folder
	terms string // a line about the settings, "" for none
	// workspace is where it happens.
	workspace *workspace.Workspace
	task      string // the prompt
	tools     []tool.Tool
	policy    permission.Policy
	retry     *agent.Retry
	fallbacks []string                         // models that take over
	answer    func(*conversation) llmtest.Step // what the model says next
	faults    *faults                          // what is done to the agent; nil: nothing
	// epilogue is what happens after the run; nil: nothing.
	epilogue func(ctx context.Context, to audience) error
	bodies   bool          // the output of commands is shown
	pace     time.Duration // between two pieces of what the model says
	next     [3]demoStep   // what to do after the demo
}

// A demoStep is a command to try next.
type demoStep struct{ command, about string }

// showDemo shows an agent at work without a key. ctx ends with the first signal.
func showDemo(ctx context.Context, h *cli.IO, c *demoCall, args []string) (err error) {
	if err := c.choose(args); err != nil {
		return err
	}
	if c.scenario == demoVictim {
		return bookUntilKilled(ctx, c.dir)
	}
	if _, err := exec.LookPath("sh"); err != nil {
		return cli.Usagef("demo needs a POSIX shell, and there is no sh in PATH; on Windows start it from Git Bash or WSL")
	}
	temp, err := os.MkdirTemp("", "openagent-demo-")
	if err != nil {
		return fmt.Errorf("making the demo's folder: %w; set TMPDIR to a folder that can be written", err)
	}
	if !c.keep {
		defer func() { err = errors.Join(err, os.RemoveAll(temp)) }()
	}
	scene := map[string]func(*demoCall, string) (*showing, error){"fix": newFix, "survey": newSurvey, "chaos": newChaos, "team": newTeam}[c.scenario]
	s, err := scene(c, temp)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.workspace.Close()) }() // before the folder goes
	if h.OutTerminal && c.format == cli.FormatText {
		s.pace = demoPace
	}
	return s.run(ctx, h, c.format, temp)
}

// An audience is who sees a demo.
type audience interface {
	event(ctx context.Context, e event.Event) error
	fault(f trial) error // how one of the showing's faults went
	finish(ctx context.Context, end event.RunEnd) error
}

// run shows s.
func (s *showing) run(ctx context.Context, h *cli.IO, format, temp string) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	v := newDemoView(h, s)
	server := &llmtest.Server{Rule: s.rule}
	defer server.Close()
	client := demoClient(server)
	a := &agent.Agent{
		Model: client.Model(demoRules), Dir: s.workspace.Root, Tools: s.tools, Permissions: s.policy,
		System: demoSystem, Output: &tool.Output{Dir: temp},
		CanUseTool: v.decide, Budget: agent.Budget{Turns: 20}, Retry: s.retry,
	}
	for _, name := range s.fallbacks {
		a.Fallbacks = append(a.Fallbacks, client.Model(name))
	}
	session := a.Session("")
	defer session.Close()
	var to audience = v
	if format != cli.FormatText {
		v.asks = false
		to = newDemoRecord(h, session, format, cancel)
	}
	if s.faults != nil {
		s.faults.requests = server.Requests
		to = jury{to, s.faults}
	}
	end, err := watch(ctx, session.Stream(ctx, s.task), to)
	switch {
	case err != nil && end.Reason == "":
		return cli.StartError(ctx, err)
	case err != nil:
		return err
	}
	if s.epilogue != nil && ctx.Err() == nil {
		if err := s.epilogue(ctx, to); err != nil {
			return err
		}
	}
	if err := to.finish(ctx, end); err != nil {
		return err
	}
	return demoVerdict(ctx, server.Violations(), s.faults, end)
}

// demoClient returns the real client for a server that stands in for the model.
func demoClient(s *llmtest.Server) *anthropic.Client {
	return &anthropic.Client{APIKey: "simulated", BaseURL: "http://simulated.invalid", HTTP: s.Client(), Catalog: demoCatalog()}
}

// watch shows the events of a run and returns its end.
func watch(ctx context.Context, events iter.Seq2[event.Event, error], to audience) (end event.RunEnd, err error) {
	for e, err := range events {
		if err != nil {
			if end.Reason != "" {
				err = nil // the end has said it
			}
			return end, err
		}
		if d, ok := e.Data.(event.RunEnd); ok {
			end = d
		}
		if err := to.event(ctx, e); err != nil {
			return end, err
		}
	}
	return end, nil
}

// demoVerdict returns nil for a demo that went as it should.
func demoVerdict(ctx context.Context, broken []string, tried *faults, end event.RunEnd) error {
	if err := legal(broken); err != nil {
		return err
	}
	o := cli.OutcomeOf(ctx, end)
	switch {
	case tried != nil && ctx.Err() != nil:
		return cli.ExitCode(cli.SignalCode(ctx))
	case tried != nil && tried.lost() != nil:
		return &cli.ExitError{Code: cli.ExitInternal, Err: fmt.Errorf("faults not handled: %s", strings.Join(tried.lost(), ", "))}
	case o.Code == cli.ExitDone, end.Reason == event.Completed:
		return nil
	case end.Reason == event.Interrupted:
		return cli.ExitCode(o.Code)
	}
	return &cli.ExitError{Code: cli.ExitInternal, Err: fmt.Errorf("the demo ended early: %s %s", end.Reason, end.Message)}
}

// legal returns an error for requests that broke rules of the wire.
func legal(broken []string) error {
	if len(broken) == 0 {
		return nil
	}
	return &cli.ExitError{Code: cli.ExitInternal, Err: fmt.Errorf("this is a bug of openagent: %s (%d in all)", broken[0], len(broken))}
}

// rule answers the requests to the model.
func (s *showing) rule(r *llmtest.Request, _ int) llmtest.Step {
	step := s.answer(newTalk(r))
	if step.Status == 0 {
		step.EventDelay = s.pace
	}
	step.Pieces = max(1, len(step.Text)/demoPiece)
	return step
}

// demoCatalog knows the demo's models, at the prices of a real one.
func demoCatalog() *catalog.Table {
	e, _ := catalog.Embedded().Lookup("", demoPrices)
	e.Aliases = nil
	t := &catalog.Table{}
	for _, e.Name = range []string{demoRules, demoBackup} {
		if err := t.Register(e); err != nil {
			panic(err) // the entry is one of ours
		}
	}
	return t
}

// A conversation is the conversation as the model sees it: the results so far, by the
// ids that the rules gave the calls.
type conversation struct {
	model    string // that is asked
	prompt   string // what it was asked first
	subagent bool   // it is an agent that works for another
	results  map[string]llmtest.Result
}

func newTalk(r *llmtest.Request) *conversation {
	t := &conversation{model: r.Model, results: map[string]llmtest.Result{}, subagent: !strings.HasPrefix(r.System, demoSystem)}
	if len(r.Messages) > 0 {
		t.prompt = r.Messages[0].Text()
	}
	for _, res := range r.AllResults() {
		t.results[res.Use.ID] = res
	}
	return t
}

// has reports whether the call has been answered.
func (t *conversation) has(id string) bool { _, ok := t.results[id]; return ok }

// failed reports whether the call has an error for a result.
func (t *conversation) failed(id string) bool { return t.results[id].IsError }

// text is what the call returned.
func (t *conversation) text(id string) string { return t.results[id].Text }

// output is what the call returned if it succeeded.
func (t *conversation) output(id string) string {
	if t.failed(id) {
		return ""
	}
	return t.text(id)
}

// shell is a call of Bash.
func shell(id, command string) llm.ToolUse {
	return llmtest.Use(id, "Bash", map[string]any{"command": command, "timeout": demoPatience.Milliseconds()})
}

func uses(calls ...llm.ToolUse) []llm.ToolUse { return calls }
