package app

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/settings"
	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/mcp"
	"github.com/openagent-go/agent/tool"
)

const (
	ProjectServersName = ".mcp.json" // in a project's folder
	userServersName    = "mcp.json"  // in the home folder
	maxServersFile     = 1 << 20     // bytes
	// serverPatience is how long a single prompt waits for servers. No later prompt could use
	// their tools.
	serverPatience = 10 * time.Second
)

// FindServers finds the configured MCP servers without connecting to them. For equal names, flags
// override the project's file, which overrides the user's. With ask, it asks the user on the
// terminal about the project's servers. A stream-json host may set servers later.
func FindServers(ctx context.Context, h *cli.IO, s *App, ask bool) error {
	configs, err := ServerConfigs(ctx, h, s.Options, s.Project, s.plugins, ask)
	if err != nil {
		return err
	}
	for _, k := range s.Definitions {
		own, err := serversOf(h, k.Servers)
		if err != nil {
			continue // the error names the agent
		}
		for _, c := range own {
			h.Secrets = append(h.Secrets, c.Secrets()...)
		}
	}
	if s.definition != nil && !s.Options.MCPStrict {
		own, err := serversOf(h, s.definition.Servers)
		if err != nil {
			return cli.Usagef("--agent %s: %w", s.definition.Agent.Name, err)
		}
		maps.Copy(configs, own)
	}
	if len(configs) == 0 && s.Options.Input != cli.FormatStream {
		return nil
	}
	for _, c := range configs {
		h.Secrets = append(h.Secrets, c.Secrets()...)
	}
	o := serverOptions(h, s)
	logged := o.Changed
	o.Changed = func(st mcp.Status) {
		logged(st)
		if tell := s.OnServerChange.Load(); tell != nil {
			(*tell)(st)
		}
	}
	if !ask && s.Options.Input != cli.FormatStream {
		o.Wait = serverPatience
	}
	s.InitialServers = configs
	s.Servers = mcp.New(configs, o)
	for _, st := range s.Servers.Status() {
		if st.State == mcp.Failed {
			h.Warn("the MCP server %s: %s", st.Name, st.Error)
		}
	}
	return nil
}

func serverOptions(h *cli.IO, s *App) mcp.Options {
	log := settings.Logger(h, s.Options)
	return mcp.Options{Workspace: s.workspace, Logins: Logins(h), LoginCommand: LoginCommand, Version: cli.Version(), Log: log, Changed: func(st mcp.Status) {
		if st.State == mcp.Failed || st.State == mcp.NeedsAuth {
			log.Warn("an MCP server is unavailable", "server", st.Name, "error", st.Error)
		}
	}}
}

// AddServers adds the servers' tools to the agent and starts to connect.
func (s *App) AddServers() {
	if s.Servers == nil {
		return
	}
	s.Servers.Start()
	s.Agent.Toolsets = append(s.Agent.Toolsets, s.Servers)
}

// ServerConfigs returns the servers of a run in a folder.
func ServerConfigs(ctx context.Context, h *cli.IO, o *settings.Options, project string, plugins []*Plugin, ask bool) (map[string]mcp.Config, error) {
	all := map[string]mcp.Config{}
	if !o.MCPStrict {
		if home, err := h.Home(); err == nil {
			found, err := mcp.LoadFile(filepath.Join(home, userServersName), h.Getenv)
			if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
				if found == nil {
					return nil, cli.Usagef("%w; correct or remove the file", err)
				}
				h.Warn("%v", err)
			}
			maps.Copy(all, found)
		}
		for _, p := range plugins {
			for _, f := range p.servers {
				maps.Copy(all, parseServers(h, f, withinPlugin(h, p.Dir)))
			}
		}
		found, err := projectServers(ctx, h, project, ask)
		if err != nil {
			return nil, err
		}
		maps.Copy(all, found)
		if found, err = localServers(h, project); err != nil {
			if found == nil {
				return nil, cli.Usagef("%w; correct or remove the file", err)
			}
			h.Warn("%v", err)
		}
		maps.Copy(all, found)
	}
	for _, given := range o.MCP {
		found, err := givenServers(h, given)
		if err != nil {
			return nil, cli.Usagef("--mcp-config: %w", err)
		}
		maps.Copy(all, found)
	}
	return all, nil
}

// givenServers reads a value of --mcp-config: a file, or JSON.
func givenServers(h *cli.IO, given string) (map[string]mcp.Config, error) {
	if strings.HasPrefix(strings.TrimSpace(given), "{") {
		return mcp.Parse([]byte(given), h.Getenv)
	}
	found, err := mcp.LoadFile(given, h.Getenv)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("the file %s does not exist; name an existing file, or write the JSON itself", given)
	}
	return found, err
}

// A serverFile is a project's server file, or the servers of a plugin.
type serverFile struct {
	Place string // its real path
	sum   string
	data  []byte
}

