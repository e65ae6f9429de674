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
	// serverPatience is how long a prompt that is the only one waits for servers: there
	// is no later one that could use their tools.
	serverPatience = 10 * time.Second
)

// FindServers finds out which MCP servers there are, and connects none. Of two of one
// name that of the flags counts, then the project's, then the user's. With ask a
// person at the terminal is asked about a project's. A host that sends lines may set
// servers later.
func FindServers(ctx context.Context, h *cli.IO, s *App, ask bool) error {
	configs, err := ServerConfigs(ctx, h, s.Options, s.Project, s.plugins, ask)
	if err != nil {
		return err
	}
	for _, k := range s.Definitions {
		own, err := serversOf(h, k.Servers)
		if err != nil {
			continue // who wants the agent hears of it
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
			log.Warn("an MCP server cannot be used", "server", st.Name, "error", st.Error)
		}
	}}
}

// AddServers gives the agent the tools of the servers and begins to connect them.
func (s *App) AddServers() {
	if s.Servers == nil {
		return
	}
	s.Servers.Start()
	s.Agent.Toolsets = append(s.Agent.Toolsets, s.Servers)
}

// ServerConfigs are the servers of a run in a folder.
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
		return nil, fmt.Errorf("there is no file %s; name one, or write the JSON itself", given)
	}
	return found, err
}

// A serverFile is a project's file of servers, or what a plugin says of its servers.
type serverFile struct {
	Place string // its real path
	sum   string
	data  []byte
}

// ReadServerFile returns nil where there is none.
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

// projectServers are those of the project's file, if it is trusted as it is now.
// What cannot be read is reported and holds up nothing.
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
			h.Warn("the servers of %s are not started: it is not trusted as it is; look at it, then: openagent trust add %s", f.Place, text.QuoteShell(dir))
		}
		if !trusted {
			return nil, nil
		}
	}
	return parseServers(h, f, h.Getenv), nil
}

// parseServers returns the servers of a file that is trusted.
func parseServers(h *cli.IO, f *serverFile, getenv func(string) string) map[string]mcp.Config {
	configs, err := mcp.Parse(f.data, getenv)
	if err != nil {
		h.Warn("%s: %v", f.Place, err)
	}
	return configs
}

// offerServers asks the person at the terminal about a project's servers. They
// are shown as the file has them, without the values of variables.
func offerServers(ctx context.Context, h *cli.IO, f *serverFile) (bool, error) {
	if _, err := fmt.Fprintf(h.Err, "The file %s names MCP servers, which would be started or connected to:\n%s", h.OneLine(f.Place), ServerList(h, f)); err != nil {
		return false, err
	}
	yes, err := settings.Confirm(ctx, h, "Do you trust them, as they are now? [y/N] ")
	if err != nil || !yes {
		return false, err
	}
	return true, TrustServers(ctx, h, f)
}

// TrustServers records that a project's file of MCP servers is trusted as it is.
func TrustServers(ctx context.Context, h *cli.IO, f *serverFile) error {
	return settings.ChangeTrust(ctx, h, func(t settings.Trusted) {
		t.Files[f.Place] = settings.TrustedFile{Sum: f.sum, Since: settings.TrustTime()}
	})
}

// ServerList shows the MCP servers of a project's file.
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

// ServerFileState says how a file of servers stands that was trusted.
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

// IsServerFile reports whether a trusted file is one of servers.
func IsServerFile(place string) bool { return filepath.Base(place) == ProjectServersName }

// A NamedServer is what the line init says of a server.
type NamedServer struct {
	Name   string    `json:"name"`
	Status mcp.State `json:"status"`
}

// ServerStatus are the servers of a run; there may be none.
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
