package sandbox

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

const secret = "s3cret-of-the-host"

// worlds counts them.
var worlds atomic.Int64

// A world holds the targets of an attempt, and the traps on the ways out.
type world struct {
	dir, work, outside, hidden, file string
	inside                           []string // hidden below work

	env      []string
	victim   *exec.Cmd
	reached  atomic.Int64 // messages that came by a network
	shared   []byte
	terminal *os.File
	before   string // the outside
}

func makeWorld(t *testing.T, helper string) *world {
	dir := publicDir(t)
	w := &world{dir: dir, work: dir + "/work", outside: dir + "/outside", hidden: dir + "/hidden", file: dir + "/hidden-file"}
	w.inside = []string{w.work + "/conf/private"}
	for name, text := range map[string]string{
		"outside/victim": "untouched", "outside/unheld": "", "hidden/key": secret, "hidden-file": secret, "work/conf/private/key": secret,
		"work/.git/config": "", "work/.git/HEAD": "ref: refs/heads/main\n", "work/.git/hooks/sample": "", "work/real/x": "",
	} {
		must(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
		must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	must(t, os.Symlink("real", w.work+"/.claude"))
	must(t, unix.Mkfifo(w.outside+"/pipe", 0o666))
	pipe, err := os.OpenFile(w.outside+"/pipe", os.O_RDWR, 0) // another process reads there
	must(t, err)
	t.Cleanup(func() { _ = pipe.Close() })
	w.victim = exec.Command("/bin/bash", "-c", "exec -a 'escape victim' sleep 1000")
	w.victim.Env = []string{"VICTIM_SECRET=" + secret, "PATH=" + os.Getenv("PATH")}
	must(t, w.victim.Start())
	t.Cleanup(func() { _ = w.victim.Process.Kill(); _ = w.victim.Wait() })
	// What goes on beats in the folder until it is gone.
	t.Cleanup(func() { _ = os.Rename(w.work, w.work+".gone") })
	w.env = append(os.Environ(), "O="+w.outside, "W="+w.work, "H="+w.hidden, "F="+w.file, "HELPER="+helper, "TMPDIR="+w.work,
		"VICTIM="+strconv.Itoa(w.victim.Process.Pid), "SUID="+filepath.Join(filepath.Dir(helper), "suid"), "CGROUP="+ownCgroup(), "DISK="+rootDisk())
	w.listen(t)
	w.share(t)
	w.openTerminal(t)
	handle, _, err := unix.NameToHandleAt(unix.AT_FDCWD, w.hidden+"/key", 0)
	must(t, err)
	b := binary.LittleEndian.AppendUint32(nil, uint32(handle.Type()))
	w.env = append(w.env, "HANDLE="+base64.StdEncoding.EncodeToString(append(b, handle.Bytes()...)))
	w.before = snapshot(t, w.outside) + snapshot(t, w.hidden)
	return w
}

// listen opens a door of each kind and counts who comes.
func (w *world) listen(t *testing.T) {
	var lc net.ListenConfig
	lc.SetMultipathTCP(true)
	for _, door := range []struct{ network, address, variable string }{
		{"tcp", "0.0.0.0:0", "TCP"}, {"tcp6", "[::1]:0", "TCP6"},
		{"unix", w.outside + "/stream", "SOCK"}, {"unix", fmt.Sprintf("@escape-%d-%d", os.Getpid(), worlds.Add(1)), "ABSTRACT"},
	} {
		l, err := lc.Listen(context.Background(), door.network, door.address)
		must(t, err)
		t.Cleanup(func() { _ = l.Close() })
		w.env = append(w.env, door.variable+"="+addressOf(l.Addr()))
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				w.reached.Add(1)
				_ = c.Close()
			}
		}()
	}
	for _, door := range []struct{ network, address, variable string }{{"udp4", "127.0.0.1:0", "UDP"}, {"unixgram", w.outside + "/datagram", "DGRAM"}} {
		c, err := lc.ListenPacket(context.Background(), door.network, door.address)
		must(t, err)
		t.Cleanup(func() { _ = c.Close() })
		w.env = append(w.env, door.variable+"="+addressOf(c.LocalAddr()))
		go func() {
			for b := make([]byte, 100); ; w.reached.Add(1) {
				if _, _, err := c.ReadFrom(b); err != nil {
					return
				}
			}
		}()
	}
	addresses, _ := net.InterfaceAddrs()
	own := "127.0.0.2"
	for _, a := range addresses {
		if ip, ok := a.(*net.IPNet); ok && ip.IP.To4() != nil && !ip.IP.IsLoopback() {
			own = ip.IP.String()
		}
	}
	w.env = append(w.env, "ADDRESS="+own)
}

func addressOf(a net.Addr) string {
	switch a := a.(type) {
	case *net.TCPAddr:
		return strconv.Itoa(a.Port)
	case *net.UDPAddr:
		return strconv.Itoa(a.Port)
	}
	return strings.TrimPrefix(a.String(), "@")
}

// share makes System V shared memory.
func (w *world) share(t *testing.T) {
	id, err := unix.SysvShmGet(unix.IPC_PRIVATE, 4096, 0o666|unix.IPC_CREAT)
	must(t, err)
	t.Cleanup(func() { _, _ = unix.SysvShmCtl(id, unix.IPC_RMID, nil) })
	w.shared, err = unix.SysvShmAttach(id, 0, 0)
	must(t, err)
	t.Cleanup(func() { _ = unix.SysvShmDetach(w.shared) })
	w.env = append(w.env, "SHM="+strconv.Itoa(id))
}

