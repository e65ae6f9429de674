package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/settings"
	"github.com/openagent-go/agent/config"
	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/mcp"
)

// Scopes of server configurations: the user's for all projects, the project's for all its users,
// and the user's for this project.
const (
	userScope    = "user"
	projectScope = "project"
	LocalScope   = "local"

	LocalServersName = "mcp-local.json" // in the home folder: servers by the project's folder
)

var (
	ServerScopes     = []string{LocalScope, projectScope, userScope} // in search order
	ServerTransports = []string{mcp.Stdio, mcp.HTTP, mcp.SSE}
)

// serverFileOf returns the file of a scope.
func serverFileOf(h *cli.IO, scope, project string) (string, error) {
	if scope == projectScope {
		return filepath.Join(project, ProjectServersName), nil
	}
	home, err := h.Home()
	if err != nil {
		return "", err
	}
	if scope == LocalScope {
		return filepath.Join(home, LocalServersName), nil
	}
	return filepath.Join(home, userServersName), nil
}

// A ServerDocument is a parsed server file. Unknown members are preserved.
type ServerDocument struct {
	scope, project string
	top            map[string]json.RawMessage // of the file
	Servers        map[string]json.RawMessage // of the scope
	places         map[string]json.RawMessage // of the local scope: by project
}

// decodeServers parses a server file; nil means an empty file.
func decodeServers(data []byte, scope, project string) (*ServerDocument, error) {
	d := &ServerDocument{scope: scope, project: project, top: map[string]json.RawMessage{}, Servers: map[string]json.RawMessage{}, places: map[string]json.RawMessage{}}
	if len(data) == 0 {
		return d, nil
	}
	if err := json.Unmarshal(data, &d.top); err != nil {
		return nil, err
	}
	from := d.top
	if scope == LocalScope {
		if raw := d.top["projects"]; raw != nil {
			if err := json.Unmarshal(raw, &d.places); err != nil {
				return nil, fmt.Errorf("projects: %w", err)
			}
		}
		from = map[string]json.RawMessage{}
		if raw := d.places[project]; raw != nil {
			if err := json.Unmarshal(raw, &from); err != nil {
				return nil, fmt.Errorf("projects: %w", err)
			}
		}
	}
	if raw := from["mcpServers"]; raw != nil {
		if err := json.Unmarshal(raw, &d.Servers); err != nil {
			return nil, fmt.Errorf("mcpServers: %w", err)
		}
	} else if scope != LocalScope && len(d.top) > 0 {
		return nil, errors.New("the file has no member mcpServers; add it")
	}
	return d, nil
}

func (d *ServerDocument) encode() ([]byte, error) {
	servers, err := json.Marshal(d.Servers)
	if err != nil {
		return nil, err
	}
	if d.scope == LocalScope {
		if len(d.Servers) == 0 {
			delete(d.places, d.project)
		} else {
			d.places[d.project] = json.RawMessage(`{"mcpServers":` + string(servers) + `}`)
		}
		if d.top["projects"], err = json.Marshal(d.places); err != nil {
			return nil, err
		}
	} else {
		d.top["mcpServers"] = servers
	}
	data, err := json.MarshalIndent(d.top, "", "  ")
	return append(data, '\n'), err
}

// ReadServers reads the server file of a scope.
func ReadServers(h *cli.IO, scope, project string) (*ServerDocument, error) {
	path, err := serverFileOf(h, scope, project)
	if err != nil {
		return nil, err
	}
	data, err := settings.ReadFile(path, maxServersFile)
	if _, missing := os.Lstat(path); errors.Is(missing, fs.ErrNotExist) || errors.Is(missing, syscall.ENOTDIR) {
		data, err = nil, nil
	}
	if err != nil {
		return nil, err
	}
	d, err := decodeServers(data, scope, project)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", path, err)
	}
	return d, nil
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
		f, err := ReadServerFile(project)
		if err != nil {
			return cli.Usagef("%w", err)
		}
		t, err := settings.ReadTrust(h)
		if err != nil {
			return err
		}
		trust = f == nil || t.Files[f.Place].Sum == f.sum
	} else if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return cli.Usagef("writing %s: %w", path, err)
	}
	err = config.Update(ctx, path, mode, func(old []byte) ([]byte, error) {
		d, err := decodeServers(old, scope, project)
		if err != nil {
			return nil, err
		}
		if err := change(d.Servers); err != nil {
			return nil, err
		}
		return d.encode()
	})
	if err != nil {
		return cli.Usagef("%s: %w", path, err)
	}
	if !trust {
		return nil
	}
	f, err := ReadServerFile(project)
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

// localServers returns the servers that the user added for a project. Without a home folder there
// are none.
func localServers(h *cli.IO, project string) (map[string]mcp.Config, error) {
	if _, err := h.Home(); err != nil {
		return nil, nil
	}
	d, err := ReadServers(h, LocalScope, project)
	if err != nil || len(d.Servers) == 0 {
		return nil, err
	}
	data, err := json.Marshal(map[string]any{"mcpServers": d.Servers})
	if err != nil {
		return nil, err
	}
	return mcp.Parse(data, h.Getenv)
}
