package checkpoint_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/openagent-go/agent/internal/checkpoint"
)

func init() { roles["full"], roles["nobody"] = fillDisk, beNobody }

// Pipes, sockets and devices are gaps; reading does not wait for a writer.
func TestSpecialFiles(t *testing.T) {
	root := t.TempDir()
	s := newStore(t)
	plant(t, root, map[string]string{"a": "1", "b": "1", "link": "-> fifo"})
	must(t, unix.Mkfifo(filepath.Join(root, "fifo"), 0o600))
	l, err := net.Listen("unix", filepath.Join(root, "socket"))
	must(t, err)
	defer l.Close()
	want := []string{"fifo", "socket"}
	if unix.Mknod(filepath.Join(root, "device"), unix.S_IFCHR|0o600, int(unix.Mkdev(1, 3))) == nil {
		want = []string{"device", "fifo", "socket"}
	}
	c := take(t, s, root)
	var got []string
	for _, g := range c.Gaps {
		got = append(got, g.Path)
	}
	if !slices.Equal(got, want) || c.GapCount != len(want) || c.Trees[0].Files != 3 {
		t.Errorf("%+v", c)
	}
	// A pipe has taken the place of a file, and a file that of a pipe.
	must(t, os.Remove(filepath.Join(root, "b")))
	must(t, unix.Mkfifo(filepath.Join(root, "b"), 0o600))
	must(t, os.Remove(filepath.Join(root, "fifo")))
	plant(t, root, map[string]string{"a": "2", "fifo": "a file now"})
	r := restore(t, s, c.ID)
	if len(r.Left) != 1 || r.Left[0].Path != "b" || !strings.Contains(r.Left[0].Reason, "pipe") || kinds(r.Changes) != "changed a\n" {
		t.Errorf("%+v", r)
	}
	if got, _ := os.ReadFile(filepath.Join(root, "a")); string(got) != "1" {
		t.Errorf("%q", got)
	}
}

// Files that the user may not read are gaps and stay.
func TestUnreadable(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can become another user")
	}
	base, err := os.MkdirTemp("", "nobody")
	must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(base) })
	must(t, os.Chmod(base, 0o777))
	exe := filepath.Join(base, "test")
	self, err := os.Open("/proc/self/exe")
	must(t, err)
	defer self.Close()
	to, err := os.OpenFile(exe, os.O_CREATE|os.O_WRONLY, 0o755)
	must(t, err)
	_, err = io.Copy(to, self)
	must(t, errors.Join(err, to.Close()))
	cmd := exec.CommandContext(t.Context(), exe)
	cmd.Dir = base
	cmd.Env = []string{role + "=nobody", "CHECKPOINT_TEST_STORE=" + filepath.Join(base, "store"), "CHECKPOINT_TEST_ROOT=" + filepath.Join(base, "root")}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

func beNobody(s *checkpoint.Store, root string) error {
	ctx := context.Background()
	write := func(name, text string) error {
		path := filepath.Join(root, name)
		return errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644))
	}
	err := errors.Join(write("a", "1"), write("secret", "1"), write("closed/b", "1"), write("fixed/sub/c", "1"))
	must := func(e error) { err = errors.Join(err, e) }
	must(os.Chmod(filepath.Join(root, "secret"), 0))
	must(os.Chmod(filepath.Join(root, "closed"), 0))
	c, e := s.Take(ctx, checkpoint.Mark{Session: session}, root)
	must(e)
	if c.GapCount != 2 || c.Gaps[0].Path != "closed" || c.Gaps[1].Path != "secret" || c.Trees[0].Files != 2 {
		must(fmt.Errorf("%+v", c))
	}
	// The gaps are open now, and folders with covered files cannot be written to.
	must(os.Chmod(filepath.Join(root, "closed"), 0o700))
	must(errors.Join(write("a", "2"), write("closed/new", "2"), write("fixed/sub/c", "2"), write("fixed/new/d", "2")))
	must(os.Chmod(filepath.Join(root, "fixed/sub"), 0o555))
	must(os.Chmod(filepath.Join(root, "fixed/new"), 0o555))
	must(os.Chmod(filepath.Join(root, "fixed"), 0o555))
	must(os.Chmod(root, 0o555))
	r, e := s.Restore(ctx, session, c.ID, checkpoint.Restoring{})
	must(e)
	if len(r.Left) > 0 || r.GapCount != 2 {
		must(fmt.Errorf("%+v", r))
	}
	for name, want := range map[string]string{"a": "1", "closed/b": "1", "closed/new": "2", "fixed/sub/c": "1", "fixed/new/d": ""} {
		if got, _ := os.ReadFile(filepath.Join(root, name)); string(got) != want {
			must(fmt.Errorf("%s is %q", name, got))
		}
	}
	for name, want := range map[string]os.FileMode{".": 0o555, "fixed": 0o755, "fixed/sub": 0o755} {
		if info, e := os.Stat(filepath.Join(root, name)); e != nil || info.Mode().Perm() != want {
			must(fmt.Errorf("%s: %v, %v", name, info.Mode(), e))
		}
	}
	return err
}

