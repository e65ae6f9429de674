package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/internal/wire"
	"github.com/openagent-go/agent/mcp"
	"github.com/openagent-go/agent/workspace"
)

// A foundServer is a server of a file, and what came of connecting it.
type foundServer struct {
	Name   string     `json:"name"`
	Scope  string     `json:"scope"`
	What   string     `json:"what"` // its command line or its address
	Status mcp.Status `json:"state"`
	MS     int64      `json:"ms"` // from the start of all of them

	config mcp.Config
}

// foundServers are the servers of all scopes, the flags' among them, by name.
func (h *host) foundServers(ctx context.Context, o *options) ([]*foundServer, error) {
	project, err := workingDir()
	if err != nil {
		return nil, err
	}
	plugins, err := h.trustedPlugins(ctx, o.plugins, false, true)
	if err != nil {
		return nil, err
	}
	configs, err := h.serverConfigs(ctx, o, project, plugins, false)
	if err != nil {
		return nil, err
	}
	var list []*foundServer
	for _, name := range slices.Sorted(maps.Keys(configs)) {
		c := configs[name]
		h.secrets = append(h.secrets, c.Secrets()...)
		f := &foundServer{Name: name, Scope: "flags", What: wire.Mask(serverWhat(c), c.Secrets()), config: c}
		for _, scope := range serverScopes {
			if d, err := h.readServers(scope, project); err == nil && d.servers[name] != nil && !o.mcpStrict {
				f.Scope = scope
				break
			}
		}
		list = append(list, f)
	}
	return list, nil
}

func serverWhat(c mcp.Config) string {
	if c.Command != "" {
		return strings.Join(append([]string{c.Command}, c.Args...), " ")
	}
	return c.URL
}

// look connects servers and says what came of it. They are ended again.
func (h *host) look(ctx context.Context, list []*foundServer) (err error) {
	project, err := workingDir()
	if err != nil {
		return err
	}
	ws := &workspace.Workspace{Root: project}
	defer func() {
		if closed := ws.Close(); err == nil {
			err = closed
		}
	}()
	configs := map[string]mcp.Config{}
	for _, f := range list {
		f.config.AlwaysLoad = true
		configs[f.Name] = f.config
	}
	began := time.Now()
	took := make(chan struct {
		name string
		ms   int64
	}, 1000)
	servers := mcp.New(configs, mcp.Options{Workspace: ws, Logins: h.logins(), LoginCommand: loginCommand, Version: version(), Changed: func(st mcp.Status) {
		select {
		case took <- struct {
			name string
			ms   int64
		}{st.Name, time.Since(began).Milliseconds()}:
		default:
		}
	}})
	defer servers.Close()
	if _, err := servers.Tools(ctx); err != nil {
		return err
	}
	for _, st := range servers.Status() {
		for _, f := range list {
			if f.Name == st.Name {
				f.Status = st
				f.Status.Error = wire.Mask(st.Error, f.config.Secrets())
			}
		}
	}
	for len(took) > 0 {
		t := <-took
		for _, f := range list {
			if f.Name == t.name && f.MS == 0 {
				f.MS = t.ms
			}
		}
	}
	return nil
}

// state is how a server stands, in a line.
func (f *foundServer) state() string {
	if f.Status.State == mcp.Connected {
		return fmt.Sprintf("connected, %s, %d ms", plural(len(f.Status.Tools), "tool"), f.MS)
	}
	state := string(f.Status.State)
	if f.Status.State == mcp.Pending { // it is tried again; here it is not waited for
		state = string(mcp.Failed)
	}
	if f.Status.Error != "" {
		state += ": " + f.Status.Error
	}
	return state
}

// listServers shows the servers, each after it was really connected.
func (h *host) listServers(ctx context.Context, o *options, format string) error {
	list, err := h.foundServers(ctx, o)
	if err != nil {
		return err
	}
	if err := h.look(ctx, list); err != nil {
		return err
	}
	var rows [][]string
	for _, f := range list {
		rows = append(rows, []string{f.Name, f.Scope, short(f.What, 60), short(f.state(), 200)})
	}
	if list == nil {
		if list = []*foundServer{}; format != formatJSON {
			return h.show("There are no MCP servers. openagent mcp add NAME -- COMMAND adds one.\n")
		}
	}
	return h.list(format, list, "NAME SCOPE WHAT STATE", rows)
}

func (h *host) foundServer(ctx context.Context, o *options, name string) (*foundServer, error) {
	list, err := h.foundServers(ctx, o)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, f := range list {
		if f.Name == name {
			return f, nil
		}
		names = append(names, f.Name)
	}
	return nil, cli.Usagef("there is no MCP server %q%s", cli.Clip(name), cli.Likely(name, names))
}

// getServer shows a server's configuration, without what may be secret.
func (h *host) getServer(ctx context.Context, o *options, name string) error {
	f, err := h.foundServer(ctx, o, name)
	if err != nil {
		return err
	}
	c := f.config
	for _, table := range []*map[string]string{&c.Env, &c.Headers} {
		shown := map[string]string{}
		for k := range *table {
			shown[k] = "***"
		}
		if *table = shown; len(shown) == 0 {
			*table = nil
		}
	}
	data, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s (%s)\n", h.oneLine(f.Name), f.Scope)
	for line := range strings.Lines(string(data) + "\n") {
		b.WriteString(h.oneLineKept(line) + "\n")
	}
	return h.show(b.String())
}

// oneLineKept is oneLine with the spaces at the beginning.
func (h *host) oneLineKept(s string) string {
	text := strings.TrimLeft(s, " ")
	return s[:len(s)-len(text)] + h.oneLine(text)
}

// testServer connects a server, and shows what it has or why it does not work.
func (h *host) testServer(ctx context.Context, o *options, name string) error {
	f, err := h.foundServer(ctx, o, name)
	if err != nil {
		return err
	}
	if err := h.look(ctx, []*foundServer{f}); err != nil {
		return err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s (%s): %s\n", h.oneLine(f.Name), f.Scope, h.oneLine(f.state()))
	st := f.Status
	if st.ServerName != "" {
		fmt.Fprintf(&b, "%s, protocol %s\n", h.oneLine(strings.TrimSpace(st.ServerName+" "+st.ServerVersion)), h.oneLine(st.Protocol))
	}
	for _, t := range st.Tools {
		fmt.Fprintf(&b, "  %s\n", h.oneLine(t))
	}
	for _, p := range st.Problems {
		fmt.Fprintf(&b, "! %s\n", h.oneLine(p))
	}
	if err := h.show(b.String()); err != nil {
		return err
	}
	if st.State != mcp.Connected {
		return cli.Ended(cli.ExitInternal)
	}
	return nil
}
