// Package serve is the command "openagent serve". It serves the sessions of a folder over HTTP, see
// package serve of the library.
package serve

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/cmd/openagent/internal/app"
	"github.com/openagent-go/agent/cmd/openagent/internal/automation"
	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/live"
	"github.com/openagent-go/agent/cmd/openagent/internal/localserver"
	"github.com/openagent-go/agent/cmd/openagent/internal/sessionstore"
	"github.com/openagent-go/agent/cmd/openagent/internal/settings"
	"github.com/openagent-go/agent/durable"
	"github.com/openagent-go/agent/internal/connlimit"
	"github.com/openagent-go/agent/internal/sessiondir"
	"github.com/openagent-go/agent/serve"
	"github.com/openagent-go/agent/session"
)

const (
	defaultPort  = 4777
	defaultGrace = 10 * time.Second
	maxHeader    = 32 << 10
)

// options are the flags of the command.
type options struct {
	settings.Options
	listen      string
	port        int
	hosts       []string
	origins     []string
	cert, key   string
	behindProxy bool
	readOnly    bool
	workers     bool
	resume      bool
	maxSessions int
	maxStreams  int
	maxRequests int
	maxRuns     int
	grace       time.Duration
}

// notHere are the flags of jobs that mean nothing to a server.
var notHere = []string{"cwd", "no-session-persistence", "json-schema", "trace"}

// Command returns the command "openagent serve".
func Command(h *cli.IO) cli.Command {
	o := &options{port: defaultPort, grace: defaultGrace}
	return cli.Command{Name: "serve", Summary: "Serve the sessions of this folder to browsers and programs, until you stop it",
		Details: `It prints an address that logs a browser in, and the file of the token for programs.
The flags of a prompt apply to all sessions. docs/command/serve.md has the rules.
`,
		Examples: []string{"openagent serve", "openagent serve --listen 0.0.0.0:4777 --tls-cert cert.pem --tls-key key.pem --host agents.example.com"},
		Flags:    o.flags,
		Run: func(ctx context.Context, args []string) error {
			if err := cli.NoArgs("serve", args); err != nil {
				return err
			}
			if err := errors.Join(o.Check(), o.check()); err != nil {
				return err
			}
			return run(ctx, h, o)
		}}
}

func (o *options) flags() cli.Flags {
	own := cli.Flags{
		{Name: "port", Arg: "PORT", Help: "port on this machine (default " + strconv.Itoa(defaultPort) + ")", Set: cli.Count(&o.port)},
		{Name: "listen", Arg: "HOST:PORT", Help: "another address to listen on; outside of this machine it needs --tls-cert or --behind-proxy", Set: cli.Text(&o.listen)},
		{Name: "host", Arg: "HOST,HOST", Help: "more names that browsers may use for the server", Set: cli.List(&o.hosts)},
		{Name: "cors", Arg: "ORIGIN,ORIGIN", Help: "sites whose pages may use the API with the token, such as https://app.example.com", Set: cli.List(&o.origins)},
		{Name: "tls-cert", Arg: "FILE", Help: "certificate, with --tls-key", Set: cli.Text(&o.cert)},
		{Name: "tls-key", Arg: "FILE", Help: "key of the certificate", Set: cli.Text(&o.key)},
		{Name: "behind-proxy", Help: "a proxy in front of the server encrypts", Set: cli.SetTrue(&o.behindProxy)},
		{Name: "read-only", Help: "show sessions, change nothing", Set: cli.SetTrue(&o.readOnly)},
		{Name: "workers", Help: "leave the runs to openagent worker, with the same --store", Set: cli.SetTrue(&o.workers)},
		{Name: "resume-all", Help: "continue the runs of this folder that have no end", Set: cli.SetTrue(&o.resume)},
		{Name: "max-sessions", Arg: "N", Help: "sessions that are open at a time (default 64)", Set: cli.Count(&o.maxSessions)},
		{Name: "max-streams", Arg: "N", Help: "streams of events that are open at a time (default 64)", Set: cli.Count(&o.maxStreams)},
		{Name: "max-requests", Arg: "N", Help: "requests a second of programs, and as many of browsers (default 100)", Set: cli.Count(&o.maxRequests)},
		{Name: "max-runs", Arg: "N", Help: "runs that are at work at a time (default: as many as sessions)", Set: cli.Count(&o.maxRuns)},
		{Name: "grace", Arg: "DURATION", Help: "time for tools to end after a signal (default 10s)", Set: cli.Duration(&o.grace)},
	}
	jobs := o.JobFlags()
	for _, name := range notHere {
		for i, f := range jobs {
			if f.Name == name {
				jobs = append(jobs[:i], jobs[i+1:]...)
				break
			}
		}
	}
	return append(append(cli.ListFlags(&o.Output), own...), jobs...)
}

