package ui

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/openagent-go/agent/cmd/openagent/internal/tui/input"
)

// newListener is a person in plain mode.
func newListener(whole bool) *user {
	u := newUser()
	u.m = NewPlain(whole)
	return u
}

// notes are the lines of the program.
func (u *user) notes() string {
	var b strings.Builder
	for _, n := range u.m.Notes {
		for _, l := range n.Lines {
			b.WriteString(l.Text + "\n")
		}
	}
	return b.String()
}

// asks poses a question and waits until a line can answer it.
func (u *user) asks(q Question) *user {
	return u.does(Pose{q}).does(Painted{Mark: u.m.Mark, Card: q.ID}).waits(settleTime)
}

func TestPlainPermission(t *testing.T) {
	for _, c := range []struct {
		lines string
		want  Decision
	}{
		{"1\n", Decision{Allow: true}},
		{"YES\n", Decision{Allow: true}},
		{"2\n", Decision{Allow: true, Keep: true, Width: 1, Scope: "session"}},
		{"2 exact project\n", Decision{Allow: true, Keep: true, Scope: "project"}},
		{"user\n", Decision{Allow: true, Keep: true, Width: 1, Scope: "user"}},
		{"always usual user\n", Decision{Allow: true, Keep: true, Width: 1, Scope: "user"}},
		{"2 broad\n", Decision{Allow: true, Keep: true, Width: 2, Scope: "session"}},
		{"3 bad idea\n", Decision{Reason: "bad idea"}},
		{"no\n", Decision{}},
		{"later\n", Decision{Later: true}},
		{"edit\n", Decision{Allow: true, Edited: "git push -n"}},
	} {
		q := permissionQuestion(7)
		for i, name := range []string{"exact", "usual", "broad"} {
			q.Widths[i].Name = name
		}
		u := newListener(false).asks(q).types(c.lines)
		switch {
		case c.want.Width == 2:
			if got := took[Decide](u); len(got) != 0 || u.m.Cards[0].Word() == "" {
				t.Fatalf("a wide rule needs the word: %+v", got)
			}
			u.waits(settleTime).types("yes\n")
		case c.want.Edited != "":
			u.types(" -n\n")
		}
		got := took[Decide](u)
		if len(got) != 1 || got[0].ID != 7 || fmt.Sprint(got[0].Decision) != fmt.Sprint(c.want) {
			t.Errorf("%q: %+v, want %+v\n%s", c.lines, got, c.want, u.notes())
		}
	}
	// What does not answer.
	for line, says := range map[string]string{
		"1 more\n": "this is no answer", "maybe\n": "this is no answer", "2 exact user\n": "write 2 and one of session, project",
		"2 all\n": "there is no rule", "?\n": "because", "> use pnpm\n": "the agent reads it",
	} {
		q := permissionQuestion(1)
		q.Why = []Line{{Text: "because"}}
		q.Widths[0].Name = "exact"
		u := newListener(false).types("go\n").asks(q).types(line)
		if got := took[Decide](u); len(got) != 0 || !strings.Contains(u.notes(), says) {
			t.Errorf("%q: %+v, %s", line, got, u.notes())
		}
	}
	u := newListener(false).asks(permissionQuestion(1)).does(input.Paste{Text: "1"}).types("\n")
	if got := took[Decide](u); len(got) != 0 || !strings.Contains(u.notes(), "pasted") {
		t.Errorf("a paste allows: %+v", got)
	}
	u = newListener(false).asks(permissionQuestion(1)).types("/cost\n")
	if got := took[Command](u); len(got) != 1 || len(u.m.Cards) != 1 {
		t.Errorf("a command does not run beside a question: %+v", got)
	}
	// A line that was begun too early is a message.
	u = newListener(false).types("go\n").does(Pose{permissionQuestion(1)}).does(Painted{Card: 1}).waits(settleTime - 1).types("1\n")
	if got := took[Send](u); len(took[Decide](u)) != 0 || len(got) != 2 || got[1].Message.Text != "1" {
		t.Errorf("%+v", got)
	}
}

