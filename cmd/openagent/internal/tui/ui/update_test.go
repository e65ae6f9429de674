package ui

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/openagent-go/agent/cmd/openagent/internal/tui/input"
)

// A user drives a model in tests.
type user struct {
	m       Model
	now     time.Time
	actions []Action
}

func newUser() *user {
	return &user{m: New(80, 24), now: time.Unix(1_900_000_000, 0)}
}

func (u *user) does(data ...any) *user {
	for _, d := range data {
		if k, ok := d.(string); ok {
			for name := range strings.FieldsSeq(k) {
				key, ok := input.Parse(name)
				if !ok {
					panic("no key " + name)
				}
				u.does(key)
			}
			continue
		}
		var actions []Action
		u.m, actions = Update(u.m, Input{u.now, d})
		u.actions = append(u.actions, actions...)
	}
	return u
}

func (u *user) types(text string) *user {
	for _, k := range input.Type(text) {
		u.does(k)
	}
	return u
}

func (u *user) waits(d time.Duration) *user {
	u.now = u.now.Add(d)
	return u.does(Tick{})
}

// sees paints what there is.
func (u *user) sees() *user {
	p := Painted{Mark: u.m.Mark}
	if len(u.m.Cards) > 0 {
		p.Card = u.m.Cards[0].ID
	}
	return u.does(p)
}

// took returns the actions of a type, and forgets all actions.
func took[A Action](u *user) []A {
	var out []A
	for _, a := range u.actions {
		if x, ok := a.(A); ok {
			out = append(out, x)
		}
	}
	u.actions = nil
	return out
}

