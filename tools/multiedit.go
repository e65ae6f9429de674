package tools

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/internal/toolapi"
	"github.com/openagent-go/agent/tool"
)

//go:embed multiedit.md
var multiEditText string

// maxEdits is how many edits one call of MultiEdit may make.
const maxEdits = 500

type multiEditInput struct {
	FilePath string    `json:"file_path"`
	Edits    []oneEdit `json:"edits"`
}

type oneEdit struct {
	OldString  string `json:"old_string"`
	NewString  string `json:"new_string"`
	ReplaceAll bool   `json:"replace_all,omitempty"`
}

// MultiEdit returns the tool that replaces several texts in one file.
func MultiEdit(files Workspace) tool.Tool {
	return tool.New(tool.Spec{
		Name: "MultiEdit", Title: "Edit a file in several places", Description: multiEditText, State: filesState,
	}, func(ctx context.Context, call tool.Call, in multiEditInput) (*tool.Result, error) {
		return multiEdit(ctx, files, call, in), nil
	}).OnClassify(func(call tool.Call, in multiEditInput) tool.Traits {
		return classifyEdit(files, call, in.FilePath)
	}).OnPreview(func(call tool.Call, in multiEditInput) string {
		return preview(files, call, in.FilePath, func(path string, old []byte) (string, error) {
			e, err := reviseAll(context.Background(), path, old, in.Edits)
			return e.change.Diff, err
		})
	})
}

func multiEdit(ctx context.Context, files toolapi.Files, call tool.Call, in multiEditInput) *tool.Result {
	path, err := files.Resolve(call.Dir, in.FilePath)
	if err != nil {
		return tool.Errorf("%v", err)
	}
	var e revision
	err = files.Update(ctx, "", path, func(old []byte) ([]byte, error) {
		if old != nil {
			if err := checkSeen(call, path, old); err != nil {
				return nil, err
			}
		}
		e, err = reviseAll(ctx, path, old, in.Edits)
		return e.data, err
	})
	if err != nil {
		return tool.Errorf("%v", err)
	}
	verb := "Edited"
	if e.change.Created {
		verb = "Created"
	}
	text := fmt.Sprintf("%s %s with %s.", verb, path, text.Count(len(in.Edits), "edit"))
	if e.how != "" {
		text += fmt.Sprintf(" Not every old_string was in the file exactly: %s. Check the change:\n%s", e.how, e.change.Diff)
	}
	r := tool.Text(text)
	r.Title = fmt.Sprintf("Edit %s (+%d −%d)", filepath.Base(path), e.change.Additions, e.change.Deletions)
	r.Details = toolapi.Details(e.change)
	r.Patch.State = sight(path, e.data)
	return r
}

// reviseAll applies edits to the content of a file, one after the other; old is nil for a
// missing file.
func reviseAll(ctx context.Context, path string, old []byte, edits []oneEdit) (revision, error) {
	switch n := len(edits); {
	case n == 0:
		return revision{}, errors.New("edits is empty: there is nothing to change")
	case n > maxEdits:
		return revision{}, fmt.Errorf("%d edits are too many: at most %d in one call", n, maxEdits)
	}
	all := revision{data: old}
	replaced, rest := 0, edits
	if old == nil {
		if edits[0].OldString != "" {
			return revision{}, fmt.Errorf("%s does not exist; leave the first old_string empty to create it", path)
		}
		all.data = []byte(edits[0].NewString)
		rest = edits[1:]
	}
	var how []string
	for i, e := range rest {
		n := i + 1 + len(edits) - len(rest)
		if err := ctx.Err(); err != nil {
			return revision{}, err
		}
		one, err := revise(path, all.data, editInput{FilePath: path, OldString: e.OldString, NewString: e.NewString, ReplaceAll: e.ReplaceAll})
		if err != nil {
			return revision{}, fmt.Errorf("edit %d of %d: %s", n, len(edits), unchanged(err))
		}
		if one.how != "" {
			how = append(how, fmt.Sprintf("edit %d matched uniquely %s", n, one.how))
		}
		all.data = one.data
		replaced += one.change.Replacements
	}
	before, _, _ := decode(old)
	after, _, _ := decode(all.data)
	if old != nil && before == after {
		return revision{}, errors.New("the edits together would change nothing: they undo each other")
	}
	all.change = compare(path, old == nil, before, after, nil)
	all.change.Replacements = replaced
	all.how = strings.Join(how, "; ")
	return all, nil
}
