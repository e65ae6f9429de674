package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/openagent-go/agent/hook"
	"github.com/openagent-go/agent/internal/hookrun"
	"github.com/openagent-go/agent/internal/policies"
	"github.com/openagent-go/agent/internal/rules"
	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/internal/toolnames"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
)

// CheckTools looks for misspelt names of tools in rules and lists, and asks the Toolsets for
// their tools. A name is known if the agent has the tool, or if it is the name of a built-in
// tool, of a tool of an MCP server, or one of [permission.Policy].KnownTools.
//
// The error, which matches [ErrConfig], is about an unknown name that should forbid
// something: in AllowedTools, DisallowedTools, and rules that deny or ask; about a ToolChoice
// that names no tool of the agent; or about a sub-agent that cannot be started. The first
// prompt of a Session fails with it as well. The warnings are about other unknown names: in
// allow rules and restrictions, DeferredTools, the Match of hooks, and sub-agents that the
// program defines; and about lists that leave no tool. The first prompt logs them.
func (a *Agent) CheckTools(ctx context.Context) (warnings []string, err error) {
	all, err := a.collect(ctx)
	if err != nil {
		return nil, err
	}
	return a.checkTools(ctx, all)
}

// A subagentChecker is a tool that starts sub-agents, and knows what is wrong with them.
type subagentChecker interface {
	CheckSubagents(ctx context.Context, tools []tool.Tool, known []string) (warnings []string, err error)
}

// checkTools is CheckTools for an agent with the given tools.
func (a *Agent) checkTools(ctx context.Context, all []tool.Tool) (warnings []string, err error) {
	warnings, err = a.checkNames(all)
	var own []tool.Tool // without those that start agents
	var starters []subagentChecker
	for _, t := range all {
		if c, ok := t.(subagentChecker); ok {
			starters = append(starters, c)
		} else {
			own = append(own, t)
		}
	}
	for _, c := range starters {
		more, wrong := c.CheckSubagents(ctx, own, a.definedBy().Permissions.KnownTools)
		warnings = append(warnings, more...)
		if wrong != nil {
			err = errors.Join(err, configError("%v", wrong))
		}
	}
	return warnings, err
}

// checkNames checks the agent's own rules and lists.
func (a *Agent) checkNames(all []tool.Tool) (warnings []string, err error) {
	by := a.definedBy()
	if !by.namesTools() {
		return nil, nil
	}
	known := nameCheck{own: by.Permissions.KnownTools}
	known.add(all)
	for link := a.parentLink; link != nil && link.parent != nil; link = link.parent.definition().parentLink {
		known.addParent(link.parent)
	}
	var errs []error
	guard := func(where, name string) {
		if why := known.problem(name); why != "" {
			errs = append(errs, configError("%s: %s", where, why))
		}
	}
	warn := func(where, name string) {
		if why := known.problem(name); why != "" {
			warnings = append(warnings, where+": "+why)
		}
	}
	for _, name := range by.AllowedTools {
		guard("AllowedTools", name)
	}
	for _, name := range by.DisallowedTools {
		guard("DisallowedTools", name)
	}
	for _, name := range by.DeferredTools {
		warn("DeferredTools", name)
	}
	if why := chosenTool(by.ToolChoice, all); why != "" {
		errs = append(errs, configError("%s", why))
	}
	checkRules(by.Permissions, guard, warn)
	for _, h := range by.Hooks {
		for _, name := range matchedTools(h) {
			warn(fmt.Sprintf("the hook for %s with Match %q", h.On, h.Match), name)
		}
	}
	if len(by.AllowedTools)+len(by.DisallowedTools) > 0 && len(errs) == 0 && !slices.ContainsFunc(all, func(t tool.Tool) bool { return a.offers(t.Spec()) }) {
		warnings = append(warnings, "AllowedTools and DisallowedTools leave the agent without a tool")
	}
	return warnings, errors.Join(errs...)
}

// chosenTool says what is wrong with the tool that the model has to call, "" for nothing.
// The tool of a server may be connected later.
func chosenTool(c llm.ToolChoice, all []tool.Tool) string {
	if c.Mode != llm.ChooseTool || strings.HasPrefix(c.Name, "mcp__") || slices.ContainsFunc(all, func(t tool.Tool) bool { return t.Spec().Name == c.Name }) {
		return ""
	}
	var names []string
	for _, t := range all {
		names = append(names, t.Spec().Name)
	}
	why := fmt.Sprintf("ToolChoice names %q, which is no tool of the agent", c.Name)
	if near := text.Nearest(c.Name, names); near != "" {
		why += "; did you mean " + near + "?"
	}
	return why
}

