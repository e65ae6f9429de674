package tools

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/openagent-go/agent/cmd/openagent/internal/app"
	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/internal/terminal"
	"github.com/openagent-go/agent/internal/toolrun"
)

func showTool(ctx context.Context, h *cli.IO, o *app.ToolsOptions, name string) error {
	b, err := app.LoadTools(ctx, h, o, false)
	if err != nil {
		return err
	}
	t, err := b.Find(name)
	if err = errors.Join(err, b.Close()); err != nil {
		return err
	}
	e := b.Entry(t, o.Plugins)
	if o.Output == cli.FormatJSON {
		return h.WriteList(o.Output, e, "", nil)
	}
	var schema bytes.Buffer
	if err := json.Indent(&schema, e.Input, "", "  "); err != nil {
		return fmt.Errorf("showing the schema of %s: %w", name, err)
	}
	timeout := "none"
	if limit := cmp.Or(t.Spec().Timeout, toolrun.DefaultTimeout); limit > 0 {
		timeout = limit.String()
	}
	head := fmt.Sprintf("%s: %s, %s\ntime limit: %s\n", e.Name, e.Kind, e.Access(), timeout)
	if e.File != "" {
		head += "file: " + h.OneLine(e.File) + "\n"
	}
	return h.Show(head + "\n" + terminal.Text(strings.TrimSpace(e.Description)) + "\n\n" + terminal.Text(schema.String()) + "\n")
}
