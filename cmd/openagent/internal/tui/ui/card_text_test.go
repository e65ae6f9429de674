package ui

import (
	"testing"
	"time"
)

// What was typed where the word yes is wanted, or as another command, is no message for the
// agent: it never comes into the input. ↑ brings it back there.
func TestCardTextIsNoMessage(t *testing.T) {
	grave := permissionQuestion(1)
	grave.Grave, grave.Command = "it deletes files", "rm -r build"
	for open, typed := range map[string]string{"1 enter": "nope", "e": " --force"} {
		for _, leave := range []any{"esc", "ctrl+c", Settled{1}} {
			u := newUser().waits(time.Minute).does(Pose{grave}).sees().waits(settleTime).does(open).types(typed)
			if u.m.Cards[0].Write == nil {
				t.Fatalf("%s opens no text", open)
			}
			want, _ := u.m.Cards[0].Write.Content()
			u.does(leave)
			if !u.m.Editor.Empty() {
				t.Errorf("%s, %v: the input has %q", open, leave, u.m.Editor.Text)
			}
			u.does(Settled{1}, "up")
			if u.m.Editor.Text != want {
				t.Errorf("%s, %v: ↑ brings back %q, not %q", open, leave, u.m.Editor.Text, want)
			}
		}
	}
}
