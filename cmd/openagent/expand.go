package main

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

// isServerPrompt reports whether what the user wrote is a prompt of an MCP server.
func isServerPrompt(text string) bool {
	return strings.HasPrefix(strings.TrimSpace(text), serverPromptPrefix)
}

// expand makes a prompt of what the user wrote: /name runs a skill, /mcp__server__prompt
// is what the server makes of it, with @server:uri goes the resource, and
// with @path the file. One that cannot be read is reported to the user and the model.
func (h *host) expand(ctx context.Context, s *setup, in agent.Input) (agent.Input, error) {
	return h.expandSaid(ctx, s, in, in.Text)
}

// expandSaid is expand where only said is the user's own: the rest came through a pipe,
// and names no files.
func (h *host) expandSaid(ctx context.Context, s *setup, in agent.Input, said string) (agent.Input, error) {
	if in.Output == nil {
		in.Output = s.options.answer
	}
	if in.Compact {
		return in, nil
	}
	if wishes, ok := compactCommand(in.Text); ok && len(in.Blocks) == 0 {
		in.Text, in.Compact = wishes, true
		return in, nil
	}
	if x, err := s.skillOf(in.Text); err != nil || x != nil {
		in.Expansion = x
		return in, err
	}
	if !isServerPrompt(in.Text) {
		in.Blocks = append(in.Blocks[:len(in.Blocks):len(in.Blocks)], h.mentionedFiles(ctx, s, said)...)
	}
	if s.servers == nil {
		if isServerPrompt(in.Text) {
			return in, fmt.Errorf("%s: there are no MCP servers", cli.Clip(in.Text))
		}
		return in, ctx.Err()
	}
	if isServerPrompt(in.Text) {
		name, args := strings.TrimSpace(in.Text), ""
		if i := strings.IndexAny(name, " \t\n"); i > 0 {
			name, args = name[:i], strings.TrimSpace(name[i:])
		}
		name = strings.TrimPrefix(name, "/")
		blocks, err := s.servers.Prompt(ctx, name, args)
		if err != nil {
			return in, err
		}
		var rest []llm.Block
		for _, b := range blocks {
			if _, ok := b.(llm.Text); !ok {
				rest = append(rest, b)
			}
		}
		in.Expansion = &tool.Expansion{Kind: tool.ServerPrompt, Name: name, Args: args, Text: blocks.Text()}
		in.Blocks = append(rest, in.Blocks...)
		return in, nil
	}
	blocks, err := s.servers.Mentions(ctx, in.Text)
	if ctx.Err() != nil {
		return in, ctx.Err()
	}
	if err != nil {
		h.complain("%v", err)
	}
	in.Blocks = append(in.Blocks[:len(in.Blocks):len(in.Blocks)], blocks...)
	return in, nil
}

// compactCommand takes /compact [instructions] apart.
func compactCommand(text string) (instructions string, ok bool) {
	name, rest, _ := strings.Cut(strings.TrimSpace(text), " ")
	return strings.TrimSpace(rest), name == "/compact"
}

// slashNames are what the user may write after a slash, for hosts that show it.
func (s *setup) slashNames() []string {
	names := []string{}
	for _, c := range s.commands() {
		names = append(names, c.Name)
	}
	return names
}

// A slashCommand is what the user may write after a slash.
type slashCommand struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Hint        string `json:"argumentHint"`
}

func (s *setup) commands() []slashCommand {
	list := []slashCommand{}
	if s.skills != nil {
		for _, k := range s.skills.UserInvocable() {
			list = append(list, slashCommand{k.Name, k.Description, k.Hint})
		}
	}
	if s.servers != nil {
		for _, p := range s.servers.Prompts() {
			_, hint, _ := strings.Cut(p.Usage(), " ")
			list = append(list, slashCommand{p.Name, p.Description, hint})
		}
	}
	return append(list, slashCommand{"compact", "Summarise the conversation to make room", "[instructions]"})
}
