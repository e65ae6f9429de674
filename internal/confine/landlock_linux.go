package confine

import (
	"math"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Landlock (landlock(7)) adds up rights: a rule for a folder holds for all below it, and no
// rule takes a right away. So a hidden path is kept by rules for its neighbours. Landlock
// does not cover namespaces, so the program runs in those of the host, and replaces this
// process.

const (
	// leastLandlock is the version from which on truncating can be denied (Linux 6.2);
	// scopedLandlock is that which keeps signals in (6.12), deviceLandlock that which
	// knows about the commands of devices (6.10).
	leastLandlock  = 3
	deviceLandlock = 5
	scopedLandlock = 6

	mayRead = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR
	// Devices are never made.
	mayMake = unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_MAKE_REG | unix.LANDLOCK_ACCESS_FS_MAKE_SOCK |
		unix.LANDLOCK_ACCESS_FS_MAKE_FIFO | unix.LANDLOCK_ACCESS_FS_MAKE_SYM
	mayWrite = unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE | unix.LANDLOCK_ACCESS_FS_REMOVE_DIR |
		unix.LANDLOCK_ACCESS_FS_REMOVE_FILE | unix.LANDLOCK_ACCESS_FS_REFER | mayMake
	handled = mayRead | mayWrite | unix.LANDLOCK_ACCESS_FS_MAKE_CHAR | unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK
	// ofFiles are the rights that a file can have that is not a folder.
	ofFiles = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE |
		unix.LANDLOCK_ACCESS_FS_TRUNCATE | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV

	// maxRules bounds the rules of a sandbox: a hidden file in a huge folder needs
	// one for each of the others.
	maxRules = 20_000
)

const (
	errNoLandlock  = textError("the kernel has no Landlock: Linux 6.2 is needed, built with CONFIG_SECURITY_LANDLOCK")
	errLandlockOff = textError("the kernel's Landlock is switched off: add landlock to its parameter lsm")
	errOldLandlock = textError("the kernel's Landlock is too old: Linux 6.2 is needed")
	errManyRules   = textError("too many files lie beside the hidden ones")
)

// LandlockVersion returns the version of the kernel's Landlock, or the reason why there is
// none.
func LandlockVersion() (int, error) {
	v, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	switch {
	case errno == unix.ENOSYS:
		return 0, errNoLandlock
	case errno == unix.EOPNOTSUPP:
		return 0, errLandlockOff
	case errno != 0:
		return 0, &step{"asking for Landlock", errno}
	case v < leastLandlock:
		return int(v), errOldLandlock
	}
	return int(v), nil
}

// Scoped reports whether that version keeps signals and abstract sockets in.
func Scoped(version int) bool { return version >= scopedLandlock }

// become takes the rights from this thread and replaces the process by the program.
func become(p *Plan) {
	_ = unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0) // the starter has set it already
	if err := unix.CloseRange(uint(3+p.Files), math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC); err != nil {
		fail("closing descriptors", err)
	}
	if err := unix.Chdir(p.Dir); err != nil {
		fail("entering "+p.Dir, err)
	}
	if err := restrict(p); err != nil {
		fail(describe(err))
	}
	if err := restrictFiles(p); err != nil { // who has given up new privileges may
		fail(describe(err))
	}
	if p.Path == "" {
		os.Exit(0)
	}
	fail("starting "+p.Path, syscall.Exec(p.Path, p.Args, p.Env))
}

// restrictFiles has Landlock hold a plan from now on.
func restrictFiles(p *Plan) error {
	version, err := LandlockVersion()
	if err != nil {
		return err
	}
	a := unix.LandlockRulesetAttr{Handled_access_fs: handled}
	if version >= deviceLandlock {
		a.Handled_access_fs |= unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	}
	if Scoped(version) {
		a.Scoped = unix.LANDLOCK_SCOPE_SIGNAL
		if !p.Network {
			a.Scoped |= unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET
		}
	}
	size := unsafe.Offsetof(a.Quiet_access_fs)
	fd, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&a)), size, 0)
	if errno == unix.E2BIG { // older kernels know less of it
		fd, _, errno = unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&a)), unsafe.Offsetof(a.Handled_access_net), 0)
	}
	if errno != 0 {
		return &step{"making Landlock's rules", errno}
	}
	r := &rules{fd: int(fd), handled: a.Handled_access_fs, layers: landlockLayers(p), all: p.ReadAll}
	defer unix.Close(r.fd)
	if err := r.allow("/", 0); err != nil {
		return err
	}
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, fd, 0, 0); errno != 0 {
		return &step{"applying Landlock's rules", errno}
	}
	return nil
}

