package confine

import (
	"os"

	"golang.org/x/sys/unix"
)

// sharedMemory bounds the data of processes in /dev/shm.
const sharedMemory = "1g"

// mountNew makes a file system and mounts it at a path that leads through no symlink.
func mountNew(system, at string, attributes int, options ...string) error {
	context, err := unix.Fsopen(system, unix.FSOPEN_CLOEXEC)
	if err != nil {
		return err
	}
	defer unix.Close(context)
	for i := 0; i+1 < len(options); i += 2 {
		if err := unix.FsconfigSetString(context, options[i], options[i+1]); err != nil {
			return err
		}
	}
	if err := unix.FsconfigCreate(context); err != nil {
		return err
	}
	tree, err := unix.Fsmount(context, unix.FSMOUNT_CLOEXEC, attributes|unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV)
	if err != nil {
		return err
	}
	defer unix.Close(tree)
	return move(tree, at)
}

// buildDev makes a /dev with the devices of v, its own terminals and shared memory.
func (v *view) buildDev(at string) error {
	if err := mountNew("tmpfs", at, unix.MOUNT_ATTR_NOEXEC, "mode", "0755"); err != nil {
		return err
	}
	v.sealed = append(v.sealed, at)
	for name, tree := range v.devices {
		if err := touch(at + "/" + name); err != nil {
			return err
		}
		if err := move(tree, at+"/"+name); err != nil {
			return err
		}
	}
	for name, to := range map[string]string{
		"fd": "/proc/self/fd", "stdin": "/proc/self/fd/0", "stdout": "/proc/self/fd/1", "stderr": "/proc/self/fd/2", "ptmx": "pts/ptmx",
	} {
		if err := os.Symlink(to, at+"/"+name); err != nil {
			return err
		}
	}
	for _, name := range []string{"/pts", "/shm"} {
		if err := os.Mkdir(at+name, 0o755); err != nil {
			return err
		}
	}
	if err := mountNew("devpts", at+"/pts", unix.MOUNT_ATTR_NOEXEC, "mode", "0620", "ptmxmode", "0666"); err != nil {
		return err
	}
	return mountNew("tmpfs", at+"/shm", 0, "mode", "1777", "size", sharedMemory)
}

// keepSettings makes everything in a writable /proc that does not belong to processes
// read-only: root may change the settings of the kernel there, even without capabilities.
func keepSettings(proc string) error {
	if os.Geteuid() != 0 {
		return nil
	}
	inside, err := os.ReadDir(proc)
	if err != nil {
		return err
	}
	for _, e := range inside {
		info, err := e.Info()
		if name := e.Name(); err != nil || name[0] >= '0' && name[0] <= '9' || !e.IsDir() && info.Mode()&0o222 == 0 || e.Type()&os.ModeSymlink != 0 {
			continue
		}
		fd, err := open(proc + "/" + e.Name())
		if err != nil {
			return err
		}
		tree, err := copyTree(fd)
		_ = unix.Close(fd)
		if err == nil {
			err = attach(tree, proc+"/"+e.Name(), unix.MOUNT_ATTR_RDONLY)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
