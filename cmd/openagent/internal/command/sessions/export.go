package sessions

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/sessionstore"
	"github.com/openagent-go/agent/internal/claudelog"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/session/export"
)

// Export formats.
const (
	asMarkdown = "markdown"
	asJSON     = "json"
	asHTML     = "html"
	asClaude   = "claude"
)

func exportSession(ctx context.Context, h *cli.IO, o *sessionsOptions, id string) error {
	store, id, err := sessionstore.Locate(ctx, h, o.place, id)
	if err != nil {
		return err
	}
	as := o.as
	if as == asClaude {
		return exportToClaude(ctx, h, o, store, id)
	}
	if as == "" {
		switch strings.ToLower(filepath.Ext(o.file)) {
		case ".html", ".htm":
			as = asHTML
		case ".json":
			as = asJSON
		default:
			as = asMarkdown
		}
	}
	write := func(w io.Writer) error { return exportAs(ctx, w, as, store, id, export.Options{Secrets: h.Secrets}) }
	return writeOut(ctx, h, o.file, write)
}

// exportToClaude writes a session where programs for Claude Code look for sessions.
func exportToClaude(ctx context.Context, h *cli.IO, o *sessionsOptions, store session.Store, id string) error {
	config := o.file
	if config == "" {
		var err error
		if config, err = sessionstore.ClaudeDir(h); err != nil {
			return err
		}
	}
	if _, err := claudelog.Path(config, "", id); err != nil {
		return cli.Usagef("sessions export: %w", err)
	}
	path, err := claudelog.Export(ctx, config, store, id, h.Secrets)
	if err != nil {
		return cli.CommandError(ctx, fmt.Errorf("exporting session %s: %w", id, err))
	}
	return h.Show(path + "\n")
}

func exportAs(ctx context.Context, w io.Writer, as string, s session.Store, id string, o export.Options) error {
	switch as {
	case asHTML:
		return export.HTML(ctx, w, s, id, o)
	case asJSON:
		return export.JSON(ctx, w, s, id, o)
	}
	return export.Markdown(ctx, w, s, id, o)
}

// writeOut calls write with the named file, or with stdout for "".
func writeOut(ctx context.Context, h *cli.IO, file string, write func(io.Writer) error) error {
	var err error
	if file == "" {
		err = write(h.Out)
	} else {
		err = cli.WriteFile(file, write)
	}
	if err != nil {
		return cli.CommandError(ctx, err)
	}
	return nil
}