// rules are those that are being made.
type rules struct {
	fd      int
	handled uint64
	layers  map[string]uint64 // rights to a path and all below it
	all     bool              // paths that no layer covers may be read
	made    int
}

// landlockLayers lists the rights of a plan's paths. Read-only paths in a writable folder
// cannot be protected.
func landlockLayers(p *Plan) map[string]uint64 {
	layers := map[string]uint64{"/dev": unix.LANDLOCK_ACCESS_FS_READ_DIR}
	if !p.ReadAll {
		for _, name := range slices.Concat(systemFolders, p.Read, []string{"/proc"}) {
			layers[name] = mayRead
		}
	}
	for _, name := range p.Write {
		layers[name] = mayRead | mayWrite
	}
	writable := func(name string) bool { return rightsOf(layers, path.Dir(name), p.ReadAll)&mayWrite != 0 }
	hides := map[string]bool{}
	for _, name := range p.Hidden {
		hides[name] = true
		if _, err := os.Lstat(name); err == nil || writable(name) {
			layers[name] = 0
		}
	}
	for _, name := range p.ReadOnly {
		if !hides[name] && !writable(name) {
			layers[name] = mayRead
		}
	}
	for _, name := range devices {
		layers["/dev/"+name] = unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	}
	return layers
}

// rightsOf returns the rights of a path: those of the longest layer that covers it.
func rightsOf(layers map[string]uint64, name string, all bool) uint64 {
	for {
		if rights, ok := layers[name]; ok {
			return rights
		}
		if name == "/" {
			break
		}
		name = path.Dir(name)
	}
	if all {
		return mayRead
	}
	return 0
}

// allow adds the rules for a path and its content; given are the rights that the rules
// around it allow already.
func (r *rules) allow(name string, given uint64) error {
	rights := rightsOf(r.layers, name, r.all)
	common, inside := rights, false // rights to everything in it
	next := map[string]bool{}       // files of the folder that have other layers in them
	for layer, has := range r.layers {
		if layer == name || !below(name, layer) {
			continue
		}
		inside = true
		common &= has
		rest := strings.TrimPrefix(layer[len(name):], "/")
		first, _, _ := strings.Cut(rest, "/")
		next[first] = true
	}
	if common&^given != 0 {
		if ok, err := r.add(name, common); !ok || err != nil {
			return err
		}
		given |= common
	}
	if !inside {
		return nil
	}
	prefix := strings.TrimSuffix(name, "/") + "/"
	if rights&^given != 0 {
		entries, err := os.ReadDir(name)
		if err != nil && !os.IsNotExist(err) && !os.IsPermission(err) { // no process of this user gets there
			return &step{"listing " + name, err}
		}
		for _, e := range entries {
			if next[e.Name()] || e.Type()&os.ModeSymlink != 0 { // the target of a link has its own rule
				continue
			}
			if _, err := r.add(prefix+e.Name(), rights); err != nil {
				return err
			}
		}
	}
	for child := range next {
		if err := r.allow(prefix+child, given); err != nil {
			return err
		}
	}
	return nil
}

// add makes a rule. It reports whether there is such a file.
func (r *rules) add(name string, rights uint64) (bool, error) {
	if r.made++; r.made > maxRules {
		return false, &step{"allowing " + name, errManyRules}
	}
	fd, err := open(name)
	switch {
	case err == unix.ENOENT, err == unix.EACCES, err == unix.ENOTDIR:
		return false, nil
	case err == unix.ELOOP && slices.Contains(systemFolders, name): // a link to another
		return false, nil
	case err == unix.ELOOP:
		return false, &step{"opening " + name, errLink}
	case err != nil:
		return false, &step{"opening " + name, err}
	}
	defer unix.Close(fd)
	a := unix.LandlockPathBeneathAttr{Allowed_access: rights & r.handled, Parent_fd: int32(fd)}
	if !isDir(fd) {
		a.Allowed_access &= ofFiles
	}
	if a.Allowed_access == 0 {
		return true, nil
	}
	_, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(r.fd), unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(&a)), 0, 0, 0)
	if errno != 0 {
		return true, &step{"allowing " + name, errno}
	}
	return true, nil
}
