package confine

import (
	"os"
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// A kind is the access to a folder or a file.
type kind int

const (
	readOnly kind = iota
	writable
	hidden
	ownProc // a /proc of the namespace
	ownDev  // a /dev with little in it
)

// An entry is a path whose access differs from its surroundings.
type entry struct {
	path string
	kind kind
	tree int // mounted there: a copy of the mounts from the path on, -1 for none
}

// systemFolders are read by every program.
var systemFolders = []string{"/bin", "/etc", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/opt", "/sbin", "/sys", "/usr"}

// devices are those of the host that processes get.
var devices = []string{"null", "zero", "full", "random", "urandom", "tty"}

// A view is the file system of the sandbox in the making.
type view struct {
	root     string // where it is being put together, "" for in place
	entries  []entry
	devices  map[string]int
	anchored map[string]bool
	closed   []string // folders of ours that are hidden ones
	sealed   []string // to be made read-only at the end
	plan     *Plan
}

// arrange puts the file system of the namespace together.
func arrange(p *Plan) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return &step{"separating the mounts", err}
	}
	v := &view{plan: p, devices: map[string]int{}, anchored: map[string]bool{}}
	if err := v.collect(); err != nil {
		return err
	}
	if p.ReadAll {
		attributes := uint64(unix.MOUNT_ATTR_RDONLY)
		if slices.Contains(p.Write, "/") {
			attributes = 0
		}
		if err := restrictMounts(-1, "/", attributes); err != nil {
			return &step{"making the file system read-only", err}
		}
	} else if err := v.begin(); err != nil {
		return &step{"beginning a file system", err}
	}
	for i := range v.entries {
		if err := v.place(i); err != nil {
			return &step{"placing " + v.entries[i].path, err}
		}
	}
	for _, name := range v.closed {
		if err := os.Chmod(name, 0o111); err != nil { // the way to its content
			return &step{"hiding " + name, err}
		}
	}
	for _, name := range slices.Concat(v.closed, v.sealed) {
		if err := restrictMount(name, unix.MOUNT_ATTR_RDONLY); err != nil {
			return &step{"sealing " + name, err}
		}
	}
	if v.root != "" {
		return v.enter()
	}
	return nil
}

// collect makes the list of entries and opens their sources, before any of them is covered.
func (v *view) collect() error {
	p := v.plan
	byPath := map[string]kind{}
	add := func(k kind, paths []string) {
		for _, name := range paths {
			byPath[name] = k
		}
	}
	if !p.ReadAll {
		add(readOnly, systemFolders)
		add(readOnly, p.Read)
	}
	add(writable, p.Write)
	add(readOnly, p.ReadOnly)
	add(ownDev, []string{"/dev"})
	add(ownProc, []string{"/proc"})
	if p.Weaker {
		add(readOnly, []string{"/proc"})
	}
	add(hidden, p.Hidden)
	for name, k := range byPath {
		v.entries = append(v.entries, entry{path: name, kind: k, tree: -1})
	}
	slices.SortFunc(v.entries, func(a, b entry) int { return comparePaths(a.path, b.path) })
	for _, name := range devices {
		if fd, err := open("/dev/" + name); err == nil {
			if v.devices[name], err = openTree(fd); err != nil {
				return &step{"copying /dev/" + name, err}
			}
			_ = unix.Close(fd)
		}
	}
	kept := v.entries[:0]
	for _, e := range v.entries {
		flags := uint64(0)
		if slices.Contains(p.ReadOnly, e.path) { // a link is kept as it is
			flags = unix.O_NOFOLLOW
		}
		fd, err := hold(e.path, flags)
		switch {
		case err == unix.EACCES && e.kind == hidden && slices.ContainsFunc(p.Write, func(root string) bool { return below(root, e.path) }):
			return &step{"opening " + e.path, errClosed} // who may write there can open it
		case (err == unix.ENOENT || err == unix.ENOTDIR || err == unix.EACCES) && !slices.Contains(p.ReadOnly, e.path):
			continue // no process of this user gets there
		case err == unix.ELOOP && slices.Contains(systemFolders, e.path):
			kept = append(kept, e) // a link to another
			continue
		case err == unix.ELOOP:
			return &step{"opening " + e.path, errLink}
		case err != nil:
			return &step{"opening " + e.path, err}
		}
		if e.kind == hidden && !isDir(fd) {
			// A device that may not be used as one cannot be opened.
			_ = unix.Close(fd)
			if fd, err = open("/dev/null"); err != nil {
				return &step{"opening /dev/null", err}
			}
		}
		if e.kind == readOnly || e.kind == writable || e.kind == hidden && !isDir(fd) {
			if e.tree, err = copyTree(fd); err != nil {
				return &step{"copying " + e.path, err}
			}
		}
		_ = unix.Close(fd)
		kept = append(kept, e)
	}
	v.entries = kept
	return nil
}

