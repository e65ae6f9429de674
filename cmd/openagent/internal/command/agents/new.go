package agents

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/openagent-go/agent/cmd/openagent/internal/app"
	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/settings"
	"github.com/openagent-go/agent/subagent"
)

const agentTemplate = `---
name: %s
description: %s
# tools: Read, Grep, Glob, Bash(git diff *)   (without this line: all of its caller's)
# model: inherit
# maxTurns: 20
---

You %s for another agent. All that you know of the work is the message that you get.

- Find out before you act.
- Your last answer is all that the other agent gets: say what you found or did, with path:line, and what you did not check.
`

// newAgentFile writes a template for a new agent.
func newAgentFile(ctx context.Context, h *cli.IO, o *agentsOptions, args []string) error {
	name, description := args[0], "Use it to …"
	if err := subagent.CheckName(name); err != nil {
		return cli.Usagef("agents new: %w", err)
	}
	if len(args) > 1 {
		description = h.OneLine(args[1])
	}
	base, err := settings.WorkingDir()
	if err != nil {
		return err
	}
	dir := filepath.Join(base, ".openagent", "agents")
	if o.user {
		home, err := h.Home()
		if err != nil {
			return err
		}
		dir = filepath.Join(home, "agents")
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return cli.Usagef("agents new: %w", err)
	}
	found := subagent.Folder{Path: dir}.Load()
	path := filepath.Join(dir, strings.ToLower(strings.NewReplacer(":", "-").Replace(name))+".md")
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return cli.Usagef("agents new: %w", err)
	}
	_, err = fmt.Fprintf(f, agentTemplate, name, quotedYAML(description), "do one kind of work")
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	if !o.user {
		if err := keepTrust(ctx, h, found, dir); err != nil {
			return err
		}
	}
	return h.Show(fmt.Sprintf("%s\nEdit it, then check it: openagent agents lint; openagent agents show %s\n", path, name))
}

// quotedYAML quotes a text for YAML. A JSON string is also a YAML string.
func quotedYAML(s string) string {
	data, err := cli.EncodeLine(s)
	if err != nil {
		return `""`
	}
	return strings.TrimSpace(string(data))
}

// keepTrust keeps a folder trusted after this program added a file for the user, if the folder was
// empty or trusted before.
func keepTrust(ctx context.Context, h *cli.IO, before subagent.Found, dir string) error {
	if len(before.Files) > 0 {
		t, err := settings.ReadTrust(h)
		if err != nil {
			return err
		}
		if t.Files[before.Dir].Sum != before.Sum {
			return nil
		}
	}
	return app.TrustDefinitions(ctx, h, subagent.Folder{Path: dir}.Load())
}
