package customtools

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Bounds of a folder. A folder that exceeds them is refused whole, so that nothing is
// trusted unseen.
const (
	maxEntries = 10_000    // files and folders below it
	maxTools   = 64        // executable files
	maxBytes   = 256 << 20 // of the executable files of a folder of the user's own
	maxForeign = 64 << 20  // of all files of any other folder
)

// A Listing is the content of a folder of tools.
type Listing struct {
	Dir     string   // absolute, without symlinks; "" if there is no such folder
	Files   []string // names of the files that are tools, in order
	Sum     string   // hash of all files below Dir, of their names and of their modes
	Refused []error  // why other executable files are not tools

	sums map[string]string // of the Files
}

// List reads a folder. Its executable files are tools, unless other users could write them.
// A folder with a symlink that leads out of it is an error: the target can change unseen. A
// missing folder is empty.
func List(dir string) (Listing, error) { return new(hashes).list(dir, true) }

// list is List. With deep false it looks only at the executable files: Sum then does not
// cover the others, and links that lead out of the folder are not tools.
func (h *hashes) list(dir string, deep bool) (Listing, error) {
	real, err := filepath.EvalSymlinks(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return Listing{}, nil
	}
	if err == nil {
		real, err = filepath.Abs(real)
	}
	if err != nil {
		return Listing{}, err
	}
	info, err := os.Stat(real)
	switch {
	case err != nil:
		return Listing{}, err
	case !info.IsDir():
		return Listing{}, errors.New("it is not a folder")
	case openToAll(info):
		return Listing{}, errors.New("every user may write to the folder; take that permission away")
	}
	r := reader{hashes: h, deep: deep, left: maxBytes, Listing: Listing{Dir: real, sums: map[string]string{}}, whole: sha256.New()}
	if deep {
		r.left = maxForeign
	}
	if err := filepath.WalkDir(real, r.visit); err != nil {
		return Listing{}, err
	}
	r.Sum = hex.EncodeToString(r.whole.Sum(nil))
	return r.Listing, nil
}

// A reader fills in a listing.
type reader struct {
	Listing
	hashes  *hashes
	deep    bool
	whole   hash.Hash
	entries int
	left    int64 // bytes that may still be read
}

// visit takes in an entry. WalkDir does not follow symlinks and goes in the
// order of names.
func (r *reader) visit(path string, d fs.DirEntry, err error) error {
	if err != nil {
		return err
	}
	if path == r.Dir {
		return nil
	}
	if r.entries++; r.entries > maxEntries {
		return fmt.Errorf("it holds more than %d files", maxEntries)
	}
	rel, err := filepath.Rel(r.Dir, path)
	if err != nil {
		return err
	}
	if d.IsDir() && !r.deep {
		return fs.SkipDir
	}
	top := !strings.ContainsRune(rel, filepath.Separator)
	info, err := d.Info()
	if err != nil {
		return err
	}
	sum := ""
	switch mode := info.Mode(); {
	case mode.IsRegular() && (r.deep || executable(info)):
		if sum, err = r.hash(path, info); err != nil {
			return err
		}
		if top && executable(info) {
			r.offer(rel, info, sum)
		}
	case mode&fs.ModeSymlink != 0:
		if sum, err = r.link(path, rel, top); err != nil {
			return err
		}
	}
	fmt.Fprintf(r.whole, "%q %v %s\n", filepath.ToSlash(rel), info.Mode(), sum)
	return nil
}

// hash reads a file.
func (r *reader) hash(path string, info fs.FileInfo) (string, error) {
	if r.left -= info.Size(); r.left < 0 {
		most := maxBytes
		if r.deep {
			most = maxForeign
		}
		return "", fmt.Errorf("its files have more than %d MB", most>>20)
	}
	return r.hashes.file(path)
}

// link handles a symlink: a target in the folder counts, and is visited under its own name
// too.
func (r *reader) link(path, rel string, top bool) (string, error) {
	to, err := os.Readlink(path)
	if err != nil {
		return "", err
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		if r.deep {
			return "", fmt.Errorf("the link %s in it has no target, and a file that appears there would become part of it", rel)
		}
		return "-> " + to, nil
	}
	within, err := filepath.Rel(r.Dir, real)
	out := err != nil || !filepath.IsLocal(within)
	if out && r.deep {
		return "", fmt.Errorf("the link %s in it leads to %s, out of the folder", rel, real)
	}
	info, err := os.Stat(real)
	if err != nil || !top || !info.Mode().IsRegular() || !executable(info) {
		return "-> " + to, nil
	}
	if out {
		r.refuse(rel, "it leads to "+real+", out of the folder")
		return "-> " + to, nil
	}
	sum, err := r.hash(real, info)
	if err == nil {
		r.offer(rel, info, sum)
	}
	return "-> " + to, err
}

// offer takes an executable file for a tool.
func (r *reader) offer(name string, info fs.FileInfo, sum string) {
	switch {
	case strings.HasPrefix(name, "."):
	case openToAll(info):
		r.refuse(name, "every user may write to it")
	case len(r.Files) >= maxTools:
		r.refuse(name, fmt.Sprintf("there are %d others", maxTools))
	default:
		r.Files = append(r.Files, name)
		r.sums[name] = sum
	}
}

func (r *reader) refuse(name, why string) {
	r.Refused = append(r.Refused, fmt.Errorf("the custom tool %s is not loaded: %s", filepath.Join(r.Dir, name), why))
}
