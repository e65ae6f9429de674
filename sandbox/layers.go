package sandbox

import (
	"path/filepath"
	"slices"
	"strings"
)

// A layer is a path of a policy with its access.
type layer struct {
	path  string
	state state
}

// layers lists the paths of p, folders before their content, so that the last one that
// covers a file counts. A layer equal to the one around it is left out.
func (p confinement) layers() []layer {
	var all []layer
	for _, name := range slices.Concat(p.Write, p.ReadOnly, p.Hidden) {
		all = append(all, layer{name, p.of(name)})
	}
	slices.SortFunc(all, func(a, b layer) int {
		return slices.Compare(strings.Split(a.path, string(filepath.Separator)), strings.Split(b.path, string(filepath.Separator)))
	})
	all = slices.Compact(all)
	var out []layer
	for _, l := range all {
		around := confinement{}.of(l.path)
		for _, o := range out {
			if below(o.path, l.path) {
				around = o.state
			}
		}
		if l.state != around {
			out = append(out, l)
		}
	}
	return out
}

// anchors lists the folders between a path and the writable folder that it is
// in, the outermost first: renamed, they would take the path with them.
func (p confinement) anchors(path string) []string {
	var dirs []string
	for dir := filepath.Dir(path); p.writes(dir) && !slices.Contains(p.Write, dir) && dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		dirs = append(dirs, dir)
	}
	slices.Reverse(dirs)
	return dirs
}
