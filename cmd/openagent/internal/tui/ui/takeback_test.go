package ui

import "testing"

// alt+up takes the newest message back: at once if it waits for the end of the run, with the
// program's help if it was sent to the running prompt.
func TestTakeBack(t *testing.T) {
	u := newUser().types("go\n").types("first\n").types("second\n").types("then").does("alt+q")
	took[Send](u)
	if u.does("alt+up"); u.m.Editor.Text != "then" || len(took[TakeBack](u)) != 0 {
		t.Fatalf("the message for after the run: %q", u.m.Editor.Text)
	}
	u.does("ctrl+c")
	u.does("alt+up", "alt+up", "alt+up")
	back := took[TakeBack](u)
	if len(back) != 2 || back[0].N != u.m.Queue[1].N || back[1].N != u.m.Queue[0].N {
		t.Fatalf("asked for %+v of %+v", back, u.m.Queue)
	}
	u.does(Kept{back[1].N}) // the agent has got the first one
	if u.m.Hint == "" || len(u.m.Queue) != 2 {
		t.Errorf("hint %q, queue %+v", u.m.Hint, u.m.Queue)
	}
	u.does(Delivered{[]int{back[1].N}}, Returned{[]int{back[0].N}})
	if u.m.Editor.Text != "second" || len(u.m.Queue) != 0 {
		t.Errorf("input %q, queue %+v", u.m.Editor.Text, u.m.Queue)
	}
}

// A message that came too late for the run begins the next one, also if the person asked for it
// meanwhile: it is not lost.
func TestTakeBackLate(t *testing.T) {
	u := newUser().types("go\n").types("more\n").does("alt+up", Done{})
	n := took[TakeBack](u)[0].N
	u.does(Kept{n}, Late{[]int{n}})
	if sent := took[Send](u); len(sent) != 1 || sent[0].Message.Text != "more" || sent[0].Message.Steer {
		t.Errorf("sent %+v, input %q", sent, u.m.Editor.Text)
	}
}
