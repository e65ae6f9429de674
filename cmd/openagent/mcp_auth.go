package main

import (
	"context"
	"fmt"
	"maps"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/internal/terminal"
	"github.com/openagent-go/agent/mcp/oauth"
)

const (
	loginCommand = "openagent mcp login"
	loginsName   = "mcp-logins" // in the home folder
	loginTime    = 5 * time.Minute
	maxAddress   = 16 << 10 // bytes of an address that a person gives
)

// logins keeps the logins to MCP servers; nil where there is no home folder.
func (h *host) logins() oauth.Store {
	home, err := h.home()
	if err != nil {
		return nil
	}
	return &oauth.Dir{Path: filepath.Join(home, loginsName)}
}

// loginClient returns what logs in to a server that is configured.
func (h *host) loginClient(ctx context.Context, o *options, name string) (*oauth.Client, error) {
	if _, err := h.home(); err != nil {
		return nil, err
	}
	dir, err := workingDir()
	if err != nil {
		return nil, err
	}
	ask := h.inTerminal && h.errTerminal
	plugins, err := h.trustedPlugins(ctx, o.plugins, ask, true)
	if err != nil {
		return nil, err
	}
	configs, err := h.serverConfigs(ctx, o, dir, plugins, ask)
	if err != nil {
		return nil, err
	}
	c, ok := configs[name]
	if !ok {
		return nil, cli.Usagef("there is no MCP server %q%s", cli.Clip(name), cli.Likely(name, slices.Sorted(maps.Keys(configs))))
	}
	h.secrets = append(h.secrets, c.Secrets()...)
	client, err := c.LoginClient(h.logins())
	if err != nil {
		return nil, cli.Usagef("the MCP server %s: %w", name, err)
	}
	return client, nil
}

// serverLogin has a person log in to an MCP server.
func (h *host) serverLogin(ctx context.Context, o *options, name string, browser bool) error {
	client, err := h.loginClient(ctx, o, name)
	if err != nil {
		return err
	}
	within, cancel := context.WithTimeoutCause(ctx, loginTime, fmt.Errorf("%v have passed", loginTime))
	defer cancel()
	err = client.Login(within, oauth.Challenge{}, func(ctx context.Context, page string) (string, error) {
		return h.showLogin(ctx, name, page, browser)
	})
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return &cli.ExitError{Code: cli.ExitKey, Err: fmt.Errorf("the MCP server %s: %w", name, err)}
	}
	return h.show("Logged in to " + name + ".\n")
}

// showLogin shows the page to log in, and opens it where there is a browser. Who
// sits at another machine can paste the address that their browser ends at.
func (h *host) showLogin(ctx context.Context, name, page string, browser bool) (string, error) {
	if _, err := fmt.Fprintf(h.err, "To log in to %s, open this page in a browser:\n\n  %s\n\n", h.oneLine(name), terminal.Text(page)); err != nil {
		return "", err
	}
	if browser {
		openPage(h.getenv, page)
	}
	if !h.inTerminal {
		return "", nil
	}
	if _, err := fmt.Fprint(h.err, "If the browser cannot come back to this machine, paste the address that it ends at: "); err != nil {
		return "", err
	}
	said := make(chan string, 1)
	go func() { // reads on where ctx ends first, and ends with the program
		said <- h.readAddress()
	}()
	select {
	case address := <-said:
		return address, nil
	case <-ctx.Done():
		fmt.Fprintln(h.err)
		return "", ctx.Err()
	}
}

func (h *host) readAddress() string {
	var line []byte
	var b [1]byte
	for len(line) < maxAddress {
		if n, err := h.in.Read(b[:]); n == 0 && err != nil || n > 0 && b[0] == '\n' {
			break
		} else if n > 0 {
			line = append(line, b[0])
		}
	}
	return strings.TrimSpace(string(line))
}

// openPage opens a page in the person's browser: with what BROWSER names, else the
// system's way. That it cannot is no error, for the page is shown too.
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
		go func() { _ = cmd.Wait() }() // a browser may stay for as long as it likes
	}
}

// serverLogout forgets the login to an MCP server.
func (h *host) serverLogout(ctx context.Context, o *options, name string) error {
	client, err := h.loginClient(ctx, o, name)
	if err != nil {
		return err
	}
	was, err := client.Logout(ctx)
	switch {
	case err != nil && !was:
		return &cli.ExitError{Code: cli.ExitInternal, Err: fmt.Errorf("the MCP server %s: %w", name, err)}
	case err != nil:
		h.complain("the login to %s is forgotten here, but the server may still take it: %v", name, err)
	case !was:
		return h.show("There was no login to " + name + ".\n")
	}
	return h.show("Logged out of " + name + ".\n")
}
