package tools

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/openagent-go/agent/internal/nbformat"
	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/internal/toolapi"
	"github.com/openagent-go/agent/tool"
)

//go:embed notebookedit.md
var notebookEditText string

type notebookEditInput struct {
	FilePath   string  `json:"file_path"`
	Command    string  `json:"command"`
	CellID     string  `json:"cell_id,omitempty"`
	CellNumber *int    `json:"cell_number,omitempty"`
	CellType   string  `json:"cell_type,omitempty"`
	Source     *string `json:"source,omitempty"`
}

const notebookEditSchema = `{"type":"object","properties":{"file_path":{"type":"string"},` +
	`"command":{"type":"string","enum":["insert","replace","delete"]},` +
	`"cell_id":{"type":"string","description":"counts before cell_number"},` +
	`"cell_number":{"type":"integer"},` +
	`"cell_type":{"type":"string","enum":["code","markdown","raw"],"description":"default code"},` +
	`"source":{"type":"string"}},"required":["file_path","command"],"additionalProperties":false}`

// NotebookEdit returns the tool that changes cells of Jupyter notebooks.
func NotebookEdit(files Workspace) tool.Tool {
	return notebookTool{tool.New(tool.Spec{
		Name: "NotebookEdit", Title: "Edit a notebook", Description: notebookEditText, State: filesState, Input: json.RawMessage(notebookEditSchema),
	}, func(ctx context.Context, call tool.Call, in notebookEditInput) (*tool.Result, error) {
		return editNotebook(ctx, files, call, in), nil
	}).OnClassify(func(call tool.Call, in notebookEditInput) tool.Traits {
		return classifyEdit(files, call, in.FilePath)
	}).OnPreview(func(call tool.Call, in notebookEditInput) string {
		return preview(files, call, in.FilePath, func(path string, old []byte) (string, error) {
			if old == nil {
				return "", nil
			}
			_, change, err := reviseNotebook(path, old, in)
			return change.Diff, err
		})
	})}
}

// A notebookTool takes inputs with the names of Claude Code's tool as well, which
// models know.
type notebookTool struct {
	*tool.Typed[notebookEditInput]
}

func (t notebookTool) Run(ctx context.Context, call tool.Call) (*tool.Result, error) {
	return t.Typed.Run(ctx, familiar(call))
}

func (t notebookTool) Classify(call tool.Call) tool.Traits { return t.Typed.Classify(familiar(call)) }

func (t notebookTool) Preview(call tool.Call) string { return t.Typed.Preview(familiar(call)) }

// familiar returns a call with our names of the members. Claude Code's
// edit_mode is replace by default, and inserts in front where no cell is named.
func familiar(call tool.Call) tool.Call {
	var in map[string]json.RawMessage
	if json.Unmarshal(call.Input, &in) != nil || in["notebook_path"] == nil {
		return call
	}
	for _, pair := range [][2]string{{"notebook_path", "file_path"}, {"edit_mode", "command"}, {"new_source", "source"}} {
		theirs, ours := pair[0], pair[1]
		if in[theirs] != nil && in[ours] == nil {
			in[ours] = in[theirs]
			delete(in, theirs)
		}
	}
	if in["command"] == nil {
		in["command"] = json.RawMessage(`"replace"`)
	}
	if string(in["command"]) == `"insert"` && in["cell_id"] == nil && in["cell_number"] == nil {
		in["cell_number"] = json.RawMessage(`0`)
	}
	call.Input = toolapi.Details(in)
	return call
}

// A notebookChange holds the Details of a changed notebook. The diff is that of the cell's
// source.
type notebookChange struct {
	fileChange
	Command  string `json:"command"`
	Cell     int    `json:"cell"` // its number, from 0
	CellID   string `json:"cellId,omitempty"`
	CellType string `json:"cellType"`
	cells    int    // that there are now
}

