package main

import (
	"os"
	"path/filepath"
	"testing"
)

// A wrong type is found in a file for the other system alone, in the body of a function and in a
// test, and not in files for this one.
func TestCheck(t *testing.T) {
	for _, c := range []struct {
		file, text string
		wrong      bool
	}{
		{"p_windows.go", "package p\n\nfunc f() int { return 1 }\n", false},
		{"p_windows.go", "package p\n\nfunc f() int { return `x` }\n", true},
		{"p_linux.go", "package p\n\nfunc f() int { return `x` }\n", false},
		{"p_windows_test.go", "package p\n\nimport (\n\t\"os\"\n\t\"testing\"\n)\n\nfunc TestF(*testing.T) { os.Nothing() }\n", true},
		{"p_windows.go", "package p\n\nimport _ \"no/such/package\"\n", true},
	} {
		dir := t.TempDir()
		for name, text := range map[string]string{"go.mod": "module p\n\ngo 1.26\n", "p.go": "package p\n", c.file: c.text} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		t.Chdir(dir)
		t.Setenv("GOWORK", "off")
		if n, err := check("windows", []string{"./..."}); (err != nil) != c.wrong || !c.wrong && n == 0 {
			t.Errorf("%s %q: %d packages, error %v", c.file, c.text, n, err)
		}
	}
}
