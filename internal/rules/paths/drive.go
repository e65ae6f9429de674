package paths

import (
	"runtime"
	"slices"
	"strings"
)

// Drives of Windows. Segments of a path leave its volume out, so a rule that denies holds on every
// drive unless it names one. A rule that allows holds on one drive alone. The functions below read
// Windows paths on every system, so that their tests run everywhere.

// drives reports whether paths of this system have volumes.
const drives = runtime.GOOS == "windows"

// NoVolume is the volume of a path that names no drive, or names it in a way that only the system
// understands. It differs from all real volumes.
const NoVolume = "?"

// volumeOf returns the volume of a path: "c:" for a drive, "//server/share" for a share, or
// [NoVolume]. Slashes may lean either way.
func volumeOf(path string) string {
	path = strings.ReplaceAll(path, `\`, "/")
	if isDrive(path) && len(path) > 2 && path[2] == '/' {
		return strings.ToLower(path[:2])
	}
	unc, ok := strings.CutPrefix(path, "//")
	if !ok {
		return NoVolume
	}
	server, rest, _ := strings.Cut(unc, "/")
	share, _, _ := strings.Cut(rest, "/")
	if share == "" || strings.Trim(server, ".?") == "" { // the second is a path of a device
		return NoVolume
	}
	return strings.ToLower("//" + server + "/" + share)
}

// isDrive reports whether a path begins with the name of a drive, such as "C:".
func isDrive(path string) bool {
	return len(path) >= 2 && path[1] == ':' && isLetter(path[0])
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

// patternVolume splits a pattern into its volume and a pattern from the root of that volume. These
// are the ways to write a volume. The volume of any other pattern is "", and the pattern stays:
//
//	//c/x //c:/x C:/x C:\x \\?\C:\x   the drive C:
//	//unc:/server/share/x \\server\share\x \\?\UNC\server\share\x   a share
func patternVolume(pattern string) (volume, rest string) {
	written := strings.TrimSpace(pattern)
	slashed := strings.ReplaceAll(written, `\`, "/")
	switch {
	case isDrive(written) && len(written) > 2 && written[2] == '/': // a backslash quotes "[", as in other patterns
		return strings.ToLower(written[:2]), "//" + written[2:]
	case isDrive(written) && (len(written) == 2 || slashed[2] == '/'):
		return strings.ToLower(written[:2]), "//" + slashed[2:]
	case strings.HasPrefix(written, `\\?\`), strings.HasPrefix(written, `\\.\`):
		inner := slashed[4:]
		if isDrive(inner) {
			return patternVolume(inner)
		}
		if len(inner) > 4 && strings.EqualFold(inner[:4], "unc/") {
			return share(inner[4:])
		}
		return NoVolume, "///" + inner
	case strings.HasPrefix(written, `\\`):
		return share(slashed[2:])
	}
	rooted, ok := strings.CutPrefix(written, "//")
	if !ok {
		return "", pattern
	}
	first, below, _ := strings.Cut(rooted, "/")
	switch {
	case len(first) == 1 && isLetter(first[0]):
		return strings.ToLower(first) + ":", "///" + below
	case len(first) == 2 && isDrive(first):
		return strings.ToLower(first), "///" + below
	case strings.EqualFold(first, "unc:"):
		return share(below)
	}
	return "", pattern
}

// share splits a pattern that names a share, without its first two slashes.
func share(text string) (volume, rest string) {
	server, below, _ := strings.Cut(text, "/")
	name, below, _ := strings.Cut(below, "/")
	return strings.ToLower("//" + server + "/" + name), "///" + below
}

// rootOf returns the start of a pattern for files on a volume. For [NoVolume] it is one for all volumes.
func rootOf(volume string) string {
	switch {
	case volume == NoVolume:
		return "///" // "//c" is a drive
	case isDrive(volume):
		return "//" + volume[:1] + "/"
	}
	return "//unc:" + volume[1:] + "/"
}

// mayBeOn reports whether a file on the volume file may be on the volume that a pattern names. Only
// two drives with different letters are certain to differ.
func mayBeOn(named, file string) bool {
	return named == "" || named == file || !isDrive(named) || !isDrive(file)
}

// surelyOn reports whether a file on the volume file is on the volume that a pattern names. A pattern
// that names none is about start, the volume of the folder that it starts from.
func surelyOn(named, file, start string) bool {
	if named == "" {
		named = start
	}
	return file != NoVolume && file == named
}

// MayBeOn reports whether a file may be on the drive that the pattern is about.
func (p *Pattern) MayBeOn(file string) bool {
	return !drives || p.volume == "" || mayBeOn(p.volume, volumeOf(file))
}

// surelyOn reports whether a file is on the drive that the pattern is about, seen from dir.
func (p *Pattern) surelyOn(file, dir string) bool {
	if !drives {
		return true
	}
	if p.From == '~' {
		dir = Home()
	}
	return surelyOn(p.volume, volumeOf(file), volumeOf(dir))
}

// SameDrive reports whether the patterns name the same drive, or none.
func (p *Pattern) SameDrive(q *Pattern) bool { return !drives || p.volume == q.volume }

// Rooted returns the start of a pattern for files on the drive of path, seen from its root.
func Rooted(path string) string {
	if !drives {
		return "//"
	}
	return rootOf(volumeOf(path))
}

// driveFolders are the folders in which a Unix shell on Windows has the drives.
var driveFolders = []string{"", "cygdrive", "proc/cygdrive", "mnt"}

// fromShell returns the Windows path for one of a Unix shell on Windows, where drives are folders. The
// part behind the drive stays as it is written. Two slashes begin a share.
func fromShell(path string) string {
	if !strings.HasPrefix(path, "/") || strings.HasPrefix(path, "//") && !strings.HasPrefix(path, "///") {
		return path
	}
	var steps []string
	drive, depth, below := "", 0, 0 // the folder of a drive in which the path is: its name, depth and end
	for at := 0; at < len(path); {
		step, _, _ := strings.Cut(path[at:], "/")
		at += len(step) + 1
		switch step {
		case "", ".":
		case "..":
			steps = steps[:max(len(steps)-1, 0)]
			if len(steps) < depth {
				depth = 0
			}
		default:
			if depth == 0 && len(step) == 1 && isLetter(step[0]) && slices.Contains(driveFolders, strings.Join(steps, "/")) {
				drive, depth, below = step, len(steps)+1, min(at, len(path))
			}
			steps = append(steps, step)
		}
	}
	if depth == 0 {
		return path
	}
	return drive + ":/" + strings.TrimLeft(path[below:], "/")
}

// FromShell returns the path of the system that a shell opens for an absolute path.
func FromShell(path string) string {
	if !drives {
		return path
	}
	return fromShell(path)
}

// OnDrive reports whether a path begins with a drive, such as "D:x", which is not in the working folder.
func OnDrive(path string) bool { return drives && isDrive(path) }

// nameOnDisk returns the name of a file that Windows opens for a name: it drops dots and spaces
// at the end, and what follows a colon is a stream of the same file.
func nameOnDisk(name string) string {
	if file, _, ok := strings.Cut(name, ":"); ok && file != "" {
		name = file
	}
	if short := strings.TrimRight(name, ". "); short != "" {
		return short
	}
	return name
}

// namesOnDisk applies [nameOnDisk] to each name of a path with slashes.
func namesOnDisk(path string) string {
	steps := strings.Split(path, "/")
	for i, s := range steps {
		steps[i] = nameOnDisk(s)
	}
	return strings.Join(steps, "/")
}

// strayBackslash returns the rest of a Windows pattern from the first backslash that does not quote
// "[", or "". Its author meant it to separate names. Names on Windows have no other character that a
// pattern could quote.
func strayBackslash(pattern string) string {
	for i := 0; i < len(pattern); i++ {
		if pattern[i] == '\\' && !strings.HasPrefix(pattern[i+1:], "[") {
			return pattern[i:]
		}
	}
	return ""
}
