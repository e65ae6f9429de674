package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/openagent-go/agent/internal/badsetting"
	"github.com/openagent-go/agent/internal/policies"
	"github.com/openagent-go/agent/internal/rules"
	"github.com/openagent-go/agent/internal/rules/paths"
	"github.com/openagent-go/agent/internal/worktrees"
	"github.com/openagent-go/agent/permission"
)

// A Place is where settings are applied. Its paths are absolute.
type Place struct {
	Dir   string   // the working directory
	Roots []string // further folders that are worked in
	// Temp is a folder for temporary files, which may be written. "": there is none.
	Temp    string
	ownTemp bool // New made Temp: no program is opened there
	// Private belongs to the program: it is neither read nor written.
	Private []string
	// Deny are the deny rules of the agent. A file or folder that a rule for Edit names is
	// not written.
	Deny []permission.Rule
	// Readable may be read even if the settings do not allow it, unless they deny it.
	Readable []string
}

// Rules are settings as they apply at a place. They do not change.
type Rules struct {
	settings Settings
	place    Place

	read, write, denied, hidden, bare, keep []entry            // bare: read although hidden; keep: not written
	forbidden                               []permission.Rule  // of files that no command line may name
	strict, lenient                         *policies.Compiled // from forbidden: also for uncertain paths: denied or not
	exclusions                              []exclusion
	excluded                                []*policies.Compiled // by each of exclusions

	names    []string  // last names of relative paths that hold in all worktrees, with a slash before
	trees    []string  // where the working directory is in the other worktrees of its repository
	worktree *worktree // that the run works in, nil for none
	apart    []entry   // not written from the worktree, which may lie in them
}

// At resolves the settings for a place. It fails if they have a mistake.
func (s Settings) At(p Place) (*Rules, error) {
	if err := s.Check(); err != nil {
		return nil, err
	}
	for _, path := range slices.Concat([]string{p.Dir}, p.Roots, p.Private, p.Readable) {
		if !filepath.IsAbs(path) {
			return nil, fmt.Errorf("sandbox: the path %.200q of the place is not absolute", path)
		}
	}
	s.protected = p.protected()
	r := &Rules{settings: s, place: p}
	if s.relative() {
		r.trees = worktrees.Of(paths.RealPath(p.Dir))
	}
	for _, p := range s.paths() {
		list, err := r.entries(p.name, p.list)
		if err != nil {
			return nil, err
		}
		if p.follows {
			r.names = append(r.names, lastNames(list)...)
			list = append(list, r.copies(p.name, p.list)...)
		}
		switch p.name {
		case "allowedReadPaths":
			r.read = list
		case "allowedWritePaths", "filesystem.allowWrite":
			r.write = append(r.write, list...)
		case "deniedPaths":
			r.denied = list
		case "filesystem.denyWrite", denyRules:
			r.keep = append(r.keep, list...)
		case "filesystem.denyRead":
			r.hidden = list
		case "filesystem.allowRead":
			r.bare = list
		}
	}
	if len(s.AllowedWritePaths) == 0 {
		worked := append([]string{p.Dir}, p.Roots...)
		if p.Temp != "" {
			worked = append(worked, p.Temp)
		}
		list, err := r.entries("the folders that are worked in", worked)
		if err != nil {
			return nil, err
		}
		r.write = append(r.write, list...)
	}
	if err := r.leadsOut(); err != nil {
		return nil, err
	}
	private, err := r.entries("what the program keeps for itself", p.Private)
	if err != nil {
		return nil, err
	}
	if i := slices.IndexFunc(r.denied, func(e entry) bool { return e.holds(paths.RealPath(p.Dir)) }); i >= 0 {
		return nil, &badsetting.Error{Setting: "deniedPaths", Err: fmt.Errorf("%.200q denies the working directory %s; leave it out, or work elsewhere", r.denied[i].text, p.Dir)}
	}
	r.denied = append(r.denied, private...)
	readable, err := r.entries("what is always readable", p.Readable)
	if err != nil {
		return nil, err
	}
	if len(r.read) > 0 {
		r.read = append(r.read, readable...)
	}
	r.worktree = worktreeOf(p.Dir)
	r.forCommands()
	return r, nil
}

