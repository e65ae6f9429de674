package mcp

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

	"github.com/openagent-go/agent/cmd/openagent/internal/app"
	"github.com/openagent-go/agent/cmd/openagent/internal/automation"
	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/provider"
	"github.com/openagent-go/agent/cmd/openagent/internal/sessionstore"
	"github.com/openagent-go/agent/cmd/openagent/internal/settings"
	"github.com/openagent-go/agent/internal/coding"
	"github.com/openagent-go/agent/internal/connlimit"
	"github.com/openagent-go/agent/internal/policies"
	"github.com/openagent-go/agent/mcp/agentserver"
	"github.com/openagent-go/agent/mcp/server"
	"github.com/openagent-go/agent/tool"
)

const (
	ServerPath = "/mcp" // for the HTTP server
	// TokenVar is the variable with the token that HTTP clients must send.
	TokenVar = "OPENAGENT_MCP_TOKEN"
	minToken = 16 // characters
)

// ofARun are tools that change the run that calls them. MCP clients cannot use them.
var ofARun = []string{app.EnterPlanName, app.ExitPlanName, "EnterWorktree", "ExitWorktree", "attempt_completion"}

// mcpServe serves the working folder's tools or agent to MCP clients: to one client until stdin
// ends, or over HTTP until a signal.
func mcpServe(ctx context.Context, h *cli.IO, o *mcpOptions) (err error) {
	s, err := served(ctx, h, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	opts := server.Options{Name: "openagent", Title: "Open Agent", Version: cli.Version(), Hosts: o.hosts, Log: s.Agent.Log}
	var m server.Server
	if o.agent {
		m, err = agentserver.Prompts(s.Agent, "", opts)
	} else {
		m, err = agentserver.Tools(s.Agent, opts)
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.Close()) }()
	if o.addr == "" {
		err = m.Serve(ctx, h.In, h.Out)
	} else {
		err = serveClients(ctx, h, o, m, s.Agent.Log)
	}
	switch {
	case cli.IsSignal(ctx):
		return cli.ExitCode(cli.SignalCode(ctx))
	case ctx.Err() != nil:
		return &cli.ExitError{Code: cli.ExitInternal, Err: context.Cause(ctx)}
	}
	return err
}

// served builds the agent to serve.
func served(ctx context.Context, h *cli.IO, o *mcpOptions) (_ *app.App, err error) {
	dir, err := settings.WorkingDir()
	if err != nil {
		return nil, err
	}
	configured, err := settings.Configure(ctx, h, &o.Options, dir, false)
	if err != nil {
		return nil, err
	}
	p, err := provider.Open(h, configured)
	if err != nil {
		return nil, err
	}
	if o.agent && p.NeedsKey() {
		return nil, p.MissingKey()
	}
	h.Secrets = append(p.Secrets(), configured.SecretValues()...)
	settings.WarnOfSettings(h, configured)
	configured.Agent = ""
	b := app.Build{Without: []coding.Part{coding.Agents, coding.Skills, coding.Instructions, coding.Team}, Tell: true}
	switch {
	case !o.agent:
		b.Without = append(b.Without, coding.Servers)
	case !configured.Ephemeral:
		if b.Sessions, err = sessionstore.Open(ctx, h, configured.Place(), dir); err != nil {
			return nil, err
		}
	}
	s, err := app.New(ctx, h, configured, p, dir, nil, b)
	if err != nil {
		return nil, err
	}
	defer s.CloseOnError(&err)
	if !o.agent {
		return s, flatten(ctx, s)
	}
	chosen, err := app.ChooseSession(ctx, h, configured, dir)
	if err != nil {
		return nil, err
	}
	s.Store, s.Agent.Sessions = chosen.Store, chosen.Store
	return s, nil
}

// flatten limits the agent's tools to those offered to clients: the tools a model sees from the
// start, and custom tools.
func flatten(ctx context.Context, s *app.App) error {
	a := s.Agent
	for _, set := range a.Toolsets {
		more, err := set.Tools(ctx)
		if err != nil {
			return cli.StartError(ctx, err)
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
		return slices.Contains(ofARun, spec.Name) || slices.Contains(a.DeferredTools, spec.Name) || policies.Hides(a.Permissions, spec.Name, spec.Aliases...)
	})
	return nil
}

// serveClients answers HTTP requests until ctx ends.
func serveClients(ctx context.Context, h *cli.IO, o *mcpOptions, m server.Server, log *slog.Logger) error {
	token, given := h.Getenv(TokenVar), true
	if token == "" {
		token, given = rand.Text(), false
	} else if len(token) < minToken {
		return cli.Usagef("%s has fewer than %d characters; leave it out to generate one", TokenVar, minToken)
	}
	h.Secrets = append(h.Secrets, token)
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", o.addr)
	if err != nil {
		return cli.Usagef("--http: %w", err)
	}
	if a, ok := listener.Addr().(*net.TCPAddr); ok && !a.IP.IsLoopback() {
		h.Warn("--http %s can be reached from other machines, and nothing is encrypted; put a proxy with TLS in front", o.addr)
	}
	says := "Serving MCP at http://" + listener.Addr().String() + ServerPath + ", until a signal.\n"
	if given {
		says += "Clients send the token from " + TokenVar + ".\n"
	} else {
		says += "Clients send the header Authorization: Bearer " + token + "\n"
	}
	if err := h.Show(says); err != nil {
		return errors.Join(err, listener.Close())
	}
	mux := http.NewServeMux()
	mux.Handle(ServerPath, bearer(token, m))
	// Calls and answers have no time limit.
	web := &http.Server{Handler: mux, ReadHeaderTimeout: automation.HeaderTimeout, IdleTimeout: automation.IdleTimeout, MaxHeaderBytes: 16 << 10, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug)}
	web.RegisterOnShutdown(func() { _ = m.Close() }) // ends the streams, so that the server can stop
	return automation.Serve(ctx, web, listener)
}

// bearer requires a token before a request reaches a handler.
func bearer(token string, to http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		kind, sent, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		if !strings.EqualFold(kind, "Bearer") || subtle.ConstantTimeCompare([]byte(strings.TrimSpace(sent)), []byte(token)) != 1 {
			w.Header().Set("WWW-Authenticate", "Bearer")
			http.Error(w, fmt.Sprintf("send the token from the output of openagent mcp serve, or from %s, as Authorization: Bearer", TokenVar), http.StatusUnauthorized)
			return
		}
		connlimit.Admit(r.Context())
		to.ServeHTTP(w, r)
	})
}
