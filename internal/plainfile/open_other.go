//go:build !unix

package plainfile

const (
	nonblock   = 0
	folderOnly = 0
)
