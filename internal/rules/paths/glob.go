package paths

import (
	"path"
	"path/filepath"
	"strings"

	"github.com/openagent-go/agent/internal/plainfile"
)

// File patterns, as shells and rules write them.

// Magic are the characters that stand for others in a pattern of a segment.
const Magic = `*?[\`

var globEscaper = strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`)

func EscapeGlob(s string) string { return globEscaper.Replace(s) }

// Unescape removes the backslashes of an unquoted text. Its second result keeps
// those that make a character of a file pattern a plain one.
func Unescape(v string) (text, glob string) {
	if !strings.Contains(v, `\`) {
		return v, v
	}
	var t, g strings.Builder
	for i := 0; i < len(v); i++ {
		if v[i] != '\\' {
			t.WriteByte(v[i])
			g.WriteByte(v[i])
			continue
		}
		if i++; i == len(v) {
			t.WriteByte('\\')
			g.WriteString(`\\`)
			break
		}
		if v[i] == '\n' {
			continue
		}
		t.WriteByte(v[i])
		g.WriteString(EscapeGlob(v[i : i+1]))
	}
	return t.String(), g.String()
}

// HasMagic reports whether a pattern has a character of a file pattern. A lone
// "[" is the name of a command.
func HasMagic(g string) bool {
	for i := 0; i < len(g); i++ {
		switch g[i] {
		case '\\':
			i++
		case '*', '?':
			return true
		case '[':
			if len(g) > 1 {
				return true
			}
		}
	}
	return false
}

const maxNames = 2000 // names looked at for the file patterns of a word

// GlobNames lists the files under dir that a pattern matches, as the shell names them.
// inHome is for a pattern that begins with the home folder.
func GlobNames(dir, pattern string, inHome bool) ([]string, bool) {
	base, names := dir+string(filepath.Separator), []string{""}
	switch {
	case inHome:
		base, names = "", []string{Home() + "/"}
	case OnDrive(FromShell(pattern)):
		at := FromShell(pattern)
		base, names, pattern = "", []string{at[:2] + "/"}, at[2:]
	case strings.HasPrefix(pattern, "/"):
		base, names = "", []string{"/"}
	}
	budget, open := maxNames, false
	for step := range strings.SplitSeq(strings.TrimLeft(pattern, "/"), "/") {
		text, _ := Unescape(step)
		var next []string
		for _, n := range names {
			if !HasMagic(step) {
				if !open || text == "" || Exists(base+n+text) {
					next = append(next, n+text+"/")
				}
				continue
			}
			entries, ok := readNames(base+n, budget)
			if strings.HasPrefix(text, ".") {
				entries = append(entries, ".", "..") // so do some shells
			}
			if budget -= len(entries); !ok || budget < 0 {
				return nil, false
			}
			for _, e := range entries {
				if m, err := path.Match(step, e); err != nil {
					return nil, false
				} else if m {
					next = append(next, n+e+"/")
				}
			}
		}
		names, open = next, open || HasMagic(step)
	}
	for i, n := range names {
		if n = strings.TrimSuffix(n, "/"); strings.HasPrefix(n, "~") {
			n = "./" + n // not the home folder
		}
		names[i] = n
	}
	return names, true
}

// readNames lists at most limit names; a folder that cannot be read has none.
func readNames(dir string, limit int) ([]string, bool) {
	f, err := plainfile.OpenFolder(dir)
	if err != nil {
		return nil, true
	}
	defer f.Close()
	names, _ := f.Readdirnames(limit + 1)
	return names, len(names) <= limit
}
