package trusted

import (
	"fmt"
	"testing"
)

// Contents of an entry are trusted as they were accepted, the newest few of them.
func TestEntries(t *testing.T) {
	e := Entries{Home: t.TempDir()}
	const path = "/p/.openagent/memory/a.md"
	for i := range keptSums + 1 {
		if err := e.Add(path, []byte(fmt.Sprint(i))); err != nil {
			t.Fatal(err)
		}
	}
	if e.Trusted(path, []byte("0")) || !e.Trusted(path, []byte("1")) || !e.Trusted(path, []byte("8")) {
		t.Error("not the newest contents are trusted")
	}
	if e.Trusted("/p/.openagent/memory/b.md", []byte("8")) || e.Trusted("/q/.openagent/memory/a.md", []byte("8")) {
		t.Error("another file is trusted")
	}
	l, err := Read(e.Home)
	if err != nil {
		t.Fatal(err)
	}
	if !l.Has("memory", path, EntrySum([]byte("8"))) || l.Has("memory", path, "") || l.Has("settings", path, EntrySum([]byte("8"))) {
		t.Error("the list does not have it as memory alone")
	}
}
