package app

import (
	"context"
	"fmt"
	"strings"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/tool"
)

const serverPromptPrefix = "/mcp__"

// IsServerPrompt reports whether the user's text names a prompt of an MCP server.
func IsServerPrompt(text string) bool {
	return strings.HasPrefix(strings.TrimSpace(text), serverPromptPrefix)
}

// ExpandCommand expands the user's text into a prompt: /name runs a skill, /mcp__server__prompt
// becomes the server's prompt, @server:uri adds the resource, and @path adds the file. Unreadable
// resources and files are reported to the user and the model.
func ExpandCommand(ctx context.Context, h *cli.IO, s *App, in agent.Input) (agent.Input, error) {
	return ExpandPart(ctx, h, s, in, in.Text)
}

// ExpandPart is ExpandCommand for a prompt that the user wrote only in part. The argument said is
// that part: only it may name files, because the rest came through a pipe.
func ExpandPart(ctx context.Context, h *cli.IO, s *App, in agent.Input, said string) (agent.Input, error) {
	if in.Output == nil {
		in.Output = s.Options.OutputSchema
	}
	if in.Compact {
		return in, nil
	}
	if wishes, ok := CompactCommand(in.Text); ok && len(in.Blocks) == 0 {
		in.Text, in.Compact = wishes, true
		return in, nil
	}
	if x, err := s.ExpandSkill(in.Text); err != nil || x != nil {
		in.Expansion = x
		return in, err
	}
	if !IsServerPrompt(in.Text) {
		in.Blocks = append(in.Blocks[:len(in.Blocks):len(in.Blocks)], MentionedFiles(ctx, h, s, said)...)
	}
	if s.Servers == nil {
		if IsServerPrompt(in.Text) {
			return in, fmt.Errorf("%s: there are no MCP servers", cli.Clip(in.Text))
		}
		return in, ctx.Err()
	}
	if IsServerPrompt(in.Text) {
		name, args := strings.TrimSpace(in.Text), ""
		if i := strings.IndexAny(name, " \t\n"); i > 0 {
			name, args = name[:i], strings.TrimSpace(name[i:])
		}
		name = strings.TrimPrefix(name, "/")
		blocks, err := s.Servers.Prompt(ctx, name, args)
		if err != nil {
			return in, err
		}
		var rest []llm.Block
		for _, b := range blocks {
			if _, ok := b.(llm.Text); !ok {
				rest = append(rest, b)
			}
		}
		in.Expansion = &tool.Expansion{Kind: "mcp_prompt", Name: name, Args: args, Text: blocks.Text()}
		in.Blocks = append(rest, in.Blocks...)
		return in, nil
	}
	blocks, err := s.Servers.Mentions(ctx, in.Text)
	if ctx.Err() != nil {
		return in, ctx.Err()
	}
	if err != nil {
		h.Warn("%v", err)
	}
	in.Blocks = append(in.Blocks[:len(in.Blocks):len(in.Blocks)], blocks...)
	return in, nil
}

// CompactCommand parses /compact [instructions].
func CompactCommand(text string) (instructions string, ok bool) {
	name, rest, _ := strings.Cut(strings.TrimSpace(text), " ")
	return strings.TrimSpace(rest), name == "/compact"
}

// SlashNames returns the names of the slash commands, for hosts that list them.
func (s *App) SlashNames() []string {
	names := []string{}
	for _, c := range s.Commands() {
		names = append(names, c.Name)
	}
	return names
}

// A SlashCommand describes a slash command.
type SlashCommand struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Hint        string `json:"argumentHint"`
}

// LocalCommands are those that hosts may use besides: they ask no model.
var LocalCommands = []SlashCommand{{"context", "Show what fills the model's context", ""}, {"cost", "Show what the session has cost", ""}}

// Commands lists the slash commands that a prompt can begin with.
func (s *App) Commands() []SlashCommand {
	list := []SlashCommand{}
	if s.Skills != nil {
		for _, k := range s.Skills.UserInvocable() {
			list = append(list, SlashCommand{k.Name, k.Description, k.Hint})
		}
	}
	if s.Servers != nil {
		for _, p := range s.Servers.Prompts() {
			_, hint, _ := strings.Cut(p.Usage(), " ")
			list = append(list, SlashCommand{p.Name, p.Description, hint})
		}
	}
	return append(list, SlashCommand{"compact", "Summarise the conversation to make room", "[instructions]"})
}