// On a disk that is full nothing is replaced unless all can be.
func TestFullDisk(t *testing.T) {
	s := newStore(t)
	cmd := process(t, s, t.TempDir(), "full")
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
	out, err := cmd.CombinedOutput()
	if errors.Is(err, syscall.EPERM) || strings.Contains(string(out), "no mount") {
		t.Skip("no namespaces here:", err, string(out))
	}
	if err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

func fillDisk(s *checkpoint.Store, root string) error {
	if err := unix.Mount("none", root, "tmpfs", 0, "size=4m"); err != nil {
		return fmt.Errorf("no mount: %w", err)
	}
	ctx := context.Background()
	put := func(name string, data []byte) error { return os.WriteFile(filepath.Join(root, name), data, 0o600) }
	one, two := noise(1, 1<<20), noise(2, 1<<20)
	if err := errors.Join(put("a", one), put("b", two)); err != nil {
		return err
	}
	c, err := s.Take(ctx, checkpoint.Mark{Session: session}, root)
	if err != nil {
		return err
	}
	if err := errors.Join(put("a", []byte("x")), put("b", []byte("y")), put("other", noise(3, 3<<20))); err != nil {
		return err
	}
	// "other" would make room, but only once the rest is safe.
	r, err := s.Restore(ctx, session, c.ID, checkpoint.Restoring{})
	if !errors.Is(err, syscall.ENOSPC) {
		return fmt.Errorf("restored on a full disk: %+v, %w", r, err)
	}
	names, err := filepath.Glob(filepath.Join(root, "*"))
	hidden, _ := filepath.Glob(filepath.Join(root, ".*"))
	if a, _ := os.ReadFile(filepath.Join(root, "a")); err != nil || string(a) != "x" || len(names) != 3 || len(hidden) != 0 {
		return fmt.Errorf("changed: %d bytes, %q, %q", len(a), names, hidden)
	}
	if err := os.Remove(filepath.Join(root, "other")); err != nil {
		return err
	}
	if _, err := s.Restore(ctx, session, c.ID, checkpoint.Restoring{}); err != nil {
		return err
	}
	if a, _ := os.ReadFile(filepath.Join(root, "a")); string(a) != string(one) {
		return errors.New("not restored when there was room")
	}
	// A store on the full disk.
	full := &checkpoint.Store{Dir: filepath.Join(root, "store")}
	if err := put("other", noise(4, 1<<20)); err != nil {
		return err
	}
	if _, err := full.Take(ctx, checkpoint.Mark{Session: session}, root); !errors.Is(err, syscall.ENOSPC) {
		return fmt.Errorf("taken on a full disk: %w", err)
	}
	if list, err := full.List(ctx, session); err != nil || len(list) != 0 {
		return fmt.Errorf("listed: %v, %w", list, err)
	}
	return nil
}

// Someone swaps folders for links to the outside, and files, while they are
// restored: nothing outside is touched, and no file is torn.
func TestSwapsWhileRestoring(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	root, outside := filepath.Join(base, "root"), filepath.Join(base, "outside")
	s := newStore(t)
	plant(t, outside, map[string]string{"f0": "outside", "sub/f0": "outside"})
	files := map[string]string{".git/f0": "git"}
	for i := range 20 {
		files[fmt.Sprintf("d/f%d", i)] = strings.Repeat("old", 1000)
		files[fmt.Sprintf("d/sub/f%d", i)] = strings.Repeat("old", 1000)
	}
	plant(t, root, files)
	c := take(t, s, root)
	was := state(t, outside, nil) + state(t, filepath.Join(root, ".git"), nil)
	in, err := os.OpenRoot(root)
	must(t, err)
	defer in.Close()
	stop := make(chan struct{})
	var group sync.WaitGroup
	group.Go(func() {
		d, kept, link := filepath.Join(root, "d"), filepath.Join(base, "kept"), filepath.Join(base, "link")
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			_ = os.Symlink([]string{outside, ".git"}[i%2], link)
			_ = os.Rename(d, kept)
			_ = os.Rename(link, d)
			_ = os.Remove(d)
			_ = os.Rename(kept, d)
			_ = os.WriteFile(filepath.Join(kept, "f0"), []byte(strings.Repeat("new", 1000)), 0o600)
			_ = os.WriteFile(filepath.Join(d, "sub", "f1"), []byte(strings.Repeat("new", 1000)), 0o600)
		}
	})
	rounds := 60
	if testing.Short() {
		rounds = 15
	}
	for range rounds {
		for i := range 20 { // not through links
			_ = in.WriteFile(fmt.Sprintf("d/sub/f%d", i), []byte("changed"), 0o600)
		}
		_, err := s.Restore(t.Context(), session, c.ID, checkpoint.Restoring{})
		if err != nil {
			t.Log(err)
		}
	}
	close(stop)
	group.Wait()
	if got := state(t, outside, nil) + state(t, filepath.Join(root, ".git"), nil); got != was {
		t.Errorf("was:\n%s\nis:\n%s", was, got)
	}
	r := restore(t, s, c.ID)
	if got, err := os.ReadFile(filepath.Join(root, "d/f0")); err != nil || string(got) != strings.Repeat("old", 1000) {
		t.Errorf("%d bytes, %v, %+v", len(got), err, r.Left)
	}
}
