package walk

import (
	"cmp"
	"os"
	"path/filepath"
	"strings"

	"github.com/openagent-go/agent/internal/gitignore"
	"github.com/openagent-go/agent/internal/plainfile"
)

// repository returns the rules that hold in the git repository at dir beside those of
// its .gitignore files: of the file that core.excludesFile names, and before them
// those of info/exclude. path is dir for the rules.
func repository(dir, path string) *gitignore.Rules {
	own := commonDir(filepath.Join(dir, ".git"))
	var none *gitignore.Rules
	return none.With(path, small(personal(dir, own))).With(path, small(filepath.Join(own, "info", "exclude")))
}

// commonDir returns the folder with the shared data of the worktrees of a repository. name
// is its .git: that folder, or a file that names another.
func commonDir(name string) string {
	if info, err := os.Stat(name); err != nil || info.IsDir() {
		return name
	}
	to, ok := strings.CutPrefix(string(small(name)), "gitdir:")
	if !ok {
		return name
	}
	own := beside(filepath.Dir(name), strings.TrimSpace(to))
	if shared := strings.TrimSpace(string(small(filepath.Join(own, "commondir")))); shared != "" {
		return beside(own, shared)
	}
	return own
}

// personal returns the name of the user's own ignore file for the repository at dir,
// as git-config(1) and gitignore(5) have it; "" for none. Files that a configuration
// includes are not read.
func personal(dir, gitDir string) string {
	home, _ := os.UserHomeDir()
	own := os.Getenv("XDG_CONFIG_HOME")
	if own == "" && home != "" {
		own = filepath.Join(home, ".config")
	}
	var configs []string // the last one that says it counts
	if os.Getenv("GIT_CONFIG_NOSYSTEM") == "" {
		configs = append(configs, cmp.Or(os.Getenv("GIT_CONFIG_SYSTEM"), "/etc/gitconfig"))
	}
	if global := os.Getenv("GIT_CONFIG_GLOBAL"); global != "" {
		configs = append(configs, global)
	} else {
		if own != "" {
			configs = append(configs, filepath.Join(own, "git", "config"))
		}
		if home != "" {
			configs = append(configs, filepath.Join(home, ".gitconfig"))
		}
	}
	name, said := "", false
	for _, config := range append(configs, filepath.Join(gitDir, "config")) {
		if value, ok := excludesFile(string(small(config))); ok {
			name, said = value, true
		}
	}
	switch rest, ours := strings.CutPrefix(name, "~/"); {
	case !said && own != "":
		return filepath.Join(own, "git", "ignore")
	case name == "", ours && home == "":
		return ""
	case ours:
		return filepath.Join(home, rest)
	}
	return beside(dir, name)
}

// excludesFile returns the value of core.excludesFile in the text of a configuration,
// and whether there is one.
func excludesFile(text string) (value string, ok bool) {
	text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\\\n", "") // lines that go on
	core := false
	for line := range strings.SplitSeq(text, "\n") {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") {
			var section string
			section, line, _ = strings.Cut(line[1:], "]")
			core = strings.EqualFold(strings.TrimSpace(section), "core")
			line = strings.TrimSpace(line)
		}
		name, v, given := strings.Cut(line, "=")
		if core && given && strings.EqualFold(strings.TrimSpace(name), "excludesFile") {
			value, ok = unquoted(strings.TrimSpace(v)), true
		}
	}
	return value, ok
}

// unquoted returns the value of a line of a configuration, without quotes and comments.
func unquoted(v string) string {
	var b strings.Builder
	quoted, kept := false, 0 // kept: the length up to the last character that is not white space
	for i := 0; i < len(v); i++ {
		c := v[i]
		switch {
		case c == '"':
			quoted = !quoted
			kept = b.Len()
			continue
		case !quoted && (c == '#' || c == ';'):
			return b.String()[:kept]
		case c == '\\' && i+1 < len(v):
			i++
			c = v[i]
			switch c {
			case 'n':
				c = '\n'
			case 't':
				c = '\t'
			}
		}
		b.WriteByte(c)
		if quoted || c != ' ' && c != '\t' {
			kept = b.Len()
		}
	}
	return b.String()[:kept]
}

// beside returns name, from dir if it is relative.
func beside(dir, name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(dir, name)
}

// small reads a regular file; nil if that cannot be done, or it is too large to be
// an ignore file or a configuration.
func small(name string) []byte {
	if name == "" {
		return nil
	}
	f, err := plainfile.Open(name)
	if err != nil {
		return nil
	}
	if info, err := f.Stat(); err != nil || info.Size() > maxIgnore {
		f.Close()
		return nil
	}
	return content(f)
}
