// Package connlimit bounds the connections of a server without letting silent ones
// keep others out: at the limit, a new connection takes the place of the oldest one
// that has not shown who sends it.
//
//	l := connlimit.New(listener, 256)
//	err := l.Server(&http.Server{Handler: h}).Serve(l)
//
// The handler calls [Admit] once it trusts the sender of a request.
package connlimit

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/netip"
	"sync"
)

// A Listener has a limited number of connections open at a time.
type Listener struct {
	net.Listener
	max int

	mu     sync.Mutex // guards the fields below and the fields of its connections
	change sync.Cond  // a connection ended or waits again, or the listener is closed
	open   map[*Conn]bool
	count  uint64 // how often a connection began to wait
	closed bool
}

// New limits l to max connections. The limit is at least 1.
func New(l net.Listener, max int) *Listener {
	limited := &Listener{Listener: l, max: max, open: map[*Conn]bool{}}
	limited.change.L = &limited.mu
	return limited
}

// Server prepares s to serve the listener, and returns it.
func (l *Listener) Server(s *http.Server) *http.Server {
	s.ConnContext = func(ctx context.Context, c net.Conn) context.Context { return context.WithValue(ctx, key{}, c) }
	s.ConnState = func(c net.Conn, state http.ConnState) {
		if limited, ok := plain(c).(*Conn); ok && state == http.StateIdle { // its answer is sent
			limited.Wait()
		}
	}
	return s
}

type key struct{}

// Admit keeps the connection of a request open until the request has its answer.
// Without a [Listener] it does nothing.
func Admit(ctx context.Context) {
	if c, ok := ctx.Value(key{}).(net.Conn); ok {
		if limited, ok := plain(c).(*Conn); ok {
			limited.Admit()
		}
	}
}

// plain returns the connection below one that encrypts.
func plain(c net.Conn) net.Conn {
	if t, ok := c.(*tls.Conn); ok {
		return t.NetConn()
	}
	return c
}

// Accept waits for a connection. At the limit it closes another one for it. If all
// others are admitted, it waits until one of them is not.
func (l *Listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	limited := &Conn{Conn: c, of: l, from: sender(c.RemoteAddr())}
	old, ok := l.add(limited)
	if old != nil {
		old.Conn.Close()
	}
	if !ok {
		c.Close()
		return nil, net.ErrClosed
	}
	return limited, nil
}

// add makes room for c and returns the connection that has to go for it. It returns
// false if the listener is closed.
func (l *Listener) add(c *Conn) (old *Conn, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for !l.closed && len(l.open) >= l.max {
		if old = l.oldest(); old != nil {
			delete(l.open, old)
			break
		}
		l.change.Wait()
	}
	if l.closed {
		return old, false
	}
	l.open[c] = true
	l.wait(c)
	return old, true
}

// oldest returns the connection that waits longest among those of the sender with
// the most of them, or nil if none waits. Connections that had an admitted request
// come last.
func (l *Listener) oldest() *Conn {
	waiting := map[netip.Prefix]int{}
	for c := range l.open {
		if !c.admitted {
			waiting[c.from]++
		}
	}
	before := func(a, b *Conn) bool {
		switch {
		case a.known != b.known:
			return b.known
		case waiting[a.from] != waiting[b.from]:
			return waiting[a.from] > waiting[b.from]
		}
		return a.since < b.since
	}
	var oldest *Conn
	for c := range l.open {
		if !c.admitted && (oldest == nil || before(c, oldest)) {
			oldest = c
		}
	}
	return oldest
}

func (l *Listener) wait(c *Conn) {
	l.count++
	c.admitted, c.since = false, l.count
	l.change.Signal()
}

// Close ends a waiting Accept. Connections stay open.
func (l *Listener) Close() error {
	l.mu.Lock()
	l.closed = true
	l.change.Broadcast()
	l.mu.Unlock()
	return l.Listener.Close()
}

// A Conn is a connection of a [Listener].
type Conn struct {
	net.Conn
	of       *Listener
	from     netip.Prefix
	admitted bool
	known    bool   // an earlier request was admitted
	since    uint64 // of.count when it began to wait
}

// Admit keeps the connection open until Wait.
func (c *Conn) Admit() {
	c.of.mu.Lock()
	c.admitted = true
	c.of.mu.Unlock()
}

// Wait lets newer connections take the place of this one. A connection that is not
// admitted becomes no younger by it.
func (c *Conn) Wait() {
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	if c.admitted {
		c.known = true
		c.of.wait(c)
	}
}

// Close closes the connection and gives its place away.
func (c *Conn) Close() error {
	c.of.mu.Lock()
	delete(c.of.open, c)
	c.of.change.Signal()
	c.of.mu.Unlock()
	return c.Conn.Close()
}

// CloseWrite ends the sending side, and closes connections that cannot do that alone.
func (c *Conn) CloseWrite() error {
	if w, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return w.CloseWrite()
	}
	return c.Close()
}

// sender is the network that one sender has to itself: an IPv4 address, or 64 bits
// of an IPv6 address. Senders without an IP address count as one.
func sender(a net.Addr) netip.Prefix {
	t, ok := a.(*net.TCPAddr)
	if !ok {
		return netip.Prefix{}
	}
	ip := t.AddrPort().Addr().Unmap().WithZone("")
	bits := ip.BitLen()
	if ip.Is6() {
		bits = 64
	}
	p, _ := ip.Prefix(bits) // bits are within the address
	return p
}
