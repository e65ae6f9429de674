package permission

// MatchPath reports whether the file at path (absolute) falls under pattern, a
// gitignore-style pattern: "*.env" and "secrets/" match at any depth below dir,
// "/src/**" from dir, "//etc/**" from the root of the file system, "~/.ssh/**"
// from the home folder. A pattern that names a folder covers all below it.
func MatchPath(pattern, path, dir string) bool {
	return false
}
