package mcp

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/openagent-go/agent/cmd/openagent/internal/app"
	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/settings"
	"github.com/openagent-go/agent/internal/mcpnames"
	"github.com/openagent-go/agent/internal/parts"
	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/internal/wire"
	"github.com/openagent-go/agent/mcp"
	"github.com/openagent-go/agent/workspace"
)

// A foundServer is a configured server and the result of connecting to it.
type foundServer struct {
	Name   string     `json:"name"`
	Scope  string     `json:"scope"`
	What   string     `json:"what"` // its command line or address
	Status mcp.Status `json:"state"`
	MS     int64      `json:"ms"` // measured from the start of all servers

	config mcp.Config
}

// foundServers returns the servers of all scopes and of the flags, by name.
func foundServers(ctx context.Context, h *cli.IO, o *settings.Options) ([]*foundServer, error) {
	project, err := settings.WorkingDir()
	if err != nil {
		return nil, err
	}
	f := app.NewFinder(h, o, project, false, true)
	if err := app.FindPlugins(ctx, f); err != nil {
		return nil, err
	}
	configs, err := app.ServerConfigs(ctx, f, h, o)
	if err != nil {
		return nil, err
	}
	var list []*foundServer
	for _, name := range slices.Sorted(maps.Keys(configs)) {
		c := configs[name]
		h.Secrets = append(h.Secrets, parts.ServerSecrets(c)...)
		f := &foundServer{Name: name, Scope: "flags", What: wire.Mask(serverWhat(c), parts.ServerSecrets(c)), config: c}
		for _, scope := range app.ServerScopes {
			if d, err := app.ReadServers(h, scope, project); err == nil && d.Servers[name] != nil && !o.MCPStrict {
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

// look connects to servers, reports the results and closes them.
func look(ctx context.Context, h *cli.IO, list []*foundServer) (err error) {
	project, err := settings.WorkingDir()
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
	servers := mcp.New(configs, mcp.Options{Workspace: ws, Logins: app.Logins(h), LoginCommand: parts.LoginCommand, Version: cli.Version(), Changed: func(st mcp.Status) {
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
				f.Status.Error = wire.Mask(st.Error, parts.ServerSecrets(f.config))
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

// state returns the state of a server as one line.
func (f *foundServer) state() string {
	if f.Status.State == mcpnames.Connected {
		return fmt.Sprintf("connected, %s, %d ms", cli.Plural(len(f.Status.Tools), "tool"), f.MS)
	}
	state := string(f.Status.State)
	if f.Status.State == mcpnames.Pending { // openagent tries again later; this command does not wait
		state = string(mcpnames.Failed)
	}
	if f.Status.Error != "" {
		state += ": " + f.Status.Error
	}
	return state
}

// listServers connects to the servers and shows the results.
func listServers(ctx context.Context, h *cli.IO, o *settings.Options, format string) error {
	list, err := foundServers(ctx, h, o)
	if err != nil {
		return err
	}
	if err := look(ctx, h, list); err != nil {
		return err
	}
	var rows [][]string
	for _, f := range list {
		rows = append(rows, []string{f.Name, f.Scope, text.Runes(f.What, 60), text.Runes(f.state(), 200)})
	}
	if list == nil {
		if list = []*foundServer{}; format != cli.FormatJSON {
			return h.Show("There are no MCP servers. Add one with openagent mcp add NAME -- COMMAND.\n")
		}
	}
	return h.WriteList(format, list, "NAME SCOPE WHAT STATE", rows)
}

func lookupServer(ctx context.Context, h *cli.IO, o *settings.Options, name string) (*foundServer, error) {
	list, err := foundServers(ctx, h, o)
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
	return nil, cli.Usagef("there is no MCP server %q%s (see openagent mcp list)", cli.Clip(name), cli.Suggestion(name, names))
}
