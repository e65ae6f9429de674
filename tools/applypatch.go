package tools

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/openagent-go/agent/internal/patch"
	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/internal/toolapi"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
	"github.com/openagent-go/agent/workspace"
)

//go:embed applypatch.md
var applyPatchText string

// maxProblems is how many wrong files of a patch an error names.
const maxProblems = 3

type applyPatchInput struct {
	Input string `json:"input" jsonschema:"the whole patch"`
}

// ApplyPatch returns the tool that changes several files by a patch, all or
// none.
func ApplyPatch(files Workspace) tool.Tool {
	return tool.New(tool.Spec{
		Name: "ApplyPatch", Replaces: []string{"Edit", "Write", "MultiEdit"}, Title: "Apply a patch", Description: applyPatchText, State: filesState, Aliases: []string{"apply_patch"},
	}, func(ctx context.Context, call tool.Call, in applyPatchInput) (*tool.Result, error) {
		return applyPatch(ctx, files, call, in), nil
	}).OnClassify(func(call tool.Call, in applyPatchInput) tool.Traits {
		p, err := readPatch(files, call, in.Input)
		if err != nil {
			return tool.Traits{}
		}
		c := tool.Traits{Touches: p.paths}
		for _, path := range p.paths {
			c.Access = append(c.Access, permission.Access{Kind: permission.EditFile, Target: path})
		}
		return c
	}).OnPreview(func(call tool.Call, in applyPatchInput) string {
		p, err := readPatch(files, call, in.Input)
		if err != nil {
			return ""
		}
		old := make([][]byte, len(p.paths))
		total := 0
		for i, path := range p.paths {
			if old[i], err = current(files, path); err != nil {
				return ""
			}
			if total += len(old[i]); total > maxPatched {
				return ""
			}
		}
		if p.apply(context.Background(), old, nil) != nil {
			return ""
		}
		return p.change().Diff
	})
}

func applyPatch(ctx context.Context, files toolapi.PatchFiles, call tool.Call, in applyPatchInput) *tool.Result {
	p, err := readPatch(files, call, in.Input)
	if err != nil {
		return tool.Errorf("%s", unchanged(err))
	}
	err = files.UpdateAll(ctx, "", p.paths, func(old [][]byte) ([]workspace.Content, error) {
		if err := p.apply(ctx, old, &call); err != nil {
			return nil, err
		}
		return p.contents, nil
	})
	if err != nil {
		return tool.Errorf("%v\nThe patch was not applied.", err)
	}
	change := p.change()
	r := tool.Text(p.report(change))
	r.Title = fmt.Sprintf("Patch %s (+%d −%d)", text.Count(len(p.files), "file"), change.Additions, change.Deletions)
	if len(p.files) == 1 {
		r.Title = fmt.Sprintf("Patch %s (+%d −%d)", filepath.Base(p.paths[0]), change.Additions, change.Deletions)
	}
	r.Details = toolapi.Details(change)
	r.Patch.State = p.sight()
	return r
}

// A patching is a patch on its way to the files.
type patching struct {
	files    []patch.File
	places   []patchPlace
	paths    []string            // of all files concerned, absolute
	contents []workspace.Content // the new state of each path, once applied
	changes  []patchedFile       // of each file of the patch, once applied
}

// A patchPlace says which of the paths belong to a file of the patch.
type patchPlace struct{ from, to int }

// A patchedFile is the part of the Details about one file of a patch.
type patchedFile struct {
	FilePath  string `json:"filePath"`
	MovedFrom string `json:"movedFrom,omitempty"`
	Created   bool   `json:"created,omitempty"`
	Deleted   bool   `json:"deleted,omitempty"`
	Additions int    `json:"additions"`
	Deletions int    `json:"deletions"`

	change fileChange
	how    []string // how hunks were found that were not in the file exactly
}

// A patchChange holds the Details of a patch.
type patchChange struct {
	Files     []patchedFile `json:"files"`
	Diff      string        `json:"diff"` // unified, of all files; cut where DiffCut is set
	DiffCut   bool          `json:"diffCut,omitempty"`
	Additions int           `json:"additions"`
	Deletions int           `json:"deletions"`
}

// readPatch reads a patch and finds out which files it is about.
func readPatch(files toolapi.Files, call tool.Call, text string) (*patching, error) {
	parsed, err := patch.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("reading the patch: %w", err)
	}
	p := &patching{files: parsed}
	seen := map[string]bool{}
	add := func(name string) error {
		path, err := files.Resolve(call.Dir, name)
		if err != nil {
			return err
		}
		if seen[path] {
			return fmt.Errorf("the patch names %s twice; say all that happens to a file in one place", path)
		}
		seen[path] = true
		p.paths = append(p.paths, path)
		return nil
	}
	for _, f := range parsed {
		place := patchPlace{len(p.paths), len(p.paths)}
		err := add(f.Path)
		if err == nil && f.MoveTo != "" {
			place.to++
			err = add(f.MoveTo)
		}
		if err != nil {
			return nil, err
		}
		p.places = append(p.places, place)
	}
	p.contents = make([]workspace.Content, len(p.paths))
	return p, nil
}

