package ui

import (
	"testing"
	"time"
)

// What is written on a card is saved as the text of the input is.
func TestCardDraft(t *testing.T) {
	ask := Question{ID: 1, Ask: []Asked{{Text: "?", Options: []Option{{Label: "x"}}}, {Text: "Why?"}}}
	call := permissionQuestion(1)
	for _, c := range []struct {
		q           Question
		keys, typed string
		want        string
	}{
		{call, "3 enter", "it is too early", "it is too early"},
		{call, "e", " --force", call.Command + " --force"},
		{call, "e", "", ""},
		{ask, "2 enter", "neither", "neither"},
	} {
		u := newUser().waits(time.Minute).does(Pose{c.q}).sees().waits(settleTime).does(c.keys).types(c.typed)
		u.actions = nil
		u.waits(saveTime)
		got := took[SaveDraft](u)
		if c.want == "" {
			if len(got) != 0 {
				t.Errorf("%q, %q: %+v", c.keys, c.typed, got)
			}
			continue
		}
		if len(got) != 1 || got[0].Text != c.want {
			t.Errorf("%q, %q: %+v is saved", c.keys, c.typed, got)
		}
	}
	u := newUser().waits(time.Minute).does(Pose{ask}).sees().waits(settleTime).does("2 enter").types("first\n").sees().waits(settleTime).types("second")
	if got := u.m.Unsent(); got != "first\nsecond" {
		t.Errorf("answers of two questions: %q", got)
	}
	u.does("enter")
	if got := u.m.Unsent(); got != "" {
		t.Errorf("behind the answer: %q", got)
	}
}

// The clock goes on while a question waits, once a second.
func TestClockWithQuestion(t *testing.T) {
	u := newUser().types("hello\n").waits(time.Minute).does(Pose{permissionQuestion(1)}).sees()
	u.waits(100 * time.Millisecond)
	if wake := u.m.Wake(); !wake.After(u.m.Now) || wake.Sub(u.m.Now) > time.Second || wake.Nanosecond() != 0 {
		t.Errorf("%v after %v", wake, u.m.Now)
	}
	u.does(Done{}).waits(2 * time.Second)
	if wake := u.m.Wake(); !wake.IsZero() {
		t.Errorf("nothing runs: %v", wake)
	}
}

// A tab just after a question took the keyboard back was meant for going to the question.
func TestTabAfterKeyboardBack(t *testing.T) {
	for _, ms := range []int{0, 100, 499, 500, 900} {
		u := newUser().waits(time.Minute).does(Pose{permissionQuestion(1)}).sees().types("x").does("backspace")
		if u.m.focused() {
			t.Fatal("a word for the agent leaves the keyboard to the question")
		}
		u.waits(quietTime).sees()
		if !u.m.focused() {
			t.Fatal("the question does not take the keyboard back")
		}
		u.waits(time.Duration(ms) * time.Millisecond).does("tab").sees()
		if !u.m.focused() {
			t.Fatalf("after %d ms, tab leaves the question", ms)
		}
		u.waits(settleTime).does("1 enter")
		if got := took[Decide](u); len(got) != 1 {
			t.Errorf("after %d ms: %+v", ms, got)
		}
	}
	u := newUser().waits(time.Minute).does(Pose{permissionQuestion(1)}).sees().types("x").does("backspace").waits(quietTime).sees().waits(2 * quietTime).does("tab")
	if u.m.focused() {
		t.Error("later, tab leaves the question")
	}
	u = newUser().waits(time.Minute).does(Pose{permissionQuestion(1)}).sees().waits(settleTime).does("tab")
	if u.m.focused() {
		t.Error("tab does not leave a question that never lost the keyboard")
	}
}
