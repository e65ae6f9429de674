package proxy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"time"
)

// Complaints of server and transport concern only the sandbox.
var quiet = log.New(io.Discard, "", 0)

type clientKey struct{}

// withClient tells the handler whose requests it answers.
func withClient(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, clientKey{}, c)
}

// admit keeps the client of a request connected: it has reached its target.
func admit(ctx context.Context) {
	if c, ok := ctx.Value(clientKey{}).(*client); ok {
		c.Admit()
	}
}

// waitWhenIdle lets others take the place of a client that has its answer.
func waitWhenIdle(c net.Conn, state http.ConnState) {
	if state == http.StateIdle {
		c.(*client).Wait()
	}
}

// serve answers a request to the proxy: CONNECT, or one with a whole URL.
func (p *Proxy) serve(w http.ResponseWriter, r *http.Request) {
	c := r.Context().Value(clientKey{}).(*client)
	c.busy.Add(1) // before the connection is closed, so before it is waited for
	defer c.busy.Done()
	switch {
	case r.Method == http.MethodConnect:
		p.openTunnel(w, r)
	case r.URL.Scheme == "http" && r.URL.Host != "":
		p.forward.ServeHTTP(w, r)
	default:
		http.Error(w, "the proxy of the sandbox takes CONNECT host:port and requests for http://… URLs", http.StatusBadRequest)
	}
}

// openTunnel answers CONNECT.
func (p *Proxy) openTunnel(w http.ResponseWriter, r *http.Request) {
	host, port, err := target(r.RequestURI)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	far, err := p.dial(r.Context(), host, port)
	if err != nil {
		refuse(w, err)
		return
	}
	defer far.Close()
	admit(r.Context())
	near, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		http.Error(w, "the connection cannot become a tunnel", http.StatusInternalServerError)
		return
	}
	defer near.Close()
	if _, err := io.WriteString(near, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		return
	}
	// Data that the client sent ahead is in the server's buffer.
	if n := buffered.Reader.Buffered(); n > 0 {
		_ = far.SetWriteDeadline(time.Now().Add(idle))
		if _, err := io.CopyN(far, buffered.Reader, int64(n)); err != nil {
			return
		}
	}
	p.tunnel(near, far)
}

// forwarder passes on requests for http://… URLs.
func (p *Proxy) forwarder() http.Handler {
	transport := &http.Transport{
		DialContext: func(ctx context.Context, _, address string) (net.Conn, error) {
			host, port, err := target(address)
			if err != nil {
				return nil, err
			}
			far, err := p.dial(ctx, host, port)
			if err == nil {
				admit(ctx)
			}
			return far, err
		},
		DisableKeepAlives:      true, // each request is judged, and nothing closes idle connections
		DisableCompression:     true,
		MaxResponseHeaderBytes: maxHeader,
		ResponseHeaderTimeout:  idle,
	}
	return &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.Host = r.Out.URL.Host // never another than the one that is judged
		},
		Transport:     transport,
		FlushInterval: -1,
		ErrorLog:      quiet,
		ErrorHandler:  func(w http.ResponseWriter, _ *http.Request, err error) { refuse(w, err) },
	}
}

// refuse answers with the reason why there is no connection.
func refuse(w http.ResponseWriter, err error) {
	var d *Denial
	if errors.As(err, &d) {
		w.Header().Set("X-Proxy-Error", "blocked-by-allowlist") // as other sandboxes have it
		http.Error(w, d.Error(), http.StatusForbidden)
		return
	}
	http.Error(w, fmt.Sprintf("the proxy of the sandbox could not connect: %v", err), http.StatusBadGateway)
}
