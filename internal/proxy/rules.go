// Package proxy is the only way to the network for processes in a sandbox: a proxy for HTTP
// (also CONNECT) and SOCKS5 that connects to the hosts that rules allow. It looks names up
// itself and connects to the address that it has judged. It does not see inside TLS
// connections.
package proxy

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/openagent-go/agent/internal/web"
	"golang.org/x/net/publicsuffix"
)

// Rules list the hosts that may be reached. A pattern is a domain ("example.com", that host
// alone), all hosts below one ("*.example.com"), or an address ("192.0.2.1",
// "[2001:db8::1]"), and may end in a port (":443"); without one it is for every port. The
// zero Rules allow nothing.
type Rules struct {
	Allow []string
	Deny  []string // counts before Allow
	// AnyDomain allows all names that lead to public addresses, unless they are denied.
	// Addresses must be in Allow all the same: a denied name could be reached by its own.
	AnyDomain bool
	// Private allows names to lead to loopback and private networks. Addresses in
	// Allow, and localhost, may be such without it.
	Private bool
}

// A Denial says why a connection was refused.
type Denial struct {
	Host   string // in its one form, as far as it has one
	Port   int
	Why    string // as in "it is not in network.allowedDomains"
	Remedy string // what the user can do, "" if there is nothing
}

func (d *Denial) Error() string {
	text := fmt.Sprintf("the sandbox does not let commands reach %s: %s", d.target(), d.Why)
	if d.Remedy != "" {
		text += "; " + d.Remedy
	}
	return text
}

func (d *Denial) target() string {
	host := d.Host
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	return host + ":" + strconv.Itoa(d.Port)
}

// pattern is a pattern taken apart.
type pattern struct {
	source string
	host   string // in its one form, without "*."
	below  bool   // all hosts below it
	port   int    // 0: every port
}

func (p pattern) matches(host string, port int) bool {
	if p.port != 0 && p.port != port {
		return false
	}
	if p.below {
		return p.host == "" || strings.HasSuffix(host, "."+p.host)
	}
	return p.host == host
}

// Check reports the first pattern that cannot be read, or allows too much.
func (r Rules) Check() error {
	_, err := r.compile()
	return err
}

// compiled are Rules whose patterns are taken apart.
type compiled struct {
	allow, deny        []pattern
	anyDomain, private bool
}

func (r Rules) compile() (compiled, error) {
	c := compiled{anyDomain: r.AnyDomain, private: r.Private}
	for _, s := range r.Allow {
		p, err := parsePattern(s)
		if err == nil {
			err = p.narrow()
		}
		if err != nil {
			return compiled{}, fmt.Errorf("%.100q %w", s, err)
		}
		c.allow = append(c.allow, p)
	}
	for _, s := range r.Deny {
		p, err := parsePattern(s)
		if err != nil {
			return compiled{}, fmt.Errorf("%.100q %w", s, err)
		}
		c.deny = append(c.deny, p)
	}
	return c, nil
}

// Loopback returns the services on the host's own loopback that are allowed by name or
// address with a port, each as host:port, and whether every port of it is allowed. The list
// may hold denied services: a connection is judged when it is made.
func (r Rules) Loopback() (targets []string, every bool) {
	for _, s := range r.Allow {
		p, err := parsePattern(s)
		if err != nil || p.below || !loopback(p.host) {
			continue
		}
		if p.port == 0 {
			every = true
		} else {
			targets = append(targets, net.JoinHostPort(p.host, strconv.Itoa(p.port)))
		}
	}
	return targets, every
}

func loopback(host string) bool {
	addr, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && addr.IsLoopback()
}

var errNoHost = errors.New(`is neither a domain such as example.com or *.example.com nor an address`)

func parsePattern(s string) (pattern, error) {
	p := pattern{source: s}
	s = strings.TrimSpace(s)
	if strings.Contains(s, "/") {
		return p, errors.New("holds a slash; write the host alone, such as example.com")
	}
	host := s
	if addr, err := netip.ParseAddr(s); err != nil || !addr.Is6() {
		if h, port, ok := cutPort(s); ok {
			n, err := strconv.ParseUint(port, 10, 16)
			if err != nil || n == 0 {
				return p, fmt.Errorf("has no port from 1 to 65535 after the colon")
			}
			host, p.port = h, int(n)
		}
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	if host == "*" {
		p.below = true
		return p, nil
	}
	if rest, ok := strings.CutPrefix(host, "*."); ok {
		host, p.below = rest, true
	}
	name, err := web.HostName(host)
	if err != nil || strings.Contains(name, "*") {
		return p, errNoHost
	}
	if _, err := netip.ParseAddr(name); err == nil && p.below {
		return p, errNoHost
	}
	p.host = name
	return p, nil
}

// cutPort splits off the part after the last colon, unless that is in brackets.
func cutPort(s string) (host, port string, ok bool) {
	i := strings.LastIndexByte(s, ':')
	if i < 0 || strings.Contains(s[i:], "]") {
		return s, "", false
	}
	return s[:i], s[i+1:], true
}

// narrow refuses patterns for hosts that have no owner in common.
func (p pattern) narrow() error {
	if !p.below {
		return nil
	}
	if p.host == "" {
		return errors.New("would allow every host; name domains, or set network.allowAnyDomain to reach all public ones")
	}
	if suffix, icann := publicsuffix.PublicSuffix(p.host); suffix == p.host && (icann || !strings.Contains(p.host, ".")) {
		return fmt.Errorf("would allow every host below %s; name the domains", p.host)
	}
	return nil
}

// allows returns whether private addresses are allowed to be the target's, or a
// [*Denial]. host is in its one form.
func (c compiled) allows(host string, port int) (private bool, err error) {
	deny := func(why, remedy string) (bool, error) {
		return false, &Denial{Host: host, Port: port, Why: why, Remedy: remedy}
	}
	if i := slices.IndexFunc(c.deny, func(p pattern) bool { return p.matches(host, port) }); i >= 0 {
		return deny(fmt.Sprintf("%s in network.deniedDomains denies it", c.deny[i].source), "")
	}
	_, err = netip.ParseAddr(host)
	literal := err == nil
	if i := slices.IndexFunc(c.allow, func(p pattern) bool { return p.matches(host, port) }); i >= 0 {
		return c.private || literal || host == "localhost", nil
	}
	if c.anyDomain && !literal {
		return c.private, nil
	}
	return deny("it is not in network.allowedDomains", fmt.Sprintf("the user can add %q there", host))
}
