package paths

import "syscall"

// longName returns the path of a file by its long name: a short one such as "SECRET~1" names the
// same file. A file that is not there keeps its name.
func longName(path string) string {
	from, err := syscall.UTF16PtrFromString(path)
	if err != nil {
		return path
	}
	long := make([]uint16, len(path)+syscall.MAX_PATH)
	for {
		n, err := syscall.GetLongPathName(from, &long[0], uint32(len(long)))
		if err != nil || n == 0 {
			return path
		}
		if int(n) <= len(long) {
			return syscall.UTF16ToString(long[:n])
		}
		long = make([]uint16, n)
	}
}