// denyRules is the name of the setting for what deny rules of the agent protect.
const denyRules = "permissions.deny"

// protected lists the paths that the deny rules for Edit name, from each of the folders.
func (p Place) protected() (list []string) {
	for _, rule := range p.Deny {
		path, ok := rules.Rule(rule).ProtectedPath()
		if !ok {
			continue
		}
		list = append(list, path)
		if relative(path) {
			for _, root := range p.Roots {
				list = append(list, filepath.Join(root, path))
			}
		}
	}
	return list
}

// leadsOut refuses a writable path that lies in another one, or in a folder that is
// worked in, and leads out of it: a command that was confined, or the repository, may
// have put the symlink there.
func (r *Rules) leadsOut() error {
	worked, err := r.entries("the folders that are worked in", append([]string{r.place.Dir}, r.place.Roots...))
	if err != nil {
		return err
	}
	for _, e := range r.write {
		for _, around := range slices.Concat(r.write, worked) {
			if e.clean != around.clean && (below(around.clean, e.clean) || below(around.real, e.clean)) && !below(around.real, e.real) &&
				!slices.ContainsFunc(r.write, func(w entry) bool { return w.clean == e.real }) {
				return fmt.Errorf("sandbox: %s: %.200q is a symlink, or behind one, that leads out of %s, where the agent works: it would let commands write in %s; if that is meant, name %[4]q itself",
					e.setting, e.text, around.real, e.real)
			}
		}
	}
	return nil
}

// An entry is a path of a setting.
type entry struct {
	setting string
	text    string // as it was written
	clean   string // absolute, as written
	real    string // where that leads
}

// around reports whether one of a list is in the folder.
func (e entry) around(list []entry) bool {
	return slices.ContainsFunc(list, func(inner entry) bool { return below(e.real, inner.real) })
}

// depth is the length of the longest path in a list that holds path, -1 for none.
func depth(list []entry, path string) int {
	longest := -1
	for _, e := range list {
		if below(e.real, path) {
			longest = max(longest, len(e.real))
		}
	}
	return longest
}

func (e entry) holds(path string) bool { return below(e.clean, path) || below(e.real, path) }

func (r *Rules) entries(setting string, texts []string) ([]entry, error) {
	var list []entry
	for _, text := range texts {
		path, err := r.absolute(strings.TrimSuffix(text, "/**"))
		if err != nil {
			return nil, fmt.Errorf("sandbox: %s: %.200q: %w", setting, text, err)
		}
		e := entry{setting: setting, text: text, clean: filepath.Clean(path), real: paths.RealPath(path)}
		if e.real == "" {
			return nil, fmt.Errorf("sandbox: %s: %.200q leads through too many symlinks", setting, text)
		}
		list = append(list, e)
	}
	return list, nil
}

// copies returns entries for the same relative paths in the other worktrees of the
// repository.
func (r *Rules) copies(setting string, texts []string) []entry {
	var list []entry
	for _, text := range texts {
		if !relative(text) {
			continue
		}
		for _, dir := range r.trees {
			path := filepath.Join(dir, strings.TrimSuffix(text, "/**"))
			real := paths.RealPath(path)
			if real == "" { // no file can be opened through so many links
				real = path
			}
			list = append(list, entry{setting: setting, text: text, clean: path, real: real})
		}
	}
	return list
}

// lastNames returns the last names of entries that are relative.
func lastNames(list []entry) (names []string) {
	for _, e := range list {
		if !relative(e.text) {
			continue
		}
		for _, path := range []string{e.clean, e.real} {
			name := string(filepath.Separator) + filepath.Base(path)
			if foldCase {
				name = strings.ToLower(name)
			}
			names = append(names, name)
		}
	}
	return names
}

// relative reports whether a path of a setting starts from the working directory.
func relative(path string) bool { return !filepath.IsAbs(path) && !strings.HasPrefix(path, "~") }

