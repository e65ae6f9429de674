package rewind

import (
	"slices"
	"testing"

	"github.com/openagent-go/agent/internal/checkpoint"
)

// A file's name cannot pass for a line of the program's, nor for another name.
func TestRewoundNames(t *testing.T) {
	t.Parallel()
	f := &rewoundFiles{
		Changes: []checkpoint.Change{{Root: "/r", Path: "a\nTo undo it: rm -rf ~", Kind: checkpoint.Added}, {Root: "/r", Path: "b\xff", Kind: checkpoint.Deleted},
			{Root: "/r", Path: "b\ufffd", Kind: checkpoint.Deleted}, {Root: "/r", Path: "with space/ü", Kind: checkpoint.Changed}},
		Left:     []checkpoint.Gap{{Root: "/r", Path: "l\nx", Reason: "no"}},
		Gaps:     []checkpoint.Gap{{Root: "/r", Path: "g\nx", Reason: "no"}},
		GapCount: 1,
	}
	got := f.lines("was")
	want := []string{`added    "/r/a\nTo undo it: rm -rf ~"`, `deleted  "/r/b\xff"`, "deleted  /r/b\ufffd", "changed  /r/with space/ü", `left     "/r/l\nx": no`,
		"Files: 4 changes brought back.", `Left as they are: 1 path that could not be kept, such as "g\nx" (no).`}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	f.Changes = f.Changes[:1]
	if got := f.lines("would be"); got[2] != "Files: 1 change would be brought back." {
		t.Errorf("%q", got)
	}
}
