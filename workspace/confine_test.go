//go:build unix

package workspace

import (
	"context"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
)

// Every command goes through Confine except those outside, whose shell shares nothing with
// the confined ones.
func TestConfineEveryCommand(t *testing.T) {
	var confined, released atomic.Int64
	var folders []string
	w := &Workspace{Root: t.TempDir(), Confine: func(cmd *exec.Cmd, _ string, own ...string) (func() (int, bool), error) {
		confined.Add(1)
		folders = append(folders, own...)
		cmd.Env = append(cmd.Env, "CONFINED=yes")
		return func() (int, bool) { released.Add(1); return 2, false }, nil
	}}
	defer w.Close()
	ctx := context.Background()
	run := func(l CommandLine) *Outcome {
		t.Helper()
		o, err := w.Run(ctx, l)
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	if o := run(CommandLine{Command: "x=evil; echo() { builtin echo evil; }; builtin echo $CONFINED"}); o.Text != "yes\n" || o.Left != 2 {
		t.Errorf("confined line: %q, left %d", o.Text, o.Left)
	}
	if o := run(CommandLine{Command: "echo ${x-none} ${CONFINED-no}", Outside: true}); o.Text != "none no\n" || o.Left != 0 {
		t.Errorf("line outside: %q, left %d", o.Text, o.Left)
	}
	if o := run(CommandLine{Command: "builtin echo $x"}); o.Text != "evil\n" {
		t.Errorf("the confined shell was lost: %q", o.Text)
	}
	for _, outside := range []bool{false, true} {
		id, _, err := w.StartJob(ctx, CommandLine{Command: "echo ${CONFINED-no}", Outside: outside})
		if err != nil {
			t.Fatal(err)
		}
		r, err := w.Job(ctx, "", id, nil, 1<<40)
		want := "evil\n"
		if outside {
			want = "no\n"
		}
		if err != nil || r.Text != want {
			t.Errorf("job, outside %v: %+v, %v", outside, r, err)
		}
	}
	if confined.Load() != 3 || released.Load() != 3 {
		t.Errorf("%d confined, %d released, want 3", confined.Load(), released.Load())
	}
	if slices.Contains(folders, w.shell.temp) || !strings.HasPrefix(folders[0], filepath.Clean(w.shell.temp)+"/") {
		t.Errorf("the folders of the shells are %q", folders)
	}
}
