package draw

import (
	"fmt"
	"strings"

	"github.com/openagent-go/agent/cmd/openagent/internal/tui/amount"
	"github.com/openagent-go/agent/cmd/openagent/internal/tui/ui"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/session/view"
)

// attempts returns how many items at the beginning of a list are attempts of a call of the model
// that failed before anything came. They are shown as one line.
func attempts(items []*view.Item) int {
	for n, it := range items {
		a, ok := it.Data.(*view.Answer)
		if !ok || a.Failed == nil || a.Text() != "" || cancelled(a.Failed) {
			return n
		}
		if !a.Failed.Retry { // the last one
			return n + 1
		}
	}
	return len(items)
}

// trying reports whether another attempt may follow: nothing has come behind the failed ones.
func trying(m ui.Model, behind []*view.Item) bool {
	if !m.Running || len(behind) == 0 {
		return m.Running
	}
	a, ok := behind[0].Data.(*view.Answer)
	return ok && len(behind) == 1 && !behind[0].Final && a.Text() == "" && a.Thinking() == ""
}

// attemptRows draws attempts that failed: why the last one did and how many there were, or when
// the next one begins.
func attemptRows(m ui.Model, items []*view.Item, waits bool, width int) []row {
	last, n := items[len(items)-1].Data.(*view.Answer).Failed, len(items)
	said := "! " + text.OneLine(last.Message) + " · "
	switch left := last.RetryAt.Sub(m.Now); {
	case !waits || !last.Retry:
		said += text.Count(n, "attempt") + " failed"
	case left > 0:
		said += fmt.Sprintf("attempt %d in %s", n+1, amount.Clock(left))
	default:
		said += fmt.Sprintf("attempt %d", n+1)
	}
	return say(warn, said).Wrap(width, nil, blanks("  "))
}

// cancelled reports whether a call of the model failed because the person stopped it.
func cancelled(f *event.ModelFailed) bool { return strings.HasSuffix(f.Message, "context canceled") }
