// Package web is the base of the tools for the web: requests that cannot reach private
// networks, HTML as Markdown, and a cache of pages.
package web

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"syscall"
	"time"
	"unicode"

	"golang.org/x/net/idna"
)

// A Guard keeps requests that a model asks for away from addresses that are not
// public. The zero Guard lets through public addresses only.
type Guard struct {
	// Private also allows loopback and private networks. Metadata services of clouds, and
	// link-local, multicast and reserved addresses, stay out of reach.
	Private bool
	// Resolver looks names up. Nil: [net.DefaultResolver].
	Resolver *net.Resolver
}

// A RefusedError says that a request was not made because of where it leads.
type RefusedError struct {
	Host    string     // as it was asked for
	Addr    netip.Addr // the resolved address; not valid if the name itself was refused
	Why     string     // as in "is a loopback address"
	Private bool       // Guard.Private would let it through
}

func (e *RefusedError) Error() string {
	host := e.Host
	if e.Addr.IsValid() && e.Addr.String() != host {
		host = fmt.Sprintf("%s (%s)", e.Host, e.Addr)
	}
	return fmt.Sprintf("%s may not be reached: it %s", host, e.Why)
}

// Special-purpose addresses by the registries of IANA (RFC 6890 and later).
var special = []struct {
	prefix  netip.Prefix
	why     string
	private bool
}{
	{netip.MustParsePrefix("169.254.169.254/32"), "is the metadata service of a cloud", false},
	{netip.MustParsePrefix("169.254.170.2/32"), "is the metadata service of a cloud", false},
	{netip.MustParsePrefix("100.100.100.200/32"), "is the metadata service of a cloud", false},
	{netip.MustParsePrefix("192.0.0.192/32"), "is the metadata service of a cloud", false},
	{netip.MustParsePrefix("168.63.129.16/32"), "is the metadata service of a cloud", false},
	{netip.MustParsePrefix("fd00:ec2::254/128"), "is the metadata service of a cloud", false},
	{netip.MustParsePrefix("fd20:ce::254/128"), "is the metadata service of a cloud", false},
	{netip.MustParsePrefix("0.0.0.0/8"), "is an unspecified address", false},
	{netip.MustParsePrefix("::/128"), "is an unspecified address", false},
	{netip.MustParsePrefix("127.0.0.0/8"), "is a loopback address", true},
	{netip.MustParsePrefix("::1/128"), "is a loopback address", true},
	{netip.MustParsePrefix("10.0.0.0/8"), "is in a private network", true},
	{netip.MustParsePrefix("172.16.0.0/12"), "is in a private network", true},
	{netip.MustParsePrefix("192.168.0.0/16"), "is in a private network", true},
	{netip.MustParsePrefix("100.64.0.0/10"), "is in a private network", true},
	{netip.MustParsePrefix("198.18.0.0/15"), "is in a private network", true}, // some proxies also return it
	{netip.MustParsePrefix("fc00::/7"), "is in a private network", true},
	{netip.MustParsePrefix("169.254.0.0/16"), "is a link-local address", false},
	{netip.MustParsePrefix("fe80::/10"), "is a link-local address", false},
	{netip.MustParsePrefix("fec0::/10"), "is a link-local address", false},
	{netip.MustParsePrefix("224.0.0.0/4"), "is a multicast address", false},
	{netip.MustParsePrefix("ff00::/8"), "is a multicast address", false},
	{netip.MustParsePrefix("192.0.0.0/24"), "is a reserved address", false},
	{netip.MustParsePrefix("192.0.2.0/24"), "is a reserved address", false},
	{netip.MustParsePrefix("192.88.99.0/24"), "is a reserved address", false},
	{netip.MustParsePrefix("198.51.100.0/24"), "is a reserved address", false},
	{netip.MustParsePrefix("203.0.113.0/24"), "is a reserved address", false},
	{netip.MustParsePrefix("240.0.0.0/4"), "is a reserved address", false},
	{netip.MustParsePrefix("2001::/23"), "is a reserved address", false}, // Teredo among them
	{netip.MustParsePrefix("2001:db8::/32"), "is a reserved address", false},
	{netip.MustParsePrefix("2002::/16"), "is a reserved address", false}, // 6to4 holds any IPv4 address
	{netip.MustParsePrefix("3fff::/20"), "is a reserved address", false},
}

