package skills

import (
	"fmt"
	"strings"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/internal/terminal"
	"github.com/openagent-go/agent/skill"
)

func showSkill(h *cli.IO, all *skill.Registry, format, name string) error {
	k := all.Get(strings.TrimPrefix(name, "/"))
	if k == nil {
		return cli.Usagef("%w (see openagent skills list)", all.Unknown(name))
	}
	e := entryOf(all, k)
	e.Files = k.Files()
	if text, err := all.Text(k.Name); err == nil {
		e.Text = text
	} else {
		e.Text = err.Error()
	}
	if format == cli.FormatJSON {
		return h.WriteList(format, e, "", nil)
	}
	var b strings.Builder
	line := func(name, text string) {
		if text != "" {
			fmt.Fprintf(&b, "%-14s%s\n", name, h.OneLine(text))
		}
	}
	line("skill", e.Name)
	line("for", e.Description)
	line("when", e.When)
	line("aliases", strings.Join(e.Aliases, ", "))
	line("arguments", e.Hint)
	line("tools", strings.Join(e.Tools, ", "))
	line("model", e.Model)
	line("run by", e.Who)
	line("from", e.From)
	line("file", e.File)
	return h.Show(b.String() + "\n" + terminal.Text(e.Text) + "\n")
}
