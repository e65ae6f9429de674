package paths

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// FoldCase: the usual file systems of these systems ignore case, so a deny rule
// must do so as well.
const FoldCase = runtime.GOOS == "darwin" || runtime.GOOS == "windows"

// MatchPath reports whether the file at path (absolute) falls under pattern, a
// gitignore-style pattern: "*.env" and "secrets/" match at any depth below dir,
// "/src/**" from dir, "//etc/**" from the root of the file system, "~/.ssh/**"
// from the home folder. A pattern that names a folder covers all below it, and
// one that ends in "/**" covers what is in the folder, not the folder.
// Whole segments are compared, without regard to case where file systems have
// none. A malformed pattern matches nothing; Rule.Check of package permission finds it.
func MatchPath(pattern, path, dir string) bool {
	return matchPath(pattern, path, dir, FoldCase)
}

func matchPath(pattern, file, dir string, fold bool) bool {
	p := NewPattern(pattern, fold)
	segs, base := Segments(file), Segments(dir)
	if fold {
		segs, base = Lower(segs), Lower(base)
	}
	return p.Matches(segs, base)
}

// Segments splits a path, cleaned and without its volume.
func Segments(p string) []string { return Split(Joined(p, false)) }

// Split returns the segments of a clean path that neither begins nor ends with "/".
func Split(p string) []string {
	if p == "" {
		return nil
	}
	return strings.Split(p, "/")
}

func Lower(list []string) []string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = strings.ToLower(s)
	}
	return out
}

// Home returns the home folder, or "" where there is none.
func Home() string {
	h, err := os.UserHomeDir()
	if err != nil {
		return ""
	}
	return h
}

const maxLinks = 40 // like Linux

// realPath resolves the symbolic links of p, an absolute path that need not be
// clean nor exist, the way the kernel does: ".." is the parent of what the link
// leads to. It returns "" for a loop of links.
func realPath(p string, readlink func(string) (string, error)) string {
	vol := filepath.VolumeName(p)
	root := vol + string(filepath.Separator)
	rest := strings.Split(filepath.ToSlash(p[len(vol):]), "/")
	cur, links := root, 0
	for len(rest) > 0 {
		s := rest[0]
		rest = rest[1:]
		switch s {
		case "", ".":
			continue
		case "..":
			cur = filepath.Dir(cur)
			continue
		}
		if drives {
			s = nameOnDisk(s)
		}
		next := filepath.Join(cur, s)
		if drives && strings.Contains(s, "~") {
			next = longName(next)
		}
		to, err := readlink(next)
		if err != nil {
			cur = next
			continue
		}
		if links++; links > maxLinks {
			return ""
		}
		if filepath.IsAbs(to) {
			vol := filepath.VolumeName(to)
			cur, to = vol+string(filepath.Separator), to[len(vol):]
		}
		rest = append(strings.Split(filepath.ToSlash(to), "/"), rest...)
	}
	return cur
}

// Below reports whether p, clean, is root or in it.
func Below(root, p string) bool {
	rest, ok := strings.CutPrefix(p, strings.TrimSuffix(root, string(filepath.Separator)))
	return ok && (rest == "" || os.IsPathSeparator(rest[0]))
}

// RealPath returns where an absolute path leads, the way the system resolves it:
// ".." is the parent of what a link leads to, and what comes after the last thing
// that exists is kept. It is "" for a loop of links.
func RealPath(path string) string { return realPath(path, os.Readlink) }

// Joined is a path as its segments with "/" between them; with fold, case does not
// count.
func Joined(p string, fold bool) string {
	if p == "" {
		return ""
	}
	p = filepath.Clean(p)
	p = strings.TrimLeft(filepath.ToSlash(p[len(filepath.VolumeName(p)):]), "/")
	if drives {
		p = namesOnDisk(p)
	}
	if fold {
		p = strings.ToLower(p)
	}
	return p
}

// streams are files that everybody may read from and write to.
var streams = []string{"/dev/null", "/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/fd/0", "/dev/fd/1", "/dev/fd/2", "/dev/fd/63"}

// IsStream reports whether a path is one of the streams.
//
//go:noinline // called from many places: every program stays smaller
func IsStream(path string) bool { return slices.Contains(streams, path) }
