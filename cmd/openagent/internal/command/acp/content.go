package acp

import (
	"cmp"
	"encoding/base64"
	"net/url"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/attach"
	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	protocol "github.com/openagent-go/agent/internal/acp"
	"github.com/openagent-go/agent/internal/media"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/session"
)

// inputOf reads a prompt. The second result is the text that the user has typed.
func inputOf(blocks []protocol.Block) (in agent.Input, said string, err error) {
	var all, typed strings.Builder
	in.ID = session.NewID()
	for i, b := range blocks {
		switch b.Type {
		case "text":
			all.WriteString(b.Text)
			typed.WriteString(b.Text)
		case "resource_link":
			all.WriteString(linkText(b))
		case "image":
			data, err := base64.StdEncoding.DecodeString(b.Data)
			if err != nil {
				return in, "", protocol.Errorf(protocol.InvalidParams, "block %d of the prompt: the image is not base64", i+1)
			}
			p, err := media.Image(data)
			if err != nil {
				return in, "", protocol.Errorf(protocol.InvalidParams, "block %d of the prompt: %v", i+1, err)
			}
			in.Blocks = append(in.Blocks, p.Image)
		case "resource":
			more, err := resourceBlocks(b.Resource)
			if err != nil {
				return in, "", protocol.Errorf(protocol.InvalidParams, "block %d of the prompt: %v", i+1, err)
			}
			in.Blocks = append(in.Blocks, more...)
		default:
			return in, "", protocol.Errorf(protocol.InvalidParams, "block %d of the prompt has the type %q; this agent takes text, image, resource_link and resource", i+1, cli.Clip(b.Type))
		}
	}
	if in.Text = all.String(); strings.TrimSpace(in.Text) == "" && len(in.Blocks) == 0 {
		return in, "", protocol.Errorf(protocol.InvalidParams, "the prompt is empty")
	}
	return in, typed.String(), nil
}

// linkText names a file or another resource to the model, which can read it.
func linkText(b protocol.Block) string {
	if path := pathOf(b.URI); path != "" {
		return path
	}
	if strings.HasPrefix(b.URI, "http://") || strings.HasPrefix(b.URI, "https://") {
		return "[" + b.Name + "](" + b.URI + ")"
	}
	return cmp.Or(b.Name, b.URI) // links that only the editor can follow
}

// pathOf returns the path of a URI of a file, "" for others.
func pathOf(uri string) string {
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != "file" || u.Host != "" && u.Host != "localhost" {
		return ""
	}
	path := u.Path
	if runtime.GOOS == "windows" {
		path = strings.TrimPrefix(path, "/")
	}
	return filepath.FromSlash(path)
}

// resourceBlocks returns content that the client sends along.
func resourceBlocks(r *protocol.Resource) ([]llm.Block, error) {
	if r == nil {
		return nil, protocol.Errorf(protocol.InvalidParams, "the resource is missing")
	}
	title := cmp.Or(pathOf(r.URI), r.URI)
	if r.Text != nil {
		return []llm.Block{llm.Document{MediaType: "text/plain", Title: title, Data: []byte(strings.ToValidUTF8(*r.Text, "�"))}}, nil
	}
	data, err := base64.StdEncoding.DecodeString(r.Blob)
	if err != nil {
		return nil, protocol.Errorf(protocol.InvalidParams, "the resource %s is not base64", cli.Clip(title))
	}
	return attach.Bytes(title, data)
}