// check refuses flags that do not fit together.
func (o *options) check() error {
	if (o.cert == "") != (o.key == "") {
		return cli.Usagef("--tls-cert and --tls-key belong together")
	}
	if o.workers && o.resume {
		return cli.Usagef("--resume-all runs sessions here, and --workers leaves them to workers: leave one of them out")
	}
	if o.readOnly && o.resume {
		return cli.Usagef("--resume-all changes sessions, and --read-only forbids that")
	}
	for _, origin := range o.origins {
		if u, err := url.Parse(origin); err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "" || strings.Contains(origin, "*") || origin != strings.ToLower(u.Scheme+"://"+u.Host) {
			return cli.Usagef("--cors %s: write a whole origin, such as https://app.example.com", cli.Clip(origin))
		}
	}
	if o.listen == "" {
		return nil
	}
	host, _, err := net.SplitHostPort(o.listen)
	if err != nil {
		return cli.Usagef("--listen: write HOST:PORT: %w", err)
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsLoopback() || host == "localhost" {
		return nil
	}
	if o.cert == "" && !o.behindProxy {
		return cli.Usagef("--listen %s can be reached from other machines: give --tls-cert and --tls-key, or --behind-proxy if a proxy encrypts", cli.Clip(o.listen))
	}
	return nil
}

// listeners listens on all addresses: on both loopback addresses, or on another one.
func (o *options) listeners(ctx context.Context) ([]net.Listener, error) {
	port, both := o.port, o.listen == ""
	if at, err := net.ResolveTCPAddr("tcp", o.listen); err == nil && live.IsLoopback(at.IP) {
		port, both = at.Port, true
	}
	if both {
		all, err := live.Loopback(ctx, port)
		if err != nil {
			return nil, cli.Usagef("%w; choose another --port", err)
		}
		return all, nil
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", o.listen)
	if err != nil {
		return nil, cli.Usagef("listening: %w; choose another --listen", err)
	}
	return []net.Listener{l}, nil
}

// forBrowsers returns the name and port that browsers use. "" if they come by another one: with a
// certificate, behind a proxy, or by an address that names below localhost do not lead to.
func (o *options) forBrowsers(at *net.TCPAddr, token string) string {
	if o.cert != "" || o.behindProxy || !live.IsLoopback(at.IP) {
		return ""
	}
	return live.NameForBrowsers(at.Port, token, o.hosts)
}

// A Start is the line of JSON that the command writes with --output-format json.
type Start struct {
	Type      string `json:"type"` // "serve_start"
	Address   string `json:"address"`
	TokenFile string `json:"token_file"`
}

// run serves until a signal.
func run(ctx context.Context, h *cli.IO, o *options) error {
	dir, err := settings.WorkingDir()
	if err != nil {
		return err
	}
	store, err := sessionstore.Open(ctx, h, o.Place(), dir)
	if err != nil {
		return err
	}
	path := sessiondir.Path(store)
	tokenFile, token, err := localserver.OpenToken(h)
	if err != nil {
		return err
	}
	h.Secrets = append(h.Secrets, token)
	certificate, err := o.certificate()
	if err != nil {
		return err
	}
	log := settings.Logger(h, &o.Options)
	open := &apps{h: h, flags: &o.Options, dir: dir, open: map[string]*app.App{}}
	s := &serve.Server{Token: token, Sessions: func(string) session.Store { return store }, Agent: open.agent, Closed: open.close,
		Restore: restore(h, store, path), Checks: checks(h), ReadOnly: o.readOnly, MaxSessions: o.maxSessions, MaxStreams: o.maxStreams, UserRequests: o.maxRequests, UserRuns: o.maxRuns, Encrypted: o.behindProxy, Origins: o.origins, Log: log}
	if o.workers {
		address, source, err := o.Place().Database(h, dir)
		if err != nil {
			return err
		}
		if address == "" {
			return cli.Usagef("--workers needs the database of the sessions: give --store postgres://host/database, or set OPENAGENT_STORE")
		}
		db, err := sessionstore.Database(ctx, h, address, source)
		if err != nil {
			return err
		}
		if err := sessionstore.CheckRights(ctx, db, source); err != nil {
			return err
		}
		s.Workers, s.Restore = &durable.Client{Backend: db.DB, Engine: db.Engine()}, nil // files are where the workers are
	}
	if s.Shares, err = live.Shares(ctx, h, &o.Options, dir, path, true, open.secrets); err != nil {
		return err
	}
	all, err := o.listeners(ctx)
	if err != nil {
		return err
	}
	s.Hosts = append(live.Names(all), o.hosts...)
	own := o.forBrowsers(all[0].Addr().(*net.TCPAddr), token)
	if own != "" {
		s.Hosts = append(s.Hosts, own)
	}
	server := &http.Server{Handler: s, ReadHeaderTimeout: automation.HeaderTimeout, ReadTimeout: time.Minute, IdleTimeout: automation.IdleTimeout, MaxHeaderBytes: maxHeader,
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug)} // strangers can cause any number of errors
	scheme := "http"
	if certificate != nil {
		scheme, server.TLSConfig = "https", &tls.Config{Certificates: []tls.Certificate{*certificate}, MinVersion: tls.VersionTLS12}
	}
	address := scheme + "://" + all[0].Addr().String()
	release, err := live.Claim(h, path, address)
	if err != nil {
		h.Warn("%v", err)
	}
	defer release()
	failed := make(chan error, len(all))
	for i, l := range all {
		limited := connlimit.New(l, automation.MaxConnections)
		limited.Server(server)
		all[i] = limited
		if certificate != nil {
			all[i] = tls.NewListener(limited, server.TLSConfig)
		}
	}
	for _, l := range all {
		go func() { failed <- server.Serve(l) }()
	}
	here, err := localserver.Announce(h, localserver.Server{Address: address, Dir: dir})
	if err == nil {
		defer here.Close()
		forBrowsers := address
		if own != "" {
			forBrowsers = scheme + "://" + own
		}
		err = start(h, o, s, address, forBrowsers, tokenFile)
	}
	if err == nil && o.resume {
		n, failed := s.Resume(ctx, "")
		if failed != nil {
			h.Warn("%v", failed)
		}
		log.Info("runs continue", "count", n)
	}
	left := len(all)
	if err == nil {
		select {
		case err = <-failed:
			left--
			err = &cli.ExitError{Code: cli.ExitInternal, Err: fmt.Errorf("answering requests: %w", err)}
		case <-ctx.Done():
		}
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), o.grace)
	defer cancel()
	if stuck := s.Shutdown(grace); stuck != nil {
		h.Warn("%v", stuck)
	}
	if server.Shutdown(grace) != nil {
		server.Close()
	}
	for range left {
		<-failed
	}
	if err == nil && cli.IsSignal(ctx) {
		return cli.ExitCode(cli.SignalCode(ctx))
	}
	return err
}

