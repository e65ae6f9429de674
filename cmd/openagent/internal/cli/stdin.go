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
	// patience is how long to wait for the first byte on stdin if there is a prompt argument.
	patience = 3 * time.Second
)

// ReadStdin reads stdin. If there is a prompt argument and no input arrives in time, it gives up.
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
			h.Warn("no input on stdin within %v, continuing without it; add </dev/null to skip the wait", patience)
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
			return "", Usagef("stdin has more than %d MB; save it to a file and let the agent read that file", maxStdin>>20)
		}
		return strings.ToValidUTF8(string(o.data), "�"), nil
	case <-ctx.Done():
		return "", ExitCode(SignalCode(ctx))
	}
}

// PromptText builds the prompt from the argument and stdin.
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
		return "", Usagef(`no prompt; write openagent -p "…", or send it on stdin`)
	}
	return prompt, nil
}

// PromptArg returns the prompt argument. More than one argument is an error.
func PromptArg(args []string) (string, error) {
	if len(args) > 1 {
		return "", Usagef("expected one prompt, got %d arguments; put quotes around the prompt", len(args))
	}
	if len(args) == 0 {
		return "", nil
	}
	if strings.TrimSpace(args[0]) == "" {
		return "", Usagef("the prompt is empty; leave it out or write one")
	}
	return strings.ToValidUTF8(args[0], "�"), nil
}
