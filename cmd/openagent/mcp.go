package main

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
	"github.com/openagent-go/agent/mcp"
	"github.com/openagent-go/agent/tool"
)

const (
	projectServersName = ".mcp.json" // in a project's folder
	userServersName    = "mcp.json"  // in the home folder
	maxServersFile     = 1 << 20     // bytes
	// serverPatience is how long a prompt that is the only one waits for servers: there
	// is no later one that could use their tools.
	serverPatience = 10 * time.Second
)

// findServers finds out which MCP servers there are, and connects none. Of two of one
// name that of the flags counts, then the project's, then the user's. With ask a
// person at the terminal is asked about a project's. A host that sends lines may set
// servers later.
func (h *host) findServers(ctx context.Context, s *setup, ask bool) error {
	configs, err := h.serverConfigs(ctx, s.options, s.project, s.plugins, ask)
	if err != nil {
		return err
	}
	for _, k := range s.kinds {
		own, err := h.serversOf(k.Servers)
		if err != nil {
			continue // who wants the agent hears of it
		}
		for _, c := range own {
			h.secrets = append(h.secrets, c.Secrets()...)
		}
	}
	if s.kind != nil && !s.options.mcpStrict {
		own, err := h.serversOf(s.kind.Servers)
		if err != nil {
			return cli.Usagef("--agent %s: %w", s.kind.Agent.Name, err)
		}
		maps.Copy(configs, own)
	}
	if len(configs) == 0 && s.options.input != formatStream {
		return nil
	}
	for _, c := range configs {
		h.secrets = append(h.secrets, c.Secrets()...)
	}
	o := h.serverOptions(s)
	logged := o.Changed
	o.Changed = func(st mcp.Status) {
		logged(st)
		if tell := s.told.Load(); tell != nil {
			(*tell)(st)
		}
	}
	if !ask && s.options.input != formatStream {
		o.Wait = serverPatience
	}
	s.given = configs
	s.servers = mcp.New(configs, o)
	for _, st := range s.servers.Status() {
		if st.State == mcp.Failed {
			h.complain("the MCP server %s: %s", st.Name, st.Error)
		}
	}
	return nil
}

func (h *host) serverOptions(s *setup) mcp.Options {
	log := h.logger(s.options)
	return mcp.Options{Workspace: s.workspace, Logins: h.logins(), LoginCommand: loginCommand, Version: version(), Log: log, Changed: func(st mcp.Status) {
		if st.State == mcp.Failed || st.State == mcp.NeedsAuth {
			log.Warn("an MCP server cannot be used", "server", st.Name, "error", st.Error)
		}
	}}
}

// addServers gives the agent the tools of the servers and begins to connect them.
func (s *setup) addServers() {
	if s.servers == nil {
		return
	}
	s.servers.Start()
	s.agent.Toolsets = append(s.agent.Toolsets, s.servers)
}

// serverConfigs are the servers of a run in a folder.
func (h *host) serverConfigs(ctx context.Context, o *options, project string, plugins []*plugin, ask bool) (map[string]mcp.Config, error) {
	all := map[string]mcp.Config{}
	if !o.mcpStrict {
		if home, err := h.home(); err == nil {
			found, err := mcp.LoadFile(filepath.Join(home, userServersName), h.getenv)
			if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
				if found == nil {
					return nil, cli.Usagef("%w; mend or remove the file", err)
				}
				h.complain("%v", err)
			}
			maps.Copy(all, found)
		}
		for _, p := range plugins {
			for _, f := range p.servers {
				maps.Copy(all, h.parseServers(f, h.withinPlugin(p.dir)))
			}
		}
		found, err := h.projectServers(ctx, project, ask)
		if err != nil {
			return nil, err
		}
		maps.Copy(all, found)
		if found, err = h.localServers(project); err != nil {
			if found == nil {
				return nil, cli.Usagef("%w; mend or remove the file", err)
			}
			h.complain("%v", err)
		}
		maps.Copy(all, found)
	}
	for _, given := range o.mcp {
		found, err := h.givenServers(given)
		if err != nil {
			return nil, cli.Usagef("--mcp-config: %w", err)
		}
		maps.Copy(all, found)
	}
	return all, nil
}

// givenServers reads a value of --mcp-config: a file, or JSON.
func (h *host) givenServers(given string) (map[string]mcp.Config, error) {
	if strings.HasPrefix(strings.TrimSpace(given), "{") {
		return mcp.Parse([]byte(given), h.getenv)
	}
	found, err := mcp.LoadFile(given, h.getenv)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("there is no file %s; name one, or write the JSON itself", given)
	}
	return found, err
}

