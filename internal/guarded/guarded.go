// Package guarded knows the files and folders that run code, or decide about permissions,
// when a program opens them: settings of agents, editors, shells, git and build tools.
// Permissions ask before one is written; the sandbox keeps them read-only. Both read the
// list in list.txt.
package guarded

import (
	_ "embed"
	"path"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/openagent-go/agent/internal/order"
)

//go:embed list.txt
var list string

// A Scope says where programs look for a file.
type Scope string

const (
	Folder   Scope = "folder"   // in the folder that they are opened in
	Existing Scope = "existing" // as Folder, but an empty one would get in the way
	Home     Scope = "home"     // in the home folder
)

type entry struct {
	path  string
	names []string // of path, in lower case
	scope Scope
	on    string // the system that has it, "" for all
}

// A table finds entries by their last name.
type table struct {
	entries []entry
	by      map[string][]*entry
	open    []*entry // whose last name holds "*"
}

var read = sync.OnceValue(func() *table {
	t := &table{by: map[string][]*entry{}}
	scope, on := "", ""
	for line := range strings.Lines(list) {
		line = strings.TrimSpace(line)
		switch {
		case line == "" || line[0] == '#':
		case line[0] == '[':
			scope, on, _ = strings.Cut(strings.Trim(line, "[]"), " on ")
		default:
			t.entries = append(t.entries, entry{line, strings.Split(strings.ToLower(line), "/"), Scope(scope), on})
		}
	}
	for i := range t.entries {
		e := &t.entries[i]
		if last := e.names[len(e.names)-1]; strings.Contains(last, "*") {
			t.open = append(t.open, e)
		} else {
			t.by[last] = append(t.by[last], e)
		}
	}
	return t
})

// Paths returns the entries of a scope that this system has, with "/" between names.
func Paths(scope Scope) []string {
	var out []string
	for _, e := range read().entries {
		if e.scope == scope && (e.on == "" || e.on == runtime.GOOS) {
			out = append(out, e.path)
		}
	}
	return out
}

// Ends reports whether a path, given as its names, is an entry of any scope, in any folder.
func Ends(names []string) bool {
	if len(names) == 0 {
		return false
	}
	t := read()
	last := strings.ToLower(names[len(names)-1])
	ends := func(e *entry) bool { return e.ends(names) }
	return slices.ContainsFunc(t.by[last], ends) || slices.ContainsFunc(t.open, ends)
}

// Covers reports whether a path, as its names, is an entry or in one.
func Covers(names []string) bool {
	for i := range names {
		if Ends(names[:i+1]) {
			return true
		}
	}
	return false
}

// MayHold reports whether a folder with the last of these names may hold an entry of more
// than one name. Replacing such a folder replaces the entry.
func MayHold(names []string) bool {
	entries := read().entries
	return order.Any(len(entries), func(i int) bool {
		e := &entries[i]
		for n := 1; n < len(e.names); n++ {
			front := entry{names: e.names[:n]}
			if front.ends(names) {
				return true
			}
		}
		return false
	})
}

func (e *entry) ends(names []string) bool {
	if len(names) < len(e.names) {
		return false
	}
	for i, name := range names[len(names)-len(e.names):] {
		if ok, err := path.Match(e.names[i], strings.ToLower(name)); !ok || err != nil {
			return false
		}
	}
	return true
}
