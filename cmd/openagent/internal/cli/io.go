package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/openagent-go/agent/cmd/openagent/internal/ratelimit"
	"github.com/openagent-go/agent/cmd/openagent/internal/term"
	"github.com/openagent-go/agent/internal/config"
	"github.com/openagent-go/agent/internal/terminal"
	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/internal/wire"
)

// An IO is the environment of the program: streams, variables and folders.
type IO struct {
	In       io.Reader
	Out, Err io.Writer // terminals get no control characters
	colour   io.Writer // stdout unfiltered, if it is a terminal; see ColourOut
	Getenv   func(string) string
	// Whether each stream is a terminal.
	InTerminal, OutTerminal, ErrTerminal bool
	Columns                              func() int // width of stdout; nil, or 0: unknown
	Secrets                              []string   // never shown
	Managed                              string     // the file of managed settings
	// Interrupted, if set, is called on an interrupt. It reports whether it handled the interrupt.
	Interrupted atomic.Pointer[func() bool]
	Limits      *ratelimit.Limiters // nil: none
	// Databases are shared by all that runs in this process. Package sessionstore fills it.
	Databases *sync.Map
	// Distrusted holds the files that the user refused to trust, so that no later session of this
	// process asks again. Package settings fills it.
	Distrusted sync.Map
}

// NewIO returns the streams and the environment of the process.
func NewIO() *IO {
	h := &IO{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Getenv: os.Getenv, Managed: config.ManagedFile(), Limits: new(ratelimit.Limiters), Databases: new(sync.Map),
		InTerminal: term.IsTerminal(os.Stdin), OutTerminal: term.IsTerminal(os.Stdout), ErrTerminal: term.IsTerminal(os.Stderr)}
	if h.OutTerminal {
		h.colour, h.Out = h.Out, terminal.NewWriter(h.Out)
		h.Columns = func() int { return term.Columns(os.Stdout) }
	}
	if h.ErrTerminal {
		h.Err = terminal.NewWriter(h.Err)
	}
	return h
}

// Fork returns an IO for one of several sessions of the program. It writes to stderr alone and has
// its own secrets.
func (h *IO) Fork() *IO {
	return &IO{In: strings.NewReader(""), Out: h.Err, Err: h.Err, Getenv: h.Getenv, Secrets: slices.Clone(h.Secrets), Managed: h.Managed, Limits: h.Limits, Databases: h.Databases}
}

// ColourOut is stdout for callers that write their own escape sequences. They must sanitize the
// text between these sequences.
func (h *IO) ColourOut() io.Writer {
	if h.colour != nil {
		return h.colour
	}
	return h.Out
}

// DiscardInput drops the input typed before a question, so that it cannot answer a question the
// user has not read.
func (h *IO) DiscardInput() {
	if f, ok := h.In.(*os.File); ok && h.InTerminal {
		_ = term.DropInput(f) // on failure the question is still asked
	}
}

// Warn writes a line to stderr and redacts secrets.
func (h *IO) Warn(format string, args ...any) {
	fmt.Fprintln(h.Err, "openagent: "+strings.TrimPrefix(h.OneLine(fmt.Sprintf(format, args...)), "agent: "))
}

// OneLine turns untrusted text into one line that is safe for a log or a terminal.
func (h *IO) OneLine(s string) string {
	return terminal.Text(text.OneLine(wire.Mask(s, h.Secrets)))
}

// Home returns the folder of the program's own files.
func (h *IO) Home() (string, error) {
	if dir := h.Getenv("OPENAGENT_HOME"); dir != "" {
		return filepath.Abs(dir)
	}
	dir, err := os.UserHomeDir()
	if err != nil {
		return "", Usagef("finding the home folder: %v; set OPENAGENT_HOME", err)
	}
	return filepath.Join(dir, ".openagent"), nil
}

// NoArgs rejects arguments of a command that takes none.
func NoArgs(command string, args []string) error {
	if len(args) > 0 {
		return Usagef("%s takes no arguments, but got %q; see openagent %s --help", command, Clip(args[0]), command)
	}
	return nil
}

// MaxColumns is the width of help pages on a wider terminal, or without one.
const MaxColumns = 100

// Wrap breaks the lines of a help page that are too long for stdout.
func (h *IO) Wrap(page string) string {
	width := MaxColumns
	if h.Columns != nil {
		if n := h.Columns(); n > 0 {
			width = min(width, n)
		}
	}
	return wrap(page, width)
}

// Show writes a page to stdout.
func (h *IO) Show(text string) error {
	_, err := io.WriteString(h.Out, text)
	return WriteError(err)
}

// Visible prepares untrusted text for a question: it redacts secrets and escapes invisible
// characters. It keeps tabs that indent code.
func (h *IO) Visible(s string) string {
	s = wire.Mask(s, h.Secrets)
	indent := len(s) - len(strings.TrimLeft(s, "\t"))
	return s[:indent] + terminal.Visible(s[indent:])
}

// Exit reports the error of a command and returns its exit code.
func (h *IO) Exit(ctx context.Context, err error) int {
	var e *ExitError
	var page PageError
	switch {
	case err == nil:
		return ExitDone
	case errors.As(err, &page):
		fmt.Fprintln(h.Err, page.Error())
		return page.ExitCode()
	case errors.As(err, &e):
		if e.Err != nil {
			h.Warn("%v", err)
		}
		return e.Code
	case ctx.Err() != nil:
		return SignalCode(ctx)
	}
	h.Warn("%v", err)
	return ExitInternal
}

// ShowLine writes a line of JSON to stdout.
func ShowLine(h *IO, v any) error {
	line, err := EncodeLine(v)
	if err != nil {
		return err
	}
	return h.Show(string(line))
}
