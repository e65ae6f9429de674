package sessionlist

import (
	"bytes"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/sessionstore"
	"github.com/openagent-go/agent/cmd/openagent/internal/tui/ui"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/session"
)

// A desk is a list with what it tells the UI.
type desk struct {
	*List
	t    *testing.T
	told chan any
}

func newDesk(t *testing.T, home, dir string) *desk {
	t.Helper()
	d := &desk{t: t, told: make(chan any, 100)}
	h := &cli.IO{Err: new(bytes.Buffer), Secrets: []string{"sk-SECRET-SECRET"}, Getenv: func(name string) string { return map[string]string{"OPENAGENT_HOME": home}[name] }}
	path, err := sessionstore.SessionsDir(h, "", dir)
	if err != nil {
		t.Fatal(err)
	}
	d.List = &List{H: h, Here: session.Dir(path), Dir: dir, Tell: func(in any) { d.told <- in }}
	t.Cleanup(d.Close)
	return d
}

// speak makes a session of some prompts, which cost a cent each.
func (d *desk) speak(id string, budget agent.Budget, prompts ...string) *agent.Session {
	d.t.Helper()
	model := llmtest.Script(slices.Repeat([]llmtest.Step{{Text: "I did it with sk-SECRET-SECRET.", Usage: llm.Usage{Input: 5, Output: 5}}}, len(prompts))...)
	model.Facts.Price = &llm.Price{Input: 1000, Output: 1000}
	s := (&agent.Agent{Model: model, Sessions: d.Here, Dir: d.Dir, Budget: budget}).Session(id)
	for _, p := range prompts {
		_, _ = s.Prompt(d.t.Context(), p) // the budget may end it
	}
	return s
}

// last returns the last choice that was told when nothing is read any more.
func (d *desk) last() ui.Choice {
	d.t.Helper()
	d.reading.Wait()
	var c ui.Choice
	for len(d.told) > 0 {
		switch in := (<-d.told).(type) {
		case ui.Choice:
			c = in
		case ui.Renewed:
			c = in.Choice
		}
	}
	return c
}

func rows(c ui.Choice) []string {
	var out []string
	for _, it := range c.Items {
		out = append(out, it.Text+"|"+strings.Join(strings.Fields(it.Cells[0]+" "+it.Cells[3]+" "+it.Cells[4]), " "))
	}
	slices.Sort(out)
	return out
}

func item(t *testing.T, c ui.Choice, text string) string {
	t.Helper()
	for _, it := range c.Items {
		if it.Text == text {
			return it.Value
		}
	}
	t.Fatalf("there is no %q in %q", text, rows(c))
	return ""
}

