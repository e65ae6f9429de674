package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/tool"
	"github.com/openagent-go/agent/tools"
	"github.com/openagent-go/agent/workspace"
)

const (
	maxAttachment = 32 << 20 // bytes of an image or a PDF
	maxText       = 2 << 20  // bytes of a text
)

// attach reads the files that go with a prompt. What a file is, is told by its
// content.
func attach(ctx context.Context, paths []string) ([]llm.Block, error) {
	var blocks []llm.Block
	for _, path := range paths {
		more, err := attachment(ctx, path)
		if err != nil {
			return nil, usagef("--file: %v", err)
		}
		blocks = append(blocks, more...)
	}
	return blocks, nil
}

func attachment(ctx context.Context, path string) ([]llm.Block, error) {
	data, err := readFile(path, maxAttachment)
	if err != nil {
		return nil, err
	}
	switch kind := http.DetectContentType(data); {
	case strings.HasPrefix(kind, "image/"), kind == "application/pdf":
		return shown(ctx, path)
	case len(bytes.TrimSpace(data)) == 0:
		return nil, fmt.Errorf("%s is empty", path)
	case !utf8.Valid(data) || bytes.IndexByte(data, 0) >= 0:
		return nil, fmt.Errorf("%s is neither an image (PNG, JPEG, GIF, WebP) nor a PDF nor UTF-8 text", path)
	case len(data) > maxText:
		return nil, fmt.Errorf("%s is a text of more than %d MB; let the agent read it in parts instead", path, maxText>>20)
	}
	return []llm.Block{llm.Document{MediaType: "text/plain", Title: filepath.Base(path), Data: data}}, nil
}

// shown makes of an image or a PDF what the tool Read makes of it: checked, and
// as small as providers want it.
func shown(ctx context.Context, path string) ([]llm.Block, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	ws := &workspace.Workspace{Root: filepath.Dir(abs)}
	defer ws.Close()
	input, err := json.Marshal(map[string]string{"file_path": abs})
	if err != nil {
		return nil, err
	}
	r, err := tools.Read(ws).Run(ctx, tool.Call{ID: "attach", Name: "Read", Input: input, Session: "attach", Dir: ws.Root})
	switch {
	case err != nil:
		return nil, err
	case r.IsError:
		return nil, fmt.Errorf("%s", r.Text())
	}
	return r.Content, nil
}
