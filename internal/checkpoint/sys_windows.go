package checkpoint

import (
	"os"
	"path/filepath"
)

const noWait = 0

// move moves a file from a folder to another.
func move(from *os.Root, name string, to *os.Root, as string) error {
	return os.Rename(filepath.Join(from.Name(), name), filepath.Join(to.Name(), as))
}
