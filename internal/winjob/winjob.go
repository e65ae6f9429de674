//go:build windows

// Package winjob holds a program of Windows and all its descendants in a job object, which
// Windows ends when its last handle is closed, and so with this process.
package winjob

import (
	"fmt"
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"
)

// A Job is a job object. Nothing leaves it.
type Job struct{ handle windows.Handle }

// Attributes start a program suspended: it must not fork before it is in its job.
func Attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{
		HideWindow:    true,
		CreationFlags: windows.CREATE_NEW_PROCESS_GROUP | windows.CREATE_SUSPENDED,
	}
}

// Adopt puts a program that was started with [Attributes] into j and lets it run.
func (j *Job) Adopt(p *os.Process) error {
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return fmt.Errorf("creating a job object: %w", err)
	}
	j.handle = job
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

// Members lists the processes of the job.
func (j *Job) Members() []int {
	var list struct { // JOBOBJECT_BASIC_PROCESS_ID_LIST
		assigned, listed uint32
		ids              [1024]uintptr
	}
	const basicProcessIDList = 3 // JobObjectBasicProcessIdList
	err := windows.QueryInformationJobObject(j.handle, basicProcessIDList,
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

// Kill ends all of them. A job without a program has none.
func (j *Job) Kill() {
	if j.handle != 0 {
		_ = windows.TerminateJobObject(j.handle, 1)
	}
}

// Release lets those that still run go on, and gives the handle back.
func (j *Job) Release() {
	if j.handle == 0 {
		return
	}
	var limits windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION
	_, _ = windows.SetInformationJobObject(j.handle, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&limits)), uint32(unsafe.Sizeof(limits)))
	j.Close()
}

// Close gives the handle back, which ends those that still run.
func (j *Job) Close() {
	if j.handle != 0 {
		_ = windows.CloseHandle(j.handle)
		j.handle = 0
	}
}
