package workspace

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"
)

// hostVariable makes the test binary a host that is going to be killed; its
// value is the script to run, after "plain:" or "group:".
const hostVariable = "WORKSPACE_TEST_HOST"

func TestMain(m *testing.M) {
	if mode := os.Getenv(hostVariable); mode != "" {
		actAsHost(mode)
	}
	code := m.Run()
	if code == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Println(err)
			code = 1
		}
		if left := ownProcesses(); len(left) > 0 {
			fmt.Println("processes left:", left)
			code = 1
		}
	}
	os.Exit(code)
}

// ownProcesses are the children of the test and whatever carries the mark of one of its jobs.
func ownProcesses() []string {
	var left []string
	mark := hostID() + "."
	for pid, p := range processes(0) {
		if p.parent == os.Getpid() || strings.Contains(environmentOf(pid), mark) {
			name, _ := os.ReadFile(procFile(pid, "cmdline"))
			left = append(left, fmt.Sprintf("%d %.80q", pid, name))
		}
	}
	return left
}

func actAsHost(mode string) {
	kind, script, _ := strings.Cut(mode, ":")
	w := &Workspace{}
	w.shell.plain = kind == "plain"
	p, err := w.Start(context.Background(), Command{Args: []string{"bash", "-c", script}})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println(w.shell.guard.cmd.Process.Pid, w.shell.temp, w.shell.group)
	p.Wait()
	os.Exit(0)
}

// A family is a folder in which processes leave their numbers.
type family string

// script defines the command "member", which puts its process among the family
// and sleeps, and "ready", which waits for n members.
func (f family) script(body string, n int) string {
	member := filepath.Join(string(f), "member")
	text := "#!/bin/sh\n: >" + string(f) + "/pid.$$\nwhile :; do sleep 1000; done\n"
	if err := os.WriteFile(member, []byte(text), 0o700); err != nil {
		panic(err)
	}
	return fmt.Sprintf("cd %s; member=%s; %s\nwhile set -- pid.*; [ ! -e \"$1\" ] || [ $# -lt %d ]; do sleep 0.01; done; : >ready", f, member, body, n)
}

func (f family) await(t *testing.T) {
	t.Helper()
	eventually(t, "the family", func() bool {
		_, err := os.Stat(filepath.Join(string(f), "ready"))
		return err == nil
	})
}

// living lists the members that are not dead.
func (f family) living() (pids []int) {
	all := processes(0)
	names, _ := filepath.Glob(filepath.Join(string(f), "pid.*"))
	for _, name := range names {
		pid, _ := strconv.Atoi(strings.TrimPrefix(filepath.Ext(name), "."))
		if _, alive := all[pid]; alive {
			pids = append(pids, pid)
		}
	}
	return pids
}

var families = []struct {
	name, body string
	members    int
	needsGroup bool // escapes if there is no control group
}{
	{"child", "$member &", 1, false},
	{"pipeline", "$member | $member | $member &", 3, false},
	{"setsid", "setsid $member & setsid $member >/dev/null 2>&1 &", 2, false},
	{"double fork", "setsid sh -c '('$member' &) ; exit' >/dev/null 2>&1 </dev/null &", 1, false},
	{"nohup", "nohup $member >/dev/null & disown -a", 1, false},
	{"job control", "set -m; $member & $member &", 2, false},
	{"deaf", "trap '' TERM HUP INT; $member & setsid $member &", 2, false},
	{"clean environment", "env -i sh $member &", 1, false},
	{"clean daemon", "env -i setsid sh -c '(sh '$member' &) ; exit' >/dev/null 2>&1 &", 1, true},
}

func TestTreeEnds(t *testing.T) {
	ways := []struct {
		name string
		end  func(w *Workspace, p Process, cancel func())
	}{
		{"cancel", func(_ *Workspace, _ Process, cancel func()) { cancel() }},
		{"stop", func(_ *Workspace, p Process, _ func()) { p.Stop(); p.Stop() }},
		{"close", func(w *Workspace, _ Process, _ func()) { w.Close() }},
		{"exit", nil},
	}
	for _, plain := range []bool{true, false} {
		for _, fam := range families {
			for _, way := range ways {
				if plain && fam.needsGroup {
					continue
				}
				t.Run(fmt.Sprintf("%s/%s/plain=%v", fam.name, way.name, plain), func(t *testing.T) {
					t.Parallel()
					w := openWorkspace(t, plain)
					f := family(t.TempDir())
					script := f.script(fam.body, fam.members)
					if way.end != nil {
						script += "\nwhile :; do sleep 1000; done"
					}
					ctx, cancel := context.WithCancel(t.Context())
					defer cancel()
					p, err := w.Start(ctx, Command{Args: []string{"bash", "-c", script}, Grace: 50 * time.Millisecond})
					if err != nil {
						t.Fatal(err)
					}
					if w.shell.group == "" && fam.needsGroup {
						t.Skip("no control group can be made here")
					}
					if way.end != nil {
						f.await(t)
						way.end(w, p, cancel)
					}
					e := p.Wait()
					if left := f.living(); len(left) > 0 || len(e.Survivors) > 0 {
						t.Errorf("living: %v, survivors: %v", left, e.Survivors)
					}
					if e.Stopped != (way.end != nil) {
						t.Errorf("Stopped = %v", e.Stopped)
					}
					if way.end == nil && (e.Code != 0 || e.Left < fam.members) {
						t.Errorf("code %d, left %d, want 0 and at least %d", e.Code, e.Left, fam.members)
					}
				})
			}
		}
	}
}

