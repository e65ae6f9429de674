package plainfile

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestRead(t *testing.T) {
	dir := t.TempDir()
	in := filepath.Join(dir, "in")
	for name, text := range map[string]string{"in/a": "0123456789", "in/empty": "", "out": "secret"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{"in/inside": "a", "in/outside": "../out", "in/folder": "."} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Skip(err)
		}
	}
	root, err := os.OpenRoot(in)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	for _, c := range []struct {
		name, want, wrong string
		limit             int
		whole             bool
	}{
		{"a", "0123456789", "", 10, true},
		{"a", "012345678", "", 9, false},
		{"a", "0123456789", "", 100, true},
		{"inside", "0123456789", "", 100, true},
		{"empty", "", "", 5, true},
		{"outside", "", "escapes", 100, false},
		{"../out", "", "escapes", 100, false},
		{"folder", "", "not a regular file", 100, false},
		{"missing", "", "reading missing", 100, false},
	} {
		data, whole, err := Read(root, c.name, c.limit)
		if c.wrong != "" {
			if err == nil || !strings.Contains(err.Error(), c.wrong) {
				t.Errorf("%s: %q, %v", c.name, data, err)
			}
			continue
		}
		if err != nil || string(data) != c.want || whole != c.whole {
			t.Errorf("%s: %q, %v, %v", c.name, data, whole, err)
		}
	}
}
