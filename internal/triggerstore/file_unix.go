//go:build unix

package triggerstore

import "io/fs"

// private reports whether only the owner has rights to a file.
func private(m fs.FileMode) bool { return m.Perm()&0o077 == 0 }
