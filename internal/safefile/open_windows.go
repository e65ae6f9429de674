package safefile

import (
	"fmt"
	"io/fs"
	"os"
)

// refuseLink refuses a link at name, because OpenFlags cannot.
func refuseLink(name string) error {
	if info, err := os.Lstat(name); err == nil && info.Mode()&fs.ModeSymlink != 0 {
		return fmt.Errorf("%s is a link, not a regular file", name)
	}
	return nil
}

// openFolder returns nil: Windows syncs no folders, and NTFS logs changes of names itself.
func openFolder(string) (*os.File, error) { return nil, nil }

func openFolderIn(*os.Root, string) (*os.File, error) { return nil, nil }

func unsyncable(error) bool { return false }