// ReadServerFile reads a project's server file. It returns nil if there is none.
func ReadServerFile(dir string) (*serverFile, error) {
	path, err := filepath.Abs(filepath.Join(dir, ProjectServersName))
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
	data, err := settings.ReadFile(place, maxServersFile)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(data)
	return &serverFile{place, hex.EncodeToString(sum[:]), data}, nil
}

// projectServers returns the servers of the project's file if it is trusted in its current state.
// Read errors are reported and stop nothing.
func projectServers(ctx context.Context, h *cli.IO, dir string, ask bool) (map[string]mcp.Config, error) {
	f, err := ReadServerFile(dir)
	if err != nil {
		h.Warn("%v", err)
		return nil, nil
	}
	if f == nil {
		return nil, nil
	}
	t, err := settings.ReadTrust(h)
	if err != nil {
		h.Warn("%v", err)
		return nil, nil
	}
	if t.Files[f.Place].Sum != f.sum {
		trusted := false
		if ask {
			if trusted, err = offerServers(ctx, h, f); err != nil {
				return nil, err
			}
		} else {
			h.Warn("the servers of %s are not started: the file is not trusted in its current state; review it, then run openagent trust add %s", f.Place, text.QuoteShell(dir))
		}
		if !trusted {
			return nil, nil
		}
	}
	return parseServers(h, f, h.Getenv), nil
}

// parseServers returns the servers of a trusted file.
func parseServers(h *cli.IO, f *serverFile, getenv func(string) string) map[string]mcp.Config {
	configs, err := mcp.Parse(f.data, getenv)
	if err != nil {
		h.Warn("%s: %v", f.Place, err)
	}
	return configs
}

// offerServers asks the user about a project's servers. It shows them as written in the file,
// without the values of variables.
func offerServers(ctx context.Context, h *cli.IO, f *serverFile) (bool, error) {
	if _, err := fmt.Fprintf(h.Err, "The file %s configures MCP servers, which openagent would start or connect to:\n%s", h.OneLine(f.Place), ServerList(h, f)); err != nil {
		return false, err
	}
	yes, err := settings.Confirm(ctx, h, "Do you trust them, as they are now? [y/N] ")
	if err != nil || !yes {
		return false, err
	}
	return true, TrustServers(ctx, h, f)
}

// TrustServers records a project's MCP server file as trusted in its current state.
func TrustServers(ctx context.Context, h *cli.IO, f *serverFile) error {
	return settings.ChangeTrust(ctx, h, func(t settings.Trusted) {
		t.Files[f.Place] = settings.TrustedFile{Sum: f.sum, Since: settings.TrustTime()}
	})
}

// ServerList formats the MCP servers of a project's file for a question.
func ServerList(h *cli.IO, f *serverFile) string {
	configs, err := mcp.Parse(f.data, func(name string) string { return "${" + name + "}" })
	var b strings.Builder
	if err != nil {
		fmt.Fprintf(&b, "  %s\n", h.OneLine(err.Error()))
	}
	for _, name := range slices.Sorted(maps.Keys(configs)) {
		c := configs[name]
		what := c.URL
		if c.Command != "" {
			what = strings.Join(append([]string{c.Command}, c.Args...), " ")
		}
		fmt.Fprintf(&b, "  %s: %s\n", h.Visible(name), h.Visible(what))
		for _, variable := range slices.Sorted(maps.Keys(c.Env)) {
			value := c.Env[variable]
			if tool.SecretName(variable) {
				value = "[secret]"
			}
			fmt.Fprintf(&b, "    %s=%s\n", h.Visible(variable), h.Visible(value))
		}
	}
	return b.String()
}

// ServerFileState returns the trust state of a server file.
func ServerFileState(place string, t settings.TrustedFile) string {
	f, err := ReadServerFile(filepath.Dir(place))
	switch {
	case err == nil && f == nil:
		return "gone"
	case err != nil || f.Place != place || f.sum != t.Sum:
		return "changed"
	}
	return "trusted"
}

// IsServerFile reports whether a trusted file is a server file.
func IsServerFile(place string) bool { return filepath.Base(place) == ProjectServersName }

// A NamedServer describes a server in the init line.
type NamedServer struct {
	Name   string    `json:"name"`
	Status mcp.State `json:"status"`
}

// ServerStatus returns the servers of a run; the list may be empty.
func (s *App) ServerStatus() []mcp.Status {
	if s.Servers == nil {
		return []mcp.Status{}
	}
	return s.Servers.Status()
}

// ServerNames lists the MCP servers with their states.
func (s *App) ServerNames() []NamedServer {
	list := []NamedServer{}
	for _, st := range s.ServerStatus() {
		list = append(list, NamedServer{st.Name, st.State})
	}
	return list
}
