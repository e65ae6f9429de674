package mcp

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/llm"
)

const maxMentions = 20

// mentioned is how a prompt names a resource: @server:uri.
var mentioned = regexp.MustCompile(`(?:^|[\s(\["'])@([^\s@:]+):(\S+)`)

// Mentions reads the resources that a prompt of the user mentions as @server:uri,
// the first 20, where there is a server of that name. The blocks hold their contents,
// marked as the server's words, or why one cannot be read; the error says that too.
func (all *Servers) Mentions(ctx context.Context, prompt string) (llm.Blocks, error) {
	var blocks llm.Blocks
	var errs []error
	var seen []string
	for _, m := range mentioned.FindAllStringSubmatch(prompt, -1) {
		server, uri := m[1], strings.TrimRight(m[2], `.,;:!?)]}"'`)
		if key := server + ":" + uri; !all.has(server) || uri == "" || slices.Contains(seen, key) {
			continue
		} else if seen = append(seen, key); len(seen) > maxMentions {
			errs = append(errs, fmt.Errorf("more than %d resources are mentioned; the others are not read", maxMentions))
			break
		}
		contents, err := all.ReadResource(ctx, server, uri)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("reading @%s:%s: %w", server, line(uri), err))
			blocks = append(blocks, llm.Text{Text: fmt.Sprintf("[@%s:%s cannot be read: %s]", line(server), line(uri), line(err.Error()))})
			continue
		}
		blocks = append(blocks, shown(server, uri, contents)...)
	}
	return blocks, errors.Join(errs...)
}

func (all *Servers) has(name string) bool {
	all.mu.Lock()
	defer all.mu.Unlock()
	return all.servers[name] != nil
}

// shown is a resource as it goes with a prompt.
func shown(server, uri string, contents []Content) llm.Blocks {
	var blocks llm.Blocks
	left := maxMentioned
	for _, c := range contents[:min(len(contents), maxBlocks)] {
		switch kind := imageKind(c.Blob); {
		case c.Blob == nil:
			text := text.Bytes(text.Clean(c.Text), left)
			left = max(left-len(text), 0)
			text = strings.ReplaceAll(text, "</mcp-resource", "‹/mcp-resource")
			blocks = append(blocks, llm.Text{Text: fmt.Sprintf("<mcp-resource server=%q uri=%q>\n%s\n</mcp-resource>", line(server), line(uri), text)})
		case kind != "" && len(c.Blob) <= maxImage:
			blocks = append(blocks, llm.Image{MediaType: kind, Data: c.Blob})
		default:
			blocks = append(blocks, llm.Text{Text: fmt.Sprintf("[@%s:%s: %d bytes of %s, not shown]", line(server), line(uri), len(c.Blob), line(c.MIMEType))})
		}
	}
	if len(contents) == 0 {
		blocks = append(blocks, llm.Text{Text: fmt.Sprintf("[@%s:%s is empty]", line(server), line(uri))})
	}
	return blocks
}
