// Package faultserver is an HTTP server that misbehaves as networks, proxies and
// providers do, byte by byte: it writes to the bare connection, over TCP or in
// memory. It serves tests.
package faultserver

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"strings"
	"sync"
	"testing"
	"time"
)

// A Fault describes the failure of one request. Each gets its own connection. The zero
// Fault closes the connection without an answer.
type Fault struct {
	// Wire is the whole answer, with the status line. Spoil instead makes it of the reply
	// of the server's backend.
	Wire  []byte
	Spoil func(reply []byte) []byte

	Early bool          // do not wait for the request
	Delay time.Duration // before anything is sent
	Piece int           // bytes at a time; 0: all at once
	Pause time.Duration // before each piece but the first
	End   End
	After <-chan struct{} // the end waits for it; nil: no wait
}

// An End is how a connection ends when all is sent.
type End int

const (
	Close End = iota // in order, with a FIN
	Reset            // with a RST, where it is TCP
	Hang             // never, until the client leaves
)

// Fine is the reply of the backend as it is.
func Fine(reply []byte) []byte { return reply }

// A Plan returns the fault of the nth connection, from 0.
type Plan func(n int) Fault

// First is the plan that all goes as the backend has it after these faults.
func First(faults ...Fault) Plan {
	return func(n int) Fault {
		if n < len(faults) {
			return faults[n]
		}
		return Fault{Spoil: Fine}
	}
}

// A Server plays a plan.
type Server struct {
	URL string

	plan      Plan
	backend   http.RoundTripper
	listener  net.Listener // nil in memory
	transport *http.Transport
	ctx       context.Context // ends with the server
	cancel    context.CancelFunc
	running   sync.WaitGroup

	mu       sync.Mutex
	n        int
	requests [][]byte
	closed   bool
}

// Start listens on loopback until the test ends. The backend answers the
// requests whose fault has a Spoil; without one, Wire does.
func Start(t testing.TB, plan Plan, backend http.RoundTripper) *Server {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := newServer(t, plan, backend)
	s.listener, s.URL = l, "http://"+l.Addr().String()
	s.running.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			s.running.Go(func() { s.serve(c) })
		}
	})
	return s
}

// Pipe is like Start for a server in memory, for testing/synctest. Only its
// Client reaches it.
func Pipe(t testing.TB, plan Plan, backend http.RoundTripper) *Server {
	t.Helper()
	s := newServer(t, plan, backend)
	s.URL = "http://faults.test"
	s.transport.DialContext = func(context.Context, string, string) (net.Conn, error) {
		here, there := net.Pipe()
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.closed {
			return nil, net.ErrClosed
		}
		s.running.Go(func() { s.serve(there) })
		return here, nil
	}
	return s
}

func newServer(t testing.TB, plan Plan, backend http.RoundTripper) *Server {
	s := &Server{plan: plan, backend: backend, transport: &http.Transport{}}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	t.Cleanup(s.Close)
	return s
}

// Client returns a client of which nothing is left after Close.
func (s *Server) Client() *http.Client { return &http.Client{Transport: s.transport} }

// Close ends all connections and waits until no goroutine of the server runs.
func (s *Server) Close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	if s.listener != nil {
		s.listener.Close()
	}
	s.cancel()
	s.transport.CloseIdleConnections()
	s.running.Wait()
}

// Requests returns the bodies of the requests so far.
func (s *Server) Requests() [][]byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([][]byte(nil), s.requests...)
}

// Connections returns how many connections there were.
func (s *Server) Connections() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.n
}

func (s *Server) next() Fault {
	s.mu.Lock()
	n := s.n
	s.n++
	s.mu.Unlock()
	return s.plan(n)
}

// serve plays a fault on a connection. Failures to send are ignored: the client may have
// left.
func (s *Server) serve(c net.Conn) {
	defer c.Close()
	ctx, cancel := context.WithCancel(s.ctx)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { c.Close() })
	defer stop()
	f := s.next()
	r := bufio.NewReader(c)
	if !f.Early {
		wire, err := s.receive(ctx, r, f)
		if err != nil {
			return
		}
		f.Wire = wire
	}
	s.running.Go(func() { // the client leaves, or sends data that is not read
		io.Copy(io.Discard, r)
		cancel()
	})
	if f.send(ctx, c) != nil {
		return
	}
	if f.After != nil {
		select {
		case <-f.After:
		case <-ctx.Done():
		}
	}
	switch f.End {
	case Reset:
		if tcp, ok := c.(*net.TCPConn); ok {
			tcp.SetLinger(0)
		}
	case Hang:
		<-ctx.Done()
	}
}

// receive reads a request and returns the answer.
func (s *Server) receive(ctx context.Context, r *bufio.Reader, f Fault) ([]byte, error) {
	req, err := http.ReadRequest(r)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	s.requests = append(s.requests, body)
	s.mu.Unlock()
	if f.Spoil == nil || s.backend == nil {
		return f.Wire, nil
	}
	out, err := http.NewRequestWithContext(ctx, req.Method, s.URL+req.URL.Path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	out.Header = req.Header
	resp, err := s.backend.RoundTrip(out)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	resp.Header.Set("Connection", "close")
	var wire bytes.Buffer
	if err := resp.Write(&wire); err != nil {
		return nil, err
	}
	return f.Spoil(wire.Bytes()), nil
}

func (f Fault) send(ctx context.Context, c net.Conn) error {
	if err := sleep(ctx, f.Delay); err != nil {
		return err
	}
	for rest := f.Wire; len(rest) > 0; {
		n := len(rest)
		if f.Piece > 0 {
			n = min(n, f.Piece)
		}
		if _, err := c.Write(rest[:n]); err != nil {
			return err
		}
		if rest = rest[n:]; len(rest) > 0 {
			if err := sleep(ctx, f.Pause); err != nil {
				return err
			}
		}
	}
	return nil
}

func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Whole is a reply whose end is the end of the connection, which tells a client
// nothing about whether it is complete. Header are lines without line ends.
func Whole(status, contentType, body string, header ...string) []byte {
	return []byte(head(status, contentType, append(header, "Connection: close")) + body)
}

// Chunked is a reply in chunks, one for each of the pieces that sep ends.
func Chunked(status, contentType, body, sep string, header ...string) []byte {
	var b strings.Builder
	b.WriteString(head(status, contentType, append(header, "Connection: close", "Transfer-Encoding: chunked")))
	w := httputil.NewChunkedWriter(&b)
	for _, piece := range strings.SplitAfter(body, sep) {
		io.WriteString(w, piece)
	}
	w.Close()
	return []byte(b.String() + "\r\n")
}

func head(status, contentType string, header []string) string {
	return "HTTP/1.1 " + status + "\r\nContent-Type: " + contentType + "\r\n" + strings.Join(header, "\r\n") + "\r\n\r\n"
}
