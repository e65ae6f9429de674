package httptape

import (
	"fmt"

	"github.com/openagent-go/agent/llm"
)

// A MismatchError says that a request is not the one that a script expects.
type MismatchError struct{ text string }

func (e *MismatchError) Error() string { return "llmtest: " + e.text }

// Mismatched returns the error of a mismatch. Its class is never retried.
func Mismatched(format string, args ...any) *llm.APIError {
	err := &MismatchError{fmt.Sprintf(format, args...)}
	return &llm.APIError{Class: llm.Invalid, Provider: "llmtest", Message: err.text, RetryAfter: -1, Err: err}
}
