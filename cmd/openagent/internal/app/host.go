package app

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/settings"
	"github.com/openagent-go/agent/hook"
	"github.com/openagent-go/agent/internal/mcphost"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/mcp"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/skill"
	"github.com/openagent-go/agent/tool"
	"github.com/openagent-go/agent/tools"
)

// A Host is what a program that drives the command brings along: it says so in its first message,
// before the agent is built.
type Host struct {
	System  string // replaces the built-in instructions; "": it does not
	Minimal bool   // a line in place of the built-in instructions
	Append  string // added to the instructions

	Agents    json.RawMessage // definitions of sub-agents
	Hooks     []hook.Hook
	Servers   map[string]mcp.Config
	Dial      mcphost.Dial // connects to servers within the host
	Skills    []string     // names of the only skills; nil: all
	Title     string       // of a new session
	Ask, Deny []permission.Rule
	Settings  string // as --settings
	Bounds    string // as --managed-settings
	Plugins   []string
	Aliases   map[string]string // by the name that the model calls: the tool of an MCP server that is meant
}

// give adds to the options what the host says in their place.
func (k *Host) give(o *settings.Options) error {
	if k.Settings != "" {
		if err := o.AddSettings(k.Settings); err != nil {
			return err
		}
	}
	if k.Bounds != "" {
		if err := o.AddBounds(k.Bounds); err != nil {
			return err
		}
	}
	o.Deny = append(slices.Clip(o.Deny), k.Deny...)
	o.Plugins = append(slices.Clip(o.Plugins), k.Plugins...)
	if len(k.Agents) == 0 {
		return nil
	}
	all := map[string]json.RawMessage{}
	for from, text := range map[string]string{"--agents": o.Agents, "initialize: agents": string(k.Agents)} {
		if text == "" {
			continue
		}
		more := map[string]json.RawMessage{}
		if err := json.Unmarshal([]byte(text), &more); err != nil {
			return cli.Usagef("%s: it must be an object of agents by name", from)
		}
		for name := range more {
			if _, twice := all[name]; twice {
				return cli.Usagef("the agent %q is in --agents and in initialize; leave one out", cli.Clip(name))
			}
		}
		maps.Copy(all, more)
	}
	data, err := json.Marshal(all)
	o.Agents = string(data)
	return err
}

// applyHost applies the parts of a host and of its flags that need the built agent.
func (s *App) applyHost() error {
	if m := s.Options.ThinkingMode(); m != "" {
		t := llm.Thought{Mode: m}
		if m == llm.ThinkAdaptive {
			t.Effort = s.Agent.Thinking.Effort
		}
		if err := s.Options.PermitsThinking(t.Tokens()); err != nil {
			return cli.Usagef("--thinking: %w", err)
		}
		s.Agent.Thinking = t
	}
	if i := slices.IndexFunc(s.Agent.Tools, named(settings.AskUserQuestion)); i >= 0 { // it takes the place of ours
		s.Agent.Tools = slices.DeleteFunc(s.Agent.Tools, named("AskUser"))
		s.Agent.DeferredTools = slices.DeleteFunc(s.Agent.DeferredTools, func(name string) bool { return name == "AskUser" })
	}
	if s.Options.Driven() {
		s.Agent.Deciders = append(slices.Clip(s.Agent.Deciders), &s.ServerModes)
	}
	k := s.host
	if k == nil {
		return nil
	}
	s.Agent.Permissions.Ask = append(slices.Clip(s.Agent.Permissions.Ask), k.Ask...)
	if len(k.Aliases) > 0 {
		if err := s.addAliases(k.Aliases); err != nil {
			return err
		}
	}
	if s.Skills != nil {
		for _, known := range s.Skills.All() {
			if !k.wantsSkill(known) {
				s.Skills.Remove(known.Name)
			}
		}
	}
	return nil
}

// wantsSkill reports whether a skill is among those of the host.
func (k *Host) wantsSkill(known *skill.Skill) bool {
	return k == nil || k.Skills == nil || slices.ContainsFunc(k.Skills, func(name string) bool { return known.Name == name || strings.HasSuffix(known.Name, ":"+name) })
}

// giveTitle gives a new session the title of the host.
func (s *App) giveTitle(ctx context.Context) error {
	if s.host == nil || s.host.Title == "" || s.Existing {
		return nil
	}
	if err := s.Session.SetTitle(ctx, s.host.Title); err != nil {
		return fmt.Errorf("the title of the host: %w", err)
	}
	return nil
}

func named(name string) func(tool.Tool) bool {
	return func(t tool.Tool) bool { return t.Spec().Name == name }
}

// questionTool returns AskUserQuestion, unless the options list the tools without it.
func questionTool(o *settings.Options) []tool.Tool {
	if len(o.Tools) > 0 && !slices.Contains(o.Tools, "all") && !o.AskUser {
		return nil
	}
	return []tool.Tool{claudeQuestions()}
}

// claudeQuestions asks as Claude Code does: like AskUser, with multiSelect in place of multiple.
func claudeQuestions() tool.Tool {
	type option struct {
		Label       string `json:"label"`
		Description string `json:"description,omitempty"`
	}
	type question struct {
		Question string   `json:"question"`
		Header   string   `json:"header,omitempty"`
		Options  []option `json:"options,omitempty"`
		Multiple bool     `json:"multiSelect,omitempty"`
	}
	type input struct {
		Questions []question `json:"questions"`
	}
	inner := tools.AskUser()
	spec := inner.Spec()
	return tool.New(tool.Spec{Name: settings.AskUserQuestion, Title: spec.Title, Description: spec.Description, ReadOnly: true, NeedsPerson: true, Timeout: -1},
		func(ctx context.Context, call tool.Call, _ input) (*tool.Result, error) {
			call.Name = spec.Name // it reads multiSelect too
			return inner.Run(ctx, call)
		})
}
