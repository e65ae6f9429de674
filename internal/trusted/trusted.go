// Package trusted keeps the list of files and folders of projects and plugins that the user
// trusts.
package trusted

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/openagent-go/agent/internal/config"
	"github.com/openagent-go/agent/internal/plainfile"
)

// A List is the content of trust.json. Its keys are real paths.
type List struct {
	Folders map[string]Folder `json:"folders"`          // with tools
	Files   map[string]File   `json:"files,omitempty"`  // settings, server files, folders of agents
	Skills  map[string]Folder `json:"skills,omitempty"` // folders with skills
	Plugins map[string]Folder `json:"plugins,omitempty"`
	// Memory has the contents of entries that the user accepted, by folder and id: their sums,
	// the newest last.
	Memory map[string]map[string][]string `json:"memory,omitempty"`
}

// A Folder records the trusted state of a folder. If a file changes, appears or disappears, the
// user has to trust the folder again.
type Folder struct {
	Sum   string    `json:"sum"`
	Files []string  `json:"files"`
	Since time.Time `json:"since"`
}

// A File records the trusted state of a file.
type File struct {
	Sum   string    `json:"sum"`
	Since time.Time `json:"since"`
}

const maxSize = 8 << 20 // maximum bytes of trust.json

// Path returns the path of the list in the folder of the user's own files.
func Path(home string) string { return filepath.Join(home, "trust.json") }

// Read reads the list in the folder home. If it cannot be read, Read returns an error and an empty
// list.
func Read(home string) (List, error) {
	file := Path(home)
	var data []byte
	if _, err := os.Lstat(file); !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
		if data, err = plainfile.ReadFile(file, maxSize); err != nil {
			if errors.Is(err, fs.ErrNotExist) {
				err = fmt.Errorf("the file %s does not exist", file)
			}
			return List{}, unreadable(file, err)
		}
	}
	l, err := decode(data)
	if err != nil {
		return List{}, unreadable(file, err)
	}
	return l, nil
}

// Change changes the list in the folder home. The replacement is atomic, and concurrent changes are
// all kept.
func Change(ctx context.Context, home string, change func(List)) error {
	file := Path(home)
	err := os.MkdirAll(home, 0o700)
	if err == nil {
		err = config.Update(ctx, file, 0o600, func(old []byte) ([]byte, error) {
			l, err := decode(old)
			if err != nil {
				return nil, unreadable(file, err)
			}
			change(l)
			data, err := json.MarshalIndent(l, "", "  ")
			return append(data, '\n'), err
		})
	}
	if err != nil {
		return fmt.Errorf("writing %s: %w", file, err)
	}
	return nil
}

// Has reports whether the list has a source in a state. The kinds are those of package parts. A
// source whose state is not known has the sum "" and is never trusted.
func (l List) Has(kind, path, sum string) bool {
	if sum == "" {
		return false
	}
	switch kind {
	case "tools":
		f, ok := l.Folders[path]
		return ok && f.Sum == sum
	case "skills":
		return l.Skills[path].Sum == sum
	case "plugins":
		return l.Plugins[path].Sum == sum
	}
	if kind == "memory" {
		return l.hasEntry(path, sum)
	}
	f, ok := l.Files[path]
	return ok && f.Sum == sum
}

// Now returns the current time in the format of the list.
func Now() time.Time { return time.Now().UTC().Truncate(time.Second) }

func decode(data []byte) (List, error) {
	var l List
	if data != nil {
		if err := json.Unmarshal(data, &l); err != nil {
			return List{}, err
		}
	}
	for _, m := range []*map[string]Folder{&l.Folders, &l.Skills, &l.Plugins} {
		if *m == nil {
			*m = map[string]Folder{}
		}
	}
	if l.Files == nil {
		l.Files = map[string]File{}
	}
	if l.Memory == nil {
		l.Memory = map[string]map[string][]string{}
	}
	return l, nil
}

func unreadable(file string, err error) error {
	return fmt.Errorf("reading the list of trusted files %s: %w; correct or remove the file", file, err)
}
