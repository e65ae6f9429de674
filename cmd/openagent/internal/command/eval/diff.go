package eval

import (
	"context"
	"io"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/eval/report"
)

// diffOptions are the flags of eval diff.
type diffOptions struct {
	forms
	oldVariant, newVariant string
	strict                 bool
}

// diffCommand returns the command "openagent eval diff".
func diffCommand(h *cli.IO) cli.Command {
	o := new(diffOptions)
	return cli.Command{Name: "diff", Args: "OLD NEW", MinArgs: 2, MaxArgs: 2, Summary: "Compare the results of two evaluations",
		Details: `OLD and NEW are folders of results, or files report.json.
Variants of the same name are compared, by the cases that both have.
To compare variants of one evaluation, name it twice, with --old-variant and --new-variant.
p is the chance of such a difference if nothing had changed.
Below 0.05 the difference counts as beyond chance.
Exit codes: 0 nothing is worse beyond chance, 1 a variant is, or with --strict a case is, 2 usage.
`,
		Examples: []string{"openagent eval diff results/before results/after", "openagent eval diff results results --old-variant claude-haiku-4-5 --new-variant claude-sonnet-4-5"},
		Flags: func() cli.Flags {
			return append(o.flags(), cli.Flags{
				{Name: "old-variant", Arg: "NAME", Help: "the only variant of OLD to compare", Set: cli.Text(&o.oldVariant)},
				{Name: "new-variant", Arg: "NAME", Help: "the only variant of NEW to compare", Set: cli.Text(&o.newVariant)},
				{Name: "strict", Help: "exit with 1 if any case passes less often", Set: cli.SetTrue(&o.strict)},
			}...)
		},
		Run: func(ctx context.Context, args []string) error { return diff(ctx, h, o, args[0], args[1]) }}
}

func diff(ctx context.Context, h *cli.IO, o *diffOptions, before, after string) error {
	r, err := load(before)
	if err != nil {
		return err
	}
	old, err := variantOf(r, o.oldVariant, before)
	if err != nil {
		return err
	}
	if r, err = load(after); err != nil {
		return err
	}
	now, err := variantOf(r, o.newVariant, after)
	if err != nil {
		return err
	}
	c, err := report.Compare(old, now)
	if err != nil {
		return cli.Usagef("eval diff: %w", err)
	}
	asJSON := func(w io.Writer) error {
		line, err := cli.EncodeLine(c)
		if err == nil {
			_, err = w.Write(line)
		}
		return err
	}
	if err := o.write(ctx, h, c.Text, asJSON, c.HTML, nil); err != nil {
		return err
	}
	if c.Significant() || o.strict && len(c.Worse()) > 0 {
		return cli.ExitCode(cli.ExitInternal)
	}
	return nil
}