// openTerminal makes a terminal for the standard input.
func (w *world) openTerminal(t *testing.T) {
	if os.Getuid() != 0 && unix.Access("/dev/ptmx", unix.R_OK|unix.W_OK) != nil {
		return
	}
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	must(t, err)
	t.Cleanup(func() { _ = master.Close() })
	must(t, unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0))
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	must(t, err)
	w.terminal, err = os.OpenFile("/dev/pts/"+strconv.Itoa(n), os.O_RDWR|syscall.O_NOCTTY, 0)
	must(t, err)
	t.Cleanup(func() { _ = w.terminal.Close() })
}

// policy is what confines the attempts. Of the protected names that are missing, it has
// those that attempts make: making all takes most of the time.
func (w *world) policy() confinement {
	return confinement{
		Write: []string{w.work},
		ReadOnly: slices.DeleteFunc(guardedIn(w.work), func(name string) bool {
			return !exists(name) && !strings.Contains(name, "/.git/") && !slices.Contains([]string{".vscode", ".mcp.json"}, filepath.Base(name))
		}),
		Hidden: append([]string{w.hidden, w.file}, w.inside...),
	}
}

// leak opens a descriptor for a process that is started, by other tests as well.
func (w *world) leak(t *testing.T) {
	fd, err := unix.Open(w.outside+"/victim", unix.O_RDWR|unix.O_APPEND, 0) // not closed on exec
	must(t, err)
	t.Cleanup(func() { _ = unix.Close(fd) })
}

// escapes makes a test of each attempt that is kept. They wait for processes most of
// the time, so several run at once.
func escapes(t *testing.T, keep func(attempt) bool, test func(*testing.T, attempt)) {
	queue := make(chan attempt)
	var all sync.WaitGroup
	for range 6 {
		all.Go(func() {
			for a := range queue {
				t.Run(a.name, func(t *testing.T) { test(t, a) })
			}
		})
	}
	for _, a := range attempts {
		if keep(a) {
			queue <- a
		}
	}
	close(queue)
	all.Wait()
}

// try makes an attempt and says which wire it has touched, "" for none.
func (w *world) try(t *testing.T, a attempt, helper string, b backendKind) (touched, output string) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, helper, a.name)
	if a.shell != "" {
		cmd = exec.CommandContext(ctx, "/bin/bash", "-c", a.shell)
	}
	cmd.Dir, cmd.Env = w.work, w.env
	var out bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = w.terminal, &out, &out
	if w.terminal == nil {
		cmd.Stdin = nil
	}
	if a.name == "descriptors" {
		w.leak(t)
	}
	if a.stdin != "" {
		f, err := os.Open(w.dir + "/" + a.stdin)
		must(t, err)
		defer f.Close()
		cmd.Stdin = f
	}
	cmd.WaitDelay = 2 * time.Second // a daemon may keep the pipe; on a busy machine the output comes late
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if b != nil {
		release, err := b.Confine(cmd, w.policy())
		if err != nil && a.stdin != "" { // something that is not a file may be refused
			return w.touched(t, ""), err.Error()
		}
		must(t, err)
		defer release()
	}
	_ = cmd.Run()
	output = out.String()
	return w.touched(t, output), output
}

func (w *world) touched(t *testing.T, output string) string {
	var touched []string
	note := func(is bool, what string) {
		if is {
			touched = append(touched, what)
		}
	}
	note(strings.Contains(output, "ESCAPED"), "it says so")
	note(strings.Contains(output, secret), "secret read")
	note(w.before != snapshot(t, w.outside)+snapshot(t, w.hidden), "files changed")
	note(w.shared[0] != 0, "shared memory written")
	beat, _ := os.ReadFile(w.work + "/beat")
	time.Sleep(15 * time.Millisecond) // three beats
	later, _ := os.ReadFile(w.work + "/beat")
	note(!bytes.Equal(beat, later), "process left")
	pid, _ := syscall.Wait4(w.victim.Process.Pid, nil, syscall.WNOHANG, nil)
	note(pid != 0, "process ended")
	note(w.reached.Load() != 0, "network reached")
	return strings.Join(touched, ", ")
}

// snapshot describes all files in a folder.
func snapshot(t *testing.T, dir string) string {
	var b strings.Builder
	_ = filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			fmt.Fprintln(&b, name, err)
			return nil
		}
		var st unix.Stat_t
		_ = unix.Lstat(name, &st)
		size, _ := unix.Listxattr(name, nil)
		fmt.Fprintf(&b, "%s %o %d %d %d %v %v %d\n", name, st.Mode, st.Uid, st.Nlink, st.Size, st.Mtim, st.Ctim, size)
		return nil
	})
	return b.String()
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// publicDir makes a folder that every user reaches, of a name that is short
// enough for sockets.
func publicDir(t *testing.T) string {
	dir, err := os.MkdirTemp("", "sandbox")
	must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	must(t, os.Chmod(dir, 0o755))
	real, err := filepath.EvalSymlinks(dir)
	must(t, err)
	return real
}

func ownCgroup() string {
	if _, err := os.Stat("/sys/fs/cgroup/cgroup.procs"); err == nil {
		return "/sys/fs/cgroup"
	}
	return "/sys/fs/cgroup/pids"
}

func rootDisk() string {
	names, _ := filepath.Glob("/dev/[vsx]d[a-z]")
	names = append(names, "/dev/none")
	return names[0]
}
