package permission

import (
	"slices"

	"github.com/openagent-go/agent/permission/internal/paths"
)

// Files returns the files that the command lines of the request are known to name,
// absolute and not clean: what they redirect into, and arguments of commands that
// open files with what they read from. all is false if they may name others.
func (r Request) Files() (read, written []string, all bool) {
	c := newCase(r)
	all = true
	for i, a := range r.Access {
		if a.Kind == RunCommand {
			s := c.lines[i]
			all = s.Opened(&read, &written) && all
		}
	}
	for _, list := range []*[]string{&read, &written} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
	return read, written, all
}

// RealPath returns where an absolute path leads, the way the system resolves it:
// ".." is the parent of what a link leads to, and what comes after the last thing
// that exists is kept. It is "" for a loop of links.
func RealPath(path string) string { return paths.RealPath(path) }

// MatchPath reports whether the file at path (absolute) falls under pattern, a
// gitignore-style pattern: "*.env" and "secrets/" match at any depth below dir,
// "/src/**" from dir, "//etc/**" from the root of the file system, "~/.ssh/**"
// from the home folder. A pattern that names a folder covers all below it, and
// one that ends in "/**" covers what is in the folder, not the folder.
// Whole segments are compared, without regard to case where file systems have
// none. A malformed pattern matches nothing; [Rule.Check] finds it.
func MatchPath(pattern, path, dir string) bool { return paths.MatchPath(pattern, path, dir) }
