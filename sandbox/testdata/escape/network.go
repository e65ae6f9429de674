package main

import (
	"os"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"
)

func init() {
	say := func(fd int) error {
		_, err := unix.Write(fd, []byte("escaped"))
		return outside(err)
	}
	connect := func(family, kind, protocol int, to unix.Sockaddr) func() error {
		return func() error {
			fd, err := unix.Socket(family, kind, protocol)
			if err != nil {
				return err
			}
			if err := unix.Connect(fd, to); err != nil {
				return err
			}
			return say(fd)
		}
	}
	port := func(name string) int { n, _ := strconv.Atoi(os.Getenv(name)); return n }
	local := [4]byte{127, 0, 0, 1}
	attempts["tcp"] = connect(unix.AF_INET, unix.SOCK_STREAM, 0, &unix.SockaddrInet4{Port: port("TCP"), Addr: local})
	attempts["mptcp"] = connect(unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_MPTCP, &unix.SockaddrInet4{Port: port("TCP"), Addr: local})
	attempts["tcp6"] = connect(unix.AF_INET6, unix.SOCK_STREAM, 0, &unix.SockaddrInet6{Port: port("TCP6"), Addr: [16]byte{15: 1}})
	attempts["mapped tcp"] = connect(unix.AF_INET6, unix.SOCK_STREAM, 0,
		&unix.SockaddrInet6{Port: port("TCP"), Addr: [16]byte{10: 255, 11: 255, 12: 127, 15: 1}})
	attempts["udp"] = connect(unix.AF_INET, unix.SOCK_DGRAM, 0, &unix.SockaddrInet4{Port: port("UDP"), Addr: local})
	attempts["unix"] = connect(unix.AF_UNIX, unix.SOCK_STREAM, 0, &unix.SockaddrUnix{Name: os.Getenv("SOCK")})
	attempts["unix datagram"] = connect(unix.AF_UNIX, unix.SOCK_DGRAM, 0, &unix.SockaddrUnix{Name: os.Getenv("DGRAM")})
	attempts["abstract"] = connect(unix.AF_UNIX, unix.SOCK_STREAM, 0, &unix.SockaddrUnix{Name: "@" + os.Getenv("ABSTRACT")})
	attempts["unix, high bits"] = func() error {
		fd, _, e := unix.Syscall(unix.SYS_SOCKET, 1<<32|unix.AF_UNIX, unix.SOCK_STREAM, 0)
		if e != 0 {
			return e
		}
		if err := unix.Connect(int(fd), &unix.SockaddrUnix{Name: os.Getenv("SOCK")}); err != nil {
			return err
		}
		return say(int(fd))
	}
	pair := func(kind int, variable string) func() error {
		return func() error {
			fds, err := unix.Socketpair(unix.AF_UNIX, kind, 0)
			if err != nil {
				return err
			}
			if err := unix.Connect(fds[0], &unix.SockaddrUnix{Name: os.Getenv(variable)}); err != nil {
				return err
			}
			return say(fds[0])
		}
	}
	attempts["unix by a pair"] = pair(unix.SOCK_DGRAM, "DGRAM")
	attempts["unix by a raw pair"] = pair(unix.SOCK_RAW, "DGRAM")
	attempts["unix by a stream pair"] = pair(unix.SOCK_STREAM, "SOCK")
	attempts["unix by a packet pair"] = pair(unix.SOCK_SEQPACKET, "SOCK")
	attempts["unix by an address"] = func() error {
		fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_DGRAM, 0)
		if err != nil {
			return err
		}
		return outside(unix.Sendto(fds[0], []byte("escaped"), 0, &unix.SockaddrUnix{Name: os.Getenv("DGRAM")}))
	}
	attempts["udp, unconnected"] = func() error {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, 0)
		if err != nil {
			return err
		}
		return outside(unix.Sendto(fd, []byte("escaped"), 0, &unix.SockaddrInet4{Port: port("UDP"), Addr: local}))
	}
	attempts["fast open"] = func() error {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
		if err != nil {
			return err
		}
		return unix.Sendto(fd, []byte("escaped"), unix.MSG_FASTOPEN, &unix.SockaddrInet4{Port: port("TCP"), Addr: local})
	}
	socket := func(family, kind, protocol int) func() error {
		return func() error {
			_, err := unix.Socket(family, kind, protocol)
			return err
		}
	}
	attempts["raw"] = socket(unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_ICMP)
	attempts["packet"] = socket(unix.AF_PACKET, unix.SOCK_RAW, 0)
	attempts["netlink"] = socket(unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_ROUTE)
	attempts["kernel crypto"] = socket(unix.AF_ALG, unix.SOCK_SEQPACKET, 0)
	attempts["vsock"] = socket(unix.AF_VSOCK, unix.SOCK_STREAM, 0)
	attempts["bluetooth"] = socket(unix.AF_BLUETOOTH, unix.SOCK_RAW, 0)
	attempts["udp lite"] = socket(unix.AF_INET, unix.SOCK_DGRAM, unix.IPPROTO_UDPLITE)
	attempts["udp lite, high bits"] = socket(unix.AF_INET6, unix.SOCK_DGRAM, 1<<32|unix.IPPROTO_UDPLITE)
	attempts["sctp"] = socket(unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_SCTP)
	attempts["listen"] = func() error {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
		if err != nil {
			return err
		}
		return unix.Listen(fd, 1)
	}
	var params [120]byte
	attempts["io_uring"] = func() error { return call(unix.SYS_IO_URING_SETUP, 8, uintptr(unsafe.Pointer(&params))) }
}
