package parts

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/openagent-go/agent/internal/config"
)

// FoldersKey is the settings key of additional working folders.
const FoldersKey = "permissions.additionalDirectories"

// Folders returns the absolute paths of the additional folders in the settings of a working folder.
// It leaves out missing ones with a warning.
func Folders(s *config.Settings, dir string, warn func(error)) []string {
	var named, out []string
	s.Decode(FoldersKey, &named)
	for _, name := range named {
		path := ResolveFolder(name, dir)
		if info, err := os.Stat(path); err != nil || !info.IsDir() {
			warn(fmt.Errorf("%s: the folder %s does not exist; create it or correct the setting", FoldersKey, path))
			continue
		}
		if !slices.Contains(out, path) {
			out = append(out, path)
		}
	}
	return out
}

// ResolveFolder resolves a folder from the settings relative to a working folder.
func ResolveFolder(name, dir string) string {
	path := name
	if rest, ok := strings.CutPrefix(name, "~/"); ok || name == "~" {
		if home, err := os.UserHomeDir(); err == nil {
			path = filepath.Join(home, rest)
		}
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	return filepath.Clean(path)
}