func TestHostKilled(t *testing.T) {
	for _, kind := range []string{"plain", "group"} {
		for _, guarded := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s/guarded=%v", kind, guarded), func(t *testing.T) {
				t.Parallel()
				f := family(t.TempDir())
				script := f.script("$member & setsid $member & $member | $member & trap '' TERM; setsid sh -c '('$member' &)' &", 5)
				host := exec.Command(os.Args[0])
				host.Env = append(os.Environ(), hostVariable+"="+kind+":"+script+"\nsleep 1000")
				out, err := host.StdoutPipe()
				if err != nil {
					t.Fatal(err)
				}
				if err := host.Start(); err != nil {
					t.Fatal(err)
				}
				line, _ := bufio.NewReader(out).ReadString('\n')
				fields := strings.Fields(line)
				if len(fields) < 2 {
					t.Fatalf("the host says %q", line)
				}
				guard, _ := strconv.Atoi(fields[0])
				f.await(t)
				if !guarded {
					_ = syscall.Kill(guard, syscall.SIGKILL)
				}
				_ = host.Process.Kill()
				_ = host.Wait()
				if !guarded { // the next start sweeps
					w := openWorkspace(t, true)
					p, err := w.Start(t.Context(), Command{Args: []string{"true"}})
					if err != nil {
						t.Fatal(err)
					}
					p.Wait()
					os.RemoveAll(fields[1])
				}
				eventually(t, "the end of the processes", func() bool { return len(f.living()) == 0 })
				if guarded {
					for _, path := range fields[1:] {
						eventually(t, "the end of "+path, func() bool {
							_, err := os.Stat(path)
							return errors.Is(err, os.ErrNotExist)
						})
					}
				} else if len(fields) > 2 {
					eventually(t, "an empty control group", func() bool {
						removeGroup(fields[2])
						_, err := os.Stat(fields[2])
						return errors.Is(err, os.ErrNotExist)
					})
				}
			})
		}
	}
}

func TestCancelAtRandom(t *testing.T) {
	for _, plain := range []bool{true, false} {
		w := openWorkspace(t, plain)
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				for range 13 {
					ctx, cancel := context.WithTimeout(t.Context(), time.Duration(rand.IntN(15_000))*time.Microsecond)
					p, err := w.Start(ctx, Command{Args: []string{"bash", "-c",
						"sleep 1000 & setsid sleep 1000 & (sleep 1000 | sleep 1000 &) ; setsid sh -c 'sleep 1000 & sleep 1000' & sleep 1000"}})
					if err == nil {
						if e := p.Wait(); len(e.Survivors) > 0 || !e.Stopped {
							t.Errorf("%+v", e)
						}
					} else if !errors.Is(err, context.DeadlineExceeded) {
						t.Error(err)
					}
					cancel()
				}
			})
		}
		wg.Wait()
		if left := ownProcesses(); len(left) != 1 { // the guard
			t.Errorf("left: %v", left)
		}
		w.Close()
	}
}

func TestGuardIsReplaced(t *testing.T) {
	w := openWorkspace(t, true)
	run := func() {
		t.Helper()
		p, err := w.Start(t.Context(), Command{Args: []string{"true"}})
		if err != nil {
			t.Fatal(err)
		}
		p.Wait()
	}
	run()
	first := w.shell.guard.cmd.Process.Pid
	_ = syscall.Kill(first, syscall.SIGKILL)
	eventually(t, "the end of the guard", func() bool { _, alive := processes(0)[first]; return !alive })
	run()
	if now := w.shell.guard.cmd.Process.Pid; now == first {
		t.Error("the dead guard was kept")
	}
}

