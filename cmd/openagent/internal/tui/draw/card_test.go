package draw

import (
	"strings"
	"testing"

	"github.com/openagent-go/agent/cmd/openagent/internal/tui/ui"
)

// In the call of a question, letters outside ASCII are underlined, also without colours.
func TestCardUnderlinesLetters(t *testing.T) {
	m := ui.New(80, 24)
	m, _ = ui.Update(m, ui.Input{Data: ui.Pose{Question: ui.Question{ID: 1, Tool: "Bash", Body: []ui.Line{{Text: "\u0430pt install x"}}}}})
	f, _ := Frame(m, 80, 24, Theme{})
	if all := strings.Join(f.Live, "\n"); !strings.Contains(all, "\x1b[4m\u0430\x1b[mpt install x") {
		t.Errorf("%q", all)
	}
}
