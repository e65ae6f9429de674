//go:build !windows

package paths

// longName returns the path of a file by its long name: other systems have no short ones.
func longName(path string) string { return path }