var (
	global = netip.MustParsePrefix("2000::/3")
	nat64  = netip.MustParsePrefix("64:ff9b::/96")
)

// Check returns a [*RefusedError] if the guard does not let requests reach addr.
func (g *Guard) Check(host string, addr netip.Addr) error {
	refuse := func(why string, private bool) error {
		return &RefusedError{Host: host, Addr: addr, Why: why, Private: private}
	}
	ip := addr.Unmap()
	if ip.Zone() != "" {
		return refuse("is an address of one link", false)
	}
	if nat64.Contains(ip) {
		b := ip.As16()
		ip = netip.AddrFrom4([4]byte(b[12:]))
	}
	for _, s := range special {
		if s.prefix.Contains(ip) {
			if g.Private && s.private {
				return nil
			}
			return refuse(s.why, s.private)
		}
	}
	if !ip.Is4() && !global.Contains(ip) {
		return refuse("is a reserved address", false)
	}
	return nil
}

// Judge returns a [*RefusedError] if host, a name or an address, leads to an address that
// the guard refuses. Use it for requests that others make: a proxy, or a transport of
// another package. A name that cannot be looked up here passes unless it is one of a local
// network, because behind a proxy that is the normal case.
func (g *Guard) Judge(ctx context.Context, host string) error {
	if addr, err := netip.ParseAddr(host); err == nil {
		return g.Check(host, addr)
	}
	name := strings.TrimSuffix(strings.ToLower(host), ".")
	if !g.Private && (local(name) || !strings.Contains(name, ".")) {
		return &RefusedError{Host: host, Why: "is a name of a local network", Private: true}
	}
	if err := ctx.Err(); err != nil {
		return err // a quick answer would pass
	}
	resolver := g.Resolver
	if resolver == nil {
		resolver = net.DefaultResolver
	}
	addrs, err := resolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return ctx.Err()
	}
	for _, addr := range addrs {
		if err := g.Check(host, addr); err != nil {
			return err
		}
	}
	return nil
}

// local reports whether a name belongs to a local network (RFC 6761, 6762, 8375, 9476
// and the private zones of clouds).
func local(name string) bool {
	for _, zone := range []string{"localhost", "local", "internal", "intranet", "lan", "home.arpa", "localdomain"} {
		if name == zone || strings.HasSuffix(name, "."+zone) {
			return true
		}
	}
	return false
}

// Transport returns a transport that makes only requests that the guard lets
// through. Addresses are judged when a connection is made, after the name was
// looked up, so that a name cannot lead elsewhere the second time. Of base, nil
// for the default, a [*http.Transport] keeps proxy, TLS and protocol settings
// but not its dial functions; another transport is asked as it is, and each
// request's host is judged before, as it is for requests that go through a proxy.
func (g *Guard) Transport(base http.RoundTripper) http.RoundTripper {
	if base == nil {
		base = http.DefaultTransport
	}
	shared, ok := base.(*http.Transport)
	if !ok {
		return judged{g, base}
	}
	direct := shared.Clone()
	direct.Proxy = nil
	//lint:ignore SA1019 what is deprecated would still go around the guard
	direct.Dial, direct.DialTLS, direct.DialTLSContext = nil, nil, nil
	dialer := &net.Dialer{Timeout: dialTime, Resolver: g.Resolver, ControlContext: g.control}
	direct.DialContext = dialer.DialContext
	direct.DisableKeepAlives = true // there are many hosts, and nothing closes idle connections
	direct.MaxResponseHeaderBytes = maxHeader
	if shared.Proxy == nil {
		return direct
	}
	proxied := shared.Clone()
	proxied.DisableKeepAlives = true
	proxied.MaxResponseHeaderBytes = maxHeader
	return &split{proxy: shared.Proxy, direct: direct, proxied: judged{g, proxied}}
}

const (
	dialTime  = 20 * time.Second
	maxHeader = 256 << 10 // bytes
)

// control is called with the address that a connection is about to be made to.
func (g *Guard) control(_ context.Context, network, address string, _ syscall.RawConn) error {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Errorf("checking the address %s: %w", address, err)
	}
	addr, err := netip.ParseAddr(host)
	if err != nil {
		return fmt.Errorf("checking the address %s: %w", address, err)
	}
	return g.Check(host, addr)
}

