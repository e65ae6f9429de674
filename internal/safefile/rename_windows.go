package safefile

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

func rename(from, to string) error {
	return patiently(func() error { return os.Rename(from, to) }, inUse)
}

// inUse reports whether an error may mean that a program has the file open. Windows says "access
// is denied" if it is the target, and does not tell that from a missing right.
func inUse(err error) bool {
	return errors.Is(err, windows.ERROR_SHARING_VIOLATION) || errors.Is(err, windows.ERROR_ACCESS_DENIED)
}
