// Package acp is the command "openagent acp". It serves the Agent Client Protocol to an editor, on
// stdin and stdout.
package acp

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/settings"
	protocol "github.com/openagent-go/agent/internal/acp"
)

// notHere are the flags of jobs that mean nothing to an editor: it names the folder and the session.
var notHere = []string{"cwd", "no-session-persistence", "json-schema", "trace"}

// Command returns the command "openagent acp". login stores a key, as "openagent auth login" does.
func Command(h *cli.IO, login func(context.Context, *cli.IO) error) cli.Command {
	o := new(settings.Options)
	flags := func() cli.Flags {
		return slices.DeleteFunc(o.JobFlags(), func(f cli.Flag) bool { return slices.Contains(notHere, f.Name) })
	}
	return cli.Command{Name: "acp", Summary: "Be the agent of an editor, by the Agent Client Protocol",
		Details: `Editors start this command and speak the protocol (version 1) on its stdin and stdout.
The flags apply to all sessions. docs/command/acp.md has settings for editors.
`,
		Examples: []string{"openagent acp", "openagent acp --permission-mode plan --sandbox auto"}, Flags: flags,
		Run: func(ctx context.Context, args []string) error {
			if err := cli.NoArgs("acp", args); err != nil {
				return err
			}
			if err := o.Check(); err != nil {
				return err
			}
			return serve(ctx, h, o)
		},
		Subcommands: []cli.Command{{Name: "login", Summary: "Store the API key of your provider, for an editor that opens a terminal", Examples: []string{"openagent acp login"},
			Run: func(ctx context.Context, args []string) error {
				if err := cli.NoArgs("acp login", args); err != nil {
					return err
				}
				return login(ctx, h)
			}}},
	}
}

// patience is how long to wait for the end of requests when the client has gone.
const patience = 10 * time.Second

// serve serves one client until the end of stdin, or a signal. Then it closes all sessions.
func serve(ctx context.Context, h *cli.IO, o *settings.Options) error {
	if h.InTerminal {
		h.Warn("this command is for editors: it reads JSON from stdin, and writes it to stdout; Ctrl-D ends it")
	}
	work, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	s := &server{h: h, flags: o, conn: protocol.NewConn(h.Out), sessions: map[string]*editorSession{}, queues: map[string]chan struct{}{}}
	ended := make(chan error, 1)
	go func() { ended <- s.conn.Serve(work, h.In, s.accept) }()
	var failed error
	select {
	case failed = <-ended:
	case <-ctx.Done():
	}
	s.cancelAll()
	answered := make(chan struct{})
	go func() {
		s.conn.Wait()
		close(answered)
	}()
	select {
	case <-answered:
	case <-time.After(patience): // the client reads no more, or a server hangs
		cancel()
	}
	failed = errors.Join(failed, s.closeAll())
	switch {
	case failed != nil:
		return &cli.ExitError{Code: cli.ExitInternal, Err: fmt.Errorf("serving the editor: %w", failed)}
	case ctx.Err() != nil:
		return cli.ExitCode(cli.SignalCode(ctx))
	}
	return nil
}
