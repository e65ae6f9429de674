package paths

import (
	"strings"
	"testing"
)

func TestVolumes(t *testing.T) {
	for path, want := range map[string]string{
		`C:\x`: "c:", `c:\`: "c:", "D:/x/y": "d:",
		`\\Server\Share\x`: "//server/share", "//server/share": "//server/share",
		`\\?\C:\x`: NoVolume, `\\.\C:\x`: NoVolume, `\\?\UNC\s\h\x`: NoVolume, `\??\C:\x`: NoVolume,
		`\\?\Volume{0}\x`: NoVolume, `\\.\PhysicalDrive0`: NoVolume,
		`\x`: NoVolume, "/x": NoVolume, "x": NoVolume, "": NoVolume, "C:": NoVolume, "C:x": NoVolume, "1:/x": NoVolume, `\\server`: NoVolume,
	} {
		if got := volumeOf(path); got != want {
			t.Errorf("volumeOf(%q) = %q, want %q", path, got, want)
		}
	}
	for pattern, want := range map[string][2]string{
		"//c/x/**":               {"c:", "///x/**"},
		"//C:/x/**":              {"c:", "///x/**"},
		"C:/x/**":                {"c:", "///x/**"},
		`C:\x\**`:                {"c:", "///x/**"},
		`\\?\c:\x\**`:            {"c:", "///x/**"},
		`\\.\c:\x\**`:            {"c:", "///x/**"},
		"c:":                     {"c:", "//"},
		"//c":                    {"c:", "///"},
		`\\Server\Share\x\**`:    {"//server/share", "///x/**"},
		`\\?\UNC\server\share\x`: {"//server/share", "///x"},
		"//unc:/server/share/x":  {"//server/share", "///x"},
		`\\?\Volume{0}\x`:        {NoVolume, "///Volume{0}/x"},
		"//etc/**":               {"", "//etc/**"},
		"///c/x":                 {"", "///c/x"},
		"/c/x":                   {"", "/c/x"},
		"c:x":                    {"", "c:x"},
		`\*.md`:                  {"", `\*.md`},
		"~/.ssh/**":              {"", "~/.ssh/**"},
		"*.env":                  {"", "*.env"},
		"":                       {"", ""},
	} {
		if volume, rest := patternVolume(pattern); volume != want[0] || rest != want[1] {
			t.Errorf("patternVolume(%q) = %q, %q, want %q", pattern, volume, rest, want)
		}
	}
	for _, path := range []string{`C:\x`, `\\server\share\x`, `\x`} {
		want := volumeOf(path)
		if want == NoVolume {
			want = ""
		}
		if got, _ := patternVolume(rootOf(volumeOf(path)) + "c/x"); got != want {
			t.Errorf("a pattern that begins with %q is about %q, want %q", rootOf(volumeOf(path)), got, want)
		}
	}
}

// onWindows reports whether a rule that allows and one that denies hold for a file on Windows.
func onWindows(pattern, file, dir string) (allows, denies bool) {
	segments := func(path string) []string {
		path = strings.ToLower(strings.ReplaceAll(path, `\`, "/"))
		path = strings.TrimPrefix(path, volumeOf(path))
		for _, device := range []string{"//?/", "//./"} {
			if rest, ok := strings.CutPrefix(path, device); ok {
				_, path, _ = strings.Cut(rest, "/")
			}
		}
		if isDrive(path) {
			path = path[2:]
		}
		return Split(namesOnDisk(strings.Trim(path, "/")))
	}
	volume, rest := patternVolume(pattern)
	p := NewPattern(rest, true)
	covers := p.Matches(segments(file), segments(dir))
	return covers && surelyOn(volume, volumeOf(file), volumeOf(dir)), covers && mayBeOn(volume, volumeOf(file))
}

func TestDrives(t *testing.T) {
	const yes, no = true, false
	for _, c := range []struct {
		pattern, file  string
		allows, denies bool
	}{
		// From the working folder: allowed on its drive alone, denied on all.
		{"/src/**", `C:\work\src\a`, yes, yes},
		{"/src/**", `c:\work\src\a`, yes, yes},
		{"/src/**", `D:\work\src\a`, no, yes},
		{"/src/**", `\\server\share\work\src\a`, no, yes},
		{"/src/**", `\\?\C:\work\src\a`, no, yes},
		{"/src/**", `\work\src\a`, no, yes},
		// From the root.
		{"//etc/**", `C:\etc\a`, yes, yes},
		{"//etc/**", `D:\etc\a`, no, yes},
		// With a drive.
		{`C:\x\**`, `C:\x\a`, yes, yes},
		{`c:\X\**`, `C:\x\a`, yes, yes},
		{`C:\x\**`, `D:\x\a`, no, no},
		{`D:\x\**`, `D:\x\a`, yes, yes},
		{"//d/x/**", `D:\x\a`, yes, yes},
		{"//d/x/**", `C:\x\a`, no, no},
		{`C:/x/\[id]/**`, `C:\x\[id]\a`, yes, yes},
		{"//d/**", `C:\work\a`, no, no},
		{`C:\x\**`, `\\?\C:\x\a`, no, yes},
		{`C:\x\**`, `\\.\C:\x\a`, no, yes},
		{`C:\x\**`, `\\localhost\C$\x\a`, no, yes},
		{`\\?\C:\x\**`, `C:\x\a`, yes, yes},
		// Shares. A drive may be a share, so a rule that denies holds there too.
		{`\\server\share\x\**`, `\\SERVER\share\x\a`, yes, yes},
		{`\\server\share\x\**`, `\\other\share\x\a`, no, yes},
		{`\\server\share\x\**`, `Z:\x\a`, no, yes},
		{`\\server\share\x\**`, `\\server\share\y\a`, no, no},
		// Names that Windows takes for others.
		{`C:\x\.env`, `C:\x\.env.`, yes, yes},
		{`C:\x\.env`, `C:\x. \.env::$DATA`, yes, yes},
		{`C:\x\.env`, `C:\x\.env.old`, no, no},
	} {
		if allows, denies := onWindows(c.pattern, c.file, `C:\work`); allows != c.allows || denies != c.denies {
			t.Errorf("%s, %s: allows %v, denies %v", c.pattern, c.file, allows, denies)
		}
	}
}

func TestFromShell(t *testing.T) {
	for path, want := range map[string]string{
		"/c/Users/me": "c:/Users/me", "/d": "d:/", "/cygdrive/c/x": "c:/x", "/mnt/c/x": "c:/x", "/proc/cygdrive/c/x": "c:/x", "/c//x": "c:/x",
		"///c/x": "c:/x", "/./c/x": "c:/x", "/cygdrive//c/x": "c:/x", "/usr/../c/x": "c:/x", "/../c/.": "c:/.",
		"/c/../d/x": "d:/x", "/c/x/../../mnt/./d/x/": "d:/x/", "/c/link/../x": "c:/link/../x", "/c/d/x": "c:/d/x", "/c/..": "/c/..", "///server": "///server",
		"/etc/passwd": "/etc/passwd", "/": "/", "//server/share": "//server/share", "/1/x": "/1/x", "c/x": "c/x",
	} {
		if got := fromShell(path); got != want {
			t.Errorf("fromShell(%q) = %q, want %q", path, got, want)
		}
	}
}

func TestStrayBackslash(t *testing.T) {
	for pattern, want := range map[string]string{
		`src\**`: `\**`, `.\secrets`: `\secrets`, `a\`: `\`, `x\[a]\b`: `\b`, `x/\[a]`: "", "src/**": "",
	} {
		if got := strayBackslash(pattern); got != want {
			t.Errorf("strayBackslash(%q) = %q, want %q", pattern, got, want)
		}
	}
}
