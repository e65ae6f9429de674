package parts

import (
	"context"
	"path/filepath"

	"github.com/openagent-go/agent/internal/customtools"
	"github.com/openagent-go/agent/tool"
	"github.com/openagent-go/agent/workspace"
)

// CustomTools returns the tools of the user's folder, the project and the plugins. All folders but
// the user's need trust: it is asked for now, and again at each use of the set.
func (f *Finder) CustomTools(ctx context.Context, ws *workspace.Workspace, builtin []tool.Tool) (*customtools.Set, error) {
	trusts := func(ctx context.Context, l customtools.Listing) (bool, error) {
		return f.Trust(ctx, Source{Kind: Tools, Path: l.Dir, Sum: l.Sum, Content: l})
	}
	set := &customtools.Set{Workspace: ws, Warn: func(err error) { f.Warn(Tools, err) }, Trusted: func(l customtools.Listing) bool {
		yes, err := trusts(context.Background(), l)
		if err != nil {
			f.Warn(Tools, err)
		}
		return yes && err == nil
	}}
	if f.Home != "" {
		set.Folders = append(set.Folders, customtools.Folder{Path: filepath.Join(f.Home, "tools"), Trusted: true})
		set.Hung = filepath.Join(f.Home, "tools-hung.json")
	}
	set.Folders = append(set.Folders, customtools.Folder{Path: filepath.Join(f.Project, ".openagent", "tools")})
	for _, p := range f.Folders {
		set.Folders = append(set.Folders, customtools.Folder{Path: filepath.Join(p, "tools")})
	}
	for _, t := range builtin {
		s := t.Spec()
		set.Builtin = append(append(set.Builtin, s.Name), s.Aliases...)
	}
	for _, folder := range set.Folders {
		l, err := customtools.List(folder.Path)
		if folder.Trusted || err != nil || len(l.Files) == 0 {
			continue // loading the tools reports read errors
		}
		if _, err := trusts(ctx, l); err != nil {
			return set, err
		}
	}
	return set, nil
}
