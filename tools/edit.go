package tools

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/aymanbagabas/go-udiff"

	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/internal/toolapi"
	"github.com/openagent-go/agent/tool"
)

//go:embed edit.md
var editText string

type editInput struct {
	FilePath   string `json:"file_path"`
	OldString  string `json:"old_string"`
	NewString  string `json:"new_string"`
	ReplaceAll bool   `json:"replace_all,omitempty"`
}

// Edit returns the tool that replaces text in files.
func Edit(files Workspace) tool.Tool {
	return tool.New(tool.Spec{
		Name: "Edit", Title: "Edit a file", Description: editText, State: filesState,
	}, func(ctx context.Context, call tool.Call, in editInput) (*tool.Result, error) {
		return edit(ctx, files, call, in), nil
	}).OnClassify(func(call tool.Call, in editInput) tool.Traits {
		return classifyEdit(files, call, in.FilePath)
	}).OnPreview(func(call tool.Call, in editInput) string {
		return preview(files, call, in.FilePath, func(path string, old []byte) (string, error) {
			if old == nil {
				return "", nil
			}
			e, err := revise(path, old, in)
			return e.change.Diff, err
		})
	})
}

func edit(ctx context.Context, files toolapi.Files, call tool.Call, in editInput) *tool.Result {
	path, err := files.Resolve(call.Dir, in.FilePath)
	if err != nil {
		return tool.Errorf("%v", err)
	}
	var e revision
	err = files.Update(ctx, "", path, func(old []byte) ([]byte, error) {
		if old == nil {
			return nil, fmt.Errorf("%s does not exist; use Write to create it", path)
		}
		if err := checkSeen(call, path, old); err != nil {
			return nil, err
		}
		e, err = revise(path, old, in)
		return e.data, err
	})
	if err != nil {
		return tool.Errorf("%v", err)
	}
	text := fmt.Sprintf("Edited %s in %s.", path, text.Count(e.change.Replacements, "place"))
	if e.how != "" {
		text += fmt.Sprintf(" old_string was not in the file exactly; it matched uniquely %s. Check the change:\n%s", e.how, e.change.Diff)
	}
	r := tool.Text(text)
	r.Title = fmt.Sprintf("Edit %s (+%d −%d)", filepath.Base(path), e.change.Additions, e.change.Deletions)
	r.Details = toolapi.Details(e.change)
	r.Patch.State = sight(path, e.data)
	return r
}

// A revision is the result of an edit of a file.
type revision struct {
	data   []byte
	change fileChange
	how    string // how the match was found, "" if it was exact
}

// revise applies an edit to the content of a file. Every byte outside of the matches stays.
func revise(path string, old []byte, in editInput) (revision, error) {
	switch {
	case in.OldString == "":
		return revision{}, errors.New("old_string must not be empty; use Write to set the whole content of a file")
	case in.OldString == in.NewString:
		return revision{}, errors.New("old_string and new_string are the same: there is nothing to change")
	}
	text, enc, ok := decode(old)
	if !ok {
		return revision{}, fmt.Errorf("%s is not well-formed UTF-16, so it cannot be edited as text", path)
	}
	m := find(text, in.OldString, in.NewString)
	switch {
	case len(m.spans) == 0:
		return revision{}, fmt.Errorf("old_string is not in %s.%s", path, suggestions(text, in.OldString))
	case len(m.spans) > maxSpans:
		return revision{}, fmt.Errorf("old_string is in %s in more than %d places: too many", path, maxSpans)
	case len(m.spans) > 1 && (!in.ReplaceAll || m.how != ""):
		return revision{}, fmt.Errorf("old_string is in %s in %d places (at lines %s). Add neighbouring lines to make it unique, or set replace_all",
			path, len(m.spans), lineNumbers(text, m.spans))
	}
	edits := make([]udiff.Edit, 0, len(m.spans))
	var b strings.Builder
	b.Grow(len(text))
	end := 0
	for _, s := range m.spans {
		if s.start < end { // overlaps the one before
			continue
		}
		b.WriteString(text[end:s.start])
		b.WriteString(m.text)
		edits = append(edits, udiff.Edit{Start: s.start, End: s.end, New: m.text})
		end = s.end
	}
	b.WriteString(text[end:])
	changed := b.String()
	if changed == text {
		return revision{}, errors.New("the edit would change nothing: the file already has this text")
	}
	r := revision{data: enc.encode(changed), change: compare(path, false, text, changed, edits), how: m.how}
	r.change.Replacements = len(edits)
	return r, nil
}

// lineNumbers lists the lines at which the first spans begin.
func lineNumbers(text string, spans []span) string {
	const most = 10
	var b strings.Builder
	line, at := 1, 0
	for i, s := range spans {
		if i == most {
			b.WriteString(", …")
			break
		}
		line += strings.Count(text[at:s.start], "\n")
		at = s.start
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprint(&b, line)
	}
	return b.String()
}
