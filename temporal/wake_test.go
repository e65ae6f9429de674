package temporal

import (
	"testing"

	"github.com/stretchr/testify/mock"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/mocks"

	"github.com/openagent-go/agent/temporal/internal/flow"
)

// A step that a worker took along when it ended is given to another one soon.
func TestStepTime(t *testing.T) {
	c := &mocks.Client{}
	c.On("SignalWithStartWorkflow", mock.Anything, "openagent/q/s", flow.WakeSignal, nil, mock.MatchedBy(func(o client.StartWorkflowOptions) bool {
		return o.TaskQueue == "q" && o.WorkflowTaskTimeout == stepTime
	}), flow.WorkflowName, mock.Anything).Return(nil, nil).Once()
	if err := (Engine{Client: c, Queue: "q"}).Wake(t.Context(), "s"); err != nil {
		t.Error(err)
	}
	c.AssertExpectations(t)
}
