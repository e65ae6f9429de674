package executor

import (
	"context"
	"errors"
	"time"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/engine"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/internal/policies"
	"github.com/openagent-go/agent/internal/toolrun"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
)

// askAgain returns the fact that a call is not made now, because the decision that allowed
// it does not count any more. It is asked about again, or denied where nobody may be asked.
func (x *Executor) askAgain(e engine.RunTool, j *Input, why string) event.Fact {
	if x.Driver.StrictestMode(e.Mode) == permission.DontAsk {
		return event.ToolResult{Key: e.Key(), Call: e.Call, Cause: fact.ByDenial, Fault: toolrun.Refused,
			Result: *tool.Errorf("Permission denied: denied in mode dontAsk: %s", why)}
	}
	return fact.Authorized{Key: e.Key(), Call: e.Call, Class: j.Class, Decision: permission.Decision{Behavior: permission.Asked, Source: policies.FromPolicy, Reason: why}}
}

// unanswered returns the denial of a question that nobody has answered in time.
func unanswered(verdict *permission.Decision) *permission.Decision {
	return &permission.Decision{Behavior: permission.Denied, Source: policies.FromDefault, Rule: verdict.Rule, Origin: verdict.Origin,
		Reason: verdict.Reason + " (nobody answered until " + clock(verdict.Expires) + ")"}
}

func clock(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// errDeadline is the cause of the end of a question's context at its deadline.
var errDeadline = errors.New("the question has expired")

// untilExpiry returns a context that ends with the verdict's deadline, if it has one.
func untilExpiry(ctx context.Context, verdict *permission.Decision) (context.Context, context.CancelFunc) {
	if verdict.Expires.IsZero() {
		return ctx, func() {}
	}
	return context.WithDeadlineCause(ctx, verdict.Expires, errDeadline)
}
