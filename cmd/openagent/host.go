package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/config"
	"github.com/openagent-go/agent/internal/terminal"
	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/internal/wire"
)

// A host is what the program runs in.
type host struct {
	in       io.Reader
	out, err io.Writer // what is a terminal gets no control characters
	colour   io.Writer // stdout as it is, where it is a terminal; see painted
	getenv   func(string) string
	// Whether each is a terminal.
	inTerminal, outTerminal, errTerminal bool
	secrets                              []string // never shown
	managed                              string   // the file of managed settings
	// interrupted, where it is set, is told of an interrupt and reports whether
	// it has taken care of it.
	interrupted atomic.Pointer[func() bool]
	limits      limiters
}

func newHost() *host {
	h := &host{in: os.Stdin, out: os.Stdout, err: os.Stderr, getenv: os.Getenv, managed: config.ManagedFile(),
		inTerminal: isTerminal(os.Stdin), outTerminal: isTerminal(os.Stdout), errTerminal: isTerminal(os.Stderr)}
	if h.outTerminal {
		h.colour, h.out = h.out, terminal.NewWriter(h.out)
	}
	if h.errTerminal {
		h.err = terminal.NewWriter(h.err)
	}
	return h
}

// painted is stdout for those who write escape sequences of their own, and clean the
// text between these.
func (h *host) painted() io.Writer {
	if h.colour != nil {
		return h.colour
	}
	return h.out
}

// main runs the program and returns its exit code.
func (h *host) main(args []string) int {
	ctx, stop := h.watchSignals(context.Background())
	defer stop()
	ctx = h.withinHooks(ctx)
	return h.exit(ctx, root(h).Execute(ctx, args, h.show))
}

// exit reports the error that a command ended with, and returns the code for it.
func (h *host) exit(ctx context.Context, err error) int {
	var e *cli.ExitError
	var missing *noKeyError
	switch {
	case err == nil:
		return cli.ExitDone
	case errors.As(err, &missing):
		fmt.Fprintln(h.err, missing.Error())
		return cli.ExitKey
	case errors.As(err, &e):
		if e.Err != nil {
			h.complain("%v", err)
		}
		return e.Code
	case ctx.Err() != nil:
		return signalCode(ctx)
	}
	h.complain("%v", err)
	return cli.ExitInternal
}

// dropTyped forgets what a person has typed before a question, so that it answers
// none that they have not read.
func (h *host) dropTyped() {
	if f, ok := h.in.(*os.File); ok && h.inTerminal {
		_ = dropInput(f) // nothing can be done about it, and the question is still asked
	}
}

// complain writes a line for people to stderr, without secrets.
func (h *host) complain(format string, args ...any) {
	fmt.Fprintln(h.err, "openagent: "+strings.TrimPrefix(h.oneLine(fmt.Sprintf(format, args...)), "agent: "))
}

// oneLine makes text of any origin fit for a line of a log or a terminal.
func (h *host) oneLine(s string) string {
	return terminal.Text(text.OneLine(wire.Mask(s, h.secrets)))
}

// home is the folder of the program's own files.
func (h *host) home() (string, error) {
	if dir := h.getenv("OPENAGENT_HOME"); dir != "" {
		return filepath.Abs(dir)
	}
	dir, err := os.UserHomeDir()
	if err != nil {
		return "", cli.Usagef("finding the home folder: %v; set OPENAGENT_HOME", err)
	}
	return filepath.Join(dir, ".openagent"), nil
}
