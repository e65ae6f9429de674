package workspace

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"
)

// tree is a program and its descendants: a job object, which Windows ends when
// its last handle is closed, and so with this process. Nothing leaves it.
type tree struct {
	id     string // the mark in [jobVariable]
	shells *shells
	job    windows.Handle
}

func newTree(s *shells) *tree { return &tree{id: s.newID(), shells: s} }

// prepare starts cmd suspended: it must not fork before it is in its job.
func (t *tree) prepare(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{
		HideWindow:    true,
		CreationFlags: windows.CREATE_NEW_PROCESS_GROUP | windows.CREATE_SUSPENDED,
	}
}

// confine: no process keeps a sandbox here.
func (t *tree) confine() {}

func (t *tree) simplify() bool { return false }

func (t *tree) adopt(p *os.Process) error {
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return fmt.Errorf("creating a job object: %w", err)
	}
	t.job = job
	var limits windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION
	limits.BasicLimitInformation.LimitFlags = windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
	if _, err := windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&limits)), uint32(unsafe.Sizeof(limits))); err != nil {
		return fmt.Errorf("limiting a job object: %w", err)
	}
	h, err := windows.OpenProcess(windows.PROCESS_SET_QUOTA|windows.PROCESS_TERMINATE, false, uint32(p.Pid))
	if err != nil {
		return fmt.Errorf("opening the process: %w", err)
	}
	defer windows.CloseHandle(h)
	if err := windows.AssignProcessToJobObject(job, h); err != nil {
		return fmt.Errorf("assigning to a job object: %w", err)
	}
	return resume(uint32(p.Pid))
}

// resume lets the only thread of a suspended process run.
func resume(pid uint32) error {
	snapshot, err := windows.CreateToolhelp32Snapshot(windows.TH32CS_SNAPTHREAD, 0)
	if err != nil {
		return fmt.Errorf("listing threads: %w", err)
	}
	defer windows.CloseHandle(snapshot)
	var e windows.ThreadEntry32
	e.Size = uint32(unsafe.Sizeof(e))
	for err = windows.Thread32First(snapshot, &e); err == nil; err = windows.Thread32Next(snapshot, &e) {
		if e.OwnerProcessID != pid {
			continue
		}
		h, err := windows.OpenThread(windows.THREAD_SUSPEND_RESUME, false, e.ThreadID)
		if err != nil {
			return fmt.Errorf("opening the thread: %w", err)
		}
		defer windows.CloseHandle(h)
		if _, err := windows.ResumeThread(h); err != nil {
			return fmt.Errorf("resuming the process: %w", err)
		}
		return nil
	}
	return fmt.Errorf("listing threads: %w", err)
}

func (t *tree) wait(cmd *exec.Cmd) *os.ProcessState {
	_ = cmd.Wait() // the state says it all
	return cmd.ProcessState
}

// members lists the processes of the job.
func (t *tree) members() []int {
	var list struct { // JOBOBJECT_BASIC_PROCESS_ID_LIST
		assigned, listed uint32
		ids              [1024]uintptr
	}
	const basicProcessIDList = 3 // JobObjectBasicProcessIdList
	err := windows.QueryInformationJobObject(t.job, basicProcessIDList,
		uintptr(unsafe.Pointer(&list)), uint32(unsafe.Sizeof(list)), nil)
	if err != nil && err != windows.ERROR_MORE_DATA {
		return nil
	}
	var pids []int
	for _, id := range list.ids[:list.listed] {
		pids = append(pids, int(id))
	}
	return pids
}

// terminate kills: Windows has no request to end that any program understands.
func (t *tree) terminate(map[int]bool) { t.kill() }

func (t *tree) kill() { _ = windows.TerminateJobObject(t.job, 1) }

func (t *tree) close() {
	if t.job != 0 {
		_ = windows.CloseHandle(t.job)
	}
}

func exitCode(s *os.ProcessState) (code int, signaled bool) { return s.ExitCode(), false }

// guard is needless where job objects are.
type guard struct{}

func (*guard) open(*shells) error { return nil }

func (*guard) close() {}

func hostID() string { return "0." + strconv.Itoa(os.Getpid()) + ".0" }

func sweepStale() {}

func makeGroup(string) string { return "" }

func removeGroup(string) {}