// apply computes the new contents of the files whose contents are old. With a call, the
// files must have been read in its session. The error names the mistakes in the first
// files.
func (p *patching) apply(ctx context.Context, old [][]byte, call *tool.Call) error {
	var problems []error
	for i := range p.files {
		if err := ctx.Err(); err != nil {
			return err
		}
		change, err := p.applyFile(ctx, i, old, call)
		if err != nil {
			if problems = append(problems, err); len(problems) == maxProblems {
				break
			}
		}
		p.changes = append(p.changes, change)
	}
	return errors.Join(problems...)
}

func (p *patching) applyFile(ctx context.Context, i int, all [][]byte, call *tool.Call) (patchedFile, error) {
	f, at := p.files[i], p.places[i]
	path, old := p.paths[at.from], all[at.from]
	if old != nil && call != nil {
		if err := checkSeen(*call, path, old); err != nil {
			return patchedFile{}, err
		}
	}
	if old == nil && f.Action != patch.Add {
		return patchedFile{}, fmt.Errorf("%s does not exist", path)
	}
	switch f.Action {
	case patch.Add:
		data, change := rewrite(path, old, f.Content)
		p.contents[at.from].Data = data
		return newPatchedFile(change), nil
	case patch.Delete:
		p.contents[at.from].Remove = true
		text, _, _ := decode(old)
		done := newPatchedFile(compare(path, false, text, "", nil))
		done.Deleted = true
		done.change.Diff = strings.Replace(done.change.Diff, "\n+++ "+path+"\n", "\n+++ /dev/null\n", 1)
		return done, nil
	}
	text, enc, ok := decode(old)
	if !ok {
		return patchedFile{}, fmt.Errorf("%s is not well-formed UTF-16, so it cannot be changed as text", path)
	}
	changed, how, err := applyHunks(ctx, path, text, f.Hunks)
	if err != nil {
		return patchedFile{}, err
	}
	to := p.paths[at.to]
	done := newPatchedFile(compare(to, false, text, changed, nil))
	done.how = how
	switch {
	case at.to == at.from:
		if changed == text {
			return patchedFile{}, fmt.Errorf("the patch would change nothing in %s: it already has this text", path)
		}
	case all[at.to] != nil:
		return patchedFile{}, fmt.Errorf("%s exists already, so nothing can be moved there", to)
	default:
		p.contents[at.from].Remove = true
		p.contents[at.to].Like = path
		done.MovedFrom = path
		if rest, ok := strings.CutPrefix(done.change.Diff, "--- "+to+"\n"); ok {
			done.change.Diff = "--- " + path + "\n" + rest
		}
	}
	p.contents[at.to].Data = enc.encode(changed)
	return done, nil
}

func newPatchedFile(c fileChange) patchedFile {
	return patchedFile{FilePath: c.FilePath, Created: c.Created, Additions: c.Additions, Deletions: c.Deletions, change: c}
}

// change describes the effects of the applied patch.
func (p *patching) change() patchChange {
	all := patchChange{Files: p.changes}
	var diff strings.Builder
	for _, f := range p.changes {
		all.Additions += f.Additions
		all.Deletions += f.Deletions
		if all.DiffCut || diff.Len()+len(f.change.Diff) > maxDiff {
			all.DiffCut = true
			continue
		}
		diff.WriteString(f.change.Diff)
		all.DiffCut = f.change.DiffCut
	}
	all.Diff = diff.String()
	return all
}

// report tells the model about the applied patch.
func (p *patching) report(c patchChange) string {
	var b strings.Builder
	b.WriteString("Applied the patch:")
	inexact := false
	for _, f := range p.changes {
		switch {
		case f.Created:
			b.WriteString("\nCreated " + f.FilePath)
		case f.Deleted:
			b.WriteString("\nDeleted " + f.FilePath)
		case f.MovedFrom != "":
			b.WriteString("\nMoved " + f.MovedFrom + " to " + f.FilePath)
		default:
			b.WriteString("\nChanged " + f.FilePath)
		}
		if f.how != nil {
			inexact = true
			b.WriteString(" (" + strings.Join(f.how, "; ") + ")")
		}
	}
	if inexact {
		b.WriteString("\nNot all context was exact. Check the change:\n" + c.Diff)
	}
	return b.String()
}

// sight returns the change to the session's state about the files that the model knows now.
func (p *patching) sight() json.RawMessage {
	files := map[string]*seen{}
	for i, c := range p.contents {
		files[p.paths[i]] = nil // the file is gone
		if !c.Remove {
			sum := sha256.Sum256(c.Data)
			files[p.paths[i]] = &seen{hex.EncodeToString(sum[:])}
		}
	}
	return toolapi.Details(files)
}
