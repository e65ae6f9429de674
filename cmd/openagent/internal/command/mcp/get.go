package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/settings"
)

// getServer shows a server's configuration without possible secrets.
func getServer(ctx context.Context, h *cli.IO, o *settings.Options, name string) error {
	f, err := lookupServer(ctx, h, o, name)
	if err != nil {
		return err
	}
	c := f.config
	for _, table := range []*map[string]string{&c.Env, &c.Headers} {
		shown := map[string]string{}
		for k := range *table {
			shown[k] = "***"
		}
		if *table = shown; len(shown) == 0 {
			*table = nil
		}
	}
	data, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s (%s)\n", h.OneLine(f.Name), f.Scope)
	for line := range strings.Lines(string(data) + "\n") {
		b.WriteString(oneLineKept(h, line) + "\n")
	}
	return h.Show(b.String())
}

// oneLineKept is OneLine, but keeps leading spaces.
func oneLineKept(h *cli.IO, s string) string {
	text := strings.TrimLeft(s, " ")
	return s[:len(s)-len(text)] + h.OneLine(text)
}
