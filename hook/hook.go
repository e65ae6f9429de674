package hook

import (
	"context"
	"errors"
	"time"

	"github.com/openagent-go/agent/internal/hookctx"
)

// A Hook is called at an event. Hooks of one moment run one after the other, in order, all
// of them, and each sees the changes of those before it. Hooks of different tool calls may
// run at once. A hook of PreToolUse, PermissionRequest, UserPromptSubmit,
// UserPromptExpansion, PreCompact, Elicitation or ElicitationResult that fails, panics or is
// late blocks the action that it guards; at other events the failure is reported and changes nothing. A hook may
// be called again for the same moment after a crash.
type Hook struct {
	On Event // the event that runs the hook
	// Match selects by the subject of the event, such as the name of the tool: names with | between
	// them, as "Edit|Write", or else a regular expression that matches a part of it, as
	// "^mcp__". "" and "*" match everything.
	Match   string
	Timeout time.Duration // 0: 60 s
	// Func is called at the event. The input is not to be changed. Func should return when
	// ctx ends; one that does not is left behind.
	Func func(ctx context.Context, in *Input) (Output, error)
	Name string // what the hook is called in reports; "" is "function"
}

// An Outcome is the joint answer of the hooks of one event.
type Outcome struct {
	Output         // the joint answer; Context and Message hold a line of each hook
	Errors []error // of those that failed
}

// ErrDepth is the error of a run whose hooks have started too many runs inside each other.
var ErrDepth = errors.New("hooks started too many runs inside each other")

// Progress reports a line that a hook has written while it runs.
func Progress(ctx context.Context, line string) { hookctx.Progress(ctx, line) }