func TestDescriptorsExhausted(t *testing.T) {
	w := openWorkspace(t, true)
	start := func() error {
		p, err := w.Start(t.Context(), Command{Args: []string{"true"}})
		if err == nil {
			p.Wait()
		}
		return err
	}
	if err := start(); err != nil {
		t.Fatal(err)
	}
	open, _ := os.ReadDir("/proc/self/fd")
	var old unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &old); err != nil {
		t.Fatal(err)
	}
	for extra := range 6 {
		tight := old
		tight.Cur = uint64(len(open) + extra)
		if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &tight); err != nil {
			t.Fatal(err)
		}
		err := start()
		if e := unix.Setrlimit(unix.RLIMIT_NOFILE, &old); e != nil {
			t.Fatal(e)
		}
		if err != nil && !errors.Is(err, syscall.EMFILE) {
			t.Errorf("%d more: %v, want EMFILE", extra, err)
		}
		if extra == 0 && err == nil {
			t.Error("no error without a free descriptor")
		}
	}
	if now, _ := os.ReadDir("/proc/self/fd"); len(now) > len(open) {
		t.Errorf("%d descriptors, were %d", len(now), len(open))
	}
	if err := start(); err != nil {
		t.Error(err)
	}
}

func TestBackgroundWriterDoesNotHang(t *testing.T) {
	w := openWorkspace(t, true)
	var out bytes.Buffer
	p, err := w.Start(t.Context(), Command{
		Args: []string{"bash", "-c", "echo one; echo two >&2; echo three; sleep 1000 & exit 7"}, Output: &out})
	if err != nil {
		t.Fatal(err)
	}
	if e := p.Wait(); e.Code != 7 || e.Left != 1 {
		t.Errorf("%+v", e)
	}
	if out.String() != "one\ntwo\nthree\n" {
		t.Errorf("output %q", out.String())
	}
}

func TestExitCodes(t *testing.T) {
	w := openWorkspace(t, true)
	for script, want := range map[string]Exit{
		"exit 0": {}, "exit 255": {Code: 255}, "kill -TERM $$": {Code: 143, Signaled: true}, "kill -KILL $$": {Code: 137, Signaled: true},
	} {
		p, err := w.Start(t.Context(), Command{Args: []string{"sh", "-c", script}})
		if err != nil {
			t.Fatal(err)
		}
		if e := p.Wait(); e.Code != want.Code || e.Signaled != want.Signaled || e.Stopped || e.Left != 0 {
			t.Errorf("%s: %+v", script, e)
		}
	}
}

func TestStartRefuses(t *testing.T) {
	w := openWorkspace(t, true)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for name, c := range map[string]struct {
		ctx     context.Context
		command Command
	}{
		"empty":      {t.Context(), Command{}},
		"no program": {t.Context(), Command{Args: []string{"no-such-program"}}},
		"no folder":  {t.Context(), Command{Args: []string{"true"}, Dir: "missing"}},
		"cancelled":  {ended, Command{Args: []string{"true"}}},
	} {
		if p, err := w.Start(c.ctx, c.command); err == nil {
			p.Wait()
			t.Errorf("%s: started", name)
		}
	}
	w.Close()
	if _, err := w.Start(t.Context(), Command{Args: []string{"true"}}); !errors.Is(err, os.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}

func TestPanickingWriter(t *testing.T) {
	w := openWorkspace(t, true)
	p, err := w.Start(t.Context(), Command{Args: []string{"bash", "-c", "echo; echo; exit 5"}, Output: panicking{}})
	if err != nil {
		t.Fatal(err)
	}
	if e := p.Wait(); e.Code != 5 {
		t.Errorf("%+v", e)
	}
}

type panicking struct{}

func (panicking) Write([]byte) (int, error) { panic("no") }

func TestSecretsAreNotInherited(t *testing.T) {
	secret := []string{"FOO_API_KEY", "GITHUB_TOKEN", "MY_SECRET", "ANTHROPIC_BASE_URL", "OPENAI_ORG", "OPENAGENT_X",
		"CODEANY_KEY", "AWS_SECRET_ACCESS_KEY", "AWS_ACCESS_KEY_ID", "PGPASSWORD", "db_password", "TOKEN"}
	plain := []string{"TOKENIZER", "MONKEY", "SSH_AUTH_SOCK", "KEYBOARD", "AWS_REGION"}
	for _, name := range append(secret, plain...) {
		t.Setenv(name, "value-of-it")
	}
	w := openWorkspace(t, true)
	w.Env = map[string]string{"GITHUB_TOKEN": "given"}
	for range 2 { // the second time from the saved state
		o, err := w.Run(t.Context(), CommandLine{Command: "env"})
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range secret {
			want := name == "GITHUB_TOKEN"
			if got := strings.Contains("\n"+o.Text, "\n"+name+"="); got != want {
				t.Errorf("%s is there: %v", name, got)
			}
		}
		for _, name := range plain {
			if !strings.Contains("\n"+o.Text, "\n"+name+"=value-of-it\n") {
				t.Errorf("%s is missing", name)
			}
		}
		if !strings.Contains(o.Text, "GITHUB_TOKEN=given") {
			t.Error("the variable that was given is missing")
		}
	}
}
