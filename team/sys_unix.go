//go:build unix

package team

import "os"

// private takes everybody else's rights to a file away, whatever the umask was.
func private(f *os.File) error { return f.Chmod(0o600) }
