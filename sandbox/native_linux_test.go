package sandbox

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/openagent-go/agent/internal/plainfile"
)

// run runs a line of bash confined.
func run(t *testing.T, b backendKind, p confinement, line string) (output string, code, left int, signaled bool) {
	t.Helper()
	cmd := exec.Command("/bin/bash", "-c", line)
	cmd.Dir = "/"
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	release, err := b.Confine(cmd, p)
	must(t, err)
	_ = cmd.Run()
	left, signaled = release()
	return out.String(), cmd.ProcessState.ExitCode(), left, signaled
}

func realDir(t *testing.T) string {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	return dir
}

func TestNativeReports(t *testing.T) {
	needNative(t)
	for _, c := range []struct {
		line     string
		code     int
		left     int
		signaled bool
	}{
		{"exit 0", 0, 0, false}, {"exit 7", 7, 0, false}, {"kill -9 $$", 137, 0, true}, {"kill -TERM $$", 143, 0, true},
		{"sh -c 'kill -9 $$'; exit $?", 137, 0, false}, {"sleep 1000 & disown", 0, 1, false}, {"setsid sleep 1000 & setsid sleep 1000 &", 0, 2, false},
		{"sleep 0.02 &", 0, 0, false},
	} {
		if out, code, left, signaled := run(t, native{}, confinement{}, c.line); code != c.code || left != c.left || signaled != c.signaled {
			t.Errorf("%s: code %d, left %d, signaled %v, want %d, %d, %v\n%s", c.line, code, left, signaled, c.code, c.left, c.signaled, out)
		}
	}
	cmd := exec.Command("/nowhere/at/all")
	var said bytes.Buffer
	cmd.Stderr = &said
	release, err := native{}.Confine(cmd, confinement{})
	must(t, err)
	defer release()
	if _ = cmd.Run(); cmd.ProcessState.ExitCode() != exitFailed || !strings.Contains(said.String(), "/nowhere/at/all: no such file") {
		t.Errorf("a program that is missing: %v, %q", cmd.ProcessState, said.String())
	}
}

// Of the paths that cover a file the longest counts.
func TestNativePaths(t *testing.T) {
	needNative(t)
	dir := realDir(t)
	for _, name := range []string{"w/ro/rw/f", "w/hidden/rw/f", "w/hidden/ro/f", "w/hidden/f", "read/f", "other/f"} {
		must(t, os.MkdirAll(filepath.Dir(dir+"/"+name), 0o755))
		must(t, os.WriteFile(dir+"/"+name, []byte("text\n"), 0o644))
	}
	p := confinement{
		Write:    []string{dir + "/w", dir + "/w/ro/rw", dir + "/w/hidden/rw", dir + "/absent"},
		ReadOnly: []string{dir + "/w/ro", dir + "/w/hidden/ro", dir + "/w/new/deep"},
		Hidden:   []string{dir + "/w/hidden", dir + "/absent-as-well"},
	}
	const test = `cd "$D"; for f in w w/ro w/ro/rw w/hidden w/hidden/ro w/hidden/rw read other; do
		r=-; w=-; cat $f/f >/dev/null 2>&1 && r=r; ls $f >/dev/null 2>&1 && r=r; : 2>/dev/null >>$f/x && w=w; echo $f $r$w; done; mkdir w/new 2>/dev/null && echo made; true`
	line := "D=" + dir + "; " + test
	both := "w rw\nw/ro r-\nw/ro/rw rw\nw/hidden --\nw/hidden/ro r-\nw/hidden/rw rw\n"
	if out, _, _, _ := run(t, native{}, p, line); out != both+"read r-\nother r-\n" {
		t.Errorf("all is read but what is hidden:\n%s", out)
	}
	p.Read = []string{dir + "/read"}
	if out, _, _, _ := run(t, native{}, p, line); out != both+"read r-\nother --\n" {
		t.Errorf("only what is listed is read:\n%s", out)
	}
	if left, err := os.ReadDir(dir + "/w"); err != nil || len(left) != 3 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	// A symlink on the way is an error, and nothing runs.
	must(t, os.Symlink(dir+"/other", dir+"/link"))
	if out, code, _, _ := run(t, native{}, confinement{Write: []string{dir + "/link"}}, "echo ran"); code != exitFailed || !strings.Contains(out, "symlink") || strings.Contains(out, "ran") {
		t.Errorf("symlink: %d %q", code, out)
	}
	for _, bad := range []confinement{{Write: []string{"relative"}}, {Hidden: []string{"/"}}, {ReadOnly: []string{"/a/../b"}}} {
		if _, err := (native{}).Confine(exec.Command("/bin/true"), bad); err == nil {
			t.Errorf("%v is accepted", bad)
		}
	}
}

