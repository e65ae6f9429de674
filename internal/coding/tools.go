package coding

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/openagent-go/agent/internal/parts"
	"github.com/openagent-go/agent/internal/sessiondir"
	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/internal/web"
	"github.com/openagent-go/agent/mcp/resources"
	"github.com/openagent-go/agent/skill"
	"github.com/openagent-go/agent/team"
	"github.com/openagent-go/agent/tool"
	"github.com/openagent-go/agent/tools"
	"github.com/openagent-go/agent/tools/search"
)

// atHand are the tools beyond the core that a model sees from the start. It finds the rest with
// ToolSearch.
var atHand = []string{"Agent", "TodoWrite", "Skill", "EnterPlanMode", "ExitPlanMode"}

// fileChangers are the tools whose results get diagnostics of language servers.
var fileChangers = []string{"Edit", "Write", "MultiEdit", "ApplyPatch"}

func (c *Coder) log() *slog.Logger {
	if l := c.Agent.Log; l != nil {
		return l
	}
	return slog.New(slog.DiscardHandler)
}

// findSkills finds the skills of the user, the project and the plugins.
func (c *Coder) findSkills(ctx context.Context) error {
	if c.without(Skills) {
		return nil
	}
	c.Skills = skill.New(skill.BuiltIn(c.Dir)...)
	dirs, err := c.finder.FindSkills(ctx, c.Skills)
	c.Workspace.Readable = append(c.Workspace.Readable, dirs...)
	return err
}

// ReloadSkills reads the folders of skills again. Skills that are gone, or that nobody trusts any more,
// are taken away; keep, unless nil, reports whether a skill may be there.
func (c *Coder) ReloadSkills(ctx context.Context, keep func(*skill.Skill) bool) error {
	if c.Skills == nil {
		return nil
	}
	found := skill.New(skill.BuiltIn(c.Dir)...)
	if _, err := c.finder.FindSkills(ctx, found); err != nil {
		return err
	}
	for _, s := range c.Skills.All() {
		if n := found.Get(s.Name); n == nil || keep != nil && !keep(n) {
			c.Skills.Remove(s.Name)
		}
	}
	for _, s := range slices.Backward(found.All()) {
		if keep == nil || keep(s) {
			c.Skills.Replace(s)
		}
	}
	return nil
}

// openTeam stores tasks, teams and mail in the folders of the sessions. If sessions are not kept in
// folders, they stay in memory.
func (c *Coder) openTeam(context.Context) error {
	c.team = c.options.Builtins.Team
	if c.team != nil {
		return nil
	}
	c.team = team.Memory()
	if dir := sessiondir.Path(c.Agent.Sessions); dir != "" && !c.without(Team) {
		c.team = parts.OpenTeam(dir, c.log())
		c.closers = append(c.closers, c.team.Close)
	}
	c.options.Builtins.Team = c.team
	return nil
}

// builtins returns all built-in tools. Their resources open when a tool first needs them.
func (c *Coder) builtins() ([]tools.Entry, error) {
	servers, err := parts.LanguageServers(c.Settings)
	if err != nil {
		return nil, err
	}
	for _, s := range servers {
		c.hide(parts.SecretsOf(s.Env)...)
	}
	c.languages = tools.NewLanguages(c.Workspace, servers)
	k := c.options.Builtins
	k.Workspace, k.Sandbox = c.Workspace, c.box()
	if k.Web == nil {
		k.Web = new(tools.Web)
	}
	if k.Search == nil {
		if engine := search.FromEnv(); engine != nil {
			k.Search = engine
		}
	}
	if k.Languages == nil {
		k.Languages = c.languages
	}
	if k.Resources == (tools.Resources{}) && c.Servers != nil && len(c.Servers.Status()) > 0 {
		k.Resources = resources.Of(c.Servers)
	}
	if k.Skills == nil && c.Skills != nil {
		k.Skills = c.Skills
	}
	c.addManager(&k)
	c.options.Builtins = k
	entries := k.Tools()
	diagnose := false
	c.Settings.Decode("diagnosticsAfterEdits", &diagnose)
	for i, e := range entries {
		if diagnose && slices.Contains(fileChangers, e.Tool.Spec().Name) {
			entries[i].Tool = tools.WithDiagnostics(e.Tool, c.languages)
		}
	}
	return entries, nil
}