// certificate reads the certificate of the flags, nil for none.
func (o *options) certificate() (*tls.Certificate, error) {
	if o.cert == "" {
		return nil, nil
	}
	c, err := tls.LoadX509KeyPair(o.cert, o.key)
	if err != nil {
		return nil, cli.Usagef("--tls-cert: %w", err)
	}
	return &c, nil
}

// start tells where the server is. A person gets an address that logs one browser in.
func start(h *cli.IO, o *options, s *serve.Server, address, forBrowsers, tokenFile string) error {
	if o.Output == cli.FormatJSON {
		return cli.ShowLine(h, Start{"serve_start", address, tokenFile})
	}
	return h.Show("Serving the sessions of this folder at " + address + ", until a signal.\n" +
		"Open " + forBrowsers + "/login?code=" + s.LoginCode() + " in a browser within a minute. It works once.\n" +
		"Later, log in there with the token in " + h.OneLine(tokenFile) + ". Programs send it as Authorization: Bearer.\n")
}

// apps are the agents of the open sessions.
type apps struct {
	h     *cli.IO
	flags *settings.Options
	dir   string

	mu   sync.Mutex
	open map[string]*app.App // by session
	old  map[string]bool     // secrets of the sessions that were closed: what they have on record may be shared later
}

// agent builds the agent of a session. The person who started the server chose its folder: sessions
// in other folders are refused.
func (a *apps) agent(ctx context.Context, at serve.Place) (*agent.Agent, error) {
	if at.Dir != "" && at.Dir != a.dir {
		return nil, &serve.Error{Status: http.StatusForbidden, Code: "other_folder", Message: "this server works in another folder", Hint: "start openagent serve in that folder"}
	}
	// The session outlives the request that opens it.
	opened, err := app.OpenHosted(context.WithoutCancel(ctx), a.h.Fork(), a.flags, app.HostedSession{Dir: a.dir, ID: at.ID})
	if err != nil {
		return nil, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.open[at.ID] = opened
	return opened.Agent, nil
}

// secrets returns the secrets of all sessions that were ever open.
func (a *apps) secrets() (all []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, opened := range a.open {
		all = append(all, opened.Agent.Secrets...)
	}
	return slices.AppendSeq(all, maps.Keys(a.old))
}

// close closes the agent of a session.
func (a *apps) close(at serve.Place) {
	a.mu.Lock()
	opened := a.open[at.ID]
	delete(a.open, at.ID)
	if opened != nil {
		for _, secret := range opened.Agent.Secrets {
			if a.old == nil {
				a.old = map[string]bool{}
			}
			a.old[secret] = true
		}
	}
	a.mu.Unlock()
	if opened == nil {
		return
	}
	if err := opened.Close(); err != nil {
		a.h.Warn("closing the session %s: %v", at.ID, err)
	}
}
