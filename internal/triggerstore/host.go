package triggerstore

import (
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
)

// hosts returns the hosts that a request may have been signed for.
func (h *Handler) hosts(r *http.Request) []string {
	if len(h.Hosts) > 0 {
		return h.Hosts
	}
	addr, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if !ok {
		return nil
	}
	at, err := netip.ParseAddrPort(addr.String())
	if err != nil {
		return nil // no address that a URL can have
	}
	ip := at.Addr().Unmap().WithZone("")
	names := []string{ip.String()}
	if ip.Is6() {
		names[0] = "[" + names[0] + "]"
	}
	if ip.IsLoopback() {
		names = append(names, "localhost")
	}
	usual := uint16(80)
	if r.TLS != nil {
		usual = 443
	}
	if at.Port() != usual {
		for i := range names {
			names[i] += ":" + strconv.Itoa(int(at.Port()))
		}
	}
	return names
}

// signedFor reports whether p is the proof of m for one of the hosts; the rest
// of m is set. A request for another host than it was signed for is refused: who
// gets a request could send it on to others that have the same secret.
func (m message) signedFor(hosts []string, p proof, secrets []Secret) bool {
	ok := false
	for _, host := range hosts {
		m.host = strings.ToLower(host)
		if m.signed(p, secrets) {
			ok = true
		}
	}
	return ok
}
