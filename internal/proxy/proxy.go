package proxy

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/openagent-go/agent/internal/connlimit"
)

const (
	maxConns      = 256              // at a time; a new one takes the place of the oldest without a target
	maxHeader     = 64 << 10         // bytes of a request's head
	handshake     = 30 * time.Second // for the bytes before the target
	idle          = 5 * time.Minute  // for a connection on which nothing moves
	maxDenials    = 100              // that are remembered
	bufferedBytes = 32 << 10         // of a tunnel, each way
)

// A Resolver looks names up, as [net.Resolver] does.
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// A Config holds the rules of a proxy and the place where it listens.
type Config struct {
	Rules    Rules
	Resolver Resolver     // nil: [net.DefaultResolver]
	Denied   func(Denial) // called for each target that is refused, once; may be nil
}

// A Proxy runs until it is closed.
type Proxy struct {
	config  Config
	rules   compiled
	folder  string
	socket  net.Listener
	server  *http.Server
	forward http.Handler
	http    queue
	running sync.WaitGroup
	life    context.Context
	end     context.CancelFunc

	mu    sync.Mutex
	open  map[*client]bool
	noted map[Denial]bool
}

// Start starts a proxy. Its socket is in a folder that no other user can enter.
func Start(c Config) (*Proxy, error) {
	rules, err := c.Rules.compile()
	if err != nil {
		return nil, err
	}
	if c.Resolver == nil {
		c.Resolver = net.DefaultResolver
	}
	p := &Proxy{config: c, rules: rules,
		open: map[*client]bool{}, noted: map[Denial]bool{}}
	p.life, p.end = context.WithCancel(context.Background())
	p.http = queue{conns: make(chan net.Conn), done: p.life.Done()}
	if err := p.listen(); err != nil {
		p.end()
		return nil, fmt.Errorf("starting the proxy of the sandbox: %w", errors.Join(err, p.remove()))
	}
	p.forward = p.forwarder()
	p.server = &http.Server{Handler: http.HandlerFunc(p.serve), MaxHeaderBytes: maxHeader, ReadHeaderTimeout: handshake, IdleTimeout: idle,
		ErrorLog: quiet, BaseContext: func(net.Listener) context.Context { return p.life }, ConnContext: withClient, ConnState: waitWhenIdle}
	p.running.Go(func() { _ = p.server.Serve(&p.http) })
	p.running.Go(p.accept)
	return p, nil
}

func (p *Proxy) listen() (err error) {
	if p.folder, err = os.MkdirTemp("", "openagent-proxy-"); err != nil {
		return err
	}
	l, err := net.Listen("unix", filepath.Join(p.folder, "s"))
	if err == nil {
		p.socket = connlimit.New(l, maxConns)
	}
	return err
}

func (p *Proxy) remove() error {
	var errs []error
	if p.socket != nil {
		if err := p.socket.Close(); !errors.Is(err, net.ErrClosed) {
			errs = append(errs, err)
		}
	}
	if p.folder != "" {
		errs = append(errs, os.RemoveAll(p.folder))
	}
	return errors.Join(errs...)
}

// Socket is the path of the UNIX socket. HTTP and SOCKS5 are both spoken there.
func (p *Proxy) Socket() string { return p.folder + string(filepath.Separator) + "s" }

// Close ends all connections and waits for them. A second Close changes nothing.
func (p *Proxy) Close() error {
	p.end()
	err := p.remove()
	_ = p.server.Close()
	p.mu.Lock()
	open := slices.Collect(maps.Keys(p.open))
	p.mu.Unlock()
	for _, c := range open {
		c.Close()
	}
	p.running.Wait()
	return err
}

// Denials lists the targets that were refused, each once, in no order and
// at most a hundred.
func (p *Proxy) Denials() []Denial {
	p.mu.Lock()
	defer p.mu.Unlock()
	var list []Denial
	for d := range p.noted {
		list = append(list, d)
	}
	return list
}

