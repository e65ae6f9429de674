package ui

import (
	"testing"
	"time"

	"github.com/openagent-go/agent/cmd/openagent/internal/tui/input"
)

// escThen is what a terminal sends for Esc and a key one right after the other: the same as for
// Alt and the key.
func escThen(code rune) input.Key { return input.Key{Code: code, Alt: true, AfterEsc: true} }

// Esc is not lost if another key follows at once.
func TestEscThenKey(t *testing.T) {
	u := newUser().waits(time.Minute).does(Pose{permissionQuestion(1)}).sees().waits(settleTime)
	u.does(escThen('1'))
	if u.m.Cards[0].Focus || u.m.Editor.Text != "1" || u.m.Cards[0].At != 0 {
		t.Errorf("at a question: focus %v, input %q", u.m.Cards[0].Focus, u.m.Editor.Text)
	}

	u = newUser().types("go\n").does(escThen('w'))
	if len(took[Interrupt](u)) != 1 || u.m.Editor.Text != "w" {
		t.Errorf("during a run: input %q", u.m.Editor.Text)
	}
	u = newUser().types("go\n").does(escThen('b')) // no word to go back to
	if len(took[Interrupt](u)) != 1 || u.m.Editor.Text != "b" {
		t.Errorf("during a run, alt+b: input %q", u.m.Editor.Text)
	}
	upper := escThen('w')
	upper.Shift = true
	if u = newUser().types("go\n").does(upper); u.m.Editor.Text != "W" {
		t.Errorf("input %q", u.m.Editor.Text)
	}

	// Keys that Alt gives a meaning stay what they are.
	u = newUser().types("go\n").types("two words").does(escThen('b'), escThen('q'))
	if len(took[Interrupt](u)) != 0 || len(u.m.Queue) != 1 {
		t.Errorf("alt+b and alt+q: %+v", u.m.Queue)
	}
	if u.does(escThen('t')); len(took[Interrupt](u)) != 0 || !u.m.Thinking {
		t.Error("alt+t does not show the thinking")
	}
	if u = newUser().does(escThen('w')); u.m.Editor.Text != "" {
		t.Errorf("without a run: input %q", u.m.Editor.Text)
	}
}
