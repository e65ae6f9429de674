package suggest_test

import (
	"testing"

	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/suggest"
)

// No answer becomes a command after its odd characters are gone.
func TestHiddenCommands(t *testing.T) {
	for _, answer := range []string{
		"\u3164/exit", "\ufeff!rm -rf x", "\u00ad#a", "\"\u3164!ls\"", "\x00/exit", "\u0085/exit", "\u2028!ls", "' /exit'", "`'\"!ls\"'`", "“ /exit”", "\u034f@a", "\U000E0100/exit", "\ufe0f/exit", "\r/exit",
	} {
		s, _ := answered(t, llmtest.Say(answer))
		got, _, err := suggest.Next(t.Context(), s)
		if got != "" {
			t.Errorf("%q: %q (%v)", answer, got, err)
		}
	}
}