// wanted returns the names of the tools that options or settings ask for.
func (c *Coder) wanted() (names []string) {
	if c.Settings.Decode("tools", &names) && len(names) == 0 {
		return []string{"none"}
	}
	return names
}

// choose returns the chosen built-in tools, and the names of those that the model finds with
// ToolSearch.
func (c *Coder) choose() (chosen []tool.Tool, deferred []string) {
	wanted := c.wanted()
	all, core := len(wanted) == 0 || slices.Contains(wanted, "all"), slices.Contains(wanted, "core")
	var names []string
	for _, e := range c.Builtins {
		name := e.Tool.Spec().Name
		names = append(names, name)
		switch {
		case slices.Contains(wanted, name):
		case !all && (!core || e.Tier != "core"), !c.usable(name):
			continue
		case len(wanted) == 0 && e.Tier != "core" && !slices.Contains(atHand, name):
			deferred = append(deferred, name)
		}
		chosen = append(chosen, e.Tool)
	}
	if c.Memory != nil {
		names = append(names, memoryTool)
	}
	for _, name := range wanted {
		if !slices.Contains([]string{"all", "core", "none"}, name) && !slices.Contains(names, name) {
			c.warn(Settings, fmt.Errorf("%s: there is no tool %q%s; there are %s", c.source("tools"), text.Bytes(name, 80), suggestion(name, names), strings.Join(names, ", ")))
		}
	}
	return chosen, deferred
}

// source returns where a setting comes from.
func (c *Coder) source(key string) string {
	v, err := c.Settings.Get(key)
	if err != nil {
		return key
	}
	return v.Source.String()
}

func suggestion(word string, names []string) string {
	if near := text.Nearest(word, names); near != "" && len(word) < 100 {
		return "; did you mean " + near + "?"
	}
	return ""
}

// usable reports whether a tool is configured. An unusable tool is added only if its name is asked
// for.
func (c *Coder) usable(name string) bool {
	switch name {
	case "WebSearch":
		return c.options.Builtins.Search != nil || slices.ContainsFunc(web.SearchVariables, func(name string) bool { return strings.TrimSpace(c.options.Getenv(name)) != "" })
	case "EnterPlanMode", "ExitPlanMode":
		return c.options.Person || c.Agent.AskUser != nil
	}
	return true
}

// buildAgent gives the agent its instructions, tools, hooks and limits.
func (c *Coder) buildAgent(context.Context) (err error) {
	a := c.Agent
	c.addHooks()
	c.addSandboxDecider()
	if a.System, err = c.instructions(); err != nil {
		return err
	}
	if c.Builtins, err = c.builtins(); err != nil {
		return err
	}
	chosen, deferred := c.choose()
	a.Tools = append(chosen, a.Tools...)
	a.DeferredTools = append(slices.Clip(a.DeferredTools), deferred...)
	if a.Inbox == nil {
		a.Inbox = c.manager.Inbox("")
	}
	c.narrow()
	a.Secrets = c.secrets
	return nil
}

// instructions returns the system prompt.
func (c *Coder) instructions() (string, error) {
	system := c.Agent.System
	switch now := time.Now(); {
	case c.RunsAs != nil:
		system = c.RunsAs.Agent.System
		for _, name := range c.RunsAs.Skills {
			text, err := c.skillText(context.Background(), name)
			if err != nil {
				return "", &OptionError{"RunAs", c.RunsAs.Agent.Name, err}
			}
			system += "\n\n" + text
		}
		system += "\n\n" + parts.Surroundings(c.Dir, now)
	case system == "" && c.options.Minimal:
		system = parts.MinimalPrompt(c.Dir, now)
	case system == "":
		system = parts.SystemPrompt(c.Dir, now)
	}
	if more := strings.TrimSpace(c.options.AppendSystem); c.options.AppendSystem != "" {
		system = strings.TrimSpace(system + "\n\n" + more)
	}
	return system, nil
}

// addTools adds the tools of folders, unless the options or settings list the tools.
func (c *Coder) addTools(ctx context.Context) error {
	if w := c.wanted(); c.without(Tools) || len(w) > 0 && !slices.Contains(w, "all") {
		return nil
	}
	set, err := c.finder.CustomTools(ctx, c.Workspace, c.Agent.Tools)
	if err != nil {
		return err
	}
	c.Agent.Toolsets = append(slices.Clip(c.Agent.Toolsets), set)
	return nil
}
