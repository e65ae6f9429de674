package app

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/settings"
	"github.com/openagent-go/agent/internal/config"
	"github.com/openagent-go/agent/internal/mcpnames"
	"github.com/openagent-go/agent/internal/parts"
	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/mcp"
)

// Scopes of server configurations: the user's for all projects, the project's for all its users,
// and the user's for this project.
const (
	userScope    = "user"
	projectScope = "project"
	LocalScope   = "local"
)

var (
	ServerScopes     = []string{LocalScope, projectScope, userScope} // in search order
	ServerTransports = []string{mcpnames.Stdio, mcpnames.HTTP, mcpnames.SSE}
)

// serverFileOf returns the file of a scope.
func serverFileOf(h *cli.IO, scope, project string) (string, error) {
	if scope == projectScope {
		return filepath.Join(project, parts.ServersName), nil
	}
	home, err := h.Home()
	if err != nil {
		return "", err
	}
	if scope == LocalScope {
		return filepath.Join(home, parts.LocalServersName), nil
	}
	return filepath.Join(home, parts.UserServersName), nil
}

// entry returns the project's folder if the servers of a scope are an entry of the file, else "".
func entry(scope, project string) string {
	if scope == LocalScope {
		return project
	}
	return ""
}

// ReadServers reads the server file of a scope.
func ReadServers(h *cli.IO, scope, project string) (*parts.ServerDocument, error) {
	path, err := serverFileOf(h, scope, project)
	if err != nil {
		return nil, err
	}
	return parts.ReadServers(path, entry(scope, project))
}

// changeServerFile changes the servers of a scope. If a project's file is new or was trusted, it is
// trusted after the change, because the user made it.
func changeServerFile(ctx context.Context, h *cli.IO, scope, project string, change func(servers map[string]json.RawMessage) error) error {
	path, err := serverFileOf(h, scope, project)
	if err != nil {
		return err
	}
	mode, trust := fs.FileMode(0o600), false
	if scope == projectScope {
		mode = 0o644
		f, err := parts.ReadServerFile(project)
		if err != nil {
			return cli.Usagef("%w", err)
		}
		t, err := settings.ReadTrust(h)
		if err != nil {
			return err
		}
		trust = f == nil || t.Files[f.Place].Sum == f.Sum
	} else if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return cli.Usagef("writing %s: %w", path, err)
	}
	err = config.Update(ctx, path, mode, func(old []byte) ([]byte, error) {
		d, err := parts.DecodeServers(old, entry(scope, project))
		if err != nil {
			return nil, err
		}
		if err := change(d.Servers); err != nil {
			return nil, err
		}
		return d.Encode()
	})
	if err != nil {
		return cli.Usagef("%s: %w", path, err)
	}
	if !trust {
		return nil
	}
	f, err := parts.ReadServerFile(project)
	if err != nil || f == nil {
		return err
	}
	return TrustServers(ctx, h, f)
}

// AddServer adds a server to a scope.
func AddServer(ctx context.Context, h *cli.IO, scope, name string, raw json.RawMessage) error {
	project, err := settings.WorkingDir()
	if err != nil {
		return err
	}
	if err := json.Unmarshal(raw, new(any)); err != nil {
		return cli.Usagef("mcp add-json: the JSON of server %s: %w", cli.Clip(name), err)
	}
	checked, err := mcp.Parse([]byte(`{"mcpServers":{`+string(mustJSON(name))+`:`+string(raw)+`}}`), func(v string) string { return "${" + v + "}" })
	if err != nil {
		return cli.Usagef("%w", err)
	}
	if err := checked[name].Check(name); err != nil {
		return cli.Usagef("the server %s: %w", cli.Clip(name), err)
	}
	err = changeServerFile(ctx, h, scope, project, func(servers map[string]json.RawMessage) error {
		if servers[name] != nil {
			return fmt.Errorf("the server %q already exists in scope %s; remove it first: openagent mcp remove %s --scope %s", cli.Clip(name), scope, text.QuoteShell(name), scope)
		}
		servers[name] = raw
		return nil
	})
	if err != nil {
		return err
	}
	return h.Show(fmt.Sprintf("Added %s (%s). Test it with: openagent mcp test %s\n", h.OneLine(name), scope, h.OneLine(text.QuoteShell(name))))
}

func mustJSON(s string) []byte {
	data, _ := json.Marshal(s) // a string can be encoded
	return data
}

// RemoveServer removes a server from a scope. With scope "" it removes it from the only scope that
// has it.
func RemoveServer(ctx context.Context, h *cli.IO, scope, name string) error {
	project, err := settings.WorkingDir()
	if err != nil {
		return err
	}
	var in []string
	for _, s := range ServerScopes {
		if scope != "" && s != scope {
			continue
		}
		d, err := ReadServers(h, s, project)
		if err != nil {
			return cli.Usagef("%w", err)
		}
		if d.Servers[name] != nil {
			in = append(in, s)
		}
	}
	switch len(in) {
	case 0:
		return cli.Usagef("there is no MCP server %q in %s", cli.Clip(name), strings.Join(slices.DeleteFunc(slices.Clone(ServerScopes), func(s string) bool { return scope != "" && s != scope }), ", "))
	case 1:
	default:
		return cli.Usagef("the server %q is in several scopes (%s); choose one with --scope", cli.Clip(name), strings.Join(in, ", "))
	}
	err = changeServerFile(ctx, h, in[0], project, func(servers map[string]json.RawMessage) error {
		delete(servers, name)
		return nil
	})
	if err != nil {
		return err
	}
	return h.Show(fmt.Sprintf("Removed %s (%s).\n", h.OneLine(name), in[0]))
}
