package mcpauth

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/openagent-go/agent/internal/connlimit"
)

// A callback is where the browser comes back to: a server on 127.0.0.1 that lives
// for one login (RFC 8252, 7.3).
type callback struct {
	address string
	server  *http.Server
	serving sync.WaitGroup
	answers chan url.Values

	mu    sync.Mutex
	state string // "" until it is known
}

const (
	callbackPath = "/callback"
	maxBrowsers  = 64 // connections at a time
)

func listen(port int) (*callback, error) {
	l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return nil, fmt.Errorf("waiting for the browser: %w", err)
	}
	b := &callback{address: "http://" + l.Addr().String() + callbackPath, answers: make(chan url.Values, 1)}
	b.server = &http.Server{Handler: b, ReadHeaderTimeout: 10 * time.Second, WriteTimeout: 10 * time.Second, MaxHeaderBytes: 64 << 10,
		ErrorLog: log.New(io.Discard, "", 0)}
	limited := connlimit.New(l, maxBrowsers)
	b.serving.Go(func() { _ = limited.Server(b.server).Serve(limited) }) // it ends with close
	return b, nil
}

// close ends the server once the page that it may be showing is sent.
func (b *callback) close() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if b.server.Shutdown(ctx) != nil {
		_ = b.server.Close() // the other requests of the browser
	}
	b.serving.Wait()
}

// ServeHTTP takes the answer. An answer without the right state belongs to another login
// and is ignored.
func (b *callback) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Referrer-Policy", "no-referrer")
	w.Header().Set("Cache-Control", "no-store")
	say := func(status int, text string) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, text+"\n") // the browser may have gone
	}
	own := strings.TrimSuffix(strings.TrimPrefix(b.address, "http://"), callbackPath)
	if r.Method != http.MethodGet || r.URL.Path != callbackPath || r.Host != own {
		say(http.StatusNotFound, "There is nothing here.")
		return
	}
	q := r.URL.Query()
	if !b.mine(q) {
		say(http.StatusBadRequest, "This is not the login that the program waits for.")
		return
	}
	connlimit.Admit(r.Context())
	select {
	case b.answers <- q:
	default: // it was here already
	}
	if q.Get("error") != "" {
		say(http.StatusOK, "The login was refused. You can close this page.")
		return
	}
	say(http.StatusOK, "You can close this page and go back to the program.")
}

func (b *callback) mine(q url.Values) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.state != "" && equal(q.Get("state"), b.state)
}

// wait returns the parameters that the browser came back with, or the person gave.
func (b *callback) wait(ctx context.Context, state string, ask func(context.Context) (string, error)) (url.Values, error) {
	b.mu.Lock()
	b.state = state
	b.mu.Unlock()
	asking, cancel := context.WithCancel(ctx)
	type said struct {
		address string
		err     error
	}
	given := make(chan said, 1)
	go func() {
		address, err := ask(asking)
		given <- said{address, err}
	}()
	asked := true
	defer func() {
		cancel()
		if asked {
			<-given
		}
	}()
	for {
		select {
		case q := <-b.answers:
			return q, nil
		case s := <-given:
			if asked = false; s.err != nil {
				return nil, s.err
			}
			if s.address == "" {
				given = nil // the browser it is
				continue
			}
			u, err := url.Parse(strings.TrimSpace(s.address))
			if err != nil || !b.mine(u.Query()) {
				return nil, errors.New("the address belongs to another login; paste the one that this login ended at")
			}
			return u.Query(), nil
		case <-ctx.Done():
			return nil, fmt.Errorf("the login was not completed: %w", context.Cause(ctx))
		}
	}
}
