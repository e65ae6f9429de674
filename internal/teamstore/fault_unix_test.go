//go:build unix

package teamstore_test

import (
	"context"
	"fmt"
	"os/signal"
	"strings"
	"syscall"
	"testing"

	"github.com/openagent-go/agent/internal/teamstore"
)

func init() { children["full"] = fillDisk }

// fillDisk adds tasks until no more can be written, then makes room and continues.
func fillDisk(d *teamstore.Dir, name string) error {
	signal.Ignore(syscall.SIGXFSZ)
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		return err
	}
	most := limit.Cur
	limit.Cur = 30_000
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		return err
	}
	ctx := context.Background()
	add := func() bool {
		made, err := d.AddTask(ctx, "s", teamstore.Task{Subject: name, Description: strings.Repeat("x", 1000)})
		if err != nil {
			fmt.Println("refused", err)
			return false
		}
		fmt.Println("added", made.ID)
		return true
	}
	for add() {
	}
	add() // still
	limit.Cur = most
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		return err
	}
	for range 3 {
		add()
	}
	return nil
}

// TestDiskFull: what cannot be written is an error and as if it had not been asked
// for; when there is room again, work continues.
func TestDiskFull(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var added []string
	refused := 0
	for _, line := range start(t, dir, "full", "p").rest() {
		switch what, rest, _ := strings.Cut(line, " "); what {
		case "added":
			added = append(added, rest)
		case "refused":
			if refused++; !strings.Contains(rest, "journal.jsonl") {
				t.Errorf("it says %q", line)
			}
		default:
			t.Errorf("it says %q", line)
		}
	}
	d := open(t, &teamstore.Dir{Path: dir})
	got, err := d.Tasks(t.Context(), "s", teamstore.Filter{})
	if err != nil {
		t.Fatal(err)
	}
	var there []string
	for _, x := range got {
		there = append(there, x.ID)
	}
	if strings.Join(there, " ") != strings.Join(added, " ") || refused != 2 || len(added) < 10 {
		t.Errorf("acknowledged were %v, %d refused; there are %v", added, refused, there)
	}
}
