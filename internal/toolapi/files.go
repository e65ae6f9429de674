// Package toolapi holds the interfaces and data through which the built-in tools reach files,
// commands, agents, skills, settings and resources.
package toolapi

import (
	"context"
	"fmt"
	"io/fs"
	"os"

	"github.com/openagent-go/agent/internal/walk"
	"github.com/openagent-go/agent/workspace"
)

// Files are the files that Read, Write and Edit work on. Names are absolute or relative to
// dir, the working directory of a call.
type Files interface {
	// Resolve returns the absolute path of name without symlinks. It is also asked before a
	// call is judged, so it takes no context: one that asks another machine must limit its
	// time itself.
	Resolve(dir, name string) (string, error)
	// Open opens a regular file or a folder for reading, never waiting for it. The file of
	// a folder is an [fs.ReadDirFile]. A missing file is an [fs.ErrNotExist].
	Open(ctx context.Context, dir, name string) (fs.File, error)
	// Update replaces a file as a whole; old is nil for a missing file.
	Update(ctx context.Context, dir, name string, change func(old []byte) ([]byte, error)) error
}

// PatchFiles are the files that ApplyPatch works on.
type PatchFiles interface {
	Files
	// UpdateAll replaces several files as a whole, or none; old is nil for a missing file.
	UpdateAll(ctx context.Context, dir string, names []string, change func(old [][]byte) ([]workspace.Content, error)) error
}

// A Finder gives Glob and Grep the files to search. Names are absolute or relative to dir,
// the working directory of a call.
type Finder interface {
	// Resolve returns the absolute path of name without symlinks.
	Resolve(dir, name string) (string, error)
	// OpenFolder opens the folder at name, and returns its path as Resolve does. A missing
	// folder is an [fs.ErrNotExist].
	OpenFolder(ctx context.Context, dir, name string) (workspace.Folder, string, error)
}

// A Workplace is where language servers work.
type Workplace interface {
	Finder
	// Open opens a regular file or a folder for reading, never waiting for it.
	Open(ctx context.Context, dir, name string) (fs.File, error)
	// Start starts a program.
	Start(ctx context.Context, c workspace.Command) (workspace.Process, error)
}

// Worktrees are the files and processes that EnterWorktree and ExitWorktree work on.
type Worktrees interface {
	Starter
	Finder
}

// OpenRoot opens a folder that is on a disk of this machine.
func OpenRoot(in Finder, dir, name string) (*os.Root, string, error) {
	folder, path, err := in.OpenFolder(context.Background(), dir, name)
	if err != nil {
		return nil, "", err
	}
	local, ok := folder.(walk.Rooted)
	if !ok {
		folder.Close()
		return nil, "", fmt.Errorf("opening %s: it is not on this machine", path)
	}
	return local.Root(), path, nil
}

// A Starter starts programs.
type Starter interface {
	Start(ctx context.Context, c workspace.Command) (workspace.Process, error)
}
