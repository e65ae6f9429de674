package toolapi

import (
	"github.com/openagent-go/agent/internal/skillscope"
	"github.com/openagent-go/agent/tool"
)

// Skills are the skills that a model may run.
type Skills interface {
	// List returns those that models can run at the moment.
	List() []skillscope.Info
	// Find returns the skill of a name or alias, ignoring case.
	Find(name string) (skillscope.Info, bool)
	// Expand returns the text of a skill with its arguments. The error is for the model.
	Expand(name, args string) (*tool.Expansion, error)
	// Unknown returns the error for a skill that does not exist, with a similar name if
	// there is one.
	Unknown(name string) error
}
