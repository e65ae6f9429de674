package live

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
)

// loopback are the addresses to which browsers may connect for a name below localhost.
var loopback = []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback}

// IsLoopback reports whether [Loopback] listens on an address.
func IsLoopback(ip net.IP) bool { return slices.ContainsFunc(loopback, ip.Equal) }

// Loopback listens on 127.0.0.1 and ::1, both at the same port; at a free one if port is 0. A machine may
// lack one of them. No other program has the one that is there: it would get the logins of browsers.
func Loopback(ctx context.Context, port int) ([]net.Listener, error) {
	for try := 0; ; try++ {
		all, err := listenOn(ctx, port)
		if err == nil {
			return all, nil
		}
		if port != 0 || try == 20 {
			return nil, err
		}
	}
}

func listenOn(ctx context.Context, port int) (all []net.Listener, err error) {
	for _, ip := range loopback {
		l, failed := new(net.ListenConfig).Listen(ctx, "tcp", net.JoinHostPort(ip.String(), strconv.Itoa(port)))
		if failed == nil {
			all, port = append(all, l), l.Addr().(*net.TCPAddr).Port
			continue
		}
		if isHere(ip) {
			err = errors.Join(err, failed)
		}
	}
	if err == nil && len(all) == 0 {
		err = errors.New("this machine has neither 127.0.0.1 nor ::1")
	}
	if err != nil {
		for _, l := range all {
			l.Close()
		}
		return nil, fmt.Errorf("listening: %w", err)
	}
	return all, nil
}

// isHere reports whether the machine has an address.
func isHere(ip net.IP) bool {
	all, err := net.InterfaceAddrs()
	return err != nil || slices.ContainsFunc(all, func(a net.Addr) bool {
		n, ok := a.(*net.IPNet)
		return ok && n.IP.Equal(ip)
	})
}

// Names returns the names for Host headers of a server that listens.
func Names(all []net.Listener) (names []string) {
	for _, l := range all {
		at := l.Addr().(*net.TCPAddr)
		names = append(names, at.String())
		if at.IP.IsLoopback() {
			names = append(names, net.JoinHostPort("localhost", strconv.Itoa(at.Port)))
		}
	}
	return names
}

// NameForBrowsers returns the name and port that browsers use for a server that [Loopback] has made: a
// name that only it and its user know, because a browser sends cookies of 127.0.0.1 to the servers at all
// its ports. Browsers find this machine by each name below localhost. It is "" if one of the further
// names of the server is a loopback address: then browsers come by that.
func NameForBrowsers(port int, token string, further []string) string {
	for _, host := range further {
		name, _, err := net.SplitHostPort(host)
		if err != nil {
			name = strings.Trim(host, "[]")
		}
		if strings.EqualFold(name, "localhost") || net.ParseIP(name).IsLoopback() {
			return ""
		}
	}
	sum := sha256.Sum256([]byte("name for browsers " + token))
	return net.JoinHostPort("openagent-"+hex.EncodeToString(sum[:8])+".localhost", strconv.Itoa(port))
}
