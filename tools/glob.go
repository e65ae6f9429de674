package tools

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/openagent-go/agent/internal/glob"
	"github.com/openagent-go/agent/internal/toolapi"
	"github.com/openagent-go/agent/internal/walk"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
)

//go:embed glob.md
var globText string

// maxPaths is how many paths Glob lists.
const maxPaths = 100

type globInput struct {
	Pattern string `json:"pattern"`
	Path    string `json:"path,omitempty"`
}

// globDetails are the Details of a result of Glob.
type globDetails struct {
	Files     int  `json:"files"` // that match
	Truncated bool `json:"truncated"`
}

// Glob returns the tool that finds files by name.
func Glob(finder Workspace) tool.Tool {
	return tool.New(tool.Spec{
		Name: "Glob", Title: "Find files", Description: globText,
		ReadOnly: true, NonDestructive: true, Idempotent: true,
	}, func(ctx context.Context, call tool.Call, in globInput) (*tool.Result, error) {
		return findFiles(ctx, finder, call, in)
	}).OnClassify(func(call tool.Call, in globInput) tool.Traits {
		folder, _ := in.base()
		return classifySearch(finder, call, folder)
	})
}

// classifySearch returns the traits of a call that searches the file or folder called name.
func classifySearch(finder toolapi.Finder, call tool.Call, name string) tool.Traits {
	if name == "" {
		name = "."
	}
	path, err := finder.Resolve(call.Dir, name)
	if err != nil {
		return tool.Traits{ReadOnly: true}
	}
	return access(permission.ReadFile, path)
}

// base returns the folder that the search begins in, and the pattern from there.
func (in globInput) base() (folder, rest string) {
	folder, rest = glob.Base(in.Pattern)
	if native := filepath.FromSlash(folder); in.Path == "" || filepath.IsAbs(native) {
		return native, rest
	}
	return filepath.Join(in.Path, folder), rest
}

func findFiles(ctx context.Context, finder toolapi.Finder, call tool.Call, in globInput) (*tool.Result, error) {
	folder, rest := in.base()
	pattern, err := glob.Parse(rest)
	if err != nil {
		return tool.Errorf("The pattern %q is not a valid glob: %v.", in.Pattern, err), nil
	}
	if in.Path != "" {
		t, err := openTree(ctx, finder, call, in.Path)
		if err != nil {
			return tool.Errorf("%v", err), nil
		}
		t.close()
		if t.file != "" {
			return tool.Errorf("%s is a file. path must be a folder; use Read for the file itself.", t.abs(t.file)), nil
		}
	}
	t, err := openTree(ctx, finder, call, folder)
	var missing *missingError
	switch {
	case errors.As(err, &missing):
		return noFiles(in, " "+missing.text), nil
	case err != nil:
		return tool.Errorf("%v", err), nil
	}
	defer t.close()
	if t.file != "" {
		return noFiles(in, fmt.Sprintf(" %s is a file.", t.abs(t.file))), nil
	}
	l, err := t.list(ctx, walk.Walk{Enter: pattern.Enter, Want: pattern.Match, Links: true, Times: true})
	switch {
	case errors.Is(err, walk.ErrTooMany):
		return tool.Errorf("%v", err), nil
	case err != nil:
		return nil, err
	case len(l.Files) == 0:
		return noFiles(in, leftOut(l)), nil
	}
	return listFiles(t, in, l), nil
}

func noFiles(in globInput, why string) *tool.Result {
	r := tool.Text(fmt.Sprintf("No files matched the pattern %q.%s", in.Pattern, why))
	r.Title, r.Details = heading("Glob", in.Pattern), toolapi.Details(globDetails{})
	return r
}

func listFiles(t *tree, in globInput, l *walk.Listing) *tool.Result {
	var text strings.Builder
	for _, f := range l.Files[:min(len(l.Files), maxPaths)] {
		text.WriteString(oneLine(t.abs(f.Path)) + "\n")
	}
	more := len(l.Files) > maxPaths
	if more {
		fmt.Fprintf(&text, "(%d files match, of which the %d changed last are listed. Use a narrower pattern or path to see the others.)\n", len(l.Files), maxPaths)
	}
	if s := unread(l); s != "" {
		fmt.Fprintf(&text, "(%s)\n", s[1:])
	}
	r := tool.Text(text.String())
	r.Title, r.Details = heading("Glob", in.Pattern), toolapi.Details(globDetails{Files: len(l.Files), Truncated: more})
	return r
}
