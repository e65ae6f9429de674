// Package eval is the command "openagent eval": it runs a suite of cases, see package eval of the
// library.
package eval

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/openagent-go/agent/cmd/openagent/internal/app"
	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/settings"
	"github.com/openagent-go/agent/eval"
	"github.com/openagent-go/agent/eval/report"
	"github.com/openagent-go/agent/internal/plainfile"
	"github.com/openagent-go/agent/internal/safefile"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/sandbox"
)

// options are the flags of the command.
type options struct {
	settings.Options
	models, prompts, cases, tags []string
	repeat, parallel             int
	usd                          float64
	out, resume, judge           string
	trust, keep                  bool
	memory, confined             string
	remember, sandbox            func(string) error // set --memory and --sandbox of the agents
}

// notHere are the flags of jobs that mean nothing to an evaluation, or that it has of its own.
var notHere = []string{"cwd", "model", "system-prompt", "no-session-persistence", "session-dir", "store", "json-schema", "trace", "max-budget-usd", "max-turns", "timeout", "memory"}

var memoryWords = []string{"on", "off", "both"}

// Command returns the command "openagent eval".
func Command(h *cli.IO) cli.Command {
	o := new(options)
	return cli.Command{Name: "eval", Args: "SUITE", MaxArgs: 1, Summary: "Evaluate agents with a suite of cases",
		Details: `SUITE is a folder with the file suite.yaml; docs/evaluations.md describes it.
Each case runs with each model and each prompt: in a copy of its files, in the sandbox, without a
person. Calls that would ask are denied unless the suite allows them.
The commands of a suite are programs that you run. They are in the sandbox, too.
A suite that leaves the sandbox or allows calls by rules needs --trust.
Without --model it is the scripted one if all cases have a script, else that of your settings.
Exit codes: 0 all trials passed, 1 some did not, 2 usage or a mistake in the suite, 6 the budget is
used up.
`,
		Examples: []string{"openagent eval evals", "openagent eval evals --model claude-sonnet-4-6 --model claude-haiku-4-5 --repeat 3 --budget 5", "openagent eval evals --resume results"},
		Common:   []string{"model", "prompt", "repeat", "parallel", "budget", "out", "resume", "case", "tag", "memory", "judge", "keep", "trust", "sandbox", "output-format"},
		Flags:    o.flags,
		Run:      func(ctx context.Context, args []string) error { return run(ctx, h, o, args) },

		Subcommands: []cli.Command{reportCommand(h), diffCommand(h), importCommand(h)},
		Footer:      "Flags of a prompt apply, too: openagent help flags. openagent eval report --help shows the flags of a command.\n"}
}

func (o *options) flags() cli.Flags {
	switches := []string{"on", "off"}
	own := cli.Flags{
		{Name: "model", Arg: "NAME", Help: "a model to evaluate, or script for the scripted models of the cases; may be repeated", Set: cli.Append(&o.models)},
		{Name: "prompt", Arg: "FILE", Path: true, Help: "instructions to evaluate in place of the built-in ones, which are called default; may be repeated", Set: cli.Append(&o.prompts)},
		{Name: "repeat", Arg: "N", Help: "runs of each case (default: as the suite says, else 1)", Set: cli.Count(&o.repeat)},
		{Name: "parallel", Arg: "N", Help: "trials at the same time (default: as the suite says, else 2)", Set: cli.Count(&o.parallel)},
		{Name: "budget", Arg: "USD", Help: "limit of the cost of all trials together, judges included", Set: cli.Dollars(&o.usd)},
		{Name: "out", Arg: "DIR", Path: true, Help: "new folder for the results (default: one in the folder evals of OPENAGENT_HOME)", Set: cli.Text(&o.out)},
		{Name: "resume", Arg: "DIR", Path: true, Help: "run what is missing in a folder of results; repeat the other flags", Set: cli.Text(&o.resume)},
		{Name: "case", Arg: "PATTERN", Help: "only cases whose names match, such as 'build-*'; may be repeated", Set: cli.Append(&o.cases)},
		{Name: "tag", Arg: "TAG", Help: "only cases with this tag; may be repeated", Set: cli.Append(&o.tags)},
		{Name: "memory", Arg: cli.Choice(memoryWords), Words: memoryWords, Help: "agents with the memory in the files of the case, or without, or both (default: as the settings say)", Set: cli.OneOf(&o.memory, memoryWords)},
		{Name: "judge", Arg: "NAME", Help: "model for judges (default: as the suite says)", Set: cli.Text(&o.judge)},
		{Name: "keep", Help: "keep the folders of the trials", Set: cli.SetTrue(&o.keep)},
		{Name: "trust", Help: "accept that the suite leaves the sandbox and allows calls", Set: cli.SetTrue(&o.trust)},
	}
	var rest cli.Flags
	for _, f := range o.JobFlags() {
		switch {
		case f.Name == "memory":
			o.remember = f.Set
		case f.Name == "sandbox":
			o.sandbox = f.Set
			f.Arg, f.Words, f.Help = cli.Choice(switches), switches, "run the commands of agents and suite in the OS sandbox (default on)"
			f.Set = cli.OneOf(&o.confined, switches)
			rest = append(rest, f)
		case !slices.Contains(notHere, f.Name):
			rest = append(rest, f)
		}
	}
	return append(append(cli.ListFlags(&o.Output), own...), rest...)
}

