// Package helper gets keys from a command, such as one that asks a vault or a cloud for a
// token.
//
//	h := &helper.Helper{Command: "vault read -field=key secret/anthropic"}
//	m := (&anthropic.Client{Key: h.Key}).Model("claude-sonnet-4-6")
package helper

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/openagent-go/agent/internal/command"
	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/internal/wire"
	"github.com/openagent-go/agent/llm"
)

const (
	defaultTTL     = 5 * time.Minute
	defaultTimeout = 30 * time.Second
	maxWords       = 300 // bytes of its standard error
)

// A Helper is a command that prints a key. Its Key is an [llm.KeyFunc]. The fields
// must not change once it is in use.
type Helper struct {
	Command string        // for the shell: sh -c, or cmd /C on Windows
	TTL     time.Duration // how long a key is used, 0: 5 minutes; negative: it is never used twice
	Timeout time.Duration // of a run of the command, 0: 30 seconds
	Dir     string        // where it runs, "": here
	Env     []string      // nil: the program's own
	// Watch is called when the command starts, and with its failure or nil when it has ended. nil: nobody watches.
	Watch func(ended bool, err error)

	current wire.Renewed[string]
}

// Key returns the trimmed output of the command: the last output while it is fresh and was
// not refused. One run serves all waiting callers. Its errors hold nothing of stdout.
func (h *Helper) Key(ctx context.Context) (string, error) {
	if h.TTL < 0 {
		key, err := h.run(ctx)
		return key, err
	}
	ttl := h.TTL
	if ttl == 0 {
		ttl = defaultTTL
	}
	refused := llm.RefusedKey(ctx)
	return h.current.Get(ctx, func(key string) bool { return key == refused }, func(ctx context.Context) (string, time.Time, error) {
		key, err := h.run(ctx)
		return key, time.Now().Add(ttl + wire.RenewEarly), err
	})
}

func (h *Helper) run(ctx context.Context) (_ string, failed error) {
	timeout := h.Timeout
	if timeout <= 0 {
		timeout = defaultTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	if h.Watch != nil {
		h.Watch(false, nil)
		defer func() { h.Watch(true, failed) }()
	}
	out, err := command.Run(ctx, command.Command{Line: h.Command, Dir: h.Dir, Env: h.Env})
	key := strings.TrimSpace(out.Text)
	switch {
	case ctx.Err() == context.DeadlineExceeded:
		return "", &llm.APIError{Class: llm.Auth, Message: fmt.Sprintf("the key helper did not end within %v", timeout), RetryAfter: -1}
	case ctx.Err() != nil:
		return "", ctx.Err()
	case err != nil:
		words := text.Bytes(wire.Mask(text.OneLine(out.Complaint), strings.Fields(key)), maxWords)
		if words != "" {
			words = ": " + words
		}
		return "", fmt.Errorf("the key helper failed: %w%s", err, words)
	case out.More:
		return "", fmt.Errorf("the key helper printed more than %d KB: no key is that long", command.MaxOutput>>10)
	case key == "":
		return "", errors.New("the key helper printed nothing")
	}
	return key, nil
}
