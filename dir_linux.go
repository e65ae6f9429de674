package agent

import "syscall"

// kernelDir returns the working directory as the kernel has it, which is without
// symlinks: one call of the system in place of one for each folder on the way.
func kernelDir() (dir string, ok bool) {
	dir, err := syscall.Getwd()
	return dir, err == nil
}