func editNotebook(ctx context.Context, files toolapi.Files, call tool.Call, in notebookEditInput) *tool.Result {
	path, err := files.Resolve(call.Dir, in.FilePath)
	if err != nil {
		return tool.Errorf("%v", err)
	}
	var data []byte
	var change notebookChange
	err = files.Update(ctx, "", path, func(old []byte) ([]byte, error) {
		if old == nil {
			return nil, fmt.Errorf("%s does not exist; use Write to create it", path)
		}
		if err := checkSeen(call, path, old); err != nil {
			return nil, err
		}
		data, change, err = reviseNotebook(path, old, in)
		return data, err
	})
	if err != nil {
		return tool.Errorf("%v", err)
	}
	what := fmt.Sprintf("cell %d (%s", change.Cell, change.CellType)
	if change.CellID != "" {
		what += ", id " + change.CellID
	}
	verb := map[string]string{"insert": "Inserted", "replace": "Replaced", "delete": "Deleted"}[in.Command]
	text := fmt.Sprintf("%s %s) of %s, which has %s now.", verb, what, path, text.Count(change.cells, "cell"))
	if in.Command == "replace" && change.CellType == nbformat.Code {
		text += " Its outputs are cleared."
	}
	r := tool.Text(text)
	r.Title = fmt.Sprintf("%s cell %d of %s (+%d −%d)", verb, change.Cell, filepath.Base(path), change.Additions, change.Deletions)
	r.Details = toolapi.Details(change)
	r.Patch.State = sight(path, data)
	return r
}

// reviseNotebook applies a change of a cell to the content of a notebook.
func reviseNotebook(path string, old []byte, in notebookEditInput) ([]byte, notebookChange, error) {
	change := notebookChange{Command: in.Command}
	text, enc, ok := decode(old)
	if !ok {
		return nil, change, fmt.Errorf("%s is not well-formed UTF-16, so it cannot be edited as text", path)
	}
	nb, err := nbformat.Parse(text)
	if err != nil {
		return nil, change, fmt.Errorf("%s cannot be edited as a notebook: %w", path, err)
	}
	if change.Cell, err = cellNumber(nb, in); err != nil {
		return nil, change, fmt.Errorf("%s: %w", path, err)
	}
	var before, after nbformat.Cell
	if in.Command != "insert" {
		if before, err = nb.Cell(change.Cell); err != nil {
			return nil, change, fmt.Errorf("%s: %w", path, err)
		}
	}
	after = before
	if in.Source != nil {
		after.Source = *in.Source
	}
	if in.CellType != "" {
		after.Type = in.CellType
	}
	switch in.Command {
	case "insert":
		if after.Type == "" {
			after.Type = nbformat.Code
		}
		nb, err = nb.Insert(change.Cell, after.Type, after.Source)
	case "replace":
		if before == after {
			return nil, change, errors.New("the edit would change nothing: give a source or a cell_type that differs")
		}
		nb, err = nb.Replace(change.Cell, after.Type, after.Source)
	case "delete":
		after = nbformat.Cell{ID: before.ID, Type: before.Type}
		nb, err = nb.Delete(change.Cell)
	}
	if err != nil {
		return nil, change, fmt.Errorf("%s: %w", path, err)
	}
	if in.Command == "insert" {
		if after, err = nb.Cell(change.Cell); err != nil { // with its id
			return nil, change, fmt.Errorf("%s: %w", path, err)
		}
	}
	change.fileChange = compare(path, false, before.Source, after.Source, nil)
	change.CellID, change.CellType, change.cells = after.ID, after.Type, nb.Len()
	return enc.encode(nb.String()), change, nil
}

// cellNumber returns the number of the cell that the call is about, or that the
// new one is to have.
func cellNumber(nb *nbformat.Notebook, in notebookEditInput) (int, error) {
	insert := in.Command == "insert"
	switch {
	case in.CellID != "":
		at, err := nb.Find(in.CellID)
		if insert && err == nil {
			at++
		}
		return at, err
	case in.CellNumber == nil:
		return 0, errors.New("say which cell: give cell_id or cell_number")
	}
	at := *in.CellNumber
	switch {
	case insert && at > nb.Len():
		at = nb.Len()
	case at < 0 || !insert && at >= nb.Len():
		return 0, fmt.Errorf("there is no cell %d: the notebook has %s, numbered from 0", at, text.Count(nb.Len(), "cell"))
	}
	return at, nil
}
