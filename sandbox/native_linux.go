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
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/openagent-go/agent/internal/confine"
	"github.com/openagent-go/agent/internal/sandboxenv"
)

// native confines by namespaces, mounts and a filter of system calls. It needs no
// other program: this one is executed once more, see [confine].
type native struct{}

func (native) Name() string { return "native" }

func (native) Lacks(p confinement) []string {
	var lacks []string
	if p.Weaker {
		lacks = append(lacks, "the numbers and command lines of the host's processes can be read")
		if p.Memory > 0 {
			lacks = append(lacks, lacksMemory)
		}
	}
	if !confine.CanFence(p.Nested) {
		lacks = append(lacks, lacksPipes)
	}
	return lacks
}

// lacksMemory is the guarantee that the control group alone does not give, see
// [boundGroup].
const lacksMemory = "memory is bounded only where there is a control group for it (version 2)"

const lacksPipes = "named pipes outside that the user may write can be written"

// spaces are the namespaces that the first process is started in.
const spaces = unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP

func (native) Confine(cmd *exec.Cmd, p confinement) (releaseFunc, error) {
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
	ghosts, kept, err := makeGhosts(p)
	if err != nil {
		return nil, err
	}
	env := cmd.Environ()
	if !p.writes(tempFolder(env)) {
		env = sandboxenv.WithTemp(env, "/dev/shm") // which is the sandbox's own
	}
	plan := confine.Plan{
		Path: cmd.Path, Args: cmd.Args, Env: env, Dir: dir, Files: len(cmd.ExtraFiles),
		Write: p.Write, ReadOnly: kept, Hidden: p.Hidden, Read: p.Read, ReadAll: p.Read == nil,
		Proxy: p.Proxy, Loopback: p.Loopback, Direct: p.direct(), Network: p.Network, UnixSockets: p.UnixSockets, LocalBinding: p.LocalBinding,
		Weaker: p.Weaker, Nested: p.Nested, Memory: p.Memory,
	}
	file, err := runAgain(cmd, plan)
	if err != nil {
		ghosts.release()
		return nil, err
	}
	cmd.SysProcAttr = firstAttributes(cmd.SysProcAttr, p)
	boundGroup(cmd.SysProcAttr, p.Memory)
	return func() (int, bool) {
		r := readReport(file)
		_ = file.Close()
		ghosts.release()
		return r.Left, r.Signal != 0
	}, nil
}

// runAgain has cmd start this program once more, which carries out a plan. The
// plan is in the file.
func runAgain(cmd *exec.Cmd, plan confine.Plan) (*os.File, error) {
	file, err := memoryFile(plan.Encode())
	if err != nil {
		return nil, fmt.Errorf("preparing a sandbox: %w", err)
	}
	cmd.Path = "/proc/self/exe"
	cmd.Args = []string{confine.Name, fmt.Sprint(3 + len(cmd.ExtraFiles))}
	cmd.Env = firstEnvironment()
	cmd.Dir = "/"
	cmd.ExtraFiles = append(slices.Clone(cmd.ExtraFiles), file)
	return file, nil
}

// startable refuses a command that cannot be started, or not with its attributes in its own
// namespaces.
func startable(cmd *exec.Cmd) error {
	switch a := cmd.SysProcAttr; {
	case cmd.Err != nil:
		return cmd.Err
	case cmd.Process != nil:
		return errors.New("confining a command: it has been started")
	case a != nil && (a.Credential != nil || a.Chroot != "" || a.Ptrace || a.Cloneflags != 0 || a.Unshareflags != 0):
		return errors.New("confining a command: its attributes have credentials, a root, tracing or namespaces of their own; start it without them")
	}
	return nil
}

func workingFolder(cmd *exec.Cmd) (string, error) {
	dir, err := filepath.Abs(cmd.Dir)
	if err != nil {
		return "", fmt.Errorf("confining a command: %w", err)
	}
	return dir, nil
}

