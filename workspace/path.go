package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/openagent-go/agent/internal/plainfile"
	"github.com/openagent-go/agent/internal/tooloutput"
)

// ErrOutside is matched by the error for a path that lies in no folder that tools may use.
var ErrOutside = errors.New("is outside the folders that tools may use")

// maxLinks is how many symlinks a path may lead through, as Linux has it.
const maxLinks = 40

// roots are the folders of a Workspace: absolute, clean and free of symlinks.
type roots struct {
	work string   // the working directory
	all  []string // work, then Dirs
	err  error
}

// folders finds the roots once: a root that is swapped for a symlink later
// leads nowhere else.
func (w *Workspace) folders() *roots {
	w.once.Do(func() { w.roots = findRoots(w.Root, w.Dirs) })
	return &w.roots
}

func findRoots(root string, dirs []string) roots {
	work, err := filepath.Abs(root)
	if err != nil {
		return roots{err: fmt.Errorf("finding the working directory: %w", err)}
	}
	var r roots
	for i, d := range append([]string{work}, dirs...) {
		if !filepath.IsAbs(d) {
			d = filepath.Join(work, d)
		}
		if d, err = follow(filepath.Clean(d)); err != nil {
			return roots{err: fmt.Errorf("finding the folders of the workspace: %w", err)}
		}
		if i == 0 {
			r.work = d
		}
		r.all = append(r.all, d)
	}
	return r
}

// outputDir returns the folder of long outputs.
func (w *Workspace) outputDir() (string, error) {
	if w.OutputDir != "" {
		return follow(filepath.Clean(w.OutputDir))
	}
	dir, err := tooloutput.Dir()
	if err != nil {
		return "", err
	}
	return follow(dir)
}

// Resolve returns the absolute path of name without symlinks; the file itself need not
// exist. name is absolute, relative to dir ("" is the working directory) or begins with
// "~/". A path outside of the roots, the output folder and the Readable folders is an error
// that matches [ErrOutside].
func (w *Workspace) Resolve(dir, name string) (string, error) {
	if far := w.elsewhere(); far != nil {
		return far.resolve(dir, name)
	}
	p, err := w.locate(dir, name, true)
	return p.path, err
}

// A place is a path split at the root that it is opened under.
type place struct{ path, root, rel string }

// open opens the root of p. Work below it cannot leave it, even if the path changes in the
// meantime.
func (p place) open() (*os.Root, error) {
	r, err := os.OpenRoot(folder(p.root))
	if err != nil {
		return nil, fmt.Errorf("opening the workspace folder: %w", err)
	}
	return r, nil
}

// locate resolves name. With reading, the output folder counts as a root.
func (w *Workspace) locate(dir, name string, reading bool) (place, error) {
	r := w.folders()
	if r.err != nil {
		return place{}, r.err
	}
	path, err := w.absolute(dir, name)
	if err != nil {
		return place{}, err
	}
	if path, err = follow(path); err != nil {
		return place{}, err
	}
	if p, ok := split(path, r.all); ok {
		return p, nil
	}
	if reading {
		if out, err := w.outputDir(); err == nil {
			if p, ok := split(path, []string{out}); ok {
				return p, nil
			}
		}
		for _, dir := range w.Readable {
			if dir, err := follow(filepath.Clean(dir)); err == nil {
				if p, ok := split(path, []string{dir}); ok {
					return p, nil
				}
			}
		}
	}
	return place{}, fmt.Errorf("%s %w: %s", path, ErrOutside, strings.Join(r.all, ", "))
}

// absolute makes name absolute and clean; symlinks stay.
func (w *Workspace) absolute(dir, name string) (string, error) {
	switch {
	case name == "":
		return "", errors.New("the path is empty")
	case strings.ContainsRune(name, 0):
		return "", errors.New("the path holds a NUL byte")
	}
	name = filepath.FromSlash(name)
	if rest, ok := strings.CutPrefix(name, "~"); ok && (rest == "" || os.IsPathSeparator(rest[0])) {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", fmt.Errorf("expanding ~: %w", err)
		}
		return filepath.Join(home, rest), nil
	}
	if filepath.IsAbs(name) {
		return filepath.Clean(name), nil
	}
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(w.folders().work, dir)
	}
	return filepath.Join(dir, name), nil
}

// split finds the outermost of the roots that holds path: a root inside of
// another may be swapped by those who work in the outer one.
func split(path string, roots []string) (place, bool) {
	var best place
	for _, r := range roots {
		if rel, ok := below(path, r); ok && (best.root == "" || len(r) < len(best.root)) {
			best = place{path: path, root: r, rel: rel}
		}
	}
	return best, best.root != ""
}

// below returns path relative to root if it lies in it. Both are absolute and clean.
func below(path, root string) (string, bool) {
	if path == root {
		return ".", true
	}
	if !os.IsPathSeparator(root[len(root)-1]) {
		root += string(filepath.Separator)
	}
	return strings.CutPrefix(path, root)
}

// follow resolves the symlinks in the longest existing prefix of path, which is
// absolute and clean.
func follow(path string) (string, error) {
	done, rest := components(path)
	for links := 0; len(rest) > 0; {
		name := rest[0]
		rest = rest[1:]
		if name == ".." { // from a link's target: done has no symlinks, so this is its parent
			done = filepath.Dir(done)
			continue
		}
		next := filepath.Join(done, name)
		info, err := os.Lstat(next)
		if errors.Is(err, fs.ErrNotExist) {
			return filepath.Join(append([]string{next}, rest...)...), nil
		}
		if err != nil {
			return "", fmt.Errorf("resolving %s: %w", path, err)
		}
		if info.Mode()&fs.ModeSymlink == 0 {
			if aliases {
				next = filepath.Join(done, spelled(done, name, info))
			}
			done = next
			continue
		}
		if links++; links > maxLinks {
			return "", fmt.Errorf("resolving %s: too many symlinks", path)
		}
		target, err := os.Readlink(next)
		if err != nil {
			return "", fmt.Errorf("resolving %s: %w", path, err)
		}
		if filepath.IsAbs(target) {
			var more []string
			done, more = components(target)
			rest = append(more, rest...)
		} else {
			rest = append(strings.FieldsFunc(target, isSeparator), rest...)
		}
		rest = slices.DeleteFunc(rest, func(s string) bool { return s == "." })
	}
	return done, nil
}

// aliases: one file has many names, as on macOS and Windows by default ("A.ENV"
// is "a.env"). Rules about paths would miss all but one.
const aliases = runtime.GOOS == "darwin" || runtime.GOOS == "windows"

// spelled returns the name of the file in dir that was found as name, as the
// folder has it.
func spelled(dir, name string, info fs.FileInfo) string {
	d, err := plainfile.OpenFolder(dir)
	if err != nil {
		return name
	}
	defer d.Close()
	names, err := d.Readdirnames(-1)
	if err != nil || slices.Contains(names, name) {
		return name
	}
	for _, n := range names {
		if other, err := os.Lstat(filepath.Join(dir, n)); err == nil && os.SameFile(info, other) {
			return n
		}
	}
	return name
}

// components splits an absolute path into its root ("/", `C:\`) and its names.
func components(path string) (root string, names []string) {
	vol := filepath.VolumeName(path)
	return strings.ToUpper(vol) + string(filepath.Separator), strings.FieldsFunc(path[len(vol):], isSeparator)
}

func isSeparator(r rune) bool { return r < 0x80 && os.IsPathSeparator(uint8(r)) }
