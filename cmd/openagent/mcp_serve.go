package main

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/internal/connlimit"
	"github.com/openagent-go/agent/mcp/agentserver"
	"github.com/openagent-go/agent/mcp/server"
	"github.com/openagent-go/agent/tool"
)

const (
	serverPath = "/mcp" // of the server over HTTP
	// tokenVar is the variable with the token that clients over HTTP have to send.
	tokenVar = "OPENAGENT_MCP_TOKEN"
	minToken = 16 // characters
)

// ofARun are tools that change the run which calls them, so that clients of other
// programs have no use for them.
var ofARun = []string{enterPlanName, exitPlanName, "EnterWorktree", "ExitWorktree", "attempt_completion"}

// mcpServe serves the tools, or the agent, of the working folder to MCP clients:
// to one until stdin ends, or to all that come until a signal.
func (h *host) mcpServe(ctx context.Context, o *mcpOptions) (err error) {
	s, err := h.served(ctx, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	opts := server.Options{Name: "openagent", Title: "Open Agent", Version: version(), Hosts: o.hosts, Log: s.agent.Log}
	var m *server.Server
	if o.agent {
		m, err = agentserver.Prompts(s.agent, "", opts)
	} else {
		m, err = agentserver.Tools(s.agent, opts)
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.Close()) }()
	if o.addr == "" {
		err = m.Serve(ctx, h.in, h.out)
	} else {
		err = h.serveClients(ctx, o, m, s.agent.Log)
	}
	switch {
	case isSignal(ctx):
		return cli.Ended(signalCode(ctx))
	case ctx.Err() != nil:
		return &cli.ExitError{Code: cli.ExitInternal, Err: context.Cause(ctx)}
	}
	return err
}

// served makes the agent whose tools, or which itself, is served.
func (h *host) served(ctx context.Context, o *mcpOptions) (_ *setup, err error) {
	dir, err := workingDir()
	if err != nil {
		return nil, err
	}
	configured, err := h.configure(ctx, &o.options, dir, false)
	if err != nil {
		return nil, err
	}
	p, err := h.provider(configured)
	if err != nil {
		return nil, err
	}
	if o.agent && p.needsKey() {
		return nil, p.noKey()
	}
	h.secrets = append(p.secrets(), configured.secretValues()...)
	h.warnOfSettings(configured)
	s := newSetup(configured, p, dir)
	defer s.closeOnError(&err)
	if err := h.findPlugins(ctx, s, false, true); err != nil {
		return nil, err
	}
	if o.agent {
		if err := h.findServers(ctx, s, false); err != nil {
			return nil, err
		}
	}
	if s.agent, err = h.newAgent(s); err != nil {
		return nil, err
	}
	h.warnOfSandbox(s)
	if err := h.addCustomTools(ctx, s, false); err != nil {
		return nil, err
	}
	if !o.agent {
		return s, s.flatten(ctx)
	}
	s.addServers()
	chosen, err := h.choose(ctx, configured, dir)
	if err != nil {
		return nil, err
	}
	s.store, s.agent.Sessions = chosen.store, chosen.store
	return s, h.keepFiles(s)
}

// flatten makes the agent's tools those that clients are offered: what a model
// would see from the start, and what folders have.
func (s *setup) flatten(ctx context.Context) error {
	a := s.agent
	for _, set := range a.Toolsets {
		more, err := set.Tools(ctx)
		if err != nil {
			return startError(ctx, err)
		}
		for _, t := range more {
			name := t.Spec().Name
			a.Tools = slices.DeleteFunc(a.Tools, func(t tool.Tool) bool { return t.Spec().Name == name })
			a.Tools = append(a.Tools, t)
		}
	}
	a.Toolsets = nil
	a.Tools = slices.DeleteFunc(a.Tools, func(t tool.Tool) bool {
		spec := t.Spec()
		return slices.Contains(ofARun, spec.Name) || slices.Contains(a.DeferredTools, spec.Name) || a.Permissions.Hides(spec.Name, spec.Aliases...)
	})
	return nil
}

// serveClients answers HTTP requests until ctx ends.
func (h *host) serveClients(ctx context.Context, o *mcpOptions, m *server.Server, log *slog.Logger) error {
	token, given := h.getenv(tokenVar), true
	if token == "" {
		token, given = rand.Text(), false
	} else if len(token) < minToken {
		return cli.Usagef("%s has fewer than %d characters; leave it out, and one is made", tokenVar, minToken)
	}
	h.secrets = append(h.secrets, token)
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", o.addr)
	if err != nil {
		return cli.Usagef("--http: %w", err)
	}
	if a, ok := listener.Addr().(*net.TCPAddr); ok && !a.IP.IsLoopback() {
		h.complain("--http %s can be reached from other machines, and nothing is encrypted; put a proxy with TLS before it", o.addr)
	}
	says := "Serving MCP at http://" + listener.Addr().String() + serverPath + ", until a signal.\n"
	if given {
		says += "Clients send the token of " + tokenVar + ".\n"
	} else {
		says += "Clients send the header Authorization: Bearer " + token + "\n"
	}
	if err := h.show(says); err != nil {
		return errors.Join(err, listener.Close())
	}
	mux := http.NewServeMux()
	mux.Handle(serverPath, bearer(token, m))
	// A call may take as long as it likes, and so may its answer.
	web := &http.Server{Handler: mux, ReadHeaderTimeout: headerTime, IdleTimeout: idleTime, MaxHeaderBytes: 16 << 10, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug)}
	web.RegisterOnShutdown(func() { _ = m.Close() }) // ends the streams, so that the server can end
	return listen(ctx, web, listener)
}

// bearer asks for a token before a request gets to a handler.
func bearer(token string, to http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		kind, sent, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		if !strings.EqualFold(kind, "Bearer") || subtle.ConstantTimeCompare([]byte(strings.TrimSpace(sent)), []byte(token)) != 1 {
			w.Header().Set("WWW-Authenticate", "Bearer")
			http.Error(w, fmt.Sprintf("send the token that openagent mcp serve showed, or %s, as Authorization: Bearer", tokenVar), http.StatusUnauthorized)
			return
		}
		connlimit.Admit(r.Context())
		to.ServeHTTP(w, r)
	})
}
