package rules_test

import (
	"errors"
	"os/exec"
	"path/filepath"

	"github.com/openagent-go/agent/internal/rules"
	"github.com/openagent-go/agent/sandbox"
)

// The tripwire tests run their lines in a sandbox, where one works: what a line does
// beside running a name stays in its folder.
func init() {
	rules.Confine = func(cmd *exec.Cmd, dir string) (string, func(), error) {
		dir, err := filepath.EvalSymlinks(dir)
		if err != nil {
			return "", nil, err
		}
		box, err := sandbox.New(sandbox.Settings{Enabled: true}, sandbox.Place{Dir: dir})
		if errors.Is(err, sandbox.ErrUnavailable) {
			return "no sandbox", func() {}, nil
		}
		if err != nil {
			return "", nil, err
		}
		release, err := box.Confiner()(cmd, dir)
		if err != nil {
			return "", nil, errors.Join(err, box.Close())
		}
		return box.State().Backend, func() { _, _ = release(); _ = box.Close() }, nil
	}
}
