package teamstore_test

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"testing"

	"github.com/openagent-go/agent/internal/teamstore"
)

// Two spaces never share a folder.
func TestSpacesDoNotClash(t *testing.T) {
	for _, in := range []string{"", "team"} {
		d := open(t, &teamstore.Dir{Path: t.TempDir(), In: in})
		odd := "a b"
		sum := sha256.Sum256([]byte(odd))
		twin := "space-" + hex.EncodeToString(sum[:16])
		if _, err := d.AddTask(t.Context(), twin, teamstore.Task{Subject: "of the twin"}); err != nil {
			t.Fatal(err)
		}
		if _, err := d.AddTask(t.Context(), odd, teamstore.Task{Subject: "of the odd one"}); err != nil {
			t.Errorf("In %q: %v", in, err)
		}
	}
}

// A link in place of a space's folder is refused.
func TestLinkedSpace(t *testing.T) {
	for _, in := range []string{"", "team"} {
		path, other := t.TempDir(), t.TempDir()
		for _, space := range []string{"plain", "a b"} {
			if err := os.Symlink(other, filepath.Join(path, space)); err != nil {
				t.Skip(err)
			}
			d := open(t, &teamstore.Dir{Path: path, In: in})
			_, err := d.AddTask(t.Context(), space, teamstore.Task{Subject: "x"})
			if entries, _ := os.ReadDir(other); len(entries) > 0 {
				t.Errorf("In %q, space %q: %v, written through the link: %v", in, space, err, entries)
			}
		}
	}
}
