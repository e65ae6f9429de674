package eval

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"strings"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/eval"
	"github.com/openagent-go/agent/eval/report"
)

// forms are the flags of the commands that show results.
type forms struct {
	format            string
	html, junit, json string // files
}

func (o *forms) flags() cli.Flags {
	return append(cli.ListFlags(&o.format), cli.Flags{
		{Name: "html", Arg: "FILE", Path: true, Help: "also write one page of HTML, which needs no other file", Set: cli.Text(&o.html)},
		{Name: "json", Arg: "FILE", Path: true, Help: "also write the figures as JSON", Set: cli.Text(&o.json)},
	}...)
}

// write writes what the flags ask for: text or JSON to stdout, and files.
func (o *forms) write(ctx context.Context, h *cli.IO, text, json, html, junit func(io.Writer) error) error {
	for _, f := range []struct {
		file  string
		write func(io.Writer) error
	}{{o.html, html}, {o.json, json}, {o.junit, junit}} {
		if f.file == "" {
			continue
		}
		if err := cli.WriteFile(f.file, f.write); err != nil {
			return cli.CommandError(ctx, err)
		}
	}
	if o.format == cli.FormatJSON {
		return cli.WriteError(json(h.Out))
	}
	return cli.WriteError(text(h.Out))
}

// reportCommand returns the command "openagent eval report".
func reportCommand(h *cli.IO) cli.Command {
	o := new(forms)
	return cli.Command{Name: "report", Args: "DIR", MinArgs: 1, MaxArgs: 1, Summary: "Show what an evaluation found, as text, HTML, JUnit XML or JSON",
		Details: `DIR is the folder of the results, or a file report.json.
Intervals hold the true pass rate with 95 % confidence.
PASS^3 is the chance that three trials of a case all pass, PASS@3 that one of them does.
`,
		Examples: []string{"openagent eval report results", "openagent eval report results --html report.html --junit junit.xml"},
		Flags: func() cli.Flags {
			return append(o.flags(), cli.Flag{Name: "junit", Arg: "FILE", Path: true, Help: "also write JUnit XML, for CI", Set: cli.Text(&o.junit)})
		},
		Run: func(ctx context.Context, args []string) error {
			r, err := load(args[0])
			if err != nil {
				return err
			}
			as := func(write func(io.Writer, *eval.Report) error) func(io.Writer) error {
				return func(w io.Writer) error { return write(w, r) }
			}
			return o.write(ctx, h, as(report.Text), as(report.JSON), as(report.HTML), as(report.JUnit))
		}}
}

// load reads a report.
func load(name string) (*eval.Report, error) {
	r, err := report.Load(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, cli.Usagef("%w; an evaluation writes it when it ends or stops: openagent eval SUITE --resume DIR continues one that was killed", err)
	case err != nil:
		return nil, cli.Usagef("%w", err)
	}
	return r, nil
}

// variantOf returns a report with only the trials of one variant, or all of it for "".
func variantOf(r *eval.Report, name, file string) (*eval.Report, error) {
	if name == "" {
		return r, nil
	}
	one := *r
	one.Variants, one.Trials = nil, nil
	for _, v := range r.Variants {
		if v == name {
			one.Variants = []string{v}
		}
	}
	for _, t := range r.Trials {
		if t.Variant == name {
			one.Trials = append(one.Trials, t)
		}
	}
	if one.Variants == nil && one.Trials == nil {
		return nil, cli.Usagef("eval diff: %s has no variant %q; it has %s", file, name, strings.Join(r.Variants, ", "))
	}
	return &one, nil
}