// direct lists the hosts that programs connect to without the proxy.
func (p confinement) direct() []string {
	if !p.LocalBinding || p.ProxyLoopback {
		return nil // nothing listens on its own loopback
	}
	return []string{"localhost", "127.0.0.1", "::1"}
}

func tempFolder(env []string) string {
	dir := ""
	for _, kv := range env {
		if v, ok := strings.CutPrefix(kv, "TMPDIR="); ok {
			dir = v
		}
	}
	if dir == "" {
		dir = "/tmp"
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		return real
	}
	return dir
}

// firstEnvironment is that of the first process: the variables that the program itself may
// need to start, and a small heap.
func firstEnvironment() []string {
	env := []string{"GOMAXPROCS=2", "GOTRACEBACK=none"}
	if path, ok := os.LookupEnv("LD_LIBRARY_PATH"); ok {
		env = append(env, "LD_LIBRARY_PATH="+path)
	}
	return env
}

// firstAttributes adds the attributes that start the first process in its namespaces.
func firstAttributes(own *syscall.SysProcAttr, p confinement) *syscall.SysProcAttr {
	var a syscall.SysProcAttr
	if own != nil {
		a = *own
	}
	a.Pdeathsig = syscall.SIGKILL
	a.Cloneflags = spaces
	if !p.Network {
		a.Cloneflags |= unix.CLONE_NEWNET
	}
	a.UidMappings = []syscall.SysProcIDMap{{ContainerID: os.Geteuid(), HostID: os.Geteuid(), Size: 1}}
	a.GidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getegid(), HostID: os.Getegid(), Size: 1}}
	a.AmbientCaps = []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_NET_ADMIN, unix.CAP_NET_BIND_SERVICE, unix.CAP_SETPCAP}
	return &a
}

// memoryFile makes a file that is nowhere but in memory.
func memoryFile(content []byte) (*os.File, error) {
	fd, err := unix.MemfdCreate("sandbox", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), "sandbox")
	if _, err := f.WriteAt(content, 0); err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

func readReport(f *os.File) confine.Report {
	b := make([]byte, 12)
	n, _ := f.ReadAt(b, 0)
	return confine.DecodeReport(b[:n])
}

// probing bounds how long a backend is tried out.
const probing = 10 * time.Second

func tryNative(p confinement) error {
	err := tryOut(native{}, p)
	start, _ := errors.AsType[*os.PathError](err)
	if start == nil || start.Op != "fork/exec" {
		return err
	}
	if why := whyNoNamespace(start.Err); why != "" {
		return fmt.Errorf("no user namespace can be made: %s (%w)", why, start.Err)
	}
	return err
}

// whyNoNamespace tells the reason why a process cannot be started in namespaces.
func whyNoNamespace(errno error) string {
	switch errno {
	case unix.ENOSPC, unix.EUSERS:
		return "user.max_user_namespaces is 0 or used up"
	case unix.EPERM, unix.EACCES:
		return "kernel.unprivileged_userns_clone, AppArmor or a container forbids it"
	case unix.EINVAL, unix.ENOSYS:
		return "the kernel lacks namespaces"
	}
	return ""
}

// tryOut sets a confinement up that this program carries out, and runs nothing in it.
func tryOut(b backendKind, p confinement) error {
	ctx, cancel := context.WithTimeout(context.Background(), probing)
	defer cancel()
	cmd := exec.CommandContext(ctx, "/proc/self/exe")
	cmd.Path = "" // only try
	cmd.Env = []string{}
	cmd.Dir = "/"
	var said bytes.Buffer
	cmd.Stderr = &said
	release, err := b.Confine(cmd, p)
	if err != nil {
		return err
	}
	defer release()
	return spoken(cmd.Run(), said.String())
}

// spoken is the error of a process, with its message.
func spoken(err error, said string) error {
	if said = strings.TrimSpace(said); err != nil && said != "" {
		return errors.New(said)
	}
	return err
}
