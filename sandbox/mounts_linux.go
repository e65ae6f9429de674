package sandbox

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// A mount is a line of mountinfo, see proc_pid_mountinfo(5).
type mount struct {
	device string // of the file system
	root   string // the folder of the file system that is mounted
	point  string // where
}

// mountedElsewhere lists the other mount points of a path: bind mounts of the path, of a
// folder around it, and of its content.
func mountedElsewhere(path string) []string {
	data, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil { // without /proc nothing is known
		return nil
	}
	return namesOf(path, parseMounts(string(data)))
}

func parseMounts(text string) (list []mount) {
	for line := range strings.Lines(text) {
		if f := strings.Fields(line); len(f) > 4 {
			list = append(list, mount{f[2], unescaped(f[3]), unescaped(f[4])})
		}
	}
	return list
}

// unescaped returns a path of mountinfo, in which blanks are octal numbers.
func unescaped(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+3 < len(s) {
			if n, err := strconv.ParseUint(s[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(n))
				i += 3
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// namesOf lists the other names of a path under the mounts, the last of which is on top.
func namesOf(path string, mounts []mount) (names []string) {
	own := -1
	for i, m := range mounts {
		if below(m.point, path) && (own < 0 || len(m.point) >= len(mounts[own].point)) {
			own = i
		}
	}
	if own < 0 {
		return nil
	}
	of := mounts[own]
	inside := filepath.Join(of.root, strings.TrimPrefix(path, strings.TrimSuffix(of.point, "/"))) // in the file system
	for i, m := range mounts {
		name := ""
		switch {
		case i == own || m.device != of.device:
			continue
		case below(m.root, inside):
			name = filepath.Join(m.point, strings.TrimPrefix(inside, strings.TrimSuffix(m.root, "/")))
		case below(inside, m.root):
			name = m.point
		}
		if name != "" && name != path && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}
