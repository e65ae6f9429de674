package session_test

import (
	"testing"

	"github.com/openagent-go/agent/session"
)

// A title is found where it was given, not again where a tag was.
func TestSearchNames(t *testing.T) {
	d := session.Folder{Path: t.TempDir()}
	log, err := d.Open(t.Context(), "s", session.Header{Session: "s"})
	if err != nil {
		t.Fatal(err)
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	if err := session.Rename(t.Context(), d, "s", "A good title"); err != nil {
		t.Fatal(err)
	}
	for _, tag := range []string{"urgent", "later"} {
		if err := session.SetTag(t.Context(), d, "s", tag); err != nil {
			t.Fatal(err)
		}
	}
	for query, want := range map[string]int64{"good": 1, "urgent": 2, "later": 3} {
		var found []int64
		for hit, err := range session.Search(t.Context(), d, query, session.SearchOptions{}) {
			if err != nil {
				t.Fatal(err)
			}
			found = append(found, hit.Seq)
		}
		if len(found) != 1 || found[0] != want {
			t.Errorf("%s: %v, want %d", query, found, want)
		}
	}
}
