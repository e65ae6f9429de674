package main

import (
	"bytes"
	"context"
	"io"
	"strings"
	"time"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
)

const (
	maxStdin = 10 << 20 // bytes
	// patience is how long the first byte on stdin may take beside a prompt.
	patience = 3 * time.Second
)

// readStdin returns what comes on stdin. Beside a prompt it is given up when
// nothing has come after a while.
func (h *host) readStdin(ctx context.Context, beside bool) (string, error) {
	type outcome struct {
		data []byte
		err  error
	}
	began, done := make(chan struct{}), make(chan outcome, 1)
	go func() {
		r := io.LimitReader(h.in, maxStdin+1)
		first := make([]byte, 64<<10)
		n, err := r.Read(first)
		close(began)
		all := bytes.NewBuffer(first[:n])
		if err == nil {
			_, err = all.ReadFrom(r)
		} else if err == io.EOF {
			err = nil
		}
		done <- outcome{all.Bytes(), err}
	}()
	if beside {
		timer := time.NewTimer(patience)
		defer timer.Stop()
		select {
		case <-began:
		case <-timer.C:
			h.complain("nothing came on stdin within %v: going on without it (add </dev/null to say so)", patience)
			return "", nil
		case <-ctx.Done():
			return "", cli.Ended(signalCode(ctx))
		}
	}
	select {
	case o := <-done:
		switch {
		case o.err != nil && beside: // such as a stdin that is closed
			return "", nil
		case o.err != nil:
			return "", cli.Usagef("reading stdin: %w", o.err)
		case len(o.data) > maxStdin:
			return "", cli.Usagef("stdin holds more than %d MB; put it into a file and let the agent read that", maxStdin>>20)
		}
		return strings.ToValidUTF8(string(o.data), "�"), nil
	case <-ctx.Done():
		return "", cli.Ended(signalCode(ctx))
	}
}

// promptText puts the prompt together from the argument and stdin.
func (h *host) promptText(ctx context.Context, args []string, optional bool) (string, error) {
	prompt, err := promptArg(args)
	if err != nil {
		return "", err
	}
	if !h.inTerminal {
		piped, err := h.readStdin(ctx, prompt != "" || optional)
		if err != nil {
			return "", err
		}
		if strings.TrimSpace(piped) != "" {
			prompt = strings.TrimLeft(prompt+"\n\n"+piped, "\n")
		}
	}
	if strings.TrimSpace(prompt) == "" && !optional {
		return "", cli.Usagef(`there is no prompt; write openagent -p "…", or send it on stdin`)
	}
	return prompt, nil
}

// promptArg returns the one argument that is the prompt.
func promptArg(args []string) (string, error) {
	if len(args) > 1 {
		return "", cli.Usagef("%d arguments, and a prompt is one; put quotes around it", len(args))
	}
	if len(args) == 0 {
		return "", nil
	}
	if strings.TrimSpace(args[0]) == "" {
		return "", cli.Usagef("the prompt is empty; leave it out or write one")
	}
	return strings.ToValidUTF8(args[0], "�"), nil
}
