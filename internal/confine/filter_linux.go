package confine

import (
	"encoding/binary"
	"slices"

	"golang.org/x/sys/unix"
)

// The filter of system calls, a classic BPF program over struct seccomp_data
// (seccomp(2)): the number at 0, the architecture at 4, the arguments from 16 on,
// each of 64 bits with the low half first.

const (
	atNumber       = 0
	atArchitecture = 4
	atArguments    = 16

	// x32Bit marks the numbers of the x32 interface of amd64.
	x32Bit = 0x40000000

	// sockTypeMask is where the kind of a socket is, beside flags.
	sockTypeMask = 0xf

	tioccons  = 0x541d
	tioclinux = 0x541c

	// namespaceFlags are those of clone(2) and unshare(2) that make namespaces.
	namespaceFlags = unix.CLONE_NEWNS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC |
		unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNET
)

// internetProtocols are those that programs use; 0 is the usual one of the kind of
// socket. Others (SCTP, DCCP, UDP-Lite …) are code that hardly anybody runs.
var internetProtocols = []uint32{0, unix.IPPROTO_ICMP, unix.IPPROTO_TCP, unix.IPPROTO_UDP, unix.IPPROTO_ICMPV6, unix.IPPROTO_MPTCP}

// filter is a program in the making.
type filter []unix.SockFilter

func (f *filter) add(code uint16, k uint32, jt, jf uint8) {
	*f = append(*f, unix.SockFilter{Code: code, K: k, Jt: jt, Jf: jf})
}

func (f *filter) load(at uint32) { f.add(unix.BPF_LD|unix.BPF_W|unix.BPF_ABS, at, 0, 0) }

func (f *filter) result(action uint32) { f.add(unix.BPF_RET|unix.BPF_K, action, 0, 0) }

// when gives the result if the loaded word is k.
func (f *filter) when(k, action uint32) {
	f.add(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K, k, 0, 1)
	f.result(action)
}

// call judges a system call by one of its arguments and passes it unless judge does not.
func (f *filter) call(number, argument uint32, judge func(f *filter)) {
	var body filter
	body.load(atArguments + 8*argument)
	judge(&body)
	body.result(unix.SECCOMP_RET_ALLOW)
	f.add(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K, number, 0, uint8(len(body)))
	*f = append(*f, body...)
}

// refuse is the result by which a system call fails.
func refuse(errno unix.Errno) uint32 { return unix.SECCOMP_RET_ERRNO | uint32(errno) }

const errArchitecture = textError("system calls of this processor are not known")

// Filter returns the filter for a plan as seccomp(2) and bubblewrap take it.
func Filter(p Plan) ([]byte, error) {
	f, err := program(&p)
	var b []byte
	for _, in := range f {
		b = binary.NativeEndian.AppendUint16(b, in.Code)
		b = append(b, in.Jt, in.Jf)
		b = binary.NativeEndian.AppendUint32(b, in.K)
	}
	return b, err
}

// program returns the filter for a plan.
func program(p *Plan) ([]unix.SockFilter, error) {
	if architecture == 0 {
		return nil, errArchitecture
	}
	denied := refuse(unix.EPERM)
	var f filter
	f.load(atArchitecture)
	f.add(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K, architecture, 1, 0)
	f.result(unix.SECCOMP_RET_KILL_PROCESS)
	f.load(atNumber)
	f.add(unix.BPF_JMP|unix.BPF_JGE|unix.BPF_K, x32Bit, 0, 1)
	f.result(refuse(unix.ENOSYS))
	for _, n := range slices.Concat(deniedCalls, ownCalls) {
		f.when(n, denied)
	}
	for _, n := range missingCalls {
		f.when(n, refuse(unix.ENOSYS))
	}
	f.call(unix.SYS_SOCKET, 0, func(f *filter) {
		if p.Network || !p.Landlock { // without namespaces it is the host's
			var internet filter // which protocol it is
			internet.load(atArguments + 8*2)
			for _, protocol := range internetProtocols {
				internet.when(protocol, unix.SECCOMP_RET_ALLOW)
			}
			internet.result(denied)
			f.add(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K, unix.AF_INET, 1, 0)
			f.add(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K, unix.AF_INET6, 0, uint8(len(internet)))
			*f = append(*f, internet...)
		}
		if p.UnixSockets {
			f.when(unix.AF_UNIX, unix.SECCOMP_RET_ALLOW)
		}
		if p.Nested { // to set up the loopback of a namespace
			f.when(unix.AF_NETLINK, unix.SECCOMP_RET_ALLOW)
		}
		f.result(denied)
	})
	if !p.UnixSockets {
		// A pair of datagram sockets, which raw ones are as well, can be connected to
		// someone else.
		f.call(unix.SYS_SOCKETPAIR, 1, func(f *filter) {
			f.add(unix.BPF_ALU|unix.BPF_AND|unix.BPF_K, sockTypeMask, 0, 0)
			f.when(unix.SOCK_STREAM, unix.SECCOMP_RET_ALLOW)
			f.when(unix.SOCK_SEQPACKET, unix.SECCOMP_RET_ALLOW)
			f.result(denied)
		})
	}
	f.call(unix.SYS_IOCTL, 1, func(f *filter) {
		for _, request := range []uint32{unix.TIOCSTI, tioclinux, tioccons} {
			f.when(request, denied)
		}
	})
	// A lease makes who opens the file wait, also where it can only be read.
	f.call(unix.SYS_FCNTL, 1, func(f *filter) { f.when(unix.F_SETLEASE, denied) })
	if p.Landlock {
		for _, n := range slices.Concat(sharedCalls, ownShared) {
			f.when(n, denied)
		}
		for _, c := range neighbourCalls {
			f.call(c.number, c.argument, func(f *filter) {
				f.when(0, unix.SECCOMP_RET_ALLOW)
				f.result(denied)
			})
		}
	}
	if !p.Network && !p.LocalBinding {
		f.when(unix.SYS_LISTEN, denied)
	}
	if !p.Nested {
		for _, n := range namespaceCalls {
			f.when(n, denied)
		}
		// Its flags are in memory, where a filter cannot look. Programs do without.
		f.when(unix.SYS_CLONE3, refuse(unix.ENOSYS))
		for _, n := range []uint32{unix.SYS_CLONE, unix.SYS_UNSHARE} {
			f.call(n, 0, func(f *filter) {
				f.add(unix.BPF_JMP|unix.BPF_JSET|unix.BPF_K, namespaceFlags, 0, 1)
				f.result(denied)
			})
		}
	}
	f.result(unix.SECCOMP_RET_ALLOW)
	return f, nil
}