// absolute returns a path that is not cleaned: ".." after a link leads elsewhere.
func (r *Rules) absolute(path string) (string, error) {
	if rest, ok := strings.CutPrefix(path, "~"); ok && (rest == "" || rest[0] == '/') {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", errors.New("the home folder is not known")
		}
		return home + rest, nil
	}
	if !filepath.IsAbs(path) {
		path = r.place.Dir + string(filepath.Separator) + path
	}
	return path, nil
}

// foldCase: the usual file systems of these systems ignore case.
const foldCase = runtime.GOOS == "darwin" || runtime.GOOS == "windows"

// below reports whether path is root or in it. Both are absolute and clean.
func below(root, path string) bool {
	root = strings.TrimSuffix(root, string(filepath.Separator))
	if len(path) < len(root) {
		return false
	}
	front, rest := path[:len(root)], path[len(root):]
	return (front == root || foldCase && strings.EqualFold(front, root)) && (rest == "" || os.IsPathSeparator(rest[0]))
}

// confinement is the part that the operating system must enforce: the settings about paths and
// the network, and the guarded files (see [guardedBelow]). The proxy is missing.
func (r *Rules) confinement() confinement {
	p, _ := r.policy()
	return p
}

// policy is Policy, with the folders that are too large to search for guarded files.
func (r *Rules) policy() (p confinement, unsearched []string) {
	p = confinement{Write: reals(r.write), LocalBinding: r.settings.Network.AllowLocalBinding, UnixSockets: r.settings.Network.AllowAllUnixSockets,
		Weaker: r.settings.WeakerNested, Nested: r.settings.AllowNested, Memory: r.settings.memory()}
	search := append(r.workedIn(), p.Write...)
	if r.place.ownTemp {
		temp := paths.RealPath(r.place.Temp)
		search = slices.DeleteFunc(search, func(dir string) bool { return dir == temp })
	}
	guarded, unsearched := guardedBelow(search)
	p.ReadOnly = slices.Concat(reals(r.keep), guarded)
	for _, e := range r.apart {
		if depth(r.write, e.real) >= 0 {
			p.ReadOnly = append(p.ReadOnly, e.real)
		}
	}
	p.Hidden = append(reals(r.denied), r.aliases()...)
	var holed []entry
	for _, h := range r.hidden {
		if h.around(r.bare) {
			holed = append(holed, h)
		} else {
			p.Hidden = append(p.Hidden, h.real)
		}
	}
	p.Read = reals(r.read)
	if len(holed) > 0 {
		p.Read = append(r.around(p.Read, holed), reals(r.bare)...)
	}
	return p, unsearched
}

// workedIn lists the folders that are worked in and may be written.
func (r *Rules) workedIn() (dirs []string) {
	for _, dir := range append([]string{r.place.Dir}, r.place.Roots...) {
		if real := paths.RealPath(dir); depth(r.write, real) >= 0 && !slices.Contains(reals(r.write), real) {
			dirs = append(dirs, real)
		}
	}
	return dirs
}

// around lists paths to read in place of folders with a hidden part: the other entries of
// these folders. Entries created later cannot be read. In the shared folder for temporary
// files, where entries come and go, no other entry can.
func (r *Rules) around(read []string, hidden []entry) []string {
	if read == nil {
		read = []string{string(filepath.Separator)}
	}
	var out []string
	temp := paths.RealPath(os.TempDir())
	for len(read) > 0 {
		dir := read[0]
		read = read[1:]
		switch {
		case slices.ContainsFunc(hidden, func(h entry) bool { return below(h.real, dir) }), dir == "/proc", dir == "/dev", dir == "/sys":
		case dir == temp && slices.ContainsFunc(hidden, func(h entry) bool { return below(dir, h.real) }):
		case !slices.ContainsFunc(hidden, func(h entry) bool { return below(dir, h.real) }):
			out = append(out, dir)
		default:
			inside, _ := os.ReadDir(dir) // a folder that cannot be listed is not readable
			for _, e := range inside {
				if e.Type()&os.ModeSymlink == 0 {
					read = append(read, filepath.Join(dir, e.Name()))
				}
			}
		}
	}
	return out
}

func reals(list []entry) []string {
	var out []string
	for _, e := range list {
		if !slices.Contains(out, e.real) {
			out = append(out, e.real)
		}
	}
	return out
}
