package proxy

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"time"

	"github.com/openagent-go/agent/internal/web"
)

const dialTime = 20 * time.Second // for looking a name up and connecting

// judge finds out whether a target may be reached, and its name in the one form.
func (p *Proxy) judge(host string, port int) (name string, private bool, err error) {
	name, err = web.HostName(host)
	if err != nil {
		return "", false, &Denial{Host: fmt.Sprintf("%.100q", host), Port: port, Why: err.Error()}
	}
	private, err = p.rules.allows(name, port)
	return name, private, err
}

// dial connects to a target that the rules allow. The address that is connected to
// is one that was judged: a name is looked up once. Errors of type [*Denial] are
// the rules', others the network's.
func (p *Proxy) dial(ctx context.Context, host string, port int) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTime)
	defer cancel()
	conn, err := p.connect(ctx, host, port)
	var d *Denial
	if errors.As(err, &d) {
		p.note(*d)
	}
	return conn, err
}

func (p *Proxy) connect(ctx context.Context, host string, port int) (net.Conn, error) {
	name, private, err := p.judge(host, port)
	if err != nil {
		return nil, err
	}
	addrs, err := p.lookUp(ctx, name)
	if err != nil {
		return nil, err
	}
	guard := web.Guard{Private: private}
	var refused error
	var dialer net.Dialer
	for _, addr := range addrs {
		if e := guard.Check(name, addr); e != nil {
			if refused == nil {
				refused = p.misled(name, port, e)
			}
			continue
		}
		conn, e := dialer.DialContext(ctx, "tcp", netip.AddrPortFrom(addr.Unmap(), uint16(port)).String())
		if e == nil {
			return conn, nil
		}
		err = e
	}
	if err == nil {
		err = refused
	}
	return nil, err
}

// lookUp returns the addresses of a name, at least one.
func (p *Proxy) lookUp(ctx context.Context, name string) ([]netip.Addr, error) {
	if addr, err := netip.ParseAddr(name); err == nil {
		return []netip.Addr{addr}, nil
	}
	addrs, err := p.config.Resolver.LookupNetIP(ctx, "ip", name)
	if err != nil {
		return nil, err
	}
	if len(addrs) == 0 {
		return nil, &net.DNSError{Err: "it has no address", Name: name, IsNotFound: true}
	}
	return addrs, nil
}

// misled is the denial for a name that resolves to an address that the guard refuses.
func (p *Proxy) misled(name string, port int, err error) error {
	d := &Denial{Host: name, Port: port, Why: err.Error()}
	var r *web.RefusedError
	if errors.As(err, &r) {
		d.Why = "it leads to " + r.Addr.String() + ", which " + r.Why
		if r.Addr.String() == name {
			d.Why = "it " + r.Why
		}
		if r.Private {
			d.Remedy = "the user can set network.allowPrivateNetworks"
		}
	}
	return d
}

// target splits host:port.
func target(address string) (host string, port int, err error) {
	host, digits, err := net.SplitHostPort(address)
	if err != nil {
		return "", 0, fmt.Errorf("reading the target: it is not host:port")
	}
	n, err := strconv.ParseUint(digits, 10, 16)
	if err != nil || n == 0 {
		return "", 0, errors.New("reading the target: its port is not a number from 1 to 65535")
	}
	return host, int(n), nil
}
