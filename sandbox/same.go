package sandbox

import (
	"io/fs"
	"os"
	"path/filepath"
)

// A file can have names whose text does not show that they are its own: a hard link, a bind
// mount, or another spelling for the same file system. So existing files are compared by
// identity as well.

// maxLinked bounds how many files of a denied folder are compared with a file that has
// several names.
const maxLinked = 5000

// A subject is a path to judge, with the identities of the files along it.
type subject struct {
	real  string
	infos []fs.FileInfo // of the path and the folders around it, as far as they exist
}

func newSubject(real string) *subject {
	s := &subject{real: real}
	for path := real; ; path = filepath.Dir(path) {
		if info, err := os.Lstat(path); err == nil {
			s.infos = append(s.infos, info)
		}
		if path == filepath.Dir(path) {
			return s
		}
	}
}

// hasOtherNames reports whether a path is a file with several names.
func hasOtherNames(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.Mode().IsRegular() && linkCount(info) > 1
}

// isIn reports whether the path leads into the entry by another name.
func (s *subject) isIn(e entry) bool {
	info, err := os.Lstat(e.real)
	if err != nil {
		return false
	}
	for _, own := range s.infos {
		if os.SameFile(own, info) {
			return true
		}
	}
	return len(s.infos) > 0 && s.infos[0].Mode().IsRegular() && info.IsDir() && linkCount(s.infos[0]) > 1 && holdsFile(e.real, s.infos[0])
}

// holdsFile reports whether a file is among the first of a folder.
func holdsFile(dir string, file fs.FileInfo) (found bool) {
	seen := 0
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if seen++; seen > maxLinked {
			return fs.SkipAll
		}
		if err != nil || !d.Type().IsRegular() {
			return nil
		}
		if info, err := d.Info(); err == nil && os.SameFile(info, file) {
			found = true
			return fs.SkipAll
		}
		return nil
	})
	return found
}

// aliased returns the first entry that the path is in by another name than the
// entry's; false for none.
func (s *subject) aliased(lists ...[]entry) (entry, bool) {
	for _, list := range lists {
		for _, e := range list {
			if !e.holds(s.real) && s.isIn(e) {
				return e, true
			}
		}
	}
	return entry{}, false
}
