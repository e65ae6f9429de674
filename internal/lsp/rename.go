package lsp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// A TextEdit replaces a range of a document.
type TextEdit struct {
	Range Range  `json:"range"`
	Text  string `json:"newText"`
}

// A FileEdit is the change of a rename to a file.
type FileEdit struct {
	URI   string
	Edits []TextEdit
	Other string // what is done to the file as a whole, in words; "" if nothing
}

// Rename returns the edits for giving the thing at a place another name.
func (s *Server) Rename(ctx context.Context, path string, p Position, name string) ([]FileEdit, error) {
	if err := s.offered(s.capabilities.Rename, "renaming"); err != nil {
		return nil, err
	}
	params := at(path, p)
	params["newName"] = name
	var edit workspaceEdit
	if err := s.ask(ctx, "textDocument/rename", params, &edit, func() bool { return len(edit.Changes)+len(edit.Documents) == 0 }); err != nil {
		return nil, err
	}
	return edit.files()
}

type workspaceEdit struct {
	Changes   map[string][]TextEdit `json:"changes"`
	Documents []json.RawMessage     `json:"documentChanges"`
}

func (w *workspaceEdit) files() ([]FileEdit, error) {
	var files []FileEdit
	if len(w.Documents) == 0 {
		for _, uri := range slices.Sorted(maps.Keys(w.Changes)) {
			files = append(files, FileEdit{URI: uri, Edits: w.Changes[uri]})
		}
		return files, nil
	}
	for _, raw := range w.Documents {
		var c struct {
			Kind     string `json:"kind"`
			URI      string `json:"uri"`
			OldURI   string `json:"oldUri"`
			NewURI   string `json:"newUri"`
			Document struct {
				URI string `json:"uri"`
			} `json:"textDocument"`
			Edits []TextEdit `json:"edits"`
		}
		if err := json.Unmarshal(raw, &c); err != nil {
			return nil, fmt.Errorf("reading an edit: %w", err)
		}
		switch c.Kind {
		case "":
			files = append(files, FileEdit{URI: c.Document.URI, Edits: c.Edits})
		case "rename":
			files = append(files, FileEdit{URI: c.OldURI, Other: "renamed to " + c.NewURI})
		default:
			files = append(files, FileEdit{URI: c.URI, Other: c.Kind})
		}
	}
	return files, nil
}

// Apply returns text with edits made, none of which may overlap another.
func (e Encoding) Apply(text string, edits []TextEdit) (string, error) {
	lines := strings.SplitAfter(text, "\n")
	starts := make([]int, len(lines))
	for i := 1; i < len(lines); i++ {
		starts[i] = starts[i-1] + len(lines[i-1])
	}
	offset := func(p Position) int {
		switch {
		case p.Line < 0:
			return 0
		case p.Line >= len(lines):
			return len(text)
		}
		line := strings.TrimRight(lines[p.Line], "\r\n")
		return starts[p.Line] + e.Offset(line, p.Character)
	}
	type span struct {
		start, end int
		text       string
	}
	spans := make([]span, 0, len(edits))
	for _, edit := range edits {
		spans = append(spans, span{offset(edit.Range.Start), offset(edit.Range.End), edit.Text})
	}
	slices.SortStableFunc(spans, func(a, b span) int { return a.start - b.start })
	var b strings.Builder
	done := 0
	for _, s := range spans {
		if s.start < done || s.end < s.start {
			return "", errors.New("the edits of the language server overlap")
		}
		b.WriteString(text[done:s.start])
		b.WriteString(s.text)
		done = s.end
	}
	b.WriteString(text[done:])
	return b.String(), nil
}
