package workspace

import (
	"bytes"
	"errors"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// system is the Linux part of a tree: its own control group, which no member can leave by
// forking, if this process may make one.
type system struct {
	group *os.File // the folder of the control group; nil if there is none
	first uint64   // start time of the program: nothing older is a member
	known map[int]uint64
}

func (t *tree) open() {
	t.known = map[int]uint64{}
	parent := t.shells.group
	if parent == "" {
		return
	}
	dir := filepath.Join(parent, "job-"+t.id[strings.LastIndexByte(t.id, '.')+1:])
	if os.Mkdir(dir, 0o755) != nil {
		return
	}
	group, err := os.Open(dir)
	if err != nil {
		_ = os.Remove(dir)
		return
	}
	t.group = group
}

func (t *tree) attributes(a *syscall.SysProcAttr) {
	a.Pdeathsig = syscall.SIGKILL
	if t.group != nil {
		a.UseCgroupFD, a.CgroupFD = true, int(t.group.Fd())
	}
}

// simplify gives up the control group and reports whether there was one.
func (t *tree) simplify() bool {
	had := t.group != nil
	t.release()
	return had
}

func (t *tree) release() {
	if t.group != nil {
		t.group.Close()
		removeGroup(t.group.Name())
		t.group = nil
	}
}

func (t *tree) observe() {
	if st, ok := readStat(t.pid); ok {
		t.first = st.start
		t.known[t.pid] = st.start
	}
}

// wait waits for the end of the program and leaves it unreaped, so that its
// number, which is also that of its group, stays taken.
func (t *tree) wait(cmd *exec.Cmd) *os.ProcessState {
	if t.first == 0 { // without /proc the group is all we know, and a zombie would count as alive
		_ = cmd.Wait() // the state says it all
		return cmd.ProcessState
	}
	for {
		err := unix.Waitid(unix.P_PID, t.pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return nil
		}
	}
}

// destroy kills the whole control group at once.
func (t *tree) destroy() {
	if t.group != nil {
		_ = os.WriteFile(filepath.Join(t.group.Name(), "cgroup.kill"), []byte("1"), 0)
	}
}

// kept returns the members without those that keep a sandbox: the first process
// of a process namespace, and the program that started it.
func (t *tree) kept(members []int) []int {
	keepers := map[int]bool{}
	for _, pid := range members {
		if !isInit(pid) {
			continue
		}
		keepers[pid] = true
		if st, ok := readStat(pid); ok && st.parent == t.pid {
			keepers[t.pid] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(members), func(pid int) bool { return keepers[pid] })
}

// isInit reports whether pid is the first of a process namespace under ours,
// see NSpid in proc_pid_status(5).
func isInit(pid int) bool {
	b, _ := os.ReadFile(procFile(pid, "status"))
	for line := range strings.Lines(string(b)) {
		if ids, ok := strings.CutPrefix(line, "NSpid:"); ok {
			f := strings.Fields(ids)
			return len(f) > 1 && f[len(f)-1] == "1"
		}
	}
	return false
}

// members lists the living processes of the tree.
func (t *tree) members() []int {
	if t.group != nil {
		return groupMembers(t.group.Name())
	}
	if t.first == 0 {
		if syscall.Kill(-t.pid, 0) == nil {
			return []int{t.pid}
		}
		return nil
	}
	found := t.search()
	if len(found) == 0 {
		// A process that forks and exits while /proc is read can hide its child, and a
		// process that is about to run another program has no environment for a moment.
		time.Sleep(time.Millisecond)
		found = t.search()
	}
	return found
}

// search finds the members by looking at every process.
func (t *tree) search() []int {
	all := processes(t.first)
	for pid, start := range t.known {
		if p, ok := all[pid]; !ok || p.start != start {
			delete(t.known, pid)
		}
	}
	for pid, p := range all {
		if p.group == t.pid || p.session == t.pid || hasJob(environmentOf(pid), t.id) {
			t.known[pid] = p.start
		}
	}
	for grown := true; grown; {
		grown = false
		for pid, p := range all {
			if _, in := t.known[pid]; in {
				continue
			}
			if _, in := t.known[p.parent]; in {
				t.known[pid] = p.start
				grown = true
			}
		}
	}
	return slices.Sorted(maps.Keys(t.known))
}

// stat is the content of /proc/PID/stat, see proc_pid_stat(5).
type stat struct {
	state                  byte
	parent, group, session int
	start                  uint64 // ticks since boot
}

func readStat(pid int) (stat, bool) {
	b, err := os.ReadFile(procFile(pid, "stat"))
	if err != nil {
		return stat{}, false
	}
	// The name of the program, in brackets, may hold anything.
	f := bytes.Fields(b[bytes.LastIndexByte(b, ')')+1:])
	if len(f) < 20 {
		return stat{}, false
	}
	st := stat{state: f[0][0]}
	for i, field := range []*int{&st.parent, &st.group, &st.session} {
		*field, _ = strconv.Atoi(string(f[i+1]))
	}
	st.start, _ = strconv.ParseUint(string(f[19]), 10, 64)
	return st, true
}

// processes lists the living processes that started at first or later.
func processes(first uint64) map[int]stat {
	all := map[int]stat{}
	for _, pid := range processIDs() {
		if st, ok := readStat(pid); ok && st.start >= first && st.state != 'Z' && st.state != 'X' {
			all[pid] = st
		}
	}
	return all
}

func processIDs() []int {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	var pids []int
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// environmentOf is the environment that pid was started with, "" where it may not be read.
func environmentOf(pid int) string {
	b, _ := os.ReadFile(procFile(pid, "environ"))
	return string(b)
}

func procFile(pid int, name string) string { return "/proc/" + strconv.Itoa(pid) + "/" + name }

// hostID names this process: its number may be in use again, so its start time
// and its process namespace are part of it.
func hostID() string {
	space, _ := os.Readlink("/proc/self/ns/pid")
	st, _ := readStat(os.Getpid())
	return strings.Trim(space, "pid:[]") + "." + strconv.Itoa(os.Getpid()) + "." + strconv.FormatUint(st.start, 10)
}

// sweepStale kills the remaining processes of hosts that have died together with their
// guards, as after an out-of-memory kill.
func sweepStale() {
	own := strings.Split(hostID(), ".")
	for _, pid := range processIDs() {
		if pid != os.Getpid() && stale(environmentOf(pid), own[0]) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

// stale reports whether a job of environment belongs to a dead host of this process namespace.
func stale(environment, namespace string) bool {
	for kv := range strings.SplitSeq(environment, "\x00") {
		jobs, ok := strings.CutPrefix(kv, jobVariable+"=")
		if !ok {
			continue
		}
		for job := range strings.SplitSeq(jobs, ";") {
			f := strings.Split(job, ".")
			if len(f) != 5 || f[0] != namespace {
				continue
			}
			pid, err := strconv.Atoi(f[1])
			if err != nil {
				continue
			}
			if st, ok := readStat(pid); !ok || strconv.FormatUint(st.start, 10) != f[2] {
				return true
			}
		}
	}
	return false
}

// makeGroup makes a control group under our own, "" where that is not possible.
func makeGroup(name string) string {
	own := ownGroup()
	if own == "" {
		return ""
	}
	dir := filepath.Join(own, name)
	if os.Mkdir(dir, 0o755) != nil {
		return ""
	}
	if _, err := os.Stat(filepath.Join(dir, "cgroup.kill")); err != nil { // Linux before 5.14
		_ = os.Remove(dir)
		return ""
	}
	return dir
}

// ownGroup is the folder of our control group (version 2), see cgroups(7) and
// proc_pid_mountinfo(5).
func ownGroup() string {
	groups, _ := os.ReadFile("/proc/self/cgroup")
	mounts, _ := os.ReadFile("/proc/self/mountinfo")
	var path string
	for line := range strings.Lines(string(groups)) {
		if p, ok := strings.CutPrefix(line, "0::"); ok {
			path = strings.TrimSuffix(p, "\n")
		}
	}
	if path == "" {
		return ""
	}
	for line := range strings.Lines(string(mounts)) {
		head, tail, ok := strings.Cut(line, " - ")
		f := strings.Fields(head)
		if !ok || len(f) < 5 || !strings.HasPrefix(tail, "cgroup2 ") {
			continue
		}
		if rel, err := filepath.Rel(f[3], path); err == nil && filepath.IsLocal(rel) {
			return filepath.Join(f[4], rel)
		}
	}
	return ""
}

// groupMembers lists the living processes of a control group and of those that
// were made within it.
func groupMembers(dir string) []int {
	var pids []int
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return nil
		}
		b, _ := os.ReadFile(filepath.Join(path, "cgroup.procs"))
		for _, f := range bytes.Fields(b) {
			if pid, err := strconv.Atoi(string(f)); err == nil && pid > 0 {
				pids = append(pids, pid)
			}
		}
		return nil
	})
	return pids
}

// removeGroup removes an empty control group with those within it.
func removeGroup(dir string) {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if e.IsDir() {
			removeGroup(filepath.Join(dir, e.Name()))
		}
	}
	_ = os.Remove(dir)
}