// A nested namespace uncovers nothing.
func TestNativeNested(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("a namespace cannot be given root without capabilities")
	}
	needNative(t)
	dir := realDir(t)
	must(t, os.Mkdir(dir+"/hidden", 0o755))
	must(t, os.WriteFile(dir+"/hidden/key", []byte(secret), 0o644))
	line := `unshare -Urm sh -c 'mount -t tmpfs none /mnt && echo nested; umount ` + dir + `/hidden; mount -o remount,rw,bind /; cat ` + dir + `/hidden/key; echo x >` + dir + `/new' 2>&1`
	out, _, _, _ := run(t, native{}, confinement{Nested: true, Hidden: []string{dir + "/hidden"}}, line)
	if _, err := os.Stat(dir + "/new"); err == nil || !strings.Contains(out, "nested") || strings.Contains(out, secret) {
		t.Errorf("%v\n%s", err, out)
	}
}

// A command cannot uncover a hidden file by closing the way to it for the next one.
func TestNativeHiddenBehindClosedFolder(t *testing.T) {
	needNative(t)
	dir := realDir(t)
	must(t, os.MkdirAll(dir+"/conf/private", 0o755))
	must(t, os.WriteFile(dir+"/conf/private/key", []byte(secret), 0o644))
	p := confinement{Write: []string{dir}, Hidden: []string{dir + "/conf/private"}}
	run(t, native{}, p, `chmod 0 `+dir+`/conf`)
	defer func() { must(t, os.Chmod(dir+"/conf", 0o755)) }()
	if out, _, _, _ := run(t, native{}, p, `chmod 755 `+dir+`/conf; cat `+dir+`/conf/private/key; true`); strings.Contains(out, secret) {
		t.Error("the hidden file was read")
	}
}

// Root can change the settings of the kernel by files alone, also where
// namespaces may be made.
func TestNativeNestedKeepsTheKernelsSettings(t *testing.T) {
	needNative(t)
	line := `for f in /proc/sys/kernel/printk /proc/sys/kernel/core_pattern /proc/irq/default_smp_affinity /proc/sysrq-trigger; do
		if [ -e $f ] && : 2>/dev/null >>$f; then echo ESCAPED $f; fi; done; : >>/proc/self/comm && echo own`
	out, _, _, _ := run(t, native{}, confinement{Nested: true}, line)
	if strings.Contains(out, "ESCAPED") || !strings.Contains(out, "own") {
		t.Errorf("%s", out)
	}
}

