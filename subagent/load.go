package subagent

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/openagent-go/agent/internal/front"
	"github.com/openagent-go/agent/internal/plainfile"
	"github.com/openagent-go/agent/workspace"
)

// Bounds of a folder of agents.
const (
	maxFile    = 256 << 10 // bytes of a file
	maxFiles   = 200
	maxEntries = 10_000
)

// A Folder holds files that define kinds of agents: NAME.md with front matter in the form
// of Claude Code (https://code.claude.com/docs/en/sub-agents), then the agent's system
// prompt. A project's folder can hold commands, of hooks and of MCP servers: load it only
// once its user trusts it.
type Folder struct {
	Path string
	// Within, unless empty, is a folder that Path must not lead out of by symlinks.
	Within string
	// Hooks is where commands of hooks run. Nil: files with hooks are refused.
	Hooks *workspace.Workspace
}

// Folders returns the folders with definitions of agents below a home folder or a project;
// a later one overrides an earlier one. Links in a project must not lead out of it.
func Folders(base string, project bool) []Folder {
	var out []Folder
	for _, name := range []string{".agents", ".claude", ".openagent"} {
		f := Folder{Path: filepath.Join(base, name, "agents")}
		if project {
			f.Within = base
		}
		out = append(out, f)
	}
	return out
}

// Found is the content of a folder.
type Found struct {
	Dir         string       // free of symlinks; "" if there is no such folder
	Files       []string     // their names
	Definitions []Definition // by name
	Problems    []error      // definitions that are left out, and other mistakes
	Sum         string       // stands for the names and contents of all files
}

// Load reads the folders and returns their kinds of agents, by name. If two have one name,
// that of the later folder counts. Each error names file and line; a mistake in one file
// spoils no other.
func Load(folders ...Folder) ([]Definition, []error) {
	var all []Definition
	var problems []error
	for _, f := range folders {
		found := f.Load()
		all = merge(all, found.Definitions)
		problems = append(problems, found.Problems...)
	}
	slices.SortFunc(all, func(a, b Definition) int { return cmp.Compare(a.Agent.Name, b.Agent.Name) })
	return all, problems
}

// merge returns the kinds of both lists. If two names differ only in case or not at all,
// the kind of higher replaces the other.
func merge(lower, higher []Definition) []Definition {
	out := slices.Clone(lower)
	for _, d := range higher {
		if i := find(out, d.Agent.Name); i >= 0 {
			out[i] = d
		} else {
			out = append(out, d)
		}
	}
	return out
}

// find returns the index of a kind by its name, ignoring case, or -1.
func find(list []Definition, name string) int {
	return slices.IndexFunc(list, func(d Definition) bool { return strings.EqualFold(d.Agent.Name, name) })
}

// Load reads the folder.
func (f Folder) Load() Found {
	var out Found
	root, dir, err := f.open()
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, errNoFolder) {
		return out
	}
	if err != nil {
		out.add(f.Path, 0, true, err.Error())
		return out
	}
	defer root.Close()
	out.Dir = dir
	sum := sha256.New()
	for _, name := range out.list(root) {
		file := filepath.Join(dir, name)
		data, whole, err := plainfile.Read(root, name, maxFile)
		if err == nil && !whole {
			err = fmt.Errorf("the file has more than %d KB", maxFile>>10)
		}
		if err != nil {
			fmt.Fprintf(sum, "%q -\n", name)
			out.add(file, 0, true, err.Error()+"; the file is left out")
			continue
		}
		fmt.Fprintf(sum, "%q %x\n", name, sha256.Sum256(data))
		out.Files = append(out.Files, name)
		out.take(data, file, f.Hooks)
	}
	out.Sum = hex.EncodeToString(sum.Sum(nil))
	slices.SortFunc(out.Definitions, func(a, b Definition) int { return cmp.Compare(a.Agent.Name, b.Agent.Name) })
	return out
}

// ReadFile reads the definition of one kind of agent. Notes list mistakes that do not
// prevent its use.
func ReadFile(path string, hooks *workspace.Workspace) (d Definition, notes []error, err error) {
	root, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return Definition{}, nil, err
	}
	defer root.Close()
	data, whole, err := plainfile.Read(root, filepath.Base(path), maxFile)
	if err != nil {
		return Definition{}, nil, err
	}
	if !whole {
		return Definition{}, nil, fmt.Errorf("%s has more than %d KB", path, maxFile>>10)
	}
	var found Found
	if found.take(data, path, hooks); len(found.Definitions) == 0 {
		last := len(found.Problems) - 1
		return Definition{}, found.Problems[:last], found.Problems[last]
	}
	return found.Definitions[0], found.Problems, nil
}

var errNoFolder = errors.New("it is not a folder")

// open opens the folder and finds its path without symlinks.
func (f Folder) open() (*os.Root, string, error) {
	dir, err := real(f.Path)
	if err != nil {
		return nil, "", err
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return nil, "", cmp.Or(err, errNoFolder)
	}
	if f.Within != "" {
		within, err := real(f.Within)
		if err != nil {
			return nil, "", err
		}
		if rel, err := filepath.Rel(within, dir); err != nil || !filepath.IsLocal(rel) {
			return nil, "", fmt.Errorf("it leads out of %s through a symlink", f.Within)
		}
	}
	root, err := os.OpenRoot(dir)
	return root, dir, err
}

func real(path string) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(abs)
}

// list returns the names of the files, in order.
func (out *Found) list(root *os.Root) []string {
	d, err := root.Open(".")
	if err != nil {
		out.add(out.Dir, 0, true, err.Error())
		return nil
	}
	defer d.Close()
	entries, err := d.ReadDir(maxEntries)
	if err != nil && !errors.Is(err, io.EOF) {
		out.add(out.Dir, 0, true, err.Error())
	}
	var names []string
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".md") && !strings.HasPrefix(e.Name(), ".") && !e.IsDir() {
			names = append(names, e.Name())
		}
	}
	slices.Sort(names)
	if len(names) > maxFiles {
		out.add(out.Dir, 0, true, fmt.Sprintf("there are more than %d agents; those after %s are left out", maxFiles, names[maxFiles-1]))
		names = names[:maxFiles]
	}
	return names
}

// take reads a file, and notes what is wrong with it.
func (out *Found) take(data []byte, file string, hooks *workspace.Workspace) {
	d, notes, err := read(data, file, hooks)
	for _, n := range notes {
		out.add(file, n.Line, false, n.Text)
	}
	if err != nil {
		line, text := 0, err.Error()
		if f := (*front.Fault)(nil); errors.As(err, &f) {
			line, text = f.Line, f.Text
		}
		out.add(file, line, true, text+"; the file is left out")
		return
	}
	if i := find(out.Definitions, d.Agent.Name); i >= 0 {
		out.add(file, 1, true, fmt.Sprintf("the name %s is that of %s already; the file is left out", d.Agent.Name, filepath.Base(out.Definitions[i].Source)))
		return
	}
	out.Definitions = append(out.Definitions, d)
}

func (out *Found) add(file string, line int, skipped bool, text string) {
	out.Problems = append(out.Problems, &front.Problem{File: file, Line: line, Text: text, Skipped: skipped})
}
