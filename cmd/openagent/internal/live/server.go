package live

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/openagent-go/agent/cmd/openagent/internal/automation"
	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/internal/connlimit"
	"github.com/openagent-go/agent/serve"
)

// A Server serves shares of this process, and perhaps the page of its session. The tokens of both do
// not leave the process.
type Server struct {
	Address string // "" if it does not listen

	browsers string // the address for them
	shares   *serve.Server
	page     atomic.Pointer[serve.Server] // nil: there is none
	hosts    []string
	http     *http.Server
	serving  sync.WaitGroup
}

// New returns a server of shares that does not listen. Give it the names that browsers may use for it.
func New(shares *serve.Server, hosts []string) *Server {
	shares.Token, shares.Hosts = token(), append(slices.Clone(hosts), inside)
	return &Server{shares: shares, hosts: hosts}
}

func token() string {
	bits := make([]byte, 32)
	_, _ = rand.Read(bits)
	return hex.EncodeToString(bits)
}

// inside is the host of requests within the process. No name has this form.
const inside = "inside..process"

// Listen makes the server answer requests on this machine, at a free port if port is 0.
func (s *Server) Listen(ctx context.Context, port int) error {
	all, err := Loopback(ctx, port)
	if err != nil {
		return cli.Usagef("%w; choose another --port", err)
	}
	at := all[0].Addr().(*net.TCPAddr)
	s.Address = "http://" + at.String()
	s.browsers = s.Address
	own := NameForBrowsers(at.Port, s.shares.Token, s.hosts)
	s.hosts = append(slices.Clone(s.hosts), Names(all)...)
	if own != "" {
		s.browsers, s.hosts = "http://"+own, append(s.hosts, own)
	}
	s.shares.Hosts = append(s.shares.Hosts, s.hosts...)
	s.http = &http.Server{Handler: http.HandlerFunc(s.serve), ReadHeaderTimeout: automation.HeaderTimeout, ReadTimeout: time.Minute, IdleTimeout: automation.IdleTimeout, MaxHeaderBytes: 32 << 10,
		ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug)}
	for i, l := range all {
		limited := connlimit.New(l, automation.MaxConnections)
		limited.Server(s.http)
		all[i] = limited
	}
	for _, l := range all {
		s.serving.Go(func() { _ = s.http.Serve(l) })
	}
	return nil
}

// serve passes a request on: links to the shares, and the rest to the page.
func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	page := s.page.Load()
	if strings.HasPrefix(r.URL.Path, "/share/") || r.URL.Path == "/share.js" || page == nil {
		page = s.shares
	}
	page.ServeHTTP(w, r)
}

// Show shows the page of a session, until the returned function is called.
func (s *Server) Show(page *serve.Server) (end func() error) {
	page.Token, page.Hosts = token(), s.hosts
	s.page.Store(page)
	return func() error {
		s.page.Store(nil)
		ctx, cancel := context.WithTimeout(context.Background(), endTime)
		defer cancel()
		return page.Shutdown(ctx)
	}
}

// endTime is how long the ends of streams may take.
const endTime = 5 * time.Second

// Open returns the address that logs one browser in to the page.
func (s *Server) Open() string { return s.browsers + "/login?code=" + s.page.Load().LoginCode() }

// Close ends all streams, and stops listening.
func (s *Server) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), endTime)
	defer cancel()
	err := s.shares.Shutdown(ctx)
	if s.http == nil {
		return err
	}
	if s.http.Shutdown(ctx) != nil {
		err = errors.Join(err, s.http.Close())
	}
	s.serving.Wait()
	return err
}

// Preview lists what a share would hide.
func (s *Server) Preview(ctx context.Context, r Request) (p Preview, err error) {
	return p, s.ask(ctx, "POST", "/v1/shares/preview", r, &p)
}

// Confirm makes the link of a preview.
func (s *Server) Confirm(ctx context.Context, code string) (made Share, err error) {
	return made, s.ask(ctx, "POST", "/v1/shares", map[string]string{"preview": code}, &made)
}

// List lists the shares.
func (s *Server) List(ctx context.Context) ([]Share, error) {
	var list struct{ Shares []Share }
	return list.Shares, s.ask(ctx, "GET", "/v1/shares", nil, &list)
}

// Revoke ends a share.
func (s *Server) Revoke(ctx context.Context, id string) error {
	return s.ask(ctx, "DELETE", "/v1/shares/"+id, nil, nil)
}

// ask makes a request within the process.
func (s *Server) ask(ctx context.Context, method, path string, body, into any) error {
	data, err := json.Marshal(body)
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, method, "http://"+inside+path, bytes.NewReader(data))
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", "Bearer "+s.shares.Token)
	r.Header.Set("Content-Type", "application/json")
	w := &answer{header: http.Header{}}
	s.shares.ServeHTTP(w, r)
	if w.status >= 300 {
		var failed struct{ Error serve.Error }
		if json.Unmarshal(w.body.Bytes(), &failed) != nil || failed.Error.Message == "" {
			return fmt.Errorf("the server answers with status %d", w.status)
		}
		if failed.Error.Code == "not_found" {
			return errors.New("nothing of this session is on record yet; send a prompt first")
		}
		return fmt.Errorf("%s; %s", failed.Error.Message, failed.Error.Hint)
	}
	return decode(w.body.Bytes(), into)
}

// An answer holds the answer to a request within the process.
type answer struct {
	header http.Header
	status int
	body   bytes.Buffer
}

// Header implements [http.ResponseWriter].
func (a *answer) Header() http.Header { return a.header }

// WriteHeader implements [http.ResponseWriter].
func (a *answer) WriteHeader(status int) {
	if a.status == 0 {
		a.status = status
	}
}

// Write implements [http.ResponseWriter].
func (a *answer) Write(b []byte) (int, error) {
	a.WriteHeader(http.StatusOK)
	return a.body.Write(b)
}
