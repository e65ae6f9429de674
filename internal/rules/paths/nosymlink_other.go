//go:build !linux

package paths

// straight reports whether p is known to have no symbolic link on the way; false
// here, where no call of the system says so.
func straight(string) bool { return false }
