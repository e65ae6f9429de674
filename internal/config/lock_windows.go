package config

import (
	"errors"
	"io/fs"
	"os"

	"github.com/openagent-go/agent/internal/safefile"
	"golang.org/x/sys/windows"
)

const readFlags = 0

// errNotDir is that a folder in a path is none.
const errNotDir = windows.ERROR_PATH_NOT_FOUND

// openToAll is false: a mode says nothing of who may write to a file here.
func openToAll(fs.FileMode) bool { return false }

// beingRemoved reports whether an error of opening a lock's file may mean that somebody removes it at
// this moment. Windows reports the same error for missing rights.
func beingRemoved(err error) bool {
	return errors.Is(err, windows.ERROR_SHARING_VIOLATION) || errors.Is(err, windows.ERROR_ACCESS_DENIED)
}

// freeFile frees the lock and removes its file, unless somebody else has it open.
func freeFile(f safefile.File) error {
	err := f.Close()
	_ = os.Remove(f.Name())
	return err
}
