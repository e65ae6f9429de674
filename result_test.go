package agent

import (
	"errors"
	"testing"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/llmconst"
	"github.com/openagent-go/agent/llm"
)

// The error on record has the parts of the model's error, and says each of them once.
func TestRecordedCause(t *testing.T) {
	for _, want := range []llm.APIError{
		{Class: llm.RateLimit, Provider: "anthropic", Status: 429, Message: "slow: down", RequestID: "req_1", RetryAfter: -1},
		{Class: llm.Network, Message: "the line broke", RetryAfter: -1},
		{Class: llm.Auth, Provider: "openai", Status: 401, RetryAfter: -1},
	} {
		r := &Result{RunEnd: event.RunEnd{Reason: event.ModelError, Message: want.Error(), Class: want.Class, Status: want.Status, RequestID: want.RequestID}}
		err := r.failure()
		var got *llm.APIError
		if !errors.As(err, &got) || *got != want || got.Error() != want.Error() {
			t.Errorf("got %#v, want %#v", got, want)
		}
		if want := "agent: run ended: model_error: " + want.Error(); err.Error() != want {
			t.Errorf("got %q, want %q", err, want)
		}
	}
	odd := (&Result{RunEnd: event.RunEnd{Reason: event.ModelError, Message: "the agent has no model \"x\"", Class: llmconst.NotFound}}).failure()
	if api := (*llm.APIError)(nil); !errors.As(odd, &api) || api.Message != "the agent has no model \"x\"" || api.Provider != "" {
		t.Errorf("got %#v", odd)
	}
}

// Error says each word once, whatever the message begins with.
func TestEndErrorWords(t *testing.T) {
	for message, want := range map[string]string{
		"":                       "agent: run ended: interrupted",
		"context canceled":       "agent: run ended: interrupted: context canceled",
		ErrClosed.Error():        "agent: run ended: interrupted: the session is closed",
		"interrupted":            "agent: run ended: interrupted",
		"interrupted: by a user": "agent: run ended: interrupted: by a user",
		(&EndError{Reason: event.Interrupted, Message: "no"}).Error(): "agent: run ended: interrupted: no",
	} {
		if got := (&EndError{Reason: event.Interrupted, Message: message}).Error(); got != want {
			t.Errorf("%q: got %q, want %q", message, got, want)
		}
	}
}
