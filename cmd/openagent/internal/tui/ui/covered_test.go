package ui

import (
	"testing"
	"time"
)

// A question that comes while a picker, the pager or an editor has the screen gets no key of
// theirs. The half second counts from when its card is painted with the keyboard.
func TestQuestionBehindOthers(t *testing.T) {
	for name, leave := range map[string]func(*user){
		"a picker":           func(u *user) { u.does("esc") },
		"pager or an editor": func(u *user) { u.does(Uncovered{}) },
	} {
		u := newUser().waits(time.Minute)
		if name == "a picker" {
			u.does(Choice{Kind: "model", Title: "model", Items: []Item{{Text: "one", Value: "1"}, {Text: "two", Value: "2"}}})
		}
		u.does(Pose{permissionQuestion(1)})
		if name == "a picker" {
			u.sees().waits(time.Minute).sees().does("1 enter")
			if len(took[Decide](u)) > 0 {
				t.Fatal("a key of the picker answers the question")
			}
			u.does(Choice{Kind: "model", Title: "model", Items: []Item{{Text: "one", Value: "1"}}})
		}
		leave(u)
		u.does("enter").waits(quietTime - time.Millisecond)
		if len(u.m.Cards) != 1 || u.m.Cards[0].Focus {
			t.Fatalf("%s: the question has the keyboard at once", name)
		}
		u.waits(2 * time.Millisecond).sees()
		if !u.m.Cards[0].Focus {
			t.Fatalf("%s: the question does not get the keyboard", name)
		}
		u.waits(settleTime - time.Millisecond).does("enter")
		if len(took[Decide](u)) > 0 {
			t.Errorf("%s: the question is answered too early", name)
		}
		u.waits(quietTime).sees().waits(settleTime).does("enter")
		if len(took[Decide](u)) != 1 {
			t.Errorf("%s: the question is not answered", name)
		}
	}
}