func (p *Proxy) note(d Denial) {
	p.mu.Lock()
	known := p.noted[d] || len(p.noted) >= maxDenials
	if !known {
		p.noted[d] = true
	}
	p.mu.Unlock()
	if !known && p.config.Denied != nil {
		p.config.Denied(d)
	}
}

// accept takes connections until the proxy is closed.
func (p *Proxy) accept() {
	for {
		c, err := p.socket.Accept()
		if err != nil {
			if p.life.Err() != nil {
				return
			}
			select { // too many open files, which may pass
			case <-time.After(100 * time.Millisecond):
				continue
			case <-p.life.Done():
				return
			}
		}
		t := &client{Conn: c.(*connlimit.Conn), in: bufio.NewReader(c), proxy: p, gone: make(chan struct{})}
		p.mu.Lock()
		p.open[t] = true
		p.mu.Unlock()
		if p.life.Err() != nil { // Close may not have seen it
			t.Close()
			return
		}
		p.running.Go(func() { p.greet(t) })
	}
}

// greet hands a connection to who speaks its protocol, by the first byte.
func (p *Proxy) greet(c *client) {
	_ = c.SetDeadline(time.Now().Add(handshake))
	first, err := c.in.Peek(1)
	if err != nil {
		c.Close()
		return
	}
	if first[0] == socksVersion {
		p.socks(c)
		c.Close()
		return
	}
	_ = c.SetDeadline(time.Time{})
	if !p.http.put(c) {
		c.Close()
	}
	<-c.gone
	c.busy.Wait()
}

// client is a connection from the sandbox.
type client struct {
	*connlimit.Conn
	in     *bufio.Reader
	proxy  *Proxy
	closed sync.Once
	gone   chan struct{}  // closed: it is
	busy   sync.WaitGroup // requests that are being answered
}

func (c *client) Read(b []byte) (int, error) { return c.in.Read(b) }

func (c *client) Close() (err error) {
	c.closed.Do(func() {
		err = c.Conn.Close()
		c.proxy.mu.Lock()
		delete(c.proxy.open, c)
		c.proxy.mu.Unlock()
		close(c.gone)
	})
	return err
}

func closeWrite(c net.Conn) error {
	if w, ok := c.(interface{ CloseWrite() error }); ok {
		return w.CloseWrite()
	}
	return c.Close()
}

// queue is a listener whose connections were accepted elsewhere.
type queue struct {
	conns chan net.Conn
	done  <-chan struct{}
}

func (q *queue) put(c net.Conn) bool {
	select {
	case q.conns <- c:
		return true
	case <-q.done:
		return false
	}
}

func (q *queue) Accept() (net.Conn, error) {
	select {
	case c := <-q.conns:
		return c, nil
	case <-q.done:
		return nil, net.ErrClosed
	}
}

func (q *queue) Close() error   { return nil }
func (q *queue) Addr() net.Addr { return &net.UnixAddr{Name: "proxy", Net: "unix"} }

// tunnel copies both ways until both have ended, nothing moves for a while, or
// the proxy is closed.
func (p *Proxy) tunnel(a, b net.Conn) {
	stop := context.AfterFunc(p.life, func() { a.Close(); b.Close() })
	defer stop()
	var back sync.WaitGroup
	back.Go(func() { pass(a, b) })
	pass(b, a)
	back.Wait()
	b.Close()
}

// pass copies data from one side to the other.
func pass(to, from net.Conn) {
	buffer := make([]byte, bufferedBytes)
	for {
		limit := time.Now().Add(idle)
		_ = from.SetReadDeadline(limit)
		n, err := from.Read(buffer)
		if n > 0 {
			_ = to.SetWriteDeadline(limit)
			// The other direction may be silent for long while this one is not.
			_ = to.SetReadDeadline(limit)
			if _, err := to.Write(buffer[:n]); err != nil {
				from.Close()
				to.Close()
				return
			}
		}
		switch {
		case err == io.EOF:
			_ = closeWrite(to)
			return
		case err != nil:
			from.Close()
			to.Close()
			return
		}
	}
}
