//go:build unix

package safefile

import (
	"errors"
	"os"
	"syscall"
)

// refuseLink does nothing: OpenFlags refuse links.
func refuseLink(string) error { return nil }

// folderFlags keep an opening from waiting for a pipe in the folder's place.
const folderFlags = os.O_RDONLY | syscall.O_NONBLOCK | syscall.O_DIRECTORY

func openFolder(name string) (*os.File, error) { return os.OpenFile(name, folderFlags, 0) }

func openFolderIn(root *os.Root, name string) (*os.File, error) {
	return root.OpenFile(name, folderFlags, 0)
}

// unsyncable reports whether the file system does not sync folders: some network and
// user-space file systems have nothing better to offer.
func unsyncable(err error) bool {
	return errors.Is(err, syscall.EINVAL) || errors.Is(err, errors.ErrUnsupported)
}
