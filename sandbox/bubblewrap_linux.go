package sandbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"

	"github.com/openagent-go/agent/internal/confine"
	"github.com/openagent-go/agent/internal/sandboxenv"
)

// bubblewrap confines by the program bwrap, which may be permitted to make
// namespaces where others are not.
type bubblewrap struct{}

func (bubblewrap) Name() string { return "bubblewrap" }

func (bubblewrap) Lacks(p confinement) []string {
	lacks := []string{"a symlink among the files that are kept can be replaced", "programs do not learn by which name they were called", "descriptors that the host has left open are inherited",
		"a file that is a standard stream can be opened once more, for writing", lacksPipes}
	if p.Proxy != "" && !p.Network {
		lacks = append(lacks, "allowed hosts cannot be reached: there is no network at all")
	}
	if p.Read != nil {
		lacks = append(lacks, "all files can be read but hidden ones")
	}
	if p.Nested {
		lacks = append(lacks, "system calls are not filtered for who takes over the first process")
	}
	if p.Weaker {
		lacks = append(lacks, "the numbers and command lines of the host's processes can be read")
	}
	if p.Memory > 0 {
		lacks = append(lacks, lacksMemory)
	}
	return lacks
}

func (bubblewrap) Confine(cmd *exec.Cmd, p confinement) (releaseFunc, error) {
	if err := startable(cmd); err != nil {
		return nil, err
	}
	if err := withoutFolders(cmd); err != nil {
		return nil, err
	}
	program, err := exec.LookPath("bwrap")
	if err != nil {
		return nil, fmt.Errorf("confining a command: %w", err)
	}
	if p, err = p.normal(); err != nil {
		return nil, err
	}
	dir, err := workingFolder(cmd)
	if err != nil {
		return nil, err
	}
	filter, err := confine.Filter(confine.Plan{
		Network: p.Network, UnixSockets: p.UnixSockets, LocalBinding: p.LocalBinding, Nested: p.Nested,
	})
	if err != nil {
		return nil, fmt.Errorf("confining a command: %w", err)
	}
	ghosts, kept, err := makeGhosts(p)
	if err != nil {
		return nil, err
	}
	p.ReadOnly = kept
	args, err := wrapArguments(p, dir)
	if err != nil {
		ghosts.release()
		return nil, err
	}
	file, err := memoryFile(filter)
	if err != nil {
		ghosts.release()
		return nil, fmt.Errorf("preparing a sandbox: %w", err)
	}
	env := cmd.Environ()
	if !p.writes(tempFolder(env)) {
		env = sandboxenv.WithTemp(env, "/dev/shm")
	}
	args = append(args, "--seccomp", strconv.Itoa(3+len(cmd.ExtraFiles)), "--", cmd.Path)
	cmd.Args = slices.Concat([]string{"bwrap"}, args, cmd.Args[1:])
	cmd.Path, cmd.Env, cmd.Dir = program, env, "/"
	cmd.ExtraFiles = append(slices.Clone(cmd.ExtraFiles), file)
	a := syscall.SysProcAttr{}
	if cmd.SysProcAttr != nil {
		a = *cmd.SysProcAttr
	}
	a.Pdeathsig = syscall.SIGKILL
	cmd.SysProcAttr = &a
	boundGroup(&a, p.Memory)
	return func() (int, bool) {
		_ = file.Close()
		ghosts.release()
		return 0, false
	}, nil
}

// wrapArguments are the arguments of bwrap for a policy whose ReadOnly exists.
func wrapArguments(p confinement, dir string) ([]string, error) {
	args := []string{
		"--die-with-parent", "--new-session", "--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try",
		"--cap-drop", "ALL", "--ro-bind", "/", "/",
	}
	if !p.Network {
		args = append(args, "--unshare-net")
	}
	args = append(args, "--dev", "/dev", "--tmpfs", "/dev/shm")
	sealed := []string{"--remount-ro", "/dev"}
	if !p.Weaker {
		args = append(args, "--proc", "/proc")
		if !p.Nested { // root writes to /proc/sys, and everybody into the first process, which is not filtered
			sealed = append(sealed, "--remount-ro", "/proc")
		}
	}
	anchored := map[string]bool{}
	for _, l := range p.layers() {
		info, err := os.Lstat(l.path)
		if errors.Is(err, os.ErrNotExist) && !slices.Contains(p.ReadOnly, l.path) {
			continue
		} else if err != nil {
			return nil, fmt.Errorf("confining a command: %w", err)
		}
		if real, err := filepath.EvalSymlinks(filepath.Dir(l.path)); err != nil || real != filepath.Dir(l.path) {
			return nil, fmt.Errorf("confining a command: %s leads through a symlink", l.path)
		}
		if info.Mode()&os.ModeSymlink != 0 {
			continue // see Lacks; its target is a path of its own
		}
		for _, d := range p.anchors(l.path) {
			if !anchored[d] {
				args, anchored[d] = append(args, "--bind", d, d), true
			}
		}
		switch {
		case l.state == writes:
			args = append(args, "--bind", l.path, l.path)
		case l.state == open:
			args = append(args, "--ro-bind", l.path, l.path)
		case info.IsDir():
			args = append(args, "--perms", "0111", "--tmpfs", l.path)
			sealed = append(sealed, "--remount-ro", l.path)
		default:
			args = append(args, "--ro-bind", "/dev/null", l.path)
		}
	}
	return slices.Concat(args, sealed, []string{"--chdir", dir}), nil
}

// tryBubblewrap runs a shell that does nothing.
func tryBubblewrap(p confinement) error {
	ctx, cancel := context.WithTimeout(context.Background(), probing)
	defer cancel()
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", ":")
	cmd.Dir = "/"
	var said bytes.Buffer
	cmd.Stderr = &said
	release, err := bubblewrap{}.Confine(cmd, p)
	if err != nil {
		return err
	}
	defer release()
	return spoken(cmd.Run(), said.String())
}

// withoutFolders refuses descriptors of folders, through which a command would get
// at the host's files as they are outside.
func withoutFolders(cmd *exec.Cmd) error {
	files := slices.Clone(cmd.ExtraFiles)
	for _, stream := range []any{cmd.Stdin, cmd.Stdout, cmd.Stderr} {
		if f, ok := stream.(*os.File); ok {
			files = append(files, f)
		}
	}
	for _, f := range files {
		if f == nil {
			continue
		}
		if info, err := f.Stat(); err != nil || info.IsDir() {
			return fmt.Errorf("confining a command: the file %s passed to it is a folder, which opens the host's files, or cannot be inspected; leave it out", f.Name())
		}
	}
	return nil
}
