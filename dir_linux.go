package agent

import "syscall"

// kernelDir returns the working directory from the kernel, which has no symlinks. It needs
// one system call, instead of one for each folder of the path.
func kernelDir() (dir string, ok bool) {
	dir, err := syscall.Getwd()
	return dir, err == nil
}
