// Package golden compares generated files with the output of the present code.
package golden

import (
	"os"
	"strings"
	"testing"
)

// File checks that a file has the generated content, or with update writes it.
func File(t testing.TB, file, says string, update bool) {
	t.Helper()
	if update {
		if err := os.WriteFile(file, []byte(says), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if is, err := os.ReadFile(file); err != nil || string(is) != says {
		t.Errorf("%s is not what the code says (%v); go test -run %s -update corrects it", file, err, t.Name())
	}
}

// Tables is File for parts of a file, by name: the text between the lines <!-- name --> and
// <!-- end of name -->.
func Tables(t testing.TB, file string, tables map[string]string, update bool) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	says := string(text)
	for name, table := range tables {
		begin, end := "<!-- "+name+" -->\n", "<!-- end of "+name+" -->"
		before, rest, ok := strings.Cut(says, begin)
		_, after, ok2 := strings.Cut(rest, end)
		if !ok || !ok2 {
			t.Fatalf("%s has no place for %s", file, name)
		}
		says = before + begin + table + end + after
	}
	File(t, file, says, update)
}
