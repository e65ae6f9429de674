package tool

import (
	"fmt"
	"regexp"

	"github.com/openagent-go/agent/internal/toolschema"
)

var legalName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

func checkName(name string) error {
	if !legalName.MatchString(name) {
		return fmt.Errorf("the name %q is not of the form %s", name, legalName)
	}
	return nil
}

// Check returns an error if providers would refuse the spec: an illegal name, or an Input
// that is not a JSON Schema of type object or has oneOf, anyOf, allOf or $schema at its
// root. An Output that results cannot be checked against is an error too.
func (s Spec) Check() error {
	if err := checkName(s.Name); err != nil {
		return err
	}
	if s.Output != nil {
		if _, err := toolschema.ForOutput(s.Output); err != nil {
			return err
		}
	}
	if s.Input == nil {
		return nil
	}
	if err := toolschema.CheckRoot(s.Input); err != nil {
		return fmt.Errorf("the input schema %w", err)
	}
	return nil
}
