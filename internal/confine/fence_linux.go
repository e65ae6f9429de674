package confine

import (
	"slices"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Mounts that are read-only do not cover all writing: a named pipe on one can be
// written, and a descriptor that the program inherits leads to a mount of the
// host, on which its file can be opened once more. Landlock (landlock(7)) looks
// at the file wherever it was reached from.

// fenced are the rights to files that only the writable folders have.
const fenced = unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE |
	unix.LANDLOCK_ACCESS_FS_MAKE_CHAR | unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_MAKE_REG | unix.LANDLOCK_ACCESS_FS_MAKE_SOCK |
	unix.LANDLOCK_ACCESS_FS_MAKE_FIFO | unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK | unix.LANDLOCK_ACCESS_FS_MAKE_SYM | unix.LANDLOCK_ACCESS_FS_REFER

// fenceVersion is the first version of Landlock that lets files be moved between
// folders.
const fenceVersion = 2

// CanFence reports whether the system can keep a plan's program from writing named pipes
// elsewhere. A process that makes namespaces mounts, which Landlock forbids.
func CanFence(nested bool) bool {
	version, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	return !nested && errno == 0 && version >= fenceVersion
}

// fence keeps this thread from writing, except below the plan's folders, to devices and to
// descriptors inherited for writing. It comes after no_new_privs.
func fence(p *Plan) error {
	if !CanFence(p.Nested) || slices.Contains(p.Write, "/") || p.Landlock { // which has stricter rules
		return nil
	}
	attributes := unix.LandlockRulesetAttr{Handled_access_fs: fenced}
	r, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attributes)), unsafe.Sizeof(attributes.Handled_access_fs), 0)
	if errno != 0 {
		return errno
	}
	rules := int(r)
	defer unix.Close(rules)
	for _, name := range slices.Concat(p.Write, []string{"/dev"}) {
		fd, err := open(name)
		if err == unix.ENOENT || err == unix.EACCES { // not there, or hidden
			continue
		} else if err != nil {
			return err
		}
		err = allowBelow(rules, fd)
		_ = unix.Close(fd)
		if err != nil {
			return err
		}
	}
	for fd := range 3 + p.Files {
		flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
		if err != nil || flags&unix.O_ACCMODE == unix.O_RDONLY {
			continue
		}
		if err := allowBelow(rules, fd); err != nil && err != unix.EBADFD { // which pipes and sockets without a name are
			return err
		}
	}
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, uintptr(rules), 0, 0); errno != 0 {
		return errno
	}
	return nil
}

// allowBelow allows to write a file, or all in a folder.
func allowBelow(rules, fd int) error {
	rule := unix.LandlockPathBeneathAttr{Allowed_access: fenced, Parent_fd: int32(fd)}
	if !isDir(fd) {
		rule.Allowed_access = unix.LANDLOCK_ACCESS_FS_WRITE_FILE
	}
	_, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(rules), unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(&rule)), 0, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}

const errFolder = textError("it is a folder, through which the host's files are reached; leave it out")

// checkInherited refuses descriptors that lead around the mounts of the sandbox.
func checkInherited(keep int) error {
	for fd := range keep {
		if isDir(fd) {
			return &step{"passing on descriptor " + strconv.Itoa(fd), errFolder}
		}
	}
	return nil
}
