package checkpoint_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/openagent-go/agent/checkpoint"
)

func Example() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	project, ctx := filepath.Join(dir, "project"), context.Background()
	notes := filepath.Join(project, "notes.txt")
	if err := os.MkdirAll(project, 0o755); err != nil {
		log.Fatal(err)
	}
	if err := os.WriteFile(notes, []byte("old\n"), 0o644); err != nil {
		log.Fatal(err)
	}

	store := &checkpoint.Store{Dir: filepath.Join(dir, "checkpoints")}
	before, err := store.Take(ctx, "s", 1, project)
	if err != nil {
		log.Fatal(err)
	}
	if err := os.WriteFile(notes, []byte("new\n"), 0o644); err != nil { // by any program
		log.Fatal(err)
	}
	changes, err := store.Changes(ctx, "s", before, "")
	if err != nil {
		log.Fatal(err)
	}
	for _, c := range changes {
		fmt.Println(c.Kind, filepath.Base(c.Path))
		fmt.Print(c.Diff)
	}
	undo := ""
	if _, err := store.Restore(ctx, "s", before, func(id string) error { undo = id; return nil }); err != nil {
		log.Fatal(err)
	}
	text, err := os.ReadFile(notes)
	fmt.Printf("%q, %v, can be undone: %t\n", text, err, undo != "")
	// Output:
	// changed notes.txt
	// --- notes.txt
	// +++ notes.txt
	// @@ -1 +1 @@
	// -old
	// +new
	// "old\n", <nil>, can be undone: true
}
