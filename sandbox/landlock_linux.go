package sandbox

import (
	"os/exec"
	"slices"
	"syscall"

	"github.com/openagent-go/agent/internal/confine"
)

// landlock confines by Landlock and the filter of system calls of [native], where
// no namespaces can be had. The program runs in those of the host.
type landlock struct{}

func (landlock) Name() string { return "landlock" }

func (landlock) Lacks(p confinement) []string {
	lacks := []string{
		"modes, owners, times and attributes of files outside can be changed, and those of hidden ones be seen",
		"what a command leaves running outlives it and this program",
		"the numbers and command lines of the host's processes can be read",
	}
	if slices.ContainsFunc(p.ReadOnly, func(name string) bool { return p.within(name) }) {
		lacks = append(lacks, "git hooks, settings and other files that are kept inside of writable folders can be written")
	}
	if version, err := confine.LandlockVersion(); err != nil || !confine.Scoped(version) {
		lacks = append(lacks, "signals reach the host's processes")
	}
	if p.Proxy != "" && !p.Network {
		lacks = append(lacks, "allowed hosts cannot be reached: there is no network at all")
	}
	if p.Memory > 0 {
		lacks = append(lacks, lacksMemory)
	}
	return lacks
}

// within reports whether a path is in a folder that may be written.
func (p confinement) within(name string) bool {
	return slices.ContainsFunc(p.Write, func(dir string) bool { return dir != name && below(dir, name) })
}

func (landlock) Confine(cmd *exec.Cmd, p confinement) (releaseFunc, error) {
	if err := startable(cmd); err != nil {
		return nil, err
	}
	p, err := p.normal()
	if err != nil {
		return nil, err
	}
	dir, err := workingFolder(cmd)
	if err != nil {
		return nil, err
	}
	plan := confine.Plan{
		Path: cmd.Path, Args: cmd.Args, Env: cmd.Environ(), Dir: dir, Files: len(cmd.ExtraFiles),
		Write: p.Write, ReadOnly: p.ReadOnly, Hidden: p.Hidden, Read: p.Read, ReadAll: p.Read == nil,
		Network: p.Network, UnixSockets: p.UnixSockets, Nested: p.Nested, Landlock: true,
	}
	file, err := runAgain(cmd, plan)
	if err != nil {
		return nil, err
	}
	var a syscall.SysProcAttr
	if cmd.SysProcAttr != nil {
		a = *cmd.SysProcAttr
	}
	a.Pdeathsig = syscall.SIGKILL
	a.Setsid, a.Setpgid, a.Foreground = true, false, false // a terminal of the host is not for it
	cmd.SysProcAttr = &a
	boundGroup(&a, p.Memory)
	return func() (int, bool) {
		_ = file.Close()
		return 0, false
	}, nil
}

func tryLandlock(p confinement) error {
	if _, err := confine.LandlockVersion(); err != nil {
		return err
	}
	return tryOut(landlock{}, p)
}