// run evaluates a suite.
func run(ctx context.Context, h *cli.IO, o *options, args []string) error {
	if len(args) != 1 {
		return cli.Usagef("eval: write the folder of a suite, such as openagent eval evals")
	}
	if o.out != "" && o.resume != "" {
		return cli.Usagef("eval: use --out or --resume, not both")
	}
	if o.confined == "" {
		o.confined = "on"
	}
	format := o.Output
	o.Output, o.Print = "", true
	if err := o.sandbox(o.confined); err != nil {
		return err
	}
	if err := o.Check(); err != nil {
		return err
	}
	suite, err := eval.Load(args[0])
	if err != nil {
		return mistakes{err}
	}
	if err := o.choose(suite); err != nil {
		return err
	}
	if err := o.confine(suite); err != nil {
		return err
	}
	e := &eval.Evaluation{Suite: suite, Repetitions: o.repeat, Parallel: o.parallel, BudgetUSD: o.usd, Keep: o.keep}
	if e.Dir, err = o.folder(h, suite.Name); err != nil {
		return err
	}
	private, err := private(args[0], e.Dir)
	if err != nil {
		return err
	}
	if e.Variants, err = o.variants(ctx, h, suite, private); err != nil {
		return err
	}
	if e.Judge, err = o.judgeModel(ctx, h, suite); err != nil {
		return err
	}
	return o.evaluate(ctx, h, e, format)
}

// mistakes are those of a suite, each on its line.
type mistakes struct{ error }

// ExitCode implements [cli.PageError].
func (mistakes) ExitCode() int { return cli.ExitUsage }

// evaluate runs the evaluation, shows the report, and writes it to files.
func (o *options) evaluate(ctx context.Context, h *cli.IO, e *eval.Evaluation, format string) error {
	total, done := len(e.Suite.Cases)*len(e.Variants)*max(cmp.Or(e.Repetitions, e.Suite.Repetitions), 1), 0
	if o.resume != "" {
		done = earlier(e.Dir)
	}
	e.Progress = func(t eval.Trial) {
		done++
		fmt.Fprintln(h.Err, h.OneLine(progress(done, total, t, len(e.Variants) > 1)))
	}
	r, err := e.Run(ctx)
	if r == nil {
		return cli.Usagef("%w", err)
	}
	if shown := o.show(h, r, e.Dir, format); shown != nil {
		return shown
	}
	switch {
	case err != nil && ctx.Err() != nil:
		h.Warn("%d of %d trials have ended; continue with --resume %s", len(r.Trials), total, e.Dir)
		return cli.CommandError(ctx, err)
	case err != nil:
		return err
	case r.Stopped != "":
		return &cli.ExitError{Code: cli.ExitLimit, Err: fmt.Errorf("%s; raise --budget and continue with --resume %s", r.Stopped, e.Dir)}
	}
	for _, t := range r.Trials {
		if !t.Passed {
			return cli.ExitCode(cli.ExitInternal)
		}
	}
	return nil
}

// show writes the report to the folder of results and to stdout.
func (o *options) show(h *cli.IO, r *eval.Report, dir, format string) error {
	for name, write := range map[string]func(io.Writer, *eval.Report) error{"report.html": report.HTML, "junit.xml": report.JUnit} {
		var b bytes.Buffer
		if err := write(&b, r); err != nil {
			return err
		}
		if err := (safefile.Replacement{}).Bytes(filepath.Join(dir, name), b.Bytes()); err != nil {
			return fmt.Errorf("writing %s: %w", name, err)
		}
	}
	write := report.Text
	if format == cli.FormatJSON {
		write = func(_ io.Writer, r *eval.Report) error { return cli.ShowLine(h, r) }
	}
	if err := write(h.Out, r); err != nil {
		return cli.WriteError(err)
	}
	fmt.Fprintf(h.Err, "results: %s\n", dir)
	return nil
}

// earlier returns how many trials a folder of results has.
func earlier(dir string) int {
	data, err := plainfile.ReadFile(filepath.Join(dir, trialsFile), 1<<30)
	if err != nil {
		return 0
	}
	return max(bytes.Count(data, []byte("\n"))-1, 0)
}

// trialsFile is the journal in a folder of results.
const trialsFile = "trials.jsonl"

