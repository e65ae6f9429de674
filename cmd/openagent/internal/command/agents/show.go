package agents

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/internal/terminal"
)

func showAgent(ctx context.Context, h *cli.IO, o *agentsOptions, name string) error {
	all, err := loadAgents(ctx, h, o)
	if err != nil {
		return err
	}
	k, err := all.Named(name)
	if err != nil {
		return err
	}
	e := k.Entry()
	if o.Output == cli.FormatJSON {
		e.Prompt = k.Agent.System
		return h.WriteList(o.Output, e, "", nil)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s, %s\n%s\n\n", e.Name, e.From, e.Access(), e.Description)
	for _, line := range [][2]string{
		{"file", e.File}, {"tools", cmp.Or(strings.Join(e.Tools, ", "), "all")}, {"without", strings.Join(e.Without, ", ")}, {"model", cmp.Or(e.Model, "same as its caller")},
		{"mode", string(e.Mode)}, {"turns", positive(e.Turns)}, {"effort", e.Effort}, {"skills", strings.Join(e.Skills, ", ")},
		{"servers", joinRaw(e.Servers)}, {"hooks", positive(e.Hooks)}, {"isolation", e.Isolation},
	} {
		if line[1] != "" {
			fmt.Fprintf(&b, "%-10s%s\n", line[0], h.OneLine(line[1]))
		}
	}
	if e.Background {
		b.WriteString("runs in the background\n")
	}
	return h.Show(terminal.Text(b.String()) + "\n" + terminal.Text(k.Agent.System) + "\n")
}

func positive(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprint(n)
}

func joinRaw[T ~[]byte](list []T) string {
	var words []string
	for _, w := range list {
		words = append(words, strings.Trim(string(w), `"`))
	}
	return strings.Join(words, ", ")
}