// The list tells of each session what it does and what it cost. Titles of sessions drive no
// terminal, and secrets are hidden.
func TestOffer(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	d := newDesk(t, home, t.TempDir())
	if some, err := d.Offer(t.Context()); some || err != nil {
		t.Errorf("without a session: %v %v", some, err)
	}
	for _, s := range []*agent.Session{d.speak("two", agent.Budget{}, "fix the \x1b[2J disc\u043eunt\nplease", "and the tests"), d.speak("limit", agent.Budget{USD: 0.001}, "import orders")} {
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if some, err := d.Offer(t.Context()); !some || err != nil {
		t.Fatal(some, err)
	}
	c := d.last()
	if got := rows(c); len(got) != 2 || !strings.HasPrefix(got[0], "fix the ") || !strings.HasSuffix(got[0], "|done 2 prompts $0.02") || strings.ContainsAny(got[0], "\x1b\u043e") || got[1] != "import orders|limit 1 prompt" {
		t.Errorf("%q", got)
	}
	value := c.Items[slices.IndexFunc(c.Items, func(it ui.Item) bool { return strings.HasPrefix(it.Text, "fix") })].Value
	d.Do(t.Context(), ui.Examine{Kind: Kind, Value: value})
	looked := (<-d.told).(ui.Examined)
	var said strings.Builder
	for _, l := range looked.Lines {
		said.WriteString(l.Text + "\n")
	}
	if !strings.Contains(said.String(), "❯ and the tests\n") || !strings.Contains(said.String(), "I did it with") || strings.Contains(said.String(), "SECRET") {
		t.Errorf("%q", said.String())
	}

	other := newDesk(t, home, t.TempDir())
	if err := other.speak("", agent.Budget{}, "elsewhere").Close(); err != nil {
		t.Fatal(err)
	}
	d.Do(t.Context(), ui.Widen{Kind: Kind})
	c = d.last()
	if got := rows(c); len(got) != 3 || !strings.HasPrefix(got[0], "elsewhere") {
		t.Errorf("all folders: %q", got)
	}
	if got, err := d.Chosen(t.Context(), item(t, c, "elsewhere")); err != nil || got.Dir != other.Dir {
		t.Errorf("%v %v, want %s", got, err, other.Dir)
	}
	d.Do(t.Context(), ui.Widen{Kind: Kind})
	if c = d.last(); len(c.Items) != 2 {
		t.Errorf("this folder again: %q", rows(c))
	}
}

// A session that is open elsewhere is neither opened, renamed nor deleted.
func TestChanges(t *testing.T) {
	t.Parallel()
	d := newDesk(t, t.TempDir(), t.TempDir())
	open := d.speak("open", agent.Budget{}, "is open")
	if err := d.speak("shut", agent.Budget{}, "is shut").Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Offer(t.Context()); err != nil {
		t.Fatal(err)
	}
	c := d.last()
	busy, free := item(t, c, "is open"), item(t, c, "is shut")
	if _, err := d.Chosen(t.Context(), busy); err == nil || !strings.Contains(err.Error(), "another process") {
		t.Errorf("opening: %v", err)
	}
	for _, a := range []ui.Action{ui.Rename{Kind: Kind, Value: busy, Name: "x"}, ui.Erase{Kind: Kind, Value: busy}} {
		d.Do(t.Context(), a)
		if c := d.last(); !strings.Contains(c.Warn, "in use by another process") || len(c.Items) != 2 {
			t.Errorf("%T: %q, %q", a, c.Warn, rows(c))
		}
	}
	d.Do(t.Context(), ui.Rename{Kind: Kind, Value: free, Name: " a new\nname "})
	if c := d.last(); c.Warn != "" || item(t, c, "a new name") != free {
		t.Errorf("renamed: %q %q", c.Warn, rows(c))
	}
	d.Do(t.Context(), ui.Erase{Kind: Kind, Value: free})
	if c := d.last(); c.Warn != "" || len(c.Items) != 1 {
		t.Errorf("deleted: %q %q", c.Warn, rows(c))
	}
	if left, _ := filepath.Glob(filepath.Join(d.H.Getenv("OPENAGENT_HOME"), "sessions", "*", "shut")); len(left) > 0 {
		t.Errorf("%q is still there", left)
	}
	if err := open.Close(); err != nil {
		t.Fatal(err)
	}
	if got, err := d.Chosen(t.Context(), busy); err != nil || got.ID != "open" {
		t.Errorf("%v %v", got, err)
	}
	if d.Do(t.Context(), ui.Widen{Kind: "other"}) {
		t.Error("it takes actions of other pickers")
	}
}

func TestWhen(t *testing.T) {
	here := time.FixedZone("here", 2*60*60)
	now := time.Date(2030, 3, 4, 0, 30, 0, 0, here)
	for ago, want := range map[time.Duration]string{0: "just now", 20 * time.Minute: "20 min ago", 59 * time.Minute: "59 min ago", 2 * time.Hour: "yesterday",
		25 * time.Hour: "2 Mar", 70 * 24 * time.Hour: "24 Dec 2029"} {
		if got := When(now.Add(-ago).UTC(), now); got != want {
			t.Errorf("%v ago: %q, want %q", ago, got, want)
		}
	}
	if got := When(now.Add(8*time.Hour), now.Add(14*time.Hour)); got != "08:30" {
		t.Errorf("today: %q", got)
	}
}
