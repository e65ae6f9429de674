package draw

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/openagent-go/agent/cmd/openagent/internal/tui/frame"
	"github.com/openagent-go/agent/cmd/openagent/internal/tui/input"
	"github.com/openagent-go/agent/cmd/openagent/internal/tui/ui"
)

// asked is a person before a question.
type asked struct {
	m       ui.Model
	now     time.Time
	f       frame.Frame
	allowed bool
}

func (a *asked) put(data any) {
	var actions []ui.Action
	a.m, actions = ui.Update(a.m, ui.Input{Time: a.now, Data: data})
	for _, x := range actions {
		if d, ok := x.(ui.Decide); ok && d.Decision.Allow {
			a.allowed = true
		}
	}
}

func (a *asked) paint() {
	var p ui.Painted
	a.f, p = Frame(a.m, a.m.Width, a.m.Height, Theme{})
	a.put(p)
}

func (a *asked) keys(names string) {
	for name := range strings.FieldsSeq(names) {
		k, _ := input.Parse(name)
		a.put(k)
		a.paint()
	}
}

func (a *asked) shown() string { return plainText(strings.Join(a.f.Live, "\n")) }

// ask shows a question on a terminal of a size, until keys answer it.
func ask(q ui.Question, w, h int) *asked {
	a := &asked{m: ui.New(w, h), now: time.Unix(1_900_000_000, 0)}
	a.put(ui.Pose{Question: q})
	for range 2 {
		a.now = a.now.Add(time.Minute)
		a.put(ui.Tick{})
		a.paint()
	}
	return a
}

func write(lines int) ui.Question {
	return ui.Question{ID: 1, Tool: "Write", Head: "table.txt",
		Diff:   fmt.Sprintf("--- a/table.txt\n+++ b/table.txt\n@@ -0,0 +1,%d @@\n%s", lines, numbered(lines)),
		Widths: []ui.Width{{Name: "exact", Rules: []string{"Edit(/table.txt)"}, Scopes: []string{"session"}}}}
}

// check tells what a question on a terminal may not do.
func check(t *testing.T, a *asked, lines int) {
	t.Helper()
	w, h := a.m.Width, a.m.Height
	if len(a.f.Live) > h {
		t.Fatalf("%d lines of a diff, %d×%d: %d lines are drawn", lines, w, h, len(a.f.Live))
	}
	shown := a.shown()
	whole := strings.Contains(shown, "Write table.txt")
	for _, answer := range []string{"1  yes, once", "2  yes, always", "3  no", "4  later"} {
		whole = whole && strings.Contains(shown, answer)
	}
	seen := strings.Count(shown, " + line ")
	a.keys("1 enter")
	switch {
	case a.allowed && (!whole || seen < min(lines, 8)):
		t.Fatalf("%d lines of a diff, %d×%d: enter allows what is not on the screen:\n%s", lines, w, h, shown)
	case a.allowed && seen < lines && !strings.Contains(shown, fmt.Sprintf("… %d lines are left out", lines-seen)):
		t.Fatalf("%d lines of a diff, %d×%d: the cut is not marked:\n%s", lines, w, h, shown)
	case !a.allowed && whole && seen >= min(lines, 8):
		t.Fatalf("%d lines of a diff, %d×%d: enter does not allow what is on the screen:\n%s", lines, w, h, shown)
	case a.allowed:
		return
	case !strings.Contains(a.shown(), "ctrl+o"):
		t.Fatalf("%d lines of a diff, %d×%d: nothing says how to see all:\n%s", lines, w, h, a.shown())
	}
	a.keys("y e s enter")
	if a.allowed != (whole && seen+strings.Count(shown, "left out") > 0) {
		t.Fatalf("%d lines of a diff, %d×%d: the word yes: allowed %v:\n%s", lines, w, h, a.allowed, shown)
	}
}

// On a terminal of any size, enter allows a change only if its heading, all answers and enough
// of it are on the screen. The word yes allows it only if the heading, the answers and a line are.
func TestCardSizes(t *testing.T) {
	for _, w := range []int{40, 100} {
		for h := 4; h <= 40; h++ {
			for _, lines := range []int{1, 2, 7, 8, 9, 25, 200} {
				check(t, ask(write(lines), w, h), lines)
				a := ask(write(lines), w, 40)
				a.put(input.Resize{W: w, H: h})
				a.paint()
				check(t, a, lines)
			}
		}
	}
}

// A screen too small for the question can be left, and denies.
func TestSmallCardDenies(t *testing.T) {
	a := ask(write(60), 40, 8)
	a.keys("2 enter e enter")
	if a.allowed || !strings.Contains(a.shown(), "make the terminal larger") {
		t.Fatal(a.shown())
	}
	a = ask(write(60), 40, 8)
	a.keys("3 enter n o enter")
	if a.allowed || len(a.m.Cards) != 0 {
		t.Fatal(a.shown())
	}
}

// Between a change of the size and the next frame, enter asks for the word yes.
func TestResizedCardIsUnseen(t *testing.T) {
	a := ask(write(3), 100, 30)
	a.put(input.Resize{W: 100, H: 9})
	k, _ := input.Parse("enter")
	a.put(k)
	if a.allowed {
		t.Error("enter allows what the terminal may not show any more")
	}
}

// The name of a file that the heading has no room for is shown below it.
func TestCardNamesFile(t *testing.T) {
	q := write(3)
	q.Head = strings.Repeat("folder/", 12) + "table.txt"
	a := ask(q, 80, 24)
	if !strings.Contains(strings.ReplaceAll(a.shown(), "\n   ", ""), q.Head) {
		t.Error(a.shown())
	}
}

// A command of which a part is not on the screen needs the word yes, also through its editor.
func TestCutCommandEdited(t *testing.T) {
	q := ui.Question{ID: 1, Tool: "Bash", Command: strings.Repeat("make build && ", 60) + "make", Body: []ui.Line{{Text: strings.Repeat("make build && ", 60) + "make"}}}
	a := ask(q, 60, 12)
	a.keys("e enter")
	if a.allowed {
		t.Error("an unchanged command that is not all on the screen is allowed")
	}
	a.keys("y e s enter")
	if !a.allowed {
		t.Error(a.shown())
	}
}