const (
	errLink   = textError("it leads through a symlink")
	errClosed = textError("a folder on the way to it is closed; give its owner the right to enter (chmod u+x)")
)

// place puts an entry into the view.
func (v *view) place(i int) error {
	e := v.entries[i]
	around, ok := v.around(i)
	switch {
	case e.path == "/":
		return nil // the whole view is so already
	case ok && around.kind == e.kind && e.kind != ownDev && e.kind != ownProc, !ok && e.kind == readOnly && v.plan.ReadAll:
		return nil
	}
	at := v.root + e.path
	if !ok && !v.plan.ReadAll || ok && (around.kind == hidden || around.kind == ownDev) {
		if err := v.makePlace(&e, at); err != nil || e.kind == readOnly && e.tree < 0 {
			return err
		}
	}
	if ok && around.kind == writable {
		if err := v.anchor(around.path, e.path); err != nil {
			return err
		}
	}
	switch e.kind {
	case writable:
		return attach(e.tree, at, 0)
	case readOnly:
		return attach(e.tree, at, unix.MOUNT_ATTR_RDONLY)
	case hidden:
		if e.tree >= 0 {
			return attach(e.tree, at, unix.MOUNT_ATTR_RDONLY)
		}
		v.closed = append(v.closed, at)
		return mountNew("tmpfs", at, 0, "mode", "0700")
	case ownProc:
		attributes := unix.MOUNT_ATTR_NOEXEC | unix.MOUNT_ATTR_RDONLY
		if v.plan.Nested { // who makes namespaces writes maps there
			attributes = unix.MOUNT_ATTR_NOEXEC
		}
		if err := mountNew("proc", at, attributes); err != nil || !v.plan.Nested {
			return err
		}
		return keepSettings(at)
	}
	return v.buildDev(at)
}

// around returns the entry that surrounds the entry i.
func (v *view) around(i int) (entry, bool) {
	for j := i - 1; j >= 0; j-- {
		if below(v.entries[j].path, v.entries[i].path) {
			return v.entries[j], true
		}
	}
	return entry{}, false
}

// anchor makes the folders between a writable one and an entry with other access mount
// points, so that they cannot be renamed. After a rename, a new folder of the old name
// would not be protected, nor would the renamed one be in the next sandbox.
func (v *view) anchor(from, to string) error {
	var dirs []string
	for dir := path.Dir(to); dir != from && dir != "/"; dir = path.Dir(dir) {
		dirs = append(dirs, dir)
	}
	for _, dir := range slices.Backward(dirs) {
		if v.anchored[dir] {
			continue
		}
		v.anchored[dir] = true
		fd, err := open(v.root + dir)
		if err != nil {
			return err
		}
		tree, err := copyTree(fd)
		_ = unix.Close(fd)
		if err != nil {
			return err
		}
		if err := attach(tree, v.root+dir, 0); err != nil {
			return err
		}
	}
	return nil
}

// comparePaths sorts folders before their content.
func comparePaths(a, b string) int {
	return slices.Compare(strings.Split(strings.TrimSuffix(a, "/"), "/"), strings.Split(strings.TrimSuffix(b, "/"), "/"))
}

// below reports whether p is root or in it.
func below(root, p string) bool {
	rest, ok := strings.CutPrefix(p, strings.TrimSuffix(root, "/"))
	return ok && (rest == "" || rest[0] == '/')
}

