package mcp

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/llm"
)

const (
	maxPrompts   = 200       // of a server
	maxMentioned = 100 << 10 // bytes of text of a prompt, or of a resource that is mentioned
)

// ErrNoPrompt is matched by the error for a prompt that no connected server has.
var ErrNoPrompt = errors.New("there is no such prompt")

// A Prompt is a text that a server offers to users.
type Prompt struct {
	Name        string // mcp__server__prompt, as the names of tools
	Title       string // for people; may be empty
	Description string // at most 2 KB

	server    string
	own       string // its name on the server
	arguments []argument
}

// An argument is a part of a prompt that the user fills in.
type argument struct {
	name     string
	required bool
}

// Prompts returns the prompts of the connected servers, by server.
func (all *Servers) Prompts() []Prompt {
	servers := all.sorted()
	all.mu.Lock()
	defer all.mu.Unlock()
	list := []Prompt{}
	for _, s := range servers {
		if s.serves() {
			list = append(list, s.prompts...)
		}
	}
	return list
}

// Prompt has a server write a prompt. args are the words after its name: each
// is an argument, in order, or NAME=VALUE. Further words belong to the last argument. Words
// may be in quotes. Where servers are still connecting it waits for that of
// the name, or fails with [ErrNoPrompt].
func (all *Servers) Prompt(ctx context.Context, name, args string) (llm.Blocks, error) {
	all.Start()
	p, err := all.findPrompt(ctx, name)
	if err != nil {
		return nil, err
	}
	given, err := p.parse(args)
	if err != nil {
		return nil, err
	}
	var blocks llm.Blocks
	err = all.ask(ctx, p.server, func(ctx context.Context, ses *session) error {
		res, err := ses.client.GetPrompt(ctx, &sdk.GetPromptParams{Name: p.own, Arguments: given})
		if err != nil {
			return err
		}
		var content []sdk.Content
		for _, m := range res.Messages[:min(len(res.Messages), maxBlocks)] {
			if m == nil || m.Content == nil {
				continue
			}
			if m.Role == "assistant" {
				content = append(content, &sdk.TextContent{Text: "[the assistant:]"})
			}
			content = append(content, m.Content)
		}
		if len(content) == 0 {
			return errors.New("the prompt is empty")
		}
		blocks = bounded(result(&sdk.CallToolResult{Content: content}).Content)
		return nil
	})
	return blocks, err
}

// bounded are blocks with no more than 100 KB of text.
func bounded(blocks llm.Blocks) llm.Blocks {
	left := maxMentioned
	for i, b := range blocks {
		if t, ok := b.(llm.Text); ok {
			t.Text = text.Bytes(text.Clean(t.Text), left)
			left = max(left-len(t.Text), 0)
			blocks[i] = t
		}
	}
	return blocks
}

// findPrompt finds a prompt by its name. It waits for a server whose prompt it can be.
func (all *Servers) findPrompt(ctx context.Context, name string) (Prompt, error) {
	for _, s := range all.sorted() {
		if !strings.HasPrefix(name, prefix(s.name)) {
			continue
		}
		if _, err := s.ready(ctx, nil); ctx.Err() != nil {
			return Prompt{}, ctx.Err()
		} else if err != nil {
			return Prompt{}, fmt.Errorf("the MCP server %s is not connected: %w", s.name, redacted(s, err))
		}
	}
	list := all.Prompts()
	i := slices.IndexFunc(list, func(p Prompt) bool { return p.Name == name })
	if i < 0 {
		return Prompt{}, fmt.Errorf("%q: %w", text.Bytes(name, 100), ErrNoPrompt)
	}
	return list[i], nil
}

