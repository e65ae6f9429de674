package tool

import (
	"errors"
	"fmt"
	"strings"

	"github.com/openagent-go/agent/internal/toolschema"
)

// ErrTimeout is returned, beside a result, by a tool that bounds its own time and has
// reached that bound: the call then counts as timed out.
var ErrTimeout = errors.New("the tool reached its own time limit")

// An InputError describes the mistakes in a call's input. A tool may return one for rules
// that its schema cannot express; it counts as invalid input, not as a failure of the tool.
type InputError struct {
	Tool     string   // its name
	Problems []string // each names a member and the rule that it breaks
	Form     string   // the form expected, "" if not known
}

// Error tells the model how to correct the input.
func (e *InputError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "invalid input for %s: %s", e.Tool, strings.Join(e.Problems, "; "))
	if e.Form != "" {
		b.WriteString("\nexpected: " + e.Form)
	}
	return b.String()
}

// inputError is an error of a schema as one of the tool's input.
func inputError(tool string, err error) error {
	if err == nil {
		return nil
	}
	var bad *toolschema.Error
	if !errors.As(err, &bad) {
		return err
	}
	return &InputError{Tool: tool, Problems: bad.Problems, Form: bad.Form}
}
