package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/preview"
	"github.com/openagent-go/agent/cmd/openagent/internal/settings"
	"github.com/openagent-go/agent/internal/config"
	"github.com/openagent-go/agent/internal/customtools"
	"github.com/openagent-go/agent/internal/parts"
	"github.com/openagent-go/agent/internal/trusted"
)

// PluginSummary describes the plugin's parts. Parts that run come first. full adds the texts of agents
// and commands, for a trust question.
func PluginSummary(h *cli.IO, p *parts.Plugin, full bool) string {
	var b strings.Builder
	section := func(title, text string) {
		if text != "" {
			fmt.Fprintf(&b, " %s:\n%s", title, text)
		}
	}
	section("hooks, commands that run by themselves", hookLines(h, p.Hooks))
	var servers strings.Builder
	for _, f := range p.Servers {
		servers.WriteString(ServerList(h, f))
	}
	section("MCP servers, which openagent starts or connects to", servers.String())
	var agents, commands strings.Builder
	for _, f := range p.AgentFolders() {
		if found := f.Load(); full {
			agents.WriteString(preview.AgentDocuments(h, found))
		} else {
			agents.WriteString(DefinitionFileList(h, found))
		}
	}
	section("agents", agents.String())
	for _, f := range p.CommandFolders() {
		if found := f.Load(); full {
			commands.WriteString(preview.SkillDocuments(h, found))
		} else {
			commands.WriteString(SkillNames(h, found))
		}
	}
	section("commands, instructions that the agent follows", commands.String())
	var skills strings.Builder
	for _, f := range p.SkillFolders() {
		if found := f.Load(); full {
			skills.WriteString(preview.SkillDocuments(h, found))
		} else {
			skills.WriteString(SkillNames(h, found))
		}
	}
	section("skills, instructions that the agent follows", skills.String())
	return b.String()
}

// hookLines formats hooks for a question.
func hookLines(h *cli.IO, hooks []config.Hook) string {
	var b strings.Builder
	for _, x := range hooks {
		about := string(x.Event)
		if x.Match != "" {
			about += " (" + x.Match + ")"
		}
		rows := preview.SplitLines(x.Command)
		fmt.Fprintf(&b, "  %s: %s\n", h.Visible(about), h.Visible(rows[0]))
		for _, row := range rows[1:] {
			fmt.Fprintf(&b, "    %s\n", h.Visible(row))
		}
	}
	return b.String()
}

// TrustPlugin records a plugin as trusted in its current state.
func TrustPlugin(ctx context.Context, h *cli.IO, p *parts.Plugin) error {
	return settings.ChangeTrust(ctx, h, func(t trusted.List) {
		t.Plugins[p.Dir] = trusted.Folder{Sum: p.Sum, Since: trusted.Now()}
	})
}

// PluginState returns the trust state of a plugin.
func PluginState(dir string, t trusted.Folder) string {
	if _, err := os.Lstat(dir); errors.Is(err, fs.ErrNotExist) {
		return "gone"
	}
	if l, err := customtools.List(dir); err != nil || l.Dir != dir || l.Sum != t.Sum {
		return "changed"
	}
	return "trusted"
}
