package parts

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path/filepath"
	"syscall"

	"github.com/openagent-go/agent/internal/environ"
	"github.com/openagent-go/agent/internal/plainfile"
	"github.com/openagent-go/agent/mcp"
	"github.com/openagent-go/agent/subagent"
)

const (
	ServersName      = ".mcp.json"      // in a project's folder
	UserServersName  = "mcp.json"       // in the home folder
	LocalServersName = "mcp-local.json" // in the home folder: the user's servers by the project's folder
	LoginsName       = "mcp-logins"     // in the home folder: logins to servers
	KeysName         = "keys.json"      // in the home folder: API keys of providers
	MaxServersFile   = 1 << 20          // bytes
)

// FindServers returns the configured MCP servers. For equal names, the user's servers for the
// project override the project's file, which overrides plugins and the user's file.
func (f *Finder) FindServers(ctx context.Context) (map[string]mcp.Config, error) {
	all := map[string]mcp.Config{}
	if f.Home != "" {
		found, err := LoadServers(filepath.Join(f.Home, UserServersName), f.Getenv)
		if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
			if found == nil {
				return nil, fmt.Errorf("%w; correct or remove the file", err)
			}
			f.Warn(Servers, err)
		}
		maps.Copy(all, found)
	}
	for _, p := range f.Plugins {
		for _, file := range p.Servers {
			maps.Copy(all, f.parseServers(file, f.getenvIn(p)))
		}
	}
	found, err := f.projectServers(ctx)
	if err != nil {
		return nil, err
	}
	maps.Copy(all, found)
	if found, err = f.localServers(); err != nil {
		if found == nil {
			return nil, fmt.Errorf("%w; correct or remove the file", err)
		}
		f.Warn(Servers, err)
	}
	maps.Copy(all, found)
	return all, nil
}

// A ServerFile is a project's server file, or the servers of a plugin.
type ServerFile struct {
	Dir   string // the folder that it was read for
	Place string // its real path
	Sum   string
	data  []byte
}

// ReadServerFile reads a project's server file. It returns nil if there is none.
func ReadServerFile(dir string) (*ServerFile, error) {
	path, err := filepath.Abs(filepath.Join(dir, ServersName))
	if err != nil {
		return nil, err
	}
	place, err := filepath.EvalSymlinks(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	data, err := plainfile.ReadFile(place, MaxServersFile)
	if errors.Is(err, fs.ErrNotExist) { // an empty folder, which a sandbox has put in the place of the file
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(data)
	return &ServerFile{dir, place, hex.EncodeToString(sum[:]), data}, nil
}

// Parse returns the servers of the file.
func (f *ServerFile) Parse(getenv func(string) string) (map[string]mcp.Config, error) {
	return mcp.Parse(f.data, getenv)
}

// projectServers returns the servers of the project's file if it is trusted in its current state.
// Read errors are reported and stop nothing.
func (f *Finder) projectServers(ctx context.Context) (map[string]mcp.Config, error) {
	file, err := ReadServerFile(f.Project)
	if err != nil {
		f.Warn(Servers, err)
		return nil, nil
	}
	if file == nil {
		return nil, nil
	}
	yes, err := f.Trust(ctx, Source{Kind: Servers, Path: file.Place, Sum: file.Sum, Content: file})
	if err != nil || !yes {
		return nil, err
	}
	return f.parseServers(file, f.Getenv), nil
}

// parseServers returns the servers of a trusted file.
func (f *Finder) parseServers(file *ServerFile, getenv func(string) string) map[string]mcp.Config {
	configs, err := file.Parse(getenv)
	if err != nil {
		f.Warn(Servers, fmt.Errorf("%s: %w", file.Place, err))
	}
	return configs
}

// localServers returns the servers that the user added for the project.
func (f *Finder) localServers() (map[string]mcp.Config, error) {
	if f.Home == "" {
		return nil, nil
	}
	d, err := ReadServers(filepath.Join(f.Home, LocalServersName), f.Project)
	if err != nil || len(d.Servers) == 0 {
		return nil, err
	}
	data, err := json.Marshal(map[string]any{"mcpServers": d.Servers})
	if err != nil {
		return nil, err
	}
	return mcp.Parse(data, f.Getenv)
}

// ServersOf reads the configurations of the servers that a definition brings along.
func (f *Finder) ServersOf(servers []subagent.Server) (map[string]mcp.Config, error) {
	configs := map[string]mcp.Config{}
	for _, server := range servers {
		if server.Config == nil {
			continue
		}
		data, err := json.Marshal(map[string]any{"mcpServers": map[string]any{server.Name: server.Config}})
		if err != nil {
			return nil, err
		}
		found, err := mcp.Parse(data, f.Getenv)
		if err != nil {
			return nil, err
		}
		c, ok := found[server.Name]
		if !ok {
			return nil, errors.New("the configuration of " + server.Name + " is empty")
		}
		configs[server.Name] = c
	}
	return configs, nil
}

// LoadServers reads the servers of a file such as .mcp.json. See [mcp.Parse].
func LoadServers(path string, getenv func(string) string) (map[string]mcp.Config, error) {
	f, err := plainfile.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, MaxServersFile+1))
	if err != nil {
		return nil, err
	}
	configs, err := mcp.Parse(data, getenv)
	if err != nil {
		return configs, fmt.Errorf("reading %s: %w", path, err)
	}
	return configs, nil
}

// ServerSecrets are the values in the configuration of a server that must not be shown: of
// headers, of the client that logs in, of variables, and keys in the URL and the arguments.
func ServerSecrets(c mcp.Config) []string {
	secret := ""
	if c.OAuth != nil {
		secret = c.OAuth.ClientSecret
	}
	return environ.Server(c.Env, c.URL, c.Args, c.Headers, secret)
}