func TestSend(t *testing.T) {
	u := newUser().types("hello\n")
	if got := took[Send](u); len(got) != 1 || got[0].Message.Text != "hello" || got[0].Message.Steer || !u.m.Running {
		t.Fatalf("%+v", got)
	}
	u.types("also this\n")
	if got := took[Send](u); len(got) != 1 || !got[0].Message.Steer || len(u.m.Queue) != 1 {
		t.Fatalf("while a run works, enter steers: %+v", got)
	}
	u.types("later").does("alt+q")
	if got := took[Send](u); len(got) != 0 || len(u.m.Queue) != 2 {
		t.Fatalf("alt+q waits for the end: %+v", got)
	}
	u.does("alt+up")
	if u.m.Editor.Text != "later" || len(u.m.Queue) != 1 {
		t.Fatalf("alt+up takes the message back: %q", u.m.Editor.Text)
	}
	u.does("alt+q", Delivered{[]int{2}}, Done{})
	if got := took[Send](u); len(got) != 1 || got[0].Message.Text != "later" || len(u.m.Queue) != 0 {
		t.Fatalf("the end sends it: %+v", got)
	}
	u.does(Done{}).types(`one\` + "\n").types("two\n")
	if got := took[Send](u); len(got) != 1 || got[0].Message.Text != "one\ntwo" {
		t.Fatalf("a backslash and enter are a new line: %+v", got)
	}
	// A message that comes after the run is the next prompt.
	u.types("late\n").does(Done{}, Late{[]int{u.m.numbers}})
	if got := took[Send](u); len(got) != 2 || got[1].Message.Text != "late" || got[1].Message.Steer {
		t.Fatalf("%+v", got)
	}
}

func TestInterruptReturnsMessages(t *testing.T) {
	u := newUser().types("hello\n").types("one\n").types("two").does("alt+q").types("dra")
	u.does("esc")
	if got := took[Interrupt](u); len(got) != 1 {
		t.Fatal("esc stops the run")
	}
	u.does(Returned{[]int{2}}, Done{Stopped: true})
	text, _ := u.m.Editor.Content()
	if text != "one\ntwo\ndra" || !strings.Contains(u.m.Hint, "2 messages") {
		t.Errorf("%q, %q", text, u.m.Hint)
	}
	if len(u.m.Queue) != 0 {
		t.Errorf("%+v", u.m.Queue)
	}
}

func TestCancel(t *testing.T) {
	u := newUser().types("words").does("ctrl+c")
	if !u.m.Editor.Empty() || len(took[Remember](u)) != 1 {
		t.Fatal("ctrl+c clears the input and remembers it")
	}
	u.does("up")
	if u.m.Editor.Text != "words" {
		t.Fatalf("%q", u.m.Editor.Text)
	}
	u.does("ctrl+c ctrl+c")
	if got := took[Leave](u); len(got) != 0 || u.m.Hint == "" {
		t.Fatal("the first ctrl+c on an empty input asks")
	}
	u.waits(3 * time.Second).does("ctrl+c")
	if got := took[Leave](u); len(got) != 0 {
		t.Fatal("two seconds later it asks again")
	}
	u.does("ctrl+c")
	if got := took[Leave](u); len(got) != 1 {
		t.Fatal("the second one leaves")
	}
	u = newUser().does("esc esc")
	if got := took[Command](u); len(got) != 1 || got[0].Line != "/rewind" {
		t.Fatalf("%+v", got)
	}
}

func TestMenu(t *testing.T) {
	u := newUser().does(Commands{[]CommandInfo{{"rewind", "", "go back"}, {"rename", "[TITLE]", "title"}, {"model", "[NAME]", "model"}}})
	u.types("/re")
	if n := len(u.m.Menu.Items); n != 2 {
		t.Fatalf("%d items", n)
	}
	u.does("down tab")
	if u.m.Editor.Text != "/rename " {
		t.Fatalf("%q", u.m.Editor.Text)
	}
	u.types("my title\n")
	if got := took[Command](u); len(got) != 1 || got[0].Line != "/rename my title" {
		t.Fatalf("%+v", got)
	}
	u.types("/rew").does("enter")
	if got := took[Command](u); len(got) != 1 || got[0].Line != "/rewind" {
		t.Fatalf("%+v", got)
	}
	u.types("see @main")
	if got := took[ListFiles](u); len(got) != 5 || got[4].Query != "main" {
		t.Fatalf("%+v", got)
	}
	u.does(Files{"mai", []string{"old.go"}}, Files{"main", []string{"main.go", "a b/main.go"}}, "down tab")
	if u.m.Editor.Text != `see @"a b/main.go" ` {
		t.Fatalf("%q", u.m.Editor.Text)
	}
	u.types("@x").does(Files{"x", []string{"x.go"}}, "esc")
	if u.m.Menu.Open() {
		t.Fatal("esc closes the menu")
	}
	u.types("y\n")
	if got := took[Send](u); len(got) != 1 || !strings.HasSuffix(got[0].Message.Text, "@xy") {
		t.Fatalf("%+v", got)
	}
}

// The command that was typed comes before others that begin with it.
func TestMenuExact(t *testing.T) {
	u := newUser().does(Commands{[]CommandInfo{{"model", "[NAME]", ""}, {"mode", "[MODE]", ""}}}).types("/mode").does("enter")
	if got := took[Command](u); len(got) != 1 || got[0].Line != "/mode" {
		t.Fatalf("%+v", got)
	}
}

func TestPicker(t *testing.T) {
	offer := Choice{Kind: "theme", Title: "theme", Items: []Item{{Text: "dark", Value: "d"}, {Text: "light", Value: "l"}, {Text: "none", Value: "n"}}}
	for keys, want := range map[string]string{"enter": "d", "down enter": "l", "down down down up enter": "l", "n o enter": "n", "x enter esc": "", "ctrl+c": ""} {
		u := newUser().types("draft").does(offer).does(keys)
		got := took[Picked](u)
		if want == "" && len(got) == 0 || len(got) == 1 && got[0] == (Picked{"theme", want}) {
			if u.m.Picker != nil || u.m.Editor.Text != "draft" {
				t.Errorf("%s: %q", keys, u.m.Editor.Text)
			}
			continue
		}
		t.Errorf("%s: %+v, want %q", keys, got, want)
	}
}

// A message that is written while a question waits goes to the agent; then the question takes
// the keyboard again.
func TestMessageBeforeAnswer(t *testing.T) {
	u := newUser().types("go\n").waits(time.Minute).does(Pose{permissionQuestion(1)}).sees().waits(settleTime).types("wait a bit\n")
	if got := took[Send](u); len(got) != 2 || got[1].Message.Text != "wait a bit" || u.m.focused() {
		t.Fatalf("%+v", got)
	}
	u.waits(quietTime)
	if !u.m.focused() {
		t.Error("the question does not take the keyboard")
	}
	u.sees().waits(quietTime).does("tab").waits(time.Minute)
	if u.m.focused() {
		t.Error("a person who left the question is asked again")
	}
}

// A page that covered the conversation covered its question too: keys answer it later.
func TestUncovered(t *testing.T) {
	u := newUser().waits(time.Minute).does(Pose{permissionQuestion(1)}).sees().waits(settleTime).does(Uncovered{}, "enter")
	if got := took[Decide](u); len(got) != 0 {
		t.Errorf("%+v", got)
	}
}

func TestSearch(t *testing.T) {
	u := newUser().does(Past{[]string{"fix the tests", "write docs", "run tests"}}).does("ctrl+r").types("test")
	if u.m.Search.Found != "run tests" {
		t.Fatalf("%q", u.m.Search.Found)
	}
	u.does("ctrl+r enter")
	if u.m.Search != nil || u.m.Editor.Text != "fix the tests" {
		t.Fatalf("%q", u.m.Editor.Text)
	}
}

// What the search shows is what enter puts into the input, for entries that were changed too.
func TestSearchChanged(t *testing.T) {
	past := Past{[]string{"steer A", "follow B"}}
	for want, u := range map[string]*user{
		"steer A":  newUser().does(past, "up up ctrl+u ctrl+r").types("steer"),
		"steer AC": newUser().does(past, "up up").types("C").does("ctrl+r").types("steer"),
		"steer AD": newUser().does(past, "up up").types("D").does("down ctrl+r").types("steer"),
	} {
		found := u.m.Search.Found
		if u.does("enter"); found != want || u.m.Editor.Text != want {
			t.Errorf("%q is shown and %q taken, want %q", found, u.m.Editor.Text, want)
		}
	}
	if u := newUser().does(past, "up up ctrl+u down up"); u.m.Editor.Text != "steer A" {
		t.Errorf("%q", u.m.Editor.Text)
	}
}

func TestDraft(t *testing.T) {
	u := newUser().types("half")
	if got := took[SaveDraft](u); len(got) != 0 || u.m.Wake().IsZero() {
		t.Fatalf("%+v", got)
	}
	u.waits(time.Second)
	if got := took[SaveDraft](u); len(got) != 1 || got[0].Text != "half" {
		t.Fatalf("%+v", got)
	}
	if !u.m.Wake().IsZero() {
		t.Error("an idle model wants no tick")
	}
}

func permissionQuestion(id int) Question {
	return Question{ID: id, Tool: "Bash", Head: "git push", Command: "git push",
		Widths: []Width{{Rules: []string{"Bash(git push)"}, Scopes: []string{"session", "project"}},
			{Rules: []string{"Bash(git push *)"}, Scopes: []string{"session", "project", "user"}},
			{Rules: []string{"Bash(*)"}, Scopes: []string{"session"}, Wide: "every command"}}, Usual: 1}
}

func TestPermission(t *testing.T) {
	ask := func() *user { // with the keyboard, for long enough
		return newUser().waits(time.Minute).does(Pose{permissionQuestion(7)}).sees().waits(settleTime)
	}
	for _, c := range []struct {
		keys string
		want Decision
	}{
		{"enter", Decision{Allow: true}},
		{"2 enter", Decision{Allow: true, Keep: true, Width: 1, Scope: "session"}},
		{"down s enter", Decision{Allow: true, Keep: true, Width: 1, Scope: "project"}},
		{"right s enter", Decision{Allow: true, Keep: true, Scope: "project"}},
		{"left enter y e s enter", Decision{Allow: true, Keep: true, Width: 2, Scope: "session"}},
		{"3 enter b a d enter", Decision{Reason: "bad"}},
		{"4 enter", Decision{Later: true}},
		{"e space x enter", Decision{Allow: true, Edited: "git push x"}},
	} {
		u := ask().does(c.keys)
		got := took[Decide](u)
		if len(got) != 1 || got[0].ID != 7 || fmt.Sprint(got[0].Decision) != fmt.Sprint(c.want) {
			t.Errorf("%s: %+v, want %+v", c.keys, got, c.want)
		}
		if len(u.m.Cards) != 0 || !u.m.Editor.Empty() {
			t.Errorf("%s: %q is in the input", c.keys, u.m.Editor.Text)
		}
	}
	for _, keys := range []string{"left enter enter", "left enter y e enter", "1 2 3"} {
		if got := took[Decide](ask().does(keys)); len(got) != 0 {
			t.Errorf("%s answers: %+v", keys, got)
		}
	}
	u := ask().does(input.Paste{Text: "1\n"})
	if got := took[Decide](u); len(got) != 0 || u.m.Editor.Text != "1\n" {
		t.Errorf("a paste answers: %+v, %q", got, u.m.Editor.Text)
	}
	// Keys before the time belong to the input.
	u = newUser().waits(time.Minute).does(Pose{permissionQuestion(1)}).sees().waits(settleTime - 1).does("y enter")
	if got := took[Decide](u); len(got) != 0 {
		t.Errorf("%+v", got)
	}
	if got := took[Send](u); u.m.Editor.Text != "" && len(got) != 0 {
		t.Errorf("%q", u.m.Editor.Text)
	}
	// A grave call needs the word.
	q := permissionQuestion(1)
	q.Grave = "rm deletes"
	u = newUser().waits(time.Minute).does(Pose{q}).sees().waits(settleTime).does("enter enter")
	if got := took[Decide](u); len(got) != 0 {
		t.Errorf("%+v", got)
	}
	u.does("y e s enter")
	if got := took[Decide](u); len(got) != 1 || !got[0].Decision.Allow {
		t.Errorf("%+v", got)
	}
}

func TestAsk(t *testing.T) {
	q := Question{ID: 3, Tool: "AskUser", Ask: []Asked{
		{Text: "Which?", Options: []Option{{"red", ""}, {"blue", ""}}},
		{Text: "What else?", Options: []Option{{"a", ""}, {"b", ""}, {"c", ""}}, Multiple: true},
		{Text: "Why?"},
	}}
	u := newUser().waits(time.Minute).does(Pose{q}).sees().waits(settleTime)
	u.does("2 enter").sees().waits(settleTime).does("1 down down space enter").sees().waits(settleTime).types("because\n")
	got := took[Reply](u)
	want := []Answer{{Chosen: []int{1}}, {Chosen: []int{0, 2}}, {Text: "because"}}
	if len(got) != 1 || fmt.Sprint(got[0].Answers) != fmt.Sprint(want) {
		t.Fatalf("%+v, want %+v", got, want)
	}
}

// A call that somebody else settles takes its card away and loses nothing.
func TestSettled(t *testing.T) {
	u := newUser().waits(time.Minute).does(Pose{permissionQuestion(1)}, Pose{permissionQuestion(2)}).sees().waits(settleTime).does("3 enter").types("too early")
	u.does(Settled{1})
	if len(u.m.Cards) != 1 || u.m.Editor.Text != "too early" || u.m.Cards[0].Focus {
		t.Fatalf("%q", u.m.Editor.Text)
	}
}

// randomKeys are keys that a person may press at any time.
var randomKeys = []string{"a", "y", "e", "s", "1", "2", "3", "4", "space", "enter", "enter", "tab", "up", "down", "left", "right", "esc", "backspace",
	"ctrl+w", "ctrl+y", "ctrl+u", "ctrl+k", "ctrl+c", "ctrl+c", "tab", "tab", "enter", "ctrl+_", "alt+q", "alt+up", "ctrl+r", "?", "/", "@", "alt+enter", "\\", "ctrl+j", "é", "日"}

// No key answers a question that was not on the screen, with the keyboard, for half a second
// before it.
func TestNoKeyAnswersTooEarly(t *testing.T) {
	answers := 0
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		u := newUser()
		seen := map[int]time.Time{} // since when a card has been painted with the keyboard
		next := 1
		for range 400 {
			u.actions = nil
			switch r.IntN(11) {
			case 0:
				if len(u.m.Cards) < 3 {
					q := permissionQuestion(next)
					if r.IntN(3) == 0 {
						q = Question{ID: next, Ask: []Asked{{Text: "?", Options: []Option{{Label: "x"}}}}}
					}
					u.does(Pose{q})
					next++
				}
			case 1, 5, 6:
				u.sees()
			case 2, 7:
				u.waits(time.Duration(r.IntN(1500)) * time.Millisecond)
			case 3:
				if len(u.m.Cards) > 0 && r.IntN(20) == 0 {
					u.does(Settled{u.m.Cards[r.IntN(len(u.m.Cards))].ID})
				}
			case 4:
				u.does(input.Focus{In: r.IntN(2) == 0})
				if r.IntN(10) == 0 {
					u.does(input.Paste{Text: "yes\n1\n"})
				}
			default:
				before := u.m
				u.does(randomKeys[r.IntN(len(randomKeys))])
				for _, a := range u.actions {
					id := 0
					switch a := a.(type) {
					case Decide:
						id = a.ID
					case Reply:
						id = a.ID
					default:
						continue
					}
					answers++
					if !before.focused() || before.Cards[0].ID != id || seen[id].IsZero() || u.now.Sub(seen[id]) < 500*time.Millisecond {
						t.Fatalf("seed %d: question %d was answered too early", seed, id)
					}
				}
			}
			// Note since when the first card is on the screen with the keyboard.
			now := map[int]time.Time{}
			if u.m.focused() && !u.m.Cards[0].ready.IsZero() {
				id := u.m.Cards[0].ID
				if now[id] = seen[id]; now[id].IsZero() {
					now[id] = u.now
				}
			}
			seen = now
		}
	}
	if answers < 50 {
		t.Errorf("this test answers %d questions only", answers)
	}
}

// Whatever is typed and pasted, whenever questions come and go and runs end: every word is in
// the input, in a message or in the history file. Only what a person deletes is gone.
func TestNothingTypedIsLost(t *testing.T) {
	keys := []string{"enter", "enter", "tab", "up", "down", "esc", "ctrl+c", "alt+q", "alt+up", "ctrl+r", "alt+enter", "home", "end", "shift+tab", "ctrl+l", "alt+e"}
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 2))
		u := newUser()
		var words []string
		var kept strings.Builder // messages, history, answers
		next := 1
		keep := func() {
			for _, a := range u.actions {
				switch a := a.(type) {
				case Send:
					kept.WriteString(a.Message.Text + "\n")
				case Remember:
					kept.WriteString(a.Text + "\n")
				case Decide:
					kept.WriteString(a.Decision.Reason + a.Decision.Edited + "\n")
				case Reply:
					for _, x := range a.Answers {
						kept.WriteString(x.Text + "\n")
					}
				}
			}
			u.actions = nil
		}
		for i := range 200 {
			switch r.IntN(10) {
			case 0, 1, 2:
				word := fmt.Sprintf("w%dq", i)
				words = append(words, word)
				u.does("ctrl+end") // not within another word
				if r.IntN(2) == 0 {
					u.does(input.Key{Code: 'w', Text: word + " "}) // as an input method types it
				} else {
					if r.IntN(4) == 0 {
						word += strings.Repeat("\nline", 20)
					}
					u.does(input.Paste{Text: word + " "})
				}
			case 3:
				if len(u.m.Cards) < 2 {
					q := permissionQuestion(next)
					if r.IntN(2) == 0 {
						q = Question{ID: next, Ask: []Asked{{Text: "?"}}}
					}
					u.does(Pose{q}).sees()
					next++
				}
			case 4:
				u.waits(time.Duration(r.IntN(2000)) * time.Millisecond).sees()
			case 5:
				if len(u.m.Cards) > 0 {
					u.does(Settled{u.m.Cards[0].ID})
				}
			case 6:
				if u.m.Running {
					var steered []int
					for _, msg := range u.m.Queue {
						if msg.Steer {
							steered = append(steered, msg.N)
						}
					}
					u.does([]any{Returned{steered}, Delivered{steered}, Done{}}[r.IntN(3)])
				}
			default:
				u.does(keys[r.IntN(len(keys))])
			}
			keep()
			for _, msg := range u.m.Queue {
				kept.WriteString(msg.Text + "\n")
			}
		}
		// What is not gone yet is in the input, on a card or in the search.
		here, _ := u.m.Editor.Content()
		for _, text := range u.m.History.changed {
			here += "\n" + text
		}
		for _, c := range u.m.Cards {
			if c.Write != nil {
				text, _ := c.Write.Content()
				here += "\n" + text
			}
		}
		if u.m.Search != nil {
			here += "\n" + u.m.Search.Query.Text
		}
		all := strings.ReplaceAll(kept.String()+here, "\n", "") // a line end may be within a word
		for _, w := range words {
			if !strings.Contains(all, w) {
				t.Fatalf("seed %d: %q is lost", seed, w)
			}
		}
	}
}

// Commands that come later are in the open menu.
func TestLateCommands(t *testing.T) {
	u := newUser().types("/mcp__d")
	if u.m.Menu.Open() {
		t.Fatal(u.m.Menu.Items)
	}
	u.does(Commands{List: []CommandInfo{{Name: "mcp__demo__review", Hint: "FILE"}}})
	if n := u.m.Menu; len(n.Items) != 1 || n.Items[0].Text != "/mcp__demo__review" {
		t.Error(n.Items)
	}
	u.does(Commands{})
	if u.m.Menu.Open() {
		t.Error(u.m.Menu.Items)
	}
}

// Several images may be dropped at once.
func TestDroppedImages(t *testing.T) {
	u := newUser().does(input.Paste{Text: `/tmp/a.png '/tmp/my b.png'` + "\n" + `/tmp/c\ d.gif `})
	for _, a := range u.actions {
		if l, ok := a.(LoadImage); ok {
			u.does(Image{Path: l.Path, Pasted: l.Pasted, Note: "8×8"})
		}
	}
	text, images := u.m.Editor.Content()
	if fmt.Sprintf("%q", images) != `["/tmp/a.png" "/tmp/my b.png" "/tmp/c d.gif"]` || strings.Contains(text, "/tmp") {
		t.Errorf("%q %q", images, text)
	}
}

// Without animation, nothing but the clock moves.
func TestStill(t *testing.T) {
	u := newUser()
	u.m.Still = true
	u.types("hello\n")
	if wake := u.m.Wake(); wake.Nanosecond() != 0 || wake.Sub(u.m.Now) > time.Second {
		t.Error(wake)
	}
	u.waits(300 * time.Millisecond)
	if n := u.m.Spinner(); n != 0 {
		t.Error(n)
	}
}

// The path of an image that is pasted, or dropped on the terminal, becomes the image.
func TestImagePaths(t *testing.T) {
	for pasted, path := range map[string]string{
		"/tmp/a.png":                   "/tmp/a.png",
		`'/tmp/my pic.JPG' `:           "/tmp/my pic.JPG",
		`/tmp/my\ pic\(1\).png`:        "/tmp/my pic(1).png",
		"file:///tmp/my%20pic.webp":    "/tmp/my pic.webp",
		"file://localhost/tmp/a.gif\n": "/tmp/a.gif",
		"/tmp/a.png and more":          "",
		"see /tmp/a.png":               "",
		"file:///tmp/bad%zz.png":       "",
		"https://example.com/a.png":    "",
	} {
		u := newUser().does(input.Paste{Text: "look: "})
		u.actions = nil
		u.does(input.Paste{Text: pasted})
		var load LoadImage
		for _, a := range u.actions {
			if l, ok := a.(LoadImage); ok {
				load = l
			}
		}
		if load.Path != path {
			t.Errorf("%q: %q, want %q", pasted, load.Path, path)
		}
		if path == "" {
			continue
		}
		u.does(Image{Path: load.Path, Pasted: load.Pasted, Note: "1200×800"})
		text, images := u.m.Editor.Content()
		if strings.TrimSpace(text) != "look: [image 1 · 1200×800]" || len(images) != 1 || images[0] != path {
			t.Errorf("%q: %q %q", pasted, text, images)
		}
	}
}