// parse makes arguments of words, as Servers.Prompt has them.
func (p Prompt) parse(line string) (map[string]string, error) {
	list, err := words(line)
	if err != nil {
		return nil, err
	}
	given := map[string]string{}
	var rest []string
	for _, w := range list {
		name, value, ok := strings.Cut(w, "=")
		if ok && slices.ContainsFunc(p.arguments, func(a argument) bool { return a.name == name }) {
			given[name] = value
			continue
		}
		rest = append(rest, w)
	}
	last := ""
	for _, a := range p.arguments {
		if _, ok := given[a.name]; ok {
			continue
		}
		if len(rest) > 0 {
			given[a.name], rest, last = rest[0], rest[1:], a.name
		} else if a.required {
			return nil, fmt.Errorf("%s needs the argument %s: %s", p.Name, line1(a.name), p.Usage())
		}
	}
	switch {
	case len(rest) > 0 && last == "":
		return nil, fmt.Errorf("%s takes no more arguments, but %q is left: %s", p.Name, text.Bytes(strings.Join(rest, " "), 100), p.Usage())
	case len(rest) > 0:
		given[last] += " " + strings.Join(rest, " ")
	}
	return given, nil
}

// Usage shows how the prompt is written, as in /mcp__db__query TABLE [LIMIT].
func (p Prompt) Usage() string {
	var b strings.Builder
	b.WriteString("/" + p.Name)
	for _, a := range p.arguments {
		form := " [%s]"
		if a.required {
			form = " %s"
		}
		fmt.Fprintf(&b, form, strings.ToUpper(line1(a.name)))
	}
	return b.String()
}

func line1(s string) string { return text.Bytes(line(s), 60) }

// words takes a line apart at spaces; words may be in quotes, and \ takes the next
// character as it is, but within '…'.
func words(text string) ([]string, error) {
	var list []string
	var word strings.Builder
	quote, in, escaped := rune(0), false, false
	for _, r := range text {
		switch {
		case escaped:
			word.WriteRune(r)
			escaped = false
		case r == '\\' && quote != '\'':
			escaped, in = true, true
		case quote != 0 && r == quote:
			quote = 0
		case quote == 0 && (r == '"' || r == '\''):
			quote, in = r, true
		case quote == 0 && (r == ' ' || r == '\t' || r == '\n'):
			if in {
				list = append(list, word.String())
				word.Reset()
				in = false
			}
		default:
			word.WriteRune(r)
			in = true
		}
	}
	if quote != 0 {
		return nil, fmt.Errorf("a quote %c is not closed", quote)
	}
	if in {
		list = append(list, word.String())
	}
	return list, nil
}

// listPrompts returns the prompts of a server. A list that cannot be read is a
// problem that holds up nothing.
func (s *server) listPrompts(ctx context.Context, ses *session, sum *listing) (prompts []Prompt, problem string) {
	if ses.capabilities().Prompts == nil {
		return nil, ""
	}
	var listed []*sdk.Prompt
	err := pages(func(cursor string) (string, error) {
		page, err := ses.client.ListPrompts(ctx, &sdk.ListPromptsParams{Cursor: cursor})
		if err != nil {
			return "", err
		}
		if !sum.take(page.Prompts) {
			return "", errEnough
		}
		listed = append(listed, present(page.Prompts)...)
		if len(listed) > maxPrompts {
			return "", errEnough
		}
		return page.NextCursor, nil
	})
	switch {
	case errors.Is(err, errEndless):
		problem = "the list of prompts has no end; what came first is there"
	case err != nil:
		problem = "its prompts cannot be listed: " + err.Error()
	}
	listed = listed[:min(len(listed), maxPrompts)]
	raw := make([]string, len(listed))
	for i, p := range listed {
		raw[i] = p.Name
	}
	for i, name := range names(s.name, raw) {
		if name == "" || len(raw[i]) > maxOwn {
			continue
		}
		p := Prompt{Name: name, Title: line(listed[i].Title), Description: told(listed[i].Description), server: s.name, own: raw[i]}
		for _, a := range listed[i].Arguments[:min(len(listed[i].Arguments), 50)] {
			if a != nil && len(a.Name) <= maxOwn {
				p.arguments = append(p.arguments, argument{name: a.Name, required: a.Required})
			}
		}
		prompts = append(prompts, p)
	}
	return prompts, problem
}