// open takes hold of a file; nothing on the way, nor the file, may be a symlink.
func open(name string) (int, error) { return hold(name, 0) }

// hold is open with more flags.
func hold(name string, flags uint64) (int, error) {
	for {
		fd, err := unix.Openat2(unix.AT_FDCWD, name, &unix.OpenHow{
			Flags:   unix.O_PATH | unix.O_CLOEXEC | flags,
			Resolve: unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS,
		})
		if err != unix.EINTR && err != unix.EAGAIN {
			return fd, err
		}
	}
}

// openTree copies the mounts from a file on. No process sees the copy until it is attached.
func openTree(fd int) (int, error) {
	return unix.OpenTree(fd, "", unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_EMPTY_PATH|unix.AT_RECURSIVE)
}

// copyTree is openTree without devices and set-user-id programs.
func copyTree(fd int) (int, error) {
	tree, err := openTree(fd)
	if err != nil {
		return -1, err
	}
	return tree, restrictMounts(tree, "", 0)
}

func isDir(fd int) bool { return format(fd) == unix.S_IFDIR }

func isLink(fd int) bool { return format(fd) == unix.S_IFLNK }

func format(fd int) uint32 {
	var st unix.Stat_t
	if unix.Fstat(fd, &st) != nil {
		return 0
	}
	return st.Mode & unix.S_IFMT
}

// restrictMounts gives all mounts from a path on attributes, and those that they all have.
func restrictMounts(fd int, name string, attributes uint64) error {
	flags := uint(unix.AT_RECURSIVE)
	if name == "" {
		flags |= unix.AT_EMPTY_PATH
	}
	return unix.MountSetattr(fd, name, flags, &unix.MountAttr{Attr_set: attributes | unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV})
}

// restrictMount gives the mount at a path attributes.
func restrictMount(name string, attributes uint64) error {
	return unix.MountSetattr(-1, name, 0, &unix.MountAttr{Attr_set: attributes})
}

// attach mounts a tree at a path that leads through no symlink.
func attach(tree int, at string, attributes uint64) error {
	if attributes != 0 {
		if err := restrictMounts(tree, "", attributes); err != nil {
			return err
		}
	}
	return move(tree, at)
}

func move(tree int, at string) error {
	flags := uint64(0)
	if isLink(tree) {
		flags = unix.O_NOFOLLOW
	}
	fd, err := hold(at, flags)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return unix.MoveMount(tree, "", fd, "", unix.MOVE_MOUNT_F_EMPTY_PATH|unix.MOVE_MOUNT_T_EMPTY_PATH)
}

// begin makes an empty file system to put the view together in.
func (v *view) begin() error {
	v.root = "/proc"
	v.sealed = append(v.sealed, v.root)
	return mountNew("tmpfs", v.root, 0, "mode", "0755")
}

// enter makes the view the root of the namespace.
func (v *view) enter() error {
	if err := unix.Chdir(v.root); err != nil {
		return &step{"entering the file system", err}
	}
	if err := unix.PivotRoot(".", "."); err != nil {
		return &step{"entering the file system", err}
	}
	if err := unix.Unmount(".", unix.MNT_DETACH); err != nil {
		return &step{"leaving the host's file system", err}
	}
	return unix.Chdir("/")
}

// makePlace makes the mount point of an entry if there is none.
func (v *view) makePlace(e *entry, at string) error {
	if err := os.MkdirAll(path.Dir(at), 0o755); err != nil {
		return err
	}
	if e.tree < 0 && e.kind == readOnly {
		to, err := os.Readlink(e.path)
		if err != nil {
			return err
		}
		return os.Symlink(to, at)
	}
	if e.tree >= 0 && !isDir(e.tree) {
		return touch(at)
	}
	if err := os.Mkdir(at, 0o755); err != nil && !os.IsExist(err) {
		return err
	}
	return nil
}

func touch(name string) error {
	fd, err := unix.Open(name, unix.O_CREAT|unix.O_EXCL|unix.O_CLOEXEC|unix.O_WRONLY, 0)
	if err != nil {
		return err
	}
	return unix.Close(fd)
}
