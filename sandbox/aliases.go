package sandbox

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// maxSearched bounds how many files of a folder that is worked in are compared
// with denied files that have several names.
const maxSearched = 50_000

// aliases lists other names of files that must not be read, as far as they can be found:
// hard links in the working and writable folders, and bind mounts anywhere. The operating
// system hides files by path, so each name must be hidden.
func (r *Rules) aliases() []string {
	hidden := slices.Concat(r.denied, r.hidden)
	names := r.linked(hidden)
	for _, e := range hidden {
		for _, name := range mountedElsewhere(e.real) {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// A fileID is the identity of a file on this machine.
type fileID struct{ device, inode uint64 }

// linked lists the hard links to denied files in the folders that are worked in or
// written.
func (r *Rules) linked(hidden []entry) (names []string) {
	denied := map[fileID][]entry{}
	for _, e := range hidden {
		eachLinked(e.real, maxLinked, func(_ string, id fileID) { denied[id] = append(denied[id], e) })
	}
	if len(denied) == 0 {
		return nil
	}
	worked, _ := r.entries("the folders that are worked in", append([]string{r.place.Dir}, r.place.Roots...)) // they were judged before
	for _, dir := range reals(append(worked, r.write...)) {
		eachLinked(dir, maxSearched, func(path string, id fileID) {
			if slices.ContainsFunc(denied[id], func(e entry) bool { return !e.holds(path) }) && !slices.Contains(names, path) {
				names = append(names, path)
			}
		})
	}
	return names
}

// eachLinked calls a function for the files of a folder, or the file, that have several
// names. It looks at the first entries only.
func eachLinked(root string, most int, found func(path string, id fileID)) {
	_ = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if most--; most < 0 {
			return fs.SkipAll
		}
		if err != nil || !d.Type().IsRegular() {
			return nil
		}
		if info, err := os.Lstat(path); err == nil && linkCount(info) > 1 {
			if id, ok := identity(info); ok {
				found(path, id)
			}
		}
		return nil
	})
}
