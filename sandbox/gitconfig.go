package sandbox

import (
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/openagent-go/agent/internal/plainfile"
)

// maxGitConfig bounds how much of a repository's configuration is read.
const maxGitConfig = 256 << 10

// configured returns the files beside a repository that its configuration includes or runs:
// the folder of hooks (core.hooksPath, relative to the working tree) and included
// configuration (include.path, relative to the file), see git-config(1). It does not read
// the included files.
func configured(git string) (found []string) {
	file := filepath.Join(git, "config")
	if info, err := os.Lstat(file); err != nil || !info.Mode().IsRegular() {
		return nil
	}
	f, err := plainfile.Open(file)
	if err != nil {
		return nil
	}
	defer f.Close()
	text, _ := io.ReadAll(io.LimitReader(f, maxGitConfig))
	section := ""
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if rest, ok := strings.CutPrefix(line, "["); ok {
			head, after, _ := strings.Cut(rest, "]")
			section, _, _ = strings.Cut(strings.ToLower(strings.TrimSpace(head)), " ")
			line = strings.TrimSpace(after)
		}
		key, value, ok := strings.Cut(line, "=")
		if !ok {
			continue
		}
		var base string
		switch key = strings.ToLower(strings.TrimSpace(key)); {
		case section == "core" && key == "hookspath":
			base = filepath.Dir(git)
		case key == "path" && (section == "include" || section == "includeif"):
			base = git
		default:
			continue
		}
		if value = strings.Trim(strings.TrimSpace(value), `"`); value == "" {
			continue
		}
		if rest, ok := strings.CutPrefix(value, "~/"); ok {
			if base, err = os.UserHomeDir(); err != nil {
				continue
			}
			value = rest
		}
		if !filepath.IsAbs(value) {
			value = filepath.Join(base, value)
		}
		found = append(found, filepath.Clean(value))
	}
	return found
}