// tellNames logs the warnings of checkTools and returns its error.
func (a *Agent) tellNames(ctx context.Context, session string, all []tool.Tool) error {
	warnings, err := a.checkTools(ctx, all)
	for _, why := range warnings {
		a.logger().Warn("a name of a tool has no effect", "session", session, "problem", why)
	}
	return err
}

// definedBy returns the agent whose lists are checked. For a sub-agent it is its own
// definition, since the lists of its parents were checked with theirs.
func (a *Agent) definedBy() *Agent {
	if a.parentLink != nil && a.parentLink.defined != nil {
		return a.parentLink.defined
	}
	return a
}

// namesTools reports whether the agent has any rule or list with names of tools.
func (a *Agent) namesTools() bool {
	p := &a.Permissions
	return a.ToolChoice.Mode == llm.ChooseTool || len(a.AllowedTools)+len(a.DisallowedTools)+len(a.DeferredTools)+len(a.Hooks)+len(p.Allow)+len(p.Ask)+len(p.Deny)+len(p.Parents) > 0 || p.Restriction != nil
}

// checkRules passes the names in a policy's rules on.
func checkRules(p permission.Policy, guard, warn func(where, name string)) {
	for _, list := range []struct {
		behavior permission.Behavior
		word     string
		rules    []permission.Rule
		do       func(where, name string)
	}{{permission.Denied, "deny", p.Deny, guard}, {permission.Asked, "ask", p.Ask, guard}, {permission.Allowed, "allow", p.Allow, warn}} {
		for _, r := range list.rules {
			where := fmt.Sprintf("the %s rule %s", list.word, r)
			if i := slices.IndexFunc(p.Origins, func(o permission.Origin) bool { return o.Behavior == list.behavior && o.Rule == r }); i >= 0 && p.Origins[i].From != "" {
				where += " of " + p.Origins[i].From
			}
			list.do(where, policies.ToolOf(r))
		}
	}
	if p.Restriction != nil {
		for _, r := range p.Restriction.Only {
			warn("the restriction by "+p.Restriction.By, policies.ToolOf(r))
		}
	}
	for _, parent := range p.Parents {
		checkRules(parent, guard, warn)
	}
}

// matchedTools returns the names of tools that a hook's Match lists. It returns none for a
// regular expression.
func matchedTools(h hook.Hook) []string {
	if hookrun.Subject(h.On) != "tool_name" || h.Match == "" || strings.ContainsFunc(h.Match, func(c rune) bool { return strings.ContainsRune(`.*+?()[]{}^$\ `, c) }) {
		return nil
	}
	return strings.Split(h.Match, "|")
}

// A nameCheck holds the names of tools that are known.
type nameCheck struct {
	names []string
	own   []string // names and patterns that the policy knows
}

func (k *nameCheck) add(tools []tool.Tool) {
	if k.names == nil {
		k.names = toolnames.All()
	}
	for _, t := range tools {
		s := t.Spec()
		k.names = append(append(append(k.names, s.Name), s.Aliases...), s.Replaces...)
	}
}

// addParent adds the names that a parent knows.
func (k *nameCheck) addParent(s *Session) {
	a := s.definition()
	k.add(a.Tools)
	k.add(parentOf{s}.setup().EveryTool())
	k.own = slices.Concat(k.own, a.definedBy().Permissions.KnownTools)
}

// problem says what is wrong with a name, "" for a known one.
func (k *nameCheck) problem(name string) string {
	if name == "" || strings.HasPrefix(name, "mcp__") || rules.NamesTool(k.own, name) {
		return ""
	}
	if slices.ContainsFunc(slices.Concat(k.names, k.own), func(n string) bool { return rules.NamesTool([]string{name}, n) }) {
		return ""
	}
	hint := "; if another agent has it, add it to the known tools (Permissions.KnownTools, in settings permissions.knownTools)"
	if near := text.Nearest(name, slices.Concat(k.names, k.own)); near != "" {
		hint = "; did you mean " + near + "?"
	}
	return fmt.Sprintf("there is no tool %q%s", name, hint)
}
