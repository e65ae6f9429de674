package tooloutput

import "io/fs"

// userName is the same for all: the temporary folder of Windows is the user's own.
func userName() string { return "user" }

func private(fs.FileInfo) bool { return true }
