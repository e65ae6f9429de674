package connlimit

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// serve serves h with a limit of max connections and returns its address.
func serve(t *testing.T, max int, h http.HandlerFunc) string {
	t.Helper()
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := New(inner, max)
	s := l.Server(&http.Server{Handler: h})
	served := make(chan error)
	go func() { served <- s.Serve(l) }()
	t.Cleanup(func() {
		s.Close()
		if err := <-served; !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	})
	return inner.Addr().String()
}

// dial opens a connection and sends text.
func dial(t *testing.T, address, text string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatal(err)
	}
	return c
}

func status(t *testing.T, c net.Conn) int {
	t.Helper()
	r, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	_, _ = io.Copy(io.Discard, r.Body)
	return r.StatusCode
}

const request = "GET / HTTP/1.1\r\nHost: x\r\n\r\n"

// Connections that never finish a request give their places away, the oldest first.
func TestSlowSenders(t *testing.T) {
	for name, slow := range map[string]string{
		"nothing":           "",
		"half a line":       "GE",
		"half the headers":  "POST / HTTP/1.1\r\nHost: x\r\nX-A: ",
		"half the body":     "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nab",
		"half a chunk":      "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab",
		"no body yet":       "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\nExpect: 100-continue\r\n\r\n",
		"after an answer":   request,
		"unknown requests":  request + request + request,
		"what is no HTTP":   "\x16\x03\x01\x02\x00\x01",
		"a refused request": "GET /refused HTTP/1.1\r\nHost: x\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			const max = 4
			address := serve(t, max, func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/refused" {
					w.WriteHeader(http.StatusUnauthorized)
					return
				}
				if _, err := io.Copy(io.Discard, r.Body); err == nil && r.Header.Get("Signed") != "" {
					Admit(r.Context())
				}
			})
			var held []net.Conn
			for range 5 * max {
				held = append(held, dial(t, address, slow))
			}
			if got := status(t, dial(t, address, "GET / HTTP/1.1\r\nHost: x\r\nSigned: y\r\n\r\n")); got != http.StatusOK {
				t.Errorf("an honest request got %d", got)
			}
			for _, c := range held[:4*max] { // they are closed, or this never ends
				_, _ = io.Copy(io.Discard, c)
			}
		})
	}
}

// An admitted request keeps its connection until it has its answer. New connections
// take the places of others, or wait.
func TestAdmitted(t *testing.T) {
	admitted, release := make(chan bool), make(chan bool)
	address := serve(t, 2, func(w http.ResponseWriter, r *http.Request) {
		Admit(r.Context())
		admitted <- true
		<-release
	})
	first := dial(t, address, request)
	<-admitted
	silent := dial(t, address, "")
	second := dial(t, address, request)
	<-admitted
	if _, err := io.Copy(io.Discard, silent); err != nil && !errors.Is(err, net.ErrClosed) {
		t.Log(err) // a reset is an end too
	}
	third := dial(t, address, request) // there is no place for it
	release <- true
	release <- true
	for _, c := range []net.Conn{first, second} {
		if got := status(t, c); got != http.StatusOK {
			t.Errorf("an admitted request got %d", got)
		}
	}
	<-admitted // its place is that of a connection without a request
	release <- true
	if got := status(t, third); got != http.StatusOK {
		t.Errorf("a request that waited got %d", got)
	}
}

// A connection that had an admitted request and waits for the next one is not lost to
// silent ones.
func TestKnown(t *testing.T) {
	address := serve(t, 2, func(_ http.ResponseWriter, r *http.Request) { Admit(r.Context()) })
	c := dial(t, address, request)
	if got := status(t, c); got != http.StatusOK {
		t.Fatal(got)
	}
	for range 10 {
		dial(t, address, "")
	}
	status(t, dial(t, address, request)) // all are accepted
	if _, err := io.WriteString(c, request); err != nil {
		t.Fatal(err)
	}
	if got := status(t, c); got != http.StatusOK {
		t.Errorf("the next request got %d", got)
	}
}

// fake is a listener of connections from given addresses.
type fake chan net.Conn

func (f fake) Accept() (net.Conn, error) {
	c, ok := <-f
	if !ok {
		return nil, net.ErrClosed
	}
	return c, nil
}
func (f fake) Close() error   { return nil }
func (f fake) Addr() net.Addr { return &net.TCPAddr{} }

type from struct {
	net.Conn
	addr net.Addr
}

func (c from) RemoteAddr() net.Addr { return c.addr }

// The sender with the most connections loses one, even if another one waits longer.
func TestSenders(t *testing.T) {
	for name, of := range map[string]func(i int) string{
		"IPv4":   func(int) string { return "192.0.2.1" },
		"mapped": func(i int) string { return []string{"192.0.2.1", "::ffff:192.0.2.1"}[i%2] },
		"IPv6":   func(i int) string { return fmt.Sprintf("2001:db8::%x:%x", i+1, i+7) },
	} {
		t.Run(name, func(t *testing.T) {
			inner := make(fake, 10)
			l := New(inner, 4)
			accept := func(ip string) net.Conn {
				near, far := net.Pipe()
				t.Cleanup(func() { near.Close(); far.Close() })
				inner <- from{near, &net.TCPAddr{IP: net.ParseIP(ip)}}
				if _, err := l.Accept(); err != nil {
					t.Fatal(err)
				}
				return far
			}
			other := accept("198.51.100.1")
			var many []net.Conn
			for i := range 6 {
				many = append(many, accept(of(i)))
			}
			for _, c := range many[:3] {
				if _, err := c.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
					t.Error(err)
				}
			}
			l.mu.Lock()
			defer l.mu.Unlock()
			var there bool
			for c := range l.open {
				there = there || c.from.Contains(sender(&net.TCPAddr{IP: net.ParseIP("198.51.100.1")}).Addr())
			}
			if !there || len(l.open) != 4 {
				t.Errorf("%d are open; the other sender: %v", len(l.open), there)
			}
			_ = other
		})
	}
}

// Close ends an Accept that waits for a place.
func TestClose(t *testing.T) {
	inner := make(fake, 2)
	l := New(inner, 1)
	for range 2 {
		near, far := net.Pipe()
		t.Cleanup(func() { near.Close(); far.Close() })
		inner <- near
	}
	c, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	c.(*Conn).Admit()
	ended := make(chan error)
	go func() {
		_, err := l.Accept()
		ended <- err
	}()
	l.Close()
	if err := <-ended; !errors.Is(err, net.ErrClosed) {
		t.Error(err)
	}
	Admit(context.Background()) // no connection, no effect
}