// progress is the line about a trial that has ended.
func progress(n, total int, t eval.Trial, variants bool) string {
	name := t.Case
	if variants {
		name += ", " + t.Variant
	}
	if t.Repetition > 1 {
		name += fmt.Sprintf(", repetition %d", t.Repetition)
	}
	result := "passed"
	switch {
	case t.Error != "":
		result = "error: " + cli.Clip(t.Error)
	case !t.Passed:
		result = "failed"
		for _, g := range t.Grades {
			if !g.Passed {
				result = "failed: " + g.Grader + ": " + cli.Clip(g.Detail)
				break
			}
		}
	}
	return fmt.Sprintf("[%d/%d] %s: %s (%s, %s)", n, total, name, result, t.Duration.Round(100*time.Millisecond), cost(t))
}

func cost(t eval.Trial) string {
	if !t.CostKnown {
		return app.CostText(nil)
	}
	return app.CostText(&t.CostUSD)
}

// choose leaves only the cases that flags name.
func (o *options) choose(s *eval.Suite) error {
	for _, pattern := range o.cases {
		if _, err := filepath.Match(pattern, ""); err != nil {
			return cli.Usagef("--case %s: %w", cli.Clip(pattern), err)
		}
	}
	all := len(s.Cases)
	s.Cases = slices.DeleteFunc(s.Cases, func(c eval.Case) bool {
		named := len(o.cases) == 0 || slices.ContainsFunc(o.cases, func(p string) bool { ok, _ := filepath.Match(p, c.Name); return ok })
		tagged := len(o.tags) == 0 || slices.ContainsFunc(o.tags, func(t string) bool { return slices.Contains(c.Tags, t) })
		return !named || !tagged
	})
	if len(s.Cases) == 0 {
		return cli.Usagef("none of the %s matches --case and --tag", cli.Plural(all, "case"))
	}
	return nil
}

// confine refuses a suite that leaves the sandbox or allows calls, unless the user trusts it.
func (o *options) confine(s *eval.Suite) error {
	var loose []string
	if b := s.Sandbox; b != nil {
		if !b.Enabled && o.confined == "on" {
			loose = append(loose, "runs its commands without a sandbox")
		}
		if len(b.Network.AllowedDomains) > 0 {
			loose = append(loose, "lets its commands reach "+strings.Join(b.Network.AllowedDomains, ", "))
		}
		if len(b.Filesystem.AllowWrite) > 0 {
			loose = append(loose, "lets its commands write to "+strings.Join(b.Filesystem.AllowWrite, ", "))
		}
	}
	for _, c := range s.Cases {
		if len(c.Permissions.Allow) > 0 {
			loose = append(loose, fmt.Sprintf("allows %s in the case %s", c.Permissions.Allow[0], c.Name))
			break
		}
	}
	for _, c := range s.Cases {
		if mode := c.Permissions.Mode; mode == permission.Bypass || mode == permission.Auto {
			loose = append(loose, fmt.Sprintf("has the mode %s in the case %s", mode, c.Name))
			break
		}
	}
	if len(loose) > 0 && !o.trust {
		return cli.Usagef("the suite %s; review it, then add --trust", strings.Join(loose, ", "))
	}
	if o.confined == "off" {
		own := sandbox.Settings{}
		if s.Sandbox != nil {
			own = *s.Sandbox
		}
		own.Enabled = false
		s.Sandbox = &own
	}
	return nil
}

// folder returns the folder of the results.
func (o *options) folder(h *cli.IO, suite string) (string, error) {
	results := func(dir string) bool {
		_, err := os.Stat(filepath.Join(dir, trialsFile))
		return err == nil
	}
	switch {
	case o.resume != "":
		if !results(o.resume) {
			return "", cli.Usagef("--resume %s: there are no results of an evaluation", o.resume)
		}
		return filepath.Abs(o.resume)
	case o.out != "":
		if results(o.out) {
			return "", cli.Usagef("--out %s: there are results already; continue with --resume %[1]s, or choose another folder", o.out)
		}
		return filepath.Abs(o.out)
	}
	home, err := h.Home()
	if err != nil {
		return "", err
	}
	name := strings.Map(func(r rune) rune {
		if r == '/' || r == '\\' || r == ':' || r == 0 {
			return '-'
		}
		return r
	}, suite)
	for at := time.Now(); ; at = at.Add(time.Second) {
		if dir := filepath.Join(home, "evals", name+"-"+at.UTC().Format("20060102-150405")); !results(dir) {
			return dir, nil
		}
	}
}

// private returns the folders that agents must not see: the graders, and the results of others.
func private(folders ...string) (out []string, err error) {
	for _, f := range folders {
		if f, err = filepath.Abs(f); err != nil {
			return nil, err
		}
		f = cli.ResolveFolder(f)
		if rel, err := filepath.Rel(f, cli.ResolveFolder(os.TempDir())); err == nil && filepath.IsLocal(rel) {
			return nil, cli.Usagef("the folder for temporary files, %s, is in %s, which agents must not see; set TMPDIR to another one", os.TempDir(), f)
		}
		out = append(out, f)
	}
	return out, nil
}
