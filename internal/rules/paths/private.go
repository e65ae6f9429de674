package paths

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// What the program keeps for itself.

// Kept returns private paths as they are given and where they lead.
func (g *Context) Kept(private []string) []string {
	var out []string
	for _, p := range private {
		out = append(out, g.Forms(p)...)
	}
	return out
}

// Among returns which of the kept a file is, is in, or is beside by a name that
// goes on with a dot; "" for none.
func (g *Context) Among(kept []string, file string) string {
	forms := g.Forms(file)
	if forms == nil {
		forms = []string{filepath.Clean(file)}
	}
	for _, f := range forms {
		if k := AmongPrivate(kept, f); k != "" {
			return k
		}
	}
	return ""
}

// KeptInside returns the private paths that are in a root. There, what a call
// touches without saying so may be one of them.
func (g *Context) KeptInside(private []string) []string {
	if len(private) == 0 {
		return nil
	}
	return slices.DeleteFunc(g.Kept(private), func(p string) bool {
		return !slices.ContainsFunc(g.settled().roots, func(root string) bool { return Below(root, p) })
	})
}

// Above reports whether a folder is above a path, or is it, as it is written or where
// it leads.
func (g *Context) Above(folder, path string) bool {
	return slices.ContainsFunc(g.Forms(folder), func(f string) bool { return Below(f, path) })
}

// AmongPrivate returns which of the private paths a file is, is in, or is beside by
// a name that goes on with a dot; "" for none.
func AmongPrivate(private []string, file string) string {
	for _, k := range private {
		if len(file) < len(k) || file[:len(k)] != k && !(FoldCase && strings.EqualFold(file[:len(k)], k)) {
			continue
		}
		if rest := file[len(k):]; rest == "" || rest[0] == '.' || os.IsPathSeparator(rest[0]) {
			return k
		}
	}
	return ""
}
