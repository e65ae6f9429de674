package tools

import (
	"context"
	_ "embed"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/internal/toolapi"
	"github.com/openagent-go/agent/tool"
)

//go:embed write.md
var writeText string

type writeInput struct {
	FilePath string `json:"file_path"`
	Content  string `json:"content"`
}

// Write returns the tool that creates files and replaces their content.
func Write(files Workspace) tool.Tool {
	return tool.New(tool.Spec{
		Name: "Write", Title: "Write a file", Description: writeText, State: filesState,
	}, func(ctx context.Context, call tool.Call, in writeInput) (*tool.Result, error) {
		return write(ctx, files, call, in), nil
	}).OnClassify(func(call tool.Call, in writeInput) tool.Traits {
		return classifyEdit(files, call, in.FilePath)
	}).OnPreview(func(call tool.Call, in writeInput) string {
		return preview(files, call, in.FilePath, func(path string, old []byte) (string, error) {
			_, change := rewrite(path, old, in.Content)
			return change.Diff, nil
		})
	})
}

func write(ctx context.Context, files toolapi.Files, call tool.Call, in writeInput) *tool.Result {
	path, err := files.Resolve(call.Dir, in.FilePath)
	if err != nil {
		return tool.Errorf("%v", err)
	}
	var data []byte
	var change fileChange
	err = files.Update(ctx, "", path, func(old []byte) ([]byte, error) {
		if old != nil {
			if err := checkSeen(call, path, old); err != nil {
				return nil, err
			}
		}
		data, change = rewrite(path, old, in.Content)
		return data, nil
	})
	if err != nil {
		return tool.Errorf("%v", err)
	}
	verb := "Replaced the content of"
	if change.Created {
		verb = "Created"
	}
	r := tool.Text(fmt.Sprintf("%s %s (%s, %s).", verb, path, text.Count(countLines(in.Content), "line"), text.Count(len(data), "byte")))
	r.Title = "Write " + filepath.Base(path)
	r.Details = toolapi.Details(change)
	r.Patch.State = sight(path, data)
	return r
}

// rewrite returns the bytes of a file whose content becomes content, written as
// the old file was, and describes the change.
func rewrite(path string, old []byte, content string) ([]byte, fileChange) {
	text, enc, ok := decode(old)
	if !ok {
		text, enc = string(old), encoding{}
	}
	if crlf(text) && !strings.Contains(content, "\r\n") {
		content = toCRLF(content)
	}
	if strings.HasPrefix(content, "\ufeff") && enc.bom != nil {
		content = strings.TrimPrefix(content, "\ufeff")
	}
	return enc.encode(content), compare(path, old == nil, text, content, nil)
}

func countLines(s string) int {
	n := strings.Count(s, "\n")
	if s != "" && !strings.HasSuffix(s, "\n") {
		n++
	}
	return n
}
