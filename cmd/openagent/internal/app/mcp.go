package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/settings"
	"github.com/openagent-go/agent/internal/environ"
	"github.com/openagent-go/agent/internal/parts"
	"github.com/openagent-go/agent/internal/trusted"
	"github.com/openagent-go/agent/mcp"
	"github.com/openagent-go/agent/mcp/oauth"
)

// Logins returns the stored logins to MCP servers, or nil without a home folder.
func Logins(h *cli.IO) oauth.Store {
	home, err := h.Home()
	if err != nil {
		return nil
	}
	return parts.Logins(home)
}

// ServerConfigs returns the servers of a folder, outside of a run. For equal names, flags override
// files.
func ServerConfigs(ctx context.Context, f *parts.Finder, h *cli.IO, o *settings.Options) (map[string]mcp.Config, error) {
	all := map[string]mcp.Config{}
	if !o.MCPStrict {
		var err error
		if all, err = f.FindServers(ctx); err != nil {
			return nil, cli.Usagef("%w", err)
		}
	}
	given, err := flagServers(h, o)
	maps.Copy(all, given)
	return all, err
}

// flagServers returns the servers of --mcp-config.
func flagServers(h *cli.IO, o *settings.Options) (map[string]mcp.Config, error) {
	all := map[string]mcp.Config{}
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
	found, err := parts.LoadServers(given, h.Getenv)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("the file %s does not exist; name an existing file, or write the JSON itself", given)
	}
	return found, err
}

// callTime is the variable with the milliseconds that a call of an MCP server's tool may take.
const callTime = "MCP_TOOL_TIMEOUT"

// CallTime returns the value of MCP_TOOL_TIMEOUT, or 0 if there is none that counts.
func CallTime(h *cli.IO) int {
	given := h.Getenv(callTime)
	if given == "" {
		return 0
	}
	n, err := strconv.ParseInt(given, 10, 64)
	if errors.Is(err, strconv.ErrRange) && n > 0 || n > math.MaxInt32 {
		return math.MaxInt32 // almost 25 days
	}
	if err != nil || n <= 0 {
		h.Warn("%s is %q and has no effect: write milliseconds, more than 0", callTime, cli.Clip(given))
		return 0
	}
	return int(n)
}

// TrustServers records a project's MCP server file as trusted in its current state.
func TrustServers(ctx context.Context, h *cli.IO, f *parts.ServerFile) error {
	return settings.ChangeTrust(ctx, h, func(t trusted.List) {
		t.Files[f.Place] = trusted.File{Sum: f.Sum, Since: trusted.Now()}
	})
}

// ServerList formats the MCP servers of a project's file for a question.
func ServerList(h *cli.IO, f *parts.ServerFile) string {
	configs, err := f.Parse(func(name string) string { return "${" + name + "}" })
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
			if environ.Secret(variable) {
				value = "[secret]"
			}
			fmt.Fprintf(&b, "    %s=%s\n", h.Visible(variable), h.Visible(value))
		}
	}
	return settings.Lookalikes(h, b.String())
}

// ServerFileState returns the trust state of a server file.
func ServerFileState(place string, t trusted.File) string {
	f, err := parts.ReadServerFile(filepath.Dir(place))
	switch {
	case err == nil && f == nil:
		return "gone"
	case err != nil || f.Place != place || f.Sum != t.Sum:
		return "changed"
	}
	return "trusted"
}

// IsServerFile reports whether a trusted file is a server file.
func IsServerFile(place string) bool { return filepath.Base(place) == parts.ServersName }

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
