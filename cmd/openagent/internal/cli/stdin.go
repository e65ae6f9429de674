package cli

import (
	"bytes"
	"context"
	"io"
	"strings"
	"time"
)

const (
	maxStdin = 10 << 20 // bytes
	// patience is how long the first byte on stdin may take beside a prompt.
	patience = 3 * time.Second
)

// ReadStdin returns what comes on stdin. Beside a prompt it is given up when
// nothing has come after a while.
func ReadStdin(ctx context.Context, h *IO, beside bool) (string, error) {
	type outcome struct {
		data []byte
		err  error
	}
	began, done := make(chan struct{}), make(chan outcome, 1)
	go func() {
		r := io.LimitReader(h.In, maxStdin+1)
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
			h.Warn("nothing came on stdin within %v: going on without it (add </dev/null to say so)", patience)
			return "", nil
		case <-ctx.Done():
			return "", ExitCode(SignalCode(ctx))
		}
	}
	select {
	case o := <-done:
		switch {
		case o.err != nil && beside: // such as a stdin that is closed
			return "", nil
		case o.err != nil:
			return "", Usagef("reading stdin: %w", o.err)
		case len(o.data) > maxStdin:
			return "", Usagef("stdin holds more than %d MB; put it into a file and let the agent read that", maxStdin>>20)
		}
		return strings.ToValidUTF8(string(o.data), "�"), nil
	case <-ctx.Done():
		return "", ExitCode(SignalCode(ctx))
	}
}

// PromptText puts the prompt together from the argument and stdin.
func PromptText(ctx context.Context, h *IO, args []string, optional bool) (string, error) {
	prompt, err := PromptArg(args)
	if err != nil {
		return "", err
	}
	if !h.InTerminal {
		piped, err := ReadStdin(ctx, h, prompt != "" || optional)
		if err != nil {
			return "", err
		}
		if strings.TrimSpace(piped) != "" {
			prompt = strings.TrimLeft(prompt+"\n\n"+piped, "\n")
		}
	}
	if strings.TrimSpace(prompt) == "" && !optional {
		return "", Usagef(`there is no prompt; write openagent -p "…", or send it on stdin`)
	}
	return prompt, nil
}

// PromptArg returns the one argument that is the prompt.
func PromptArg(args []string) (string, error) {
	if len(args) > 1 {
		return "", Usagef("%d arguments, and a prompt is one; put quotes around it", len(args))
	}
	if len(args) == 0 {
		return "", nil
	}
	if strings.TrimSpace(args[0]) == "" {
		return "", Usagef("the prompt is empty; leave it out or write one")
	}
	return strings.ToValidUTF8(args[0], "�"), nil
}