// A serverFile is a project's file of servers, or what a plugin says of its servers.
type serverFile struct {
	place string // its real path
	sum   string
	data  []byte
}

// readServerFile returns nil where there is none.
func readServerFile(dir string) (*serverFile, error) {
	path, err := filepath.Abs(filepath.Join(dir, projectServersName))
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
	data, err := readFile(place, maxServersFile)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(data)
	return &serverFile{place, hex.EncodeToString(sum[:]), data}, nil
}

// projectServers are those of the project's file, if it is trusted as it is now.
// What cannot be read is reported and holds up nothing.
func (h *host) projectServers(ctx context.Context, dir string, ask bool) (map[string]mcp.Config, error) {
	f, err := readServerFile(dir)
	if err != nil {
		h.complain("%v", err)
		return nil, nil
	}
	if f == nil {
		return nil, nil
	}
	t, err := h.readTrust()
	if err != nil {
		h.complain("%v", err)
		return nil, nil
	}
	if t.Files[f.place].Sum != f.sum {
		trusted := false
		if ask {
			if trusted, err = h.offerServers(ctx, f); err != nil {
				return nil, err
			}
		} else {
			h.complain("the servers of %s are not started: it is not trusted as it is; look at it, then: openagent trust add %s", f.place, cli.Quote(dir))
		}
		if !trusted {
			return nil, nil
		}
	}
	return h.parseServers(f, h.getenv), nil
}

// parseServers returns the servers of a file that is trusted.
func (h *host) parseServers(f *serverFile, getenv func(string) string) map[string]mcp.Config {
	configs, err := mcp.Parse(f.data, getenv)
	if err != nil {
		h.complain("%s: %v", f.place, err)
	}
	return configs
}

// offerServers asks the person at the terminal about a project's servers. They
// are shown as the file has them, without the values of variables.
func (h *host) offerServers(ctx context.Context, f *serverFile) (bool, error) {
	if _, err := fmt.Fprintf(h.err, "The file %s names MCP servers, which would be started or connected to:\n%s", h.oneLine(f.place), h.serverList(f)); err != nil {
		return false, err
	}
	yes, err := h.confirm(ctx, "Do you trust them, as they are now? [y/N] ")
	if err != nil || !yes {
		return false, err
	}
	return true, h.trustServers(ctx, f)
}

func (h *host) trustServers(ctx context.Context, f *serverFile) error {
	return h.changeTrust(ctx, func(t trusted) { t.Files[f.place] = trustedFile{f.sum, now()} })
}

func (h *host) serverList(f *serverFile) string {
	configs, err := mcp.Parse(f.data, func(name string) string { return "${" + name + "}" })
	var b strings.Builder
	if err != nil {
		fmt.Fprintf(&b, "  %s\n", h.oneLine(err.Error()))
	}
	for _, name := range slices.Sorted(maps.Keys(configs)) {
		c := configs[name]
		what := c.URL
		if c.Command != "" {
			what = strings.Join(append([]string{c.Command}, c.Args...), " ")
		}
		fmt.Fprintf(&b, "  %s: %s\n", h.visible(name), h.visible(what))
		for _, variable := range slices.Sorted(maps.Keys(c.Env)) {
			value := c.Env[variable]
			if tool.SecretName(variable) {
				value = "[secret]"
			}
			fmt.Fprintf(&b, "    %s=%s\n", h.visible(variable), h.visible(value))
		}
	}
	return b.String()
}

// serverFileState says how a file of servers stands that was trusted.
func serverFileState(place string, t trustedFile) string {
	f, err := readServerFile(filepath.Dir(place))
	switch {
	case err == nil && f == nil:
		return "gone"
	case err != nil || f.place != place || f.sum != t.Sum:
		return "changed"
	}
	return "trusted"
}

// isServerFile reports whether a trusted file is one of servers.
func isServerFile(place string) bool { return filepath.Base(place) == projectServersName }

// A namedServer is what the line init says of a server.
type namedServer struct {
	Name   string    `json:"name"`
	Status mcp.State `json:"status"`
}

// serverStatus are the servers of a run; there may be none.
func (s *setup) serverStatus() []mcp.Status {
	if s.servers == nil {
		return []mcp.Status{}
	}
	return s.servers.Status()
}

func (s *setup) serverNames() []namedServer {
	list := []namedServer{}
	for _, st := range s.serverStatus() {
		list = append(list, namedServer{st.Name, st.State})
	}
	return list
}