// Ghosts keep missing protected paths from being created, and nothing of them is left.
func TestGhosts(t *testing.T) {
	dir := realDir(t)
	p := confinement{Write: []string{dir}, ReadOnly: []string{dir + "/a/b", dir + "/commondir", "/nowhere/x"}}
	first, kept, err := makeGhosts(p)
	must(t, err)
	second, _, err := makeGhosts(p)
	must(t, err)
	if len(kept) != 2 || len(second) != 2 {
		t.Errorf("kept %q, shared %d", kept, len(second))
	}
	first.release()
	if !exists(dir + "/a") {
		t.Error("removed while somebody holds it")
	}
	second.release()
	if names, _ := os.ReadDir(dir); len(names) != 0 {
		t.Errorf("left: %v", names)
	}
	// Ghosts of a killed process are taken over; content that a person has put there stays.
	must(t, os.Mkdir(dir+"/a", 0o755))
	must(t, os.Chtimes(dir+"/a", plainfile.PlaceholderTime, plainfile.PlaceholderTime))
	third, _, err := makeGhosts(p)
	must(t, err)
	must(t, os.WriteFile(dir+"/commondir", []byte("elsewhere"), 0o644))
	third.release()
	if exists(dir+"/a") || !exists(dir+"/commondir") {
		t.Error("a ghost is left, or a file of somebody's is gone")
	}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 50 {
				g, _, err := makeGhosts(confinement{Write: []string{dir}, ReadOnly: []string{dir + "/x"}})
				if err != nil || !exists(dir+"/x") {
					t.Error(err)
				}
				g.release()
			}
		})
	}
	all.Wait()
}

// A folder that another program makes and removes all the time does not fail the sandboxes that
// protect a path in it.
func TestGhostInFolderThatGoesAway(t *testing.T) {
	dir := realDir(t)
	ctx, stop := context.WithCancel(t.Context())
	var other sync.WaitGroup
	other.Go(func() {
		for ctx.Err() == nil {
			_ = os.Mkdir(dir+"/.git", 0o755)
			_ = os.Remove(dir + "/.git")
		}
	})
	for range 1000 {
		g, _, err := makeGhosts(confinement{Write: []string{dir}, ReadOnly: []string{dir + "/.git/hooks/x"}})
		if err != nil {
			t.Error(err)
			break
		}
		g.release()
	}
	stop()
	other.Wait()
}

// A ghost that another process is still making is shared: it stays until the last holder
// lets go. A new folder of somebody's stays for good.
func TestGhostBeingMade(t *testing.T) {
	dir := realDir(t)
	must(t, os.Mkdir(dir+"/.x", 0o755)) // another process has made it and not yet set its time
	mine, kept, err := makeGhosts(confinement{Write: []string{dir}, ReadOnly: []string{dir + "/.x/y"}})
	must(t, err)
	must(t, os.Chtimes(dir+"/.x", plainfile.PlaceholderTime, plainfile.PlaceholderTime))
	var others ghosts
	if ok, err := others.hold(dir + "/.x"); !ok || err != nil {
		t.Fatal(ok, err)
	}
	others.release()
	if len(kept) != 1 || kept[0] != dir+"/.x" || !exists(dir+"/.x") {
		t.Errorf("the ghost of the command is gone; kept %q", kept)
	}
	mine.release()
	if exists(dir + "/.x") {
		t.Error("the ghost is left")
	}
	must(t, os.Mkdir(dir+"/.x", 0o755))
	mine, _, err = makeGhosts(confinement{Write: []string{dir}, ReadOnly: []string{dir + "/.x/y"}})
	must(t, err)
	mine.release()
	if !exists(dir + "/.x") {
		t.Error("a folder of somebody's is gone")
	}
}

// New removes what a killed process has left in the folder, and nothing that another sandbox holds or
// that somebody has put there. In the place of a file, what it left counts as missing.
func TestAbandonedGhosts(t *testing.T) {
	dir := realDir(t)
	open := func() *Sandbox {
		box, err := New(Settings{Enabled: true}, Place{Dir: dir})
		if errors.Is(err, ErrUnavailable) {
			t.Skip(err)
		}
		must(t, err)
		return box
	}
	box := open()
	defer box.Close()
	p, err := box.policy.normal()
	must(t, err)
	held, _, err := makeGhosts(p) // as for a command that runs
	must(t, err)
	if !exists(dir + "/.mcp.json") {
		t.Fatal("no ghost was made")
	}
	if _, err := plainfile.ReadFile(dir+"/.mcp.json", 1); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	must(t, open().Close())
	if !exists(dir + "/.mcp.json") {
		t.Error("New removed a ghost that a command needs")
	}
	for _, f := range held { // as if the process had been killed
		must(t, f.Close())
	}
	must(t, os.WriteFile(dir+"/.vscode/mine", nil, 0o600))
	must(t, open().Close())
	names, err := os.ReadDir(dir)
	if err != nil || len(names) != 1 || names[0].Name() != ".vscode" {
		t.Errorf("%v, %v", names, err)
	}
}

