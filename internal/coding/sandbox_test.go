package coding

import (
	"errors"
	"fmt"
	"testing"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/sandbox"
)

// Where the system confines nothing, Require fails and says which option is to blame.
func TestRequireWithoutSandbox(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	was := newSandbox
	defer func() { newSandbox = was }()
	var asked []bool
	newSandbox = func(s sandbox.Settings, p sandbox.Place) (*sandbox.Sandbox, error) {
		asked = append(asked, !s.AllowUnconfined)
		if !s.AllowUnconfined {
			return nil, fmt.Errorf("sandbox: %w", sandbox.ErrUnavailable)
		}
		return was(s, p)
	}
	o := Options{Dir: t.TempDir(), Sandbox: Require, Agent: agent.Agent{Model: llmtest.Script()}}
	c, err := New(t.Context(), o)
	var wrong *OptionError
	if !errors.Is(err, sandbox.ErrUnavailable) || !errors.As(err, &wrong) || wrong.Option != "Sandbox" || c != nil {
		t.Errorf("%v, %v", c, err)
	}
	o.Sandbox = IfAvailable
	if c, err = New(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if len(asked) != 2 || !asked[0] || asked[1] {
		t.Errorf("failIfUnavailable: %v", asked)
	}
}
