package sim

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/openagent-go/agent/mcp"
)

// The MCP server of mcp_test.go over HTTP, in memory: it answers with JSON or streams of events,
// and forgets sessions while it works on calls of them.

// A remoteWeb is the server as one program reaches it over HTTP.
type remoteWeb struct {
	w       *world
	l       *life
	client  int  // the number of its mcp.Servers
	stream  bool // answers are streams of events
	conns   chan net.Conn
	closed  chan struct{}
	closing sync.Once

	mu      sync.Mutex
	session *remoteConn // the newest one
}

// remoteHTTP lets a program reach the server over HTTP, and returns how it is closed, and how servers
// are made that reach it.
func (w *world) remoteHTTP(l *life, client int) (closer func() error, connect func(configs map[string]mcp.Config, o mcp.Options) *mcp.Servers) {
	f := &remoteWeb{w: w, l: l, client: client, stream: w.number("far stream")%2 == 0, conns: make(chan net.Conn), closed: make(chan struct{})}
	server := &http.Server{Handler: f}
	go func() { _ = server.Serve(f) }()
	return server.Close, func(configs map[string]mcp.Config, o mcp.Options) *mcp.Servers {
		usual := http.DefaultTransport
		defer func() { http.DefaultTransport = usual }()
		http.DefaultTransport = &http.Transport{DialContext: f.dial}
		return mcp.New(configs, o)
	}
}

func (f *remoteWeb) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	here, there := net.Pipe()
	select {
	case f.conns <- there:
		return here, nil
	case <-f.closed:
	case <-ctx.Done():
	}
	here.Close()
	there.Close()
	return nil, net.ErrClosed
}

// Accept, Close and Addr make it a listener.
func (f *remoteWeb) Accept() (net.Conn, error) {
	select {
	case c := <-f.conns:
		return c, nil
	case <-f.closed:
		return nil, net.ErrClosed
	}
}

func (f *remoteWeb) Close() error {
	f.closing.Do(func() { close(f.closed) })
	return nil
}

func (f *remoteWeb) Addr() net.Addr { return &net.UnixAddr{Name: "far", Net: "unix"} }

// begin begins a session.
func (f *remoteWeb) begin() (*remoteConn, error) {
	conn, err := f.w.remoteDial(f.l, f.client)
	if err != nil {
		return nil, err
	}
	c := conn.(*remoteConn)
	c.web = true
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.session != nil {
		_ = f.session.Close()
	}
	f.session = c
	return c, nil
}

func (f *remoteWeb) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	data, err := io.ReadAll(r.Body)
	var m remoteMessage
	switch {
	case f.l.dead.Load() || err != nil:
		panic(http.ErrAbortHandler)
	case r.Method == http.MethodDelete:
		f.mu.Lock()
		if f.session != nil {
			_ = f.session.Close()
		}
		f.mu.Unlock()
		return
	case r.Method != http.MethodPost:
		rw.WriteHeader(http.StatusMethodNotAllowed)
		return
	case json.Unmarshal(data, &m) != nil:
		f.w.wrong("requests", "a message to the server is %s", data)
		return
	}
	if m.Method == "server/discover" {
		rw.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(rw, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"unknown"}}`, m.ID)
		return
	}
	var c *remoteConn
	if m.Method == "initialize" {
		if c, err = f.begin(); err != nil {
			panic(http.ErrAbortHandler)
		}
		rw.Header().Set("Mcp-Session-Id", fmt.Sprint("session", c.n))
	} else {
		f.mu.Lock()
		c = f.session
		f.mu.Unlock()
		if c == nil || c.isClosed() || r.Header.Get("Mcp-Session-Id") != fmt.Sprint("session", c.n) {
			time.Sleep(f.w.pause(time.Millisecond, "forgotten", string(data)))
			rw.WriteHeader(http.StatusNotFound)
			return
		}
	}
	if m.Method == "" || m.ID == nil {
		_ = c.Write(r.Context(), data)
		rw.WriteHeader(http.StatusAccepted)
		return
	}
	f.answer(rw, r, c, m)
}

// answer answers a request: with what the server says in the meantime.
func (f *remoteWeb) answer(rw http.ResponseWriter, r *http.Request, session *remoteConn, m remoteMessage) {
	c := &remoteConn{w: f.w, l: f.l, client: f.client, n: session.n, session: session, out: make(chan json.RawMessage, 100), closed: make(chan struct{})}
	served := make(chan struct{})
	go func() {
		defer close(served)
		c.serve(m)
	}()
	defer func() {
		c.end("")
		<-served
	}()
	stream := f.stream && m.Method == "tools/call"
	rw.Header().Set("Content-Type", "application/json")
	if stream {
		rw.Header().Set("Content-Type", "text/event-stream")
	}
	// send sends a message, and reports whether that was the answer.
	send := func(data []byte) bool {
		var own remoteMessage
		if json.Unmarshal(data, &own) == nil && !stream && own.Method != "" {
			return false // only streams have messages before the answer
		}
		if stream {
			data = fmt.Appendf(nil, "data: %s\n\n", data)
		}
		_, _ = rw.Write(data) // the program may have gone
		_ = http.NewResponseController(rw).Flush()
		return !stream
	}
	for {
		select {
		case data := <-c.out:
			if send(data) {
				return
			}
		case <-served:
			for len(c.out) > 0 {
				if send(<-c.out) {
					return
				}
			}
			if c.isClosed() {
				panic(http.ErrAbortHandler)
			}
			if c.silent {
				<-r.Context().Done()
			}
			return
		case <-r.Context().Done():
			return
		}
	}
}