// The proxy's socket is reached through the loopback, although it is hidden.
func TestNativeProxy(t *testing.T) {
	needNative(t)
	dir := realDir(t)
	l, err := net.Listen("unix", dir+"/proxy")
	must(t, err)
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() { _, _ = io.Copy(c, c); _ = c.Close() }()
		}
	}()
	line := `p=${HTTP_PROXY##*:}; [ "$ALL_PROXY" = "socks5h://127.0.0.1:$p" ] || exit 1
		for i in 1 2 3; do exec 3<>/dev/tcp/127.0.0.1/$p; echo hello $i >&3; head -n 1 <&3; exec 3>&-; done`
	if out, code, _, _ := run(t, native{}, confinement{Proxy: dir + "/proxy", Hidden: []string{dir}}, line); code != 0 || out != "hello 1\nhello 2\nhello 3\n" {
		t.Errorf("%d %q", code, out)
	}
}

// When the host is killed nothing continues.
func TestNativeEndsWithHost(t *testing.T) {
	needNative(t)
	endsWithHost(t)
}

func endsWithHost(t *testing.T) {
	self, err := os.Executable()
	must(t, err)
	mark := "1000.0" + strconv.Itoa(os.Getpid())
	host := exec.Command(self)
	host.Env = append(os.Environ(), hostVariable+`=trap '' TERM HUP; setsid sleep `+mark+` & (setsid sh -c 'trap "" TERM; sleep `+mark+`; :' &); sleep 0.05; echo ready; sleep `+mark)
	out, err := host.StdoutPipe()
	must(t, err)
	must(t, host.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || line != "ready\n" {
		t.Fatalf("%q, %v", line, err)
	}
	for end := time.Now().Add(10 * time.Second); carrying(mark) < 3; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d processes run, want 3 or more", carrying(mark))
		}
	}
	must(t, host.Process.Signal(syscall.SIGKILL))
	_ = host.Wait()
	for end := time.Now().Add(10 * time.Second); carrying(mark) > 0; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d processes are left", carrying(mark))
		}
	}
}

// carrying counts the processes with a word among their arguments.
func carrying(word string) (n int) {
	names, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, name := range names {
		if b, _ := os.ReadFile(name); bytes.Contains(b, []byte("sleep\x00"+word)) {
			n++
		}
	}
	return n
}

func TestNativeUnprivileged(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("the tests run unprivileged anyway")
	}
	needNative(t)
	runAs(t, "TestNativeReports|TestNativePaths|TestNativeNested|TestNativeHiddenBehindClosedFolder|TestNativeProxy|TestNativeEndsWithHost|TestGhosts", "none")
}

// BenchmarkStart is what the sandbox adds to the start of a program, here with
// the test binary as the first process: time, and processor time of all processes.
func BenchmarkStart(b *testing.B) {
	dir := b.TempDir()
	p := confinement{Write: []string{dir}, ReadOnly: guardedIn(dir), Hidden: []string{"/root/.ssh"}}
	for _, backend := range []backendKind{nil, native{}, bubblewrap{}} {
		name := "plain"
		if backend != nil {
			name = backend.Name()
		}
		b.Run(name, func(b *testing.B) {
			var used time.Duration
			for b.Loop() {
				cmd := exec.Command("/bin/true")
				release := func() (int, bool) { return 0, false }
				if backend != nil {
					var err error
					if release, err = backend.Confine(cmd, p); err != nil {
						b.Skip(err)
					}
				}
				err := cmd.Run()
				release()
				if err != nil {
					b.Skip(err)
				}
				used += cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
			}
			b.ReportMetric(float64(used.Microseconds())/1000/float64(b.N), "cpu-ms/op")
		})
	}
}
