package streamjson

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"github.com/openagent-go/agent/cmd/openagent/internal/app"
	"github.com/openagent-go/agent/internal/coding"
	"github.com/openagent-go/agent/internal/mcpnames"
	"github.com/openagent-go/agent/mcp"
)

// A serverLine reports a change of an MCP server.
type serverLine struct {
	Type    string     `json:"type"`
	Subtype string     `json:"subtype"` // mcp_server
	Server  mcp.Status `json:"mcp_server"`
	Origin
}

// tellOfServers writes a line for each change of an MCP server.
func (d *Session) tellOfServers() {
	tell := func(st mcp.Status) {
		d.out.answer(serverLine{Type: "system", Subtype: "mcp_server", Server: st, Origin: d.sign()})
	}
	d.s.OnServerChange.Store(&tell)
}

// changeServers reconnects a server, enables or disables it, or sets the additional servers.
func (d *Session) changeServers(ctx context.Context, o controlCommand) (any, error) {
	servers := d.s.Servers
	switch o.Subtype {
	case "mcp_reconnect":
		return struct{}{}, servers.Reconnect(ctx, o.ServerName)
	case "mcp_toggle":
		if o.Enabled == nil {
			return nil, errors.New("mcp_toggle: enabled is missing")
		}
		return struct{}{}, servers.Toggle(ctx, o.ServerName, *o.Enabled)
	}
	if len(o.NewServers) == 0 || string(o.NewServers) == "null" {
		return nil, errors.New("mcp_set_servers: servers is missing")
	}
	set, err := mcp.Parse([]byte(`{"mcpServers":`+string(o.NewServers)+`}`), d.H.Getenv)
	if err != nil {
		return nil, fmt.Errorf("mcp_set_servers: %w", err)
	}
	coding.BoundCalls(set, app.CallTime(d.H))
	all := maps.Clone(d.s.ServerConfigs)
	if all == nil {
		all = map[string]mcp.Config{}
	}
	refused := map[string]string{}
	for name, c := range set {
		switch _, taken := d.s.ServerConfigs[name]; {
		case taken:
			refused[name] = "a server of the run already has this name; choose another name"
		case c.Type == mcpnames.InProcess && d.claude:
			c.AlwaysLoad = true
			all[name] = c
		case c.Type == mcpnames.InProcess:
			refused[name] = "servers within the host need --verbose"
		default:
			all[name] = c
		}
	}
	change, err := servers.Set(all)
	if err != nil {
		return nil, err
	}
	maps.Copy(change.Errors, refused)
	return change, nil
}
