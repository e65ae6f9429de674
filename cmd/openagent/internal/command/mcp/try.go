package mcp

import (
	"context"
	"fmt"
	"strings"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/settings"
	"github.com/openagent-go/agent/internal/mcpnames"
)

// testServer connects to a server. It shows the server's tools, or why the connection failed.
func testServer(ctx context.Context, h *cli.IO, o *settings.Options, name string) error {
	f, err := lookupServer(ctx, h, o, name)
	if err != nil {
		return err
	}
	if err := look(ctx, h, []*foundServer{f}); err != nil {
		return err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s (%s): %s\n", h.OneLine(f.Name), f.Scope, h.OneLine(f.state()))
	st := f.Status
	if st.ServerName != "" {
		fmt.Fprintf(&b, "%s, protocol %s\n", h.OneLine(strings.TrimSpace(st.ServerName+" "+st.ServerVersion)), h.OneLine(st.Protocol))
	}
	for _, t := range st.Tools {
		fmt.Fprintf(&b, "  %s\n", h.OneLine(t))
	}
	for _, p := range st.Problems {
		fmt.Fprintf(&b, "! %s\n", h.OneLine(p))
	}
	if err := h.Show(b.String()); err != nil {
		return err
	}
	if st.State != mcpnames.Connected {
		return cli.ExitCode(cli.ExitInternal)
	}
	return nil
}
