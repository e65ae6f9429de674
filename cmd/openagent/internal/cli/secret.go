package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/openagent-go/agent/cmd/openagent/internal/term"
)

const maxAnswer = 16 << 10 // bytes of a line

// AskSecret asks the user on the terminal for a line that the terminal does not show. In the end the
// terminal is as before, also if a signal ends ctx first.
func (h *IO) AskSecret(ctx context.Context, question string) (secret string, err error) {
	f, ok := h.In.(*os.File)
	if !ok || !h.InTerminal {
		return "", Usagef("stdin is not a terminal; send the text there with --stdin")
	}
	restore, err := term.HideInput(f)
	if err != nil {
		return "", Usagef("hiding the input of the terminal: %w; send the text with --stdin", err)
	}
	defer func() {
		if restored := restore(); err == nil {
			err = restored
		}
		fmt.Fprintln(h.Err)
	}()
	h.DiscardInput()
	secret, err = h.AskLine(ctx, question)
	if ctx.Err() != nil {
		return "", ExitCode(SignalCode(ctx))
	}
	return secret, err
}

// AskLine asks the user on the terminal for a line. It returns "" at the end of the input.
func (h *IO) AskLine(ctx context.Context, question string) (string, error) {
	if _, err := fmt.Fprint(h.Err, question); err != nil {
		return "", err
	}
	line, err := h.ReadLine(ctx)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return line, err
}

// ReadLine reads a line of stdin and nothing beyond it. It returns io.EOF at the end of the input.
func (h *IO) ReadLine(ctx context.Context) (string, error) {
	type outcome struct {
		line string
		err  error
	}
	said := make(chan outcome, 1)
	go func() { // if ctx ends first, this goroutine keeps reading until the program ends
		line, err := readLine(h.In)
		said <- outcome{line, err}
	}()
	select {
	case o := <-said:
		return o.line, o.err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// readLine reads a line without reading beyond it.
func readLine(r io.Reader) (string, error) {
	var line []byte
	var b [1]byte
	for len(line) < maxAnswer {
		n, err := r.Read(b[:])
		switch {
		case n > 0 && b[0] == '\n':
			return string(line), nil
		case n > 0:
			line = append(line, b[0])
		case errors.Is(err, io.EOF) && len(line) == 0:
			return "", io.EOF
		case errors.Is(err, io.EOF):
			return string(line), nil
		case err != nil:
			return "", Usagef("reading the terminal: %w", err)
		}
	}
	return "", Usagef("the line is longer than %d bytes; paste only what is asked for", maxAnswer)
}