// judged asks the guard about the host of each request before it is made.
type judged struct {
	guard *Guard
	base  http.RoundTripper
}

func (j judged) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := j.guard.Judge(r.Context(), r.URL.Hostname()); err != nil {
		return nil, err
	}
	return j.base.RoundTrip(r)
}

// split sends requests through a proxy where there is one for them.
type split struct {
	proxy   func(*http.Request) (*url.URL, error)
	direct  http.RoundTripper
	proxied http.RoundTripper
}

func (s *split) RoundTrip(r *http.Request) (*http.Response, error) {
	through, err := s.proxy(r)
	if err != nil {
		return nil, errors.New("reading the proxy settings: a proxy's address is not valid")
	}
	if through == nil {
		return s.direct.RoundTrip(r)
	}
	return s.proxied.RoundTrip(r)
}

// maxURL is the length in bytes of the longest address that is fetched.
const maxURL = 8 << 10

// Parse reads the address of a page: http or https, a host name or an address in
// its usual form, no user and password. The host of the URL returned is in lower
// case and ASCII (IDNA), and it has no fragment.
func Parse(address string) (*url.URL, error) {
	address = strings.TrimSpace(address)
	if len(address) > maxURL {
		return nil, fmt.Errorf("the URL is longer than %d bytes", maxURL)
	}
	u, err := url.Parse(address)
	if err != nil {
		return nil, errors.New("the URL cannot be read")
	}
	return Normal(u)
}

// Normal is [Parse] for a URL that has been read already.
func Normal(u *url.URL) (*url.URL, error) {
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, errors.New("the URL must begin with https:// or http://")
	case u.User != nil:
		return nil, errors.New("the URL has a user name or password in it, which is not sent")
	case u.Hostname() == "":
		return nil, errors.New("the URL has no host")
	}
	host, err := HostName(u.Hostname())
	if err != nil {
		return nil, err
	}
	out := *u
	out.Fragment, out.RawFragment = "", ""
	out.Host = host
	if strings.Contains(host, ":") {
		out.Host = "[" + host + "]"
	}
	if port := u.Port(); port != "" && port != defaultPort(u.Scheme) {
		out.Host += ":" + port
	}
	if out.Path == "" {
		out.Path = "/"
	}
	return &out, nil
}

func defaultPort(scheme string) string {
	if scheme == "https" {
		return "443"
	}
	return "80"
}

// HostName returns a host, a name or an address without brackets, in its one form:
// ASCII (IDNA), lower case, no dot at the end. Forms of IPv4 addresses that only
// some resolvers read (2130706433, 0x7f.1, 0177.0.0.1) are refused.
func HostName(host string) (string, error) {
	if addr, err := netip.ParseAddr(host); err == nil {
		if addr.Zone() != "" {
			return "", errors.New("the host of the URL is an address with a zone, which is valid on one link only")
		}
		return addr.String(), nil
	}
	host = strings.TrimSuffix(host, ".")
	if strings.IndexFunc(host, func(r rune) bool { return r > unicode.MaxASCII }) >= 0 {
		ascii, err := idna.Lookup.ToASCII(host)
		if err != nil {
			return "", errNoHost
		}
		host = ascii
	}
	host = strings.ToLower(host)
	if host == "" || strings.ContainsFunc(host, odd) || strings.Contains(host, "..") {
		return "", errNoHost
	}
	if numeric(host[strings.LastIndexByte(host, '.')+1:]) {
		return "", errors.New("the host of the URL is a number that is not an IP address in its usual form")
	}
	return host, nil
}

// odd reports whether host names do not have a character.
func odd(r rune) bool {
	return !(r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-' || r == '_' || r == '.')
}

var errNoHost = errors.New("the host of the URL is not a host name")

// numeric reports whether a label makes a host name an IPv4 address (WHATWG URL,
// "ends in a number").
func numeric(label string) bool {
	digits, set := label, "0123456789"
	if hex, ok := strings.CutPrefix(label, "0x"); ok {
		digits, set = hex, "0123456789abcdef"
	}
	return strings.Trim(digits, set) == ""
}
