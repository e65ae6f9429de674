package confine

import (
	"io"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// maxRelayed is how many connections are passed on at a time; more wait.
const maxRelayed = 256

// raiseLoopback makes the namespace's own loopback usable.
func raiseLoopback() error {
	s, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(s)
	ifr, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	ifr.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	return unix.IoctlIfreq(s, unix.SIOCSIFFLAGS, ifr)
}

// loopback is the address of the namespace's own loopback.
var loopback = [4]byte{127, 0, 0, 1}

// A relay passes connections to a port of the loopback on to a UNIX socket.
type relay struct {
	listener *os.File
	address  string // that it listens at
	socket   string
	// target, unless "", is the host and port that the proxy behind the socket is
	// asked to connect to. Otherwise the client asks the proxy itself.
	target string
}

// bridge gives the namespace its way to the proxy: a relay to the proxy itself,
// whose address is returned, and relays to the targets on the host's loopback.
func bridge(p *Plan) (address string, err error) {
	hold, err := open(p.Proxy)
	if err != nil {
		return "", err
	}
	// Wherever the socket's folder is later.
	socket := "/proc/self/fd/" + strconv.Itoa(hold)
	relays, err := relaysTo(socket, p.Loopback)
	if err != nil {
		return "", err
	}
	proxy, err := listen(&unix.SockaddrInet4{Addr: loopback}, unix.AF_INET, socket, "")
	if err != nil {
		return "", err
	}
	for _, r := range append(relays, proxy) {
		go r.serve()
	}
	return proxy.address, nil
}

// relaysTo listens at the addresses that programs use for the targets. A target at
// an address where another one is listened for already is passed over.
func relaysTo(socket string, targets []string) (relays []*relay, err error) {
	add := func(at unix.Sockaddr, family int, target string) error {
		r, err := listen(at, family, socket, target)
		switch {
		case err == nil:
			relays = append(relays, r)
		case err == unix.EADDRINUSE, family == unix.AF_INET6 && (err == unix.EAFNOSUPPORT || err == unix.EADDRNOTAVAIL):
			return nil // in use, or there is no IPv6 here
		}
		return err
	}
	for _, target := range targets {
		host, port, err := splitTarget(target)
		if err != nil {
			return nil, err
		}
		addr, err := netip.ParseAddr(host)
		named := err != nil // it is localhost
		if named || addr.Is4() {
			a := unix.SockaddrInet4{Addr: loopback, Port: port}
			if !named {
				a.Addr = addr.As4()
			}
			if err := add(&a, unix.AF_INET, target); err != nil {
				return nil, err
			}
		}
		if named || addr.Is6() {
			a := unix.SockaddrInet6{Addr: netip.IPv6Loopback().As16(), Port: port}
			if err := add(&a, unix.AF_INET6, target); err != nil {
				return nil, err
			}
		}
	}
	return relays, nil
}

func splitTarget(target string) (host string, port int, err error) {
	i := strings.LastIndexByte(target, ':')
	if i < 0 {
		return "", 0, errPlan
	}
	if port, err = strconv.Atoi(target[i+1:]); err != nil {
		return "", 0, errPlan
	}
	return strings.Trim(target[:i], "[]"), port, nil
}

// listen listens at an address of the loopback.
func listen(at unix.Sockaddr, family int, socket, target string) (*relay, error) {
	s, err := unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	port := 0
	if err = unix.Bind(s, at); err == nil {
		err = unix.Listen(s, unix.SOMAXCONN)
	}
	if err == nil {
		at, err = unix.Getsockname(s)
	}
	if err != nil {
		_ = unix.Close(s)
		return nil, err
	}
	if a, ok := at.(*unix.SockaddrInet4); ok {
		port = a.Port
	}
	return &relay{
		listener: os.NewFile(uintptr(s), "proxy"),
		address:  "127.0.0.1:" + strconv.Itoa(port),
		socket:   socket,
		target:   target,
	}, nil
}

// serve passes connections on until the process ends.
func (r *relay) serve() {
	raw, err := r.listener.SyscallConn()
	if err != nil {
		return
	}
	turns := make(chan struct{}, maxRelayed)
	for {
		turns <- struct{}{}
		conn := -1
		err := raw.Read(func(fd uintptr) bool {
			var err error
			conn, _, err = unix.Accept4(int(fd), unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC)
			return err != unix.EAGAIN
		})
		if err != nil {
			return
		}
		go func() {
			defer func() { <-turns }()
			if conn >= 0 {
				r.pass(os.NewFile(uintptr(conn), "client"))
			}
		}()
	}
}

// pass copies in both directions until both have ended.
func (r *relay) pass(client *os.File) {
	defer client.Close()
	s, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return
	}
	if err := unix.Connect(s, &unix.SockaddrUnix{Name: r.socket}); err != nil {
		_ = unix.Close(s)
		return
	}
	if err := unix.SetNonblock(s, true); err != nil {
		_ = unix.Close(s)
		return
	}
	proxy := os.NewFile(uintptr(s), "proxy")
	defer proxy.Close()
	if r.target != "" && r.ask(proxy) != nil {
		return
	}
	var both sync.WaitGroup
	both.Go(func() { copyOneWay(proxy, client) })
	copyOneWay(client, proxy)
	both.Wait()
}

// ask has the proxy connect to the target, by SOCKS5 (RFC 1928).
func (r *relay) ask(proxy *os.File) error {
	host, port, err := splitTarget(r.target)
	if err != nil {
		return err
	}
	const version, noAuth, connect, name = 5, 0, 1, 3
	asked := append([]byte{version, 1, noAuth, version, connect, 0, name, byte(len(host))}, host...)
	if _, err := proxy.Write(append(asked, byte(port>>8), byte(port))); err != nil {
		return err
	}
	var answer [2 + 10]byte // to the version, and to the request, with an IPv4 address
	if _, err := io.ReadFull(proxy, answer[:]); err != nil {
		return err
	}
	if answer[1] != noAuth || answer[3] != 0 {
		return errRefused
	}
	return nil
}

const errRefused = textError("the proxy refuses the target")

// copyOneWay copies from one socket to another, and closes the other for writing at the
// end.
func copyOneWay(to, from *os.File) {
	_, _ = io.Copy(to, from)
	if raw, err := to.SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) { _ = unix.Shutdown(int(fd), unix.SHUT_WR) })
	}
	if raw, err := from.SyscallConn(); err == nil { // to may have failed
		_ = raw.Control(func(fd uintptr) { _ = unix.Shutdown(int(fd), unix.SHUT_RD) })
	}
}
