package confine

import (
	"io"
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

// A relay passes connections to a port of the loopback on to a UNIX socket.
type relay struct {
	listener *os.File
	port     int
	socket   string
}

// listen takes hold of the socket, wherever its folder is later, and listens.
func listen(socket string) (*relay, error) {
	hold, err := open(socket)
	if err != nil {
		return nil, err
	}
	s, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	if err := unix.Bind(s, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		return nil, err
	}
	if err := unix.Listen(s, unix.SOMAXCONN); err != nil {
		return nil, err
	}
	a, err := unix.Getsockname(s)
	if err != nil {
		return nil, err
	}
	return &relay{
		listener: os.NewFile(uintptr(s), "proxy"),
		port:     a.(*unix.SockaddrInet4).Port,
		socket:   "/proc/self/fd/" + strconv.Itoa(hold),
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
	var both sync.WaitGroup
	both.Go(func() { copyOneWay(proxy, client) })
	copyOneWay(client, proxy)
	both.Wait()
}

// copyOneWay copies from a socket to another, and ends what the other reads.
func copyOneWay(to, from *os.File) {
	_, _ = io.Copy(to, from)
	if raw, err := to.SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) { _ = unix.Shutdown(int(fd), unix.SHUT_WR) })
	}
	if raw, err := from.SyscallConn(); err == nil { // to may have failed
		_ = raw.Control(func(fd uintptr) { _ = unix.Shutdown(int(fd), unix.SHUT_RD) })
	}
}

// withProxy returns env with the variables by which programs find a proxy.
func withProxy(env []string, port int) []string {
	address := "127.0.0.1:" + strconv.Itoa(port)
	for _, kv := range []string{
		"HTTP_PROXY=http://" + address, "HTTPS_PROXY=http://" + address, "ALL_PROXY=socks5h://" + address,
		"NO_PROXY=localhost,127.0.0.1,::1",
	} {
		name, value, _ := strings.Cut(kv, "=")
		env = setVariable(setVariable(env, name, value), strings.ToLower(name), value)
	}
	return setVariable(env, "NODE_USE_ENV_PROXY", "1") // Node.js looks at the others only then
}

// setVariable returns env with the only value of a name.
func setVariable(env []string, name, value string) []string {
	out := make([]string, 0, len(env)+1)
	for _, kv := range env {
		if !strings.HasPrefix(kv, name+"=") {
			out = append(out, kv)
		}
	}
	return append(out, name+"="+value)
}
