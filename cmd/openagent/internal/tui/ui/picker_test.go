package ui

import (
	"slices"
	"testing"

	"github.com/openagent-go/agent/cmd/openagent/internal/tui/input"
)

// A file is never completed from the names of what was typed before: the key waits for the names.
func TestStaleNames(t *testing.T) {
	u := newUser().types("see @ma").does(Files{"ma", []string{"makefile", "main.go"}})
	u.types("in").does("enter")
	if u.m.Editor.Text != "see @main" || len(took[Send](u)) > 0 {
		t.Fatalf("%q", u.m.Editor.Text)
	}
	u.does(Files{"mai", []string{"mail.go"}})
	if u.m.Editor.Text != "see @main" {
		t.Fatalf("%q", u.m.Editor.Text)
	}
	u.does(Files{"main", []string{"main.go"}})
	if u.m.Editor.Text != "see @main.go " {
		t.Fatalf("%q", u.m.Editor.Text)
	}
	u.types("and @ma").does(Files{"ma", []string{"makefile"}}).types("i").does("tab").types("n")
	u.does(Files{"main", []string{"main.go"}})
	if u.m.Editor.Text != "see @main.go and @main" {
		t.Fatalf("who types on does not want it any more: %q", u.m.Editor.Text)
	}
}

func sessions() Choice {
	return Choice{Kind: "session", Tools: true, Items: []Item{{Text: "one", Value: "1"}, {Text: "two", Value: "2"}, {Text: "three", Value: "3"}}}
}

// What the program finds out later does not move the mark, and closes no question about an item
// that is still there.
func TestRenewed(t *testing.T) {
	u := newUser().does(sessions(), "down ctrl+r").types("!")
	c := sessions()
	c.Items = slices.Insert(c.Items, 0, Item{Text: "new", Value: "0"})
	u.does(Renewed{c})
	if p := u.m.Picker; p.marked().Value != "2" || p.Naming == nil {
		t.Fatalf("%+v", p)
	}
	u.does("enter")
	if got := took[Rename](u); len(got) != 1 || got[0] != (Rename{"session", "2", "two!"}) {
		t.Fatalf("%+v", got)
	}
	u.does("ctrl+d")
	c.Items = slices.Delete(slices.Clone(c.Items), 2, 3)
	u.does(Renewed{c}, "y")
	if got := took[Erase](u); len(got) > 0 {
		t.Fatalf("another item was deleted than the one in question: %+v", got)
	}
	u.does("esc", Renewed{c})
	if u.m.Picker != nil {
		t.Fatal("a closed picker came back")
	}
}

// Only y deletes. No paste and no other key does.
func TestErase(t *testing.T) {
	u := newUser().does(sessions(), "ctrl+d enter", "ctrl+d n", "ctrl+d esc", "ctrl+d", input.Paste{Text: "y"}, "ctrl+d ctrl+d")
	if got := took[Erase](u); len(got) > 0 || u.m.Picker == nil {
		t.Fatalf("%+v", got)
	}
	u.does("down ctrl+d y")
	if got := took[Erase](u); len(got) != 1 || got[0].Value != "2" {
		t.Fatalf("%+v", got)
	}
}

// A picker of sessions, and one that is alone, stays until the program says what follows, and takes one answer.
func TestAlone(t *testing.T) {
	c := sessions()
	c.Alone = true
	u := newUser().does(c, "enter enter down enter")
	if got := took[Picked](u); len(got) != 1 || u.m.Picker == nil || !u.m.Picker.Busy {
		t.Fatalf("%+v", got)
	}
	u.does(Renewed{c})
	if !u.m.Picker.Busy {
		t.Fatal("what the program finds out later is no answer")
	}
	c.Warn = "it is open elsewhere"
	u.does(Renewed{c})
	if u.m.Picker.Busy || u.m.Picker.Warn == "" {
		t.Fatalf("%+v", u.m.Picker)
	}
	c.Warn = ""
	u.does(Renewed{c})
	if u.m.Picker.Warn == "" {
		t.Fatal("the warning stays until the next key")
	}
	u.does("down enter")
	if got := took[Picked](u); len(got) != 1 || got[0].Value != "2" || u.m.Picker.Warn != "" {
		t.Fatalf("%+v", got)
	}
	u.does("esc")
	if len(took[Leave](u)) != 1 {
		t.Fatal("esc leaves")
	}
}

// A digit marks an item of a numbered list, and enter chooses it.
func TestNumbered(t *testing.T) {
	c := Choice{Kind: "welcome", Form: Numbered, Alone: true, Items: sessions().Items}
	u := newUser().does(c, "2 9 x")
	if got := took[Picked](u); len(got) != 0 || u.m.Picker.Busy {
		t.Fatalf("%+v", got)
	}
	u.does("enter")
	if got := took[Picked](u); len(got) != 1 || got[0].Value != "2" {
		t.Fatalf("%+v", got)
	}
}

// A space searches if something was typed before it.
func TestLook(t *testing.T) {
	u := newUser().does(sessions(), "space")
	if got := took[Examine](u); len(got) != 1 || got[0].Value != "1" {
		t.Fatalf("%+v", got)
	}
	u.does("down", Examined{"1", []Line{{Text: "late"}}})
	if got := took[Examine](u); len(got) != 1 || got[0].Value != "2" || len(u.m.Picker.Look) > 0 {
		t.Fatalf("%+v %+v", got, u.m.Picker.Look)
	}
	u.does("space").types("th r")
	if p := u.m.Picker; p.Looking || p.marked().Value != "3" {
		t.Fatalf("%+v", p)
	}
}
