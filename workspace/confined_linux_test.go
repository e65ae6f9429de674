package workspace_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/openagent-go/agent/sandbox"
	"github.com/openagent-go/agent/workspace"
)

// confined makes a workspace whose commands write in its folder only.
func confined(t *testing.T) (w *workspace.Workspace, dir string) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	box, err := sandbox.New(sandbox.Settings{Enabled: true}, sandbox.Place{Dir: dir})
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { _ = box.Close() })
	w = &workspace.Workspace{Root: dir, Confine: box.Confiner()}
	t.Cleanup(func() { _ = w.Close() })
	return w, dir
}

// The shell of a session continues from line to line, as without a sandbox.
func TestConfinedShell(t *testing.T) {
	w, dir := confined(t)
	for _, c := range []struct {
		line, text string
		code, left int
	}{
		{"mkdir sub && cd sub && x=1 && f() { echo f $x; }", "", 0, 0},
		{"f; pwd", "f 1\n" + dir + "/sub\n", 0, 0},
		{"echo text >file; cat file", "text\n", 0, 0},
		{"exit 7", "", 7, 0},
		{"kill -9 $$", "", 137, 0},
		{"f", "f 1\n", 0, 0},
		{"sleep 1000 & disown; echo left", "left\n", 0, 1},
		{"{ echo x >../../outside; } 2>/dev/null || echo refused", "refused\n", 0, 0},
		{"echo one > >(sleep 0.05; cat)", "one\n", 0, 0},
	} {
		o, err := w.Run(t.Context(), workspace.CommandLine{Command: c.line})
		if err != nil {
			t.Fatal(err)
		}
		if o.Text != c.text || o.Code != c.code || o.Left != c.left || o.Signaled != (c.code == 137) {
			t.Errorf("%s: %q, %+v", c.line, o.Text, o.Exit)
		}
	}
	if b, err := os.ReadFile(dir + "/sub/file"); string(b) != "text\n" {
		t.Errorf("%q, %v", b, err)
	}
}

// A command that is stopped is asked first, and all of it ends.
func TestConfinedStop(t *testing.T) {
	w, dir := confined(t)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		for _, err := os.Stat(dir + "/ready"); err != nil; _, err = os.Stat(dir + "/ready") {
			time.Sleep(time.Millisecond)
		}
		cancel()
	}()
	o, err := w.Run(ctx, workspace.CommandLine{Command: `trap 'echo asked; exit 3' TERM; sleep 1000 & setsid sleep 1000 & : >ready; while :; do sleep 0.01; done`})
	// Where its own sleep ends first, the shell says "Terminated" before.
	if err != nil || !strings.HasSuffix(o.Text, "asked\n") || o.Code != 3 || !o.Stopped || o.Survivors != nil {
		t.Errorf("%+v, %v", o, err)
	}
}

func TestConfinedJob(t *testing.T) {
	w, dir := confined(t)
	id, _, err := w.StartJob(t.Context(), workspace.CommandLine{Command: "echo begun; : >ready; sleep 1000"})
	if err != nil {
		t.Fatal(err)
	}
	for _, err := os.Stat(dir + "/ready"); err != nil; _, err = os.Stat(dir + "/ready") {
		time.Sleep(time.Millisecond)
	}
	r, err := w.StopJob(t.Context(), "", id)
	if err != nil || !strings.Contains(r.Text, "begun") || !r.Stopped || r.Code != 143 {
		t.Errorf("%+v, %v", r, err)
	}
}
