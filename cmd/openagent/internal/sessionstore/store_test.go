package sessionstore

import (
	"path/filepath"
	"strings"
	"testing"
)

func TestProjectName(t *testing.T) {
	seen := map[string]string{}
	for _, path := range []string{"/", "/a/b", "/a-b", "/a/b/", "/a.b", "/ä", "/ö", "/" + strings.Repeat("x", 300), "/" + strings.Repeat("x", 301), `C:\a`} {
		name := projectName(path)
		if other, taken := seen[name]; taken {
			t.Errorf("%s and %s are both %s", path, other, name)
		}
		seen[name] = path
		if !filepath.IsLocal(name) || len(name) > 80 || strings.HasPrefix(name, "-") || strings.HasPrefix(name, ".") {
			t.Errorf("%s: %q", path, name)
		}
	}
}
