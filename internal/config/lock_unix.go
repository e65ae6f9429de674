//go:build unix

package config

import (
	"errors"
	"io/fs"
	"os"
	"syscall"

	"github.com/openagent-go/agent/internal/safefile"
)

// readFlags keep an opening from waiting for a pipe.
const readFlags = syscall.O_NONBLOCK

// errNotDir is that a folder in a path is none.
const errNotDir = syscall.ENOTDIR

// openToAll reports whether everybody may write to a file.
func openToAll(m fs.FileMode) bool { return m.Perm()&0o002 != 0 }

// beingRemoved is false: a file can be removed while others open it.
func beingRemoved(error) bool { return false }

// freeFile removes the lock's file while it is still locked, and frees it.
func freeFile(f safefile.File) error { return errors.Join(os.Remove(f.Name()), f.Close()) }
