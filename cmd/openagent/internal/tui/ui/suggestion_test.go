package ui

import (
	"slices"
	"testing"
	"time"

	"github.com/openagent-go/agent/cmd/openagent/internal/tui/input"
)

// feed applies inputs and returns the actions about suggestions.
func feed(m Model, inputs ...any) (Model, []Action) {
	var about []Action
	for _, data := range inputs {
		var actions []Action
		m, actions = Update(m, Input{Time: time.Unix(100, 0), Data: data})
		for _, a := range actions {
			switch a.(type) {
			case Suggest, Unsuggest, Send:
				about = append(about, a)
			}
		}
	}
	return m, about
}

func TestSuggestion(t *testing.T) {
	letter := input.Key{Code: 'a', Text: "a"}
	var ask, stop Action = Suggest{}, Unsuggest{}
	idle := New(80, 24)
	idle.Suggests = true
	for _, c := range []struct {
		name   string
		inputs []any
		asked  []Action
		shown  string
		input  string
	}{
		{"shown", []any{Started{}, Done{}, Suggested{Text: "go on"}}, []Action{ask}, "go on", ""},
		{"taken with tab", []any{Done{}, Suggested{Text: "go on"}, input.Key{Code: input.Tab}}, []Action{ask}, "", "go on"},
		{"taken with right", []any{Done{}, Suggested{Text: "go on"}, input.Key{Code: input.Right}}, []Action{ask}, "", "go on"},
		{"never sent by enter", []any{Done{}, Suggested{Text: "go on"}, input.Key{Code: input.Enter}}, []Action{ask}, "go on", ""},
		{"typed over", []any{Done{}, Suggested{Text: "go on"}, letter}, []Action{ask}, "", "a"},
		{"typed before it came", []any{Done{}, letter, Suggested{Text: "go on"}}, []Action{ask, stop}, "", "a"},
		{"a run begins before it came", []any{Done{}, Started{}, Suggested{Text: "go on"}}, []Action{ask, stop}, "", ""},
		{"nothing to suggest", []any{Done{}, Suggested{}, input.Key{Code: input.Tab}}, []Action{ask}, "", ""},
		{"stopped", []any{Done{Stopped: true}}, nil, "", ""},
		{"failed", []any{Done{Failed: true}}, nil, "", ""},
		{"something is written", []any{letter, Done{}}, nil, "", "a"},
		{"not asked for", []any{Suggested{Text: "go on"}}, nil, "", ""},
	} {
		m, asked := feed(idle, c.inputs...)
		if got := m.Suggestion(); got != c.shown || m.Editor.Text != c.input || !slices.Equal(asked, c.asked) {
			t.Errorf("%s: shows %q with the input %q after %v; want %q, %q, %v", c.name, got, m.Editor.Text, asked, c.shown, c.input, c.asked)
		}
	}
	off := New(80, 24)
	if _, asked := feed(off, Done{}); len(asked) > 0 {
		t.Errorf("asked although it is off: %v", asked)
	}
	m, _ := feed(idle, Done{}, Suggested{Text: "x", Cost: Spent{USD: 0.5, Context: 7}})
	if got := m.Spent(); got.USD != 0.5 || got.Context != 7 {
		t.Errorf("the cost is not counted: %+v", got)
	}
}
