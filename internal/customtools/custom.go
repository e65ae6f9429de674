// Package customtools makes tools out of executable files in folders. It is what package
// tools/custom shows to programs, and describes there.
package customtools

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/openagent-go/agent/tool"
	"github.com/openagent-go/agent/workspace"
)

// A Folder is a place where tools are looked for. One that is not there has none.
type Folder struct {
	Path string
	// Trusted: the folder is the user's own. Of any other the tools are loaded, and
	// their files started, only if [Set].Trusted agrees.
	Trusted bool
}

// A Set holds the tools of some folders. It implements [tool.Set]: it is asked at each
// prompt and sees changes since the last one. Its fields must not change after the first
// use; it is safe for concurrent use.
type Set struct {
	Workspace *workspace.Workspace // runs the files
	// Folders are looked at in order; of two tools with one name the later counts.
	Folders []Folder
	// Trusted is asked about folders that are not trusted, each time. Nil trusts none.
	Trusted func(Listing) bool
	// Builtin are the names, aliases too, of tools that the agent has already. A tool
	// of one of these names takes its place, and one whose name differs in case only
	// gets calls that are meant for it; both are warned about.
	Builtin []string
	// Warn is called with the mistakes in folders and files, each once. It may be nil.
	Warn func(error)
	// Hung, if not empty, is the path of a file; other files are made beside it. It
	// remembers for an hour which files took too long to describe themselves, so that the
	// next program does not wait for them too, unless they have changed. Without it each
	// Set waits once.
	Hung string

	patience time.Duration // for describe, where tests have less of it

	hashes hashes
	mu     sync.Mutex
	known  map[string]*described // by key of the file; the map itself is never changed
	said   map[string]bool
}

// Tools returns the tools, each a [*Tool], in the order of folders and file names. Broken
// and untrusted ones are left out with a warning; an error means that ctx has ended.
func (s *Set) Tools(ctx context.Context) ([]tool.Tool, error) {
	files := s.files()
	known := s.describe(ctx, files)
	if err := context.Cause(ctx); err != nil {
		return nil, fmt.Errorf("loading custom tools: %w", err)
	}
	var all []tool.Tool
	place := map[string]int{}
	from := map[string]string{}
	for _, f := range files {
		d := known[f.key()]
		if d.err != nil {
			s.warn(fmt.Errorf("the custom tool %s is not loaded: %w", f.path, d.err))
		}
		for _, p := range d.parts {
			t, err := s.tool(f, p)
			if err != nil {
				s.warn(fmt.Errorf("the custom tool %s of %s is not loaded: %w", p.spec.Name, f.path, err))
				continue
			}
			name := p.spec.Name
			s.warnOfPlace(name, f.path)
			i, double := place[name]
			if !double {
				place[name], from[name] = len(all), f.path
				all = append(all, t)
				continue
			}
			s.warn(fmt.Errorf("the custom tool %s of %s replaces the one of %s", name, f.path, from[name]))
			all[i], from[name] = t, f.path
		}
	}
	return all, nil
}

// warnOfPlace warns if a tool gets calls that are meant for a built-in one: models
// may write names in another case.
func (s *Set) warnOfPlace(name, path string) {
	if slices.Contains(s.Builtin, name) {
		s.warn(fmt.Errorf("the custom tool %s of %s replaces the built-in one", name, path))
		return
	}
	if i := slices.IndexFunc(s.Builtin, func(b string) bool { return strings.EqualFold(b, name) }); i >= 0 {
		s.warn(fmt.Errorf("the custom tool %s of %s gets calls that are meant for the built-in %s", name, path, s.Builtin[i]))
	}
}

// files lists the executables of the folders that are trusted.
func (s *Set) files() []file {
	var files []file
	seen := map[string]bool{}
	for _, folder := range s.Folders {
		l, err := s.hashes.list(folder.Path, !folder.Trusted)
		if err != nil {
			s.warn(fmt.Errorf("the custom tools in %s are not loaded: %w", folder.Path, err))
			continue
		}
		if len(l.Files) == 0 && len(l.Refused) == 0 || seen[l.Dir] {
			continue
		}
		seen[l.Dir] = true
		for _, err := range l.Refused {
			s.warn(err)
		}
		if !folder.Trusted && len(l.Files) > 0 && (s.Trusted == nil || !s.Trusted(l)) {
			s.warn(&UntrustedError{l})
			continue
		}
		for _, name := range l.Files {
			files = append(files, file{folder: folder, listing: l, path: filepath.Join(l.Dir, name), sum: l.sums[name]})
		}
	}
	return files
}

// ErrUntrusted is matched by the error for a folder that is not trusted.
var ErrUntrusted = errors.New("the folder of tools is not trusted")

// An UntrustedError is passed to [Set].Warn for a folder that is not trusted.
type UntrustedError struct{ Listing Listing }

func (e *UntrustedError) Error() string {
	return fmt.Sprintf("the custom tools in %s are not loaded, the folder is not trusted: %s", e.Listing.Dir, strings.Join(e.Listing.Files, ", "))
}

// Is makes the error match [ErrUntrusted].
func (e *UntrustedError) Is(target error) bool { return target == ErrUntrusted }

func (s *Set) warn(err error) {
	s.mu.Lock()
	said := s.said[err.Error()]
	if s.said == nil {
		s.said = map[string]bool{}
	}
	if len(s.said) < maxWarnings {
		s.said[err.Error()] = true
	}
	s.mu.Unlock()
	if !said && s.Warn != nil {
		s.Warn(err)
	}
}

// maxWarnings bounds how many warnings are remembered.
const maxWarnings = 1000

// A file is an executable of a trusted folder.
type file struct {
	folder  Folder
	listing Listing
	path    string
	sum     string
}

// errChanged is the result of a call whose file is not the loaded one any more.
var errChanged = errors.New("its files have changed since it was loaded; the next prompt loads it again")

// unchanged returns errChanged unless the file is the one that was looked at. For
// folders that others may fill that includes all files beside it, which it may use.
func (s *Set) unchanged(f file) error {
	if f.folder.Trusted {
		if sum, err := s.hashes.file(f.path); err != nil || sum != f.sum {
			return errChanged
		}
		return nil
	}
	if l, err := s.hashes.list(f.folder.Path, true); err != nil || l.Dir != f.listing.Dir || l.Sum != f.listing.Sum {
		return errChanged
	}
	return nil
}
