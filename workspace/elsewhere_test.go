package workspace

import (
	"context"
	"os/exec"
	"strings"
	"testing"
)

// A workspace that cannot run a command as it was asked to does not run it here instead.
func TestElsewhereRefuses(t *testing.T) {
	never := func(context.Context, RemoteCommand) (int, error) {
		t.Error("a command ran elsewhere")
		return 0, nil
	}
	confine := func(*exec.Cmd, string, ...string) (func() (int, bool), error) {
		t.Error("a command started here")
		return nil, nil
	}
	for name, c := range map[string]struct {
		w    *Workspace
		want string
	}{
		"in memory":          {&Workspace{InMemory: true}, "runs no commands"},
		"in memory, Exec":    {&Workspace{InMemory: true, Exec: never}, "runs no commands"},
		"in memory, Confine": {&Workspace{InMemory: true, Confine: confine}, "runs no commands"},
		"Exec and Confine":   {&Workspace{Root: "/work", Exec: never, Confine: confine}, "on this machine only"},
	} {
		l := CommandLine{Session: "s", Command: "true"}
		if _, err := c.w.Run(t.Context(), l); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: Run: %v", name, err)
		}
		if _, _, err := c.w.StartJob(t.Context(), l); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: StartJob: %v", name, err)
		}
		if _, err := c.w.Start(t.Context(), Command{Args: []string{"true"}}); err == nil || !strings.Contains(err.Error(), "starts no programs") {
			t.Errorf("%s: Start: %v", name, err)
		}
		if jobs := c.w.RunningJobs(); jobs != nil {
			t.Errorf("%s: %v", name, jobs)
		}
		if err := c.w.Close(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