func TestPlainEnd(t *testing.T) {
	for _, whole := range []bool{true, false} {
		u := newListener(whole).does(Submit{"go"}).asks(permissionQuestion(1))
		if whole {
			u.does(Ended{})
		} else {
			u.does("ctrl+d")
		}
		if len(took[HangUp](u)) != 1 || len(took[Leave](u)) != 0 || len(u.m.Cards) != 0 {
			t.Fatal("the end of the input waits for the run, and nobody answers")
		}
		u.does(Pose{permissionQuestion(2)})
		if len(u.m.Cards) != 0 {
			t.Fatal("a question is asked though nobody can answer")
		}
		u.does(Done{})
		if len(took[Leave](u)) != 1 {
			t.Fatal("the program does not leave")
		}
	}
	u := newListener(true).does(Typed{Text: "/export x", At: time.Time{}}, Ended{})
	if len(took[Leave](u)) != 0 || u.m.Idle() {
		t.Fatal("the program leaves before a command is carried out")
	}
	u.does(Ran{})
	if len(took[Leave](u)) != 1 {
		t.Fatal("the program does not leave")
	}
}

func TestPlainCancel(t *testing.T) {
	u := newListener(false).types("go\n").types("steer\n").types("half")
	u.does("ctrl+c")
	if len(took[Interrupt](u)) != 0 || !u.m.Editor.Empty() {
		t.Fatal("ctrl+c clears the line first")
	}
	u.does("ctrl+c")
	if len(took[Interrupt](u)) != 1 {
		t.Fatal("ctrl+c stops the run")
	}
	u.does(Returned{[]int{2}}, Done{Stopped: true})
	if text, _ := u.m.Editor.Content(); text != "steer" || u.m.Typing() {
		t.Fatalf("%q", text)
	}
	u.does("ctrl+u ctrl+c")
	if len(took[Leave](u)) != 0 {
		t.Fatal("the first ctrl+c asks")
	}
	u.does("ctrl+c")
	if len(took[Leave](u)) != 1 {
		t.Fatal("the second one leaves")
	}
	u = newListener(true).does(Typed{Text: "go"}, Typed{Text: "one\\"}, Typed{Text: "two"}, Returned{[]int{2}})
	if !strings.Contains(u.notes(), "not sent: one\nnot sent: two\n") || !u.m.Editor.Empty() {
		t.Errorf("%q", u.notes())
	}
}

func TestPlainCompletion(t *testing.T) {
	u := newListener(false).does(Commands{[]CommandInfo{{"rewind", "", "go back"}, {"rename", "[TITLE]", "title"}, {"model", "[NAME]", "model"}}})
	u.types("/m").does("tab")
	if u.m.Editor.Text != "/model " {
		t.Errorf("%q", u.m.Editor.Text)
	}
	u.does("ctrl+u").types("/r").does("tab")
	if u.m.Editor.Text != "/re" || !strings.Contains(u.notes(), "/rename [TITLE]\n") {
		t.Errorf("%q, %q", u.m.Editor.Text, u.notes())
	}
	u.does("ctrl+u").types("see @main").does("tab")
	u.does(Files{"main", []string{"main.go", "main_test.go"}})
	if u.m.Editor.Text != "see @main" || !strings.Contains(u.notes(), "@main_test.go\n") {
		t.Errorf("%q, %q", u.m.Editor.Text, u.notes())
	}
	u.types(".").does("tab", Files{"main.", []string{"main.go"}})
	if u.m.Editor.Text != "see @main.go " {
		t.Errorf("%q", u.m.Editor.Text)
	}
	u.types("x\n")
	if got := took[Send](u); len(got) != 1 || got[0].Message.Text != "see @main.go x" {
		t.Errorf("%+v", got)
	}
}

func TestPlainChoice(t *testing.T) {
	offer := Choice{Kind: "session", Title: "go to", Items: []Item{{Text: "a", Value: "1a"}, {Text: "b", Value: "2b"}}}
	for line, want := range map[string][]Picked{"2\n": {{"session", "2b"}}, "3\n": nil, "\n": nil} {
		u := newListener(false).does(offer)
		u.does(Painted{Card: u.m.Cards[0].ID}).waits(settleTime).types(line)
		if got := took[Picked](u); !slices.Equal(got, want) || len(u.m.Cards) != 0 {
			t.Errorf("%q: %+v, want %+v", line, got, want)
		}
	}
}
