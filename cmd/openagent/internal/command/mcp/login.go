package mcp

import (
	"context"
	"fmt"
	"maps"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/openagent-go/agent/cmd/openagent/internal/app"
	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/settings"
	"github.com/openagent-go/agent/internal/parts"
	"github.com/openagent-go/agent/internal/terminal"
	"github.com/openagent-go/agent/mcp/oauth"
)

const loginTime = 5 * time.Minute

// loginClient returns the login client of a configured server.
func loginClient(ctx context.Context, h *cli.IO, o *settings.Options, name string) (*oauth.Client, error) {
	if _, err := h.Home(); err != nil {
		return nil, err
	}
	dir, err := settings.WorkingDir()
	if err != nil {
		return nil, err
	}
	ask := h.InTerminal && h.ErrTerminal
	f := app.NewFinder(h, o, dir, ask, true)
	if err := app.FindPlugins(ctx, f); err != nil {
		return nil, err
	}
	configs, err := app.ServerConfigs(ctx, f, h, o)
	if err != nil {
		return nil, err
	}
	c, ok := configs[name]
	if !ok {
		return nil, cli.Usagef("there is no MCP server %q%s (see openagent mcp list)", cli.Clip(name), cli.Suggestion(name, slices.Sorted(maps.Keys(configs))))
	}
	h.Secrets = append(h.Secrets, parts.ServerSecrets(c)...)
	client, err := c.LoginClient(app.Logins(h))
	if err != nil {
		return nil, cli.Usagef("the MCP server %s: %w", name, err)
	}
	return client, nil
}

// serverLogin lets the user log in to an MCP server.
func serverLogin(ctx context.Context, h *cli.IO, o *settings.Options, name string, browser bool) error {
	client, err := loginClient(ctx, h, o, name)
	if err != nil {
		return err
	}
	within, cancel := context.WithTimeoutCause(ctx, loginTime, fmt.Errorf("no login within %v; try again", loginTime))
	defer cancel()
	err = client.Login(within, func(ctx context.Context, page string) (string, error) {
		return showLogin(ctx, h, name, page, browser)
	})
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return &cli.ExitError{Code: cli.ExitKey, Err: fmt.Errorf("the MCP server %s: %w", name, err)}
	}
	return h.Show("Logged in to " + name + ".\n")
}

// showLogin shows the login page and opens it in a browser, if there is one. A user on another
// machine can paste the final address of the browser.
func showLogin(ctx context.Context, h *cli.IO, name, page string, browser bool) (string, error) {
	if _, err := fmt.Fprintf(h.Err, "To log in to %s, open this page in a browser:\n\n  %s\n\n", h.OneLine(name), terminal.Text(page)); err != nil {
		return "", err
	}
	if browser {
		openPage(h.Getenv, page)
	}
	if !h.InTerminal {
		return "", nil
	}
	address, err := h.AskLine(ctx, "If the browser cannot connect back to this machine, paste its final address: ")
	if ctx.Err() != nil {
		fmt.Fprintln(h.Err)
	}
	return strings.TrimSpace(address), err
}

// openPage opens a page in the user's browser: with the program in BROWSER, else the system's
// default. Failure is not an error, because the page is also shown.
func openPage(getenv func(string) string, page string) {
	var args []string
	switch own := getenv("BROWSER"); {
	case own != "":
		args = []string{own}
	case runtime.GOOS == "darwin":
		args = []string{"open"}
	case runtime.GOOS == "windows":
		args = []string{"rundll32", "url.dll,FileProtocolHandler"}
	case getenv("DISPLAY") != "" || getenv("WAYLAND_DISPLAY") != "":
		args = []string{"xdg-open"}
	default:
		return
	}
	cmd := exec.Command(args[0], append(args[1:], page)...)
	if cmd.Start() == nil {
		go func() { _ = cmd.Wait() }() // the browser may keep running
	}
}
