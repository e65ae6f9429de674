package agent

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/llm/llmtest"
)

// The end of the context counts as an interruption, even if the model's client reports it
// first.
func TestInterruptedWhileTheModelAnswers(t *testing.T) {
	for range 200 {
		ctx, cancel := context.WithCancelCause(t.Context())
		a := &Agent{Model: llmtest.Script(llmtest.Step{Text: "long", EventDelay: time.Hour})}
		why := errors.New("enough")
		for e, err := range a.Stream(ctx, "hi") {
			switch d := e.Data.(type) {
			case fact.ModelStart:
				cancel(why)
			case event.RunEnd:
				if d.Reason != event.Interrupted || d.Message != why.Error() {
					t.Fatalf("the run ended as %s: %s", d.Reason, d.Message)
				}
			}
			if err != nil && !errors.Is(err, ErrInterrupted) {
				t.Fatal(err)
			}
		}
		cancel(nil)
	}
}
