package ui

// A suggestion is the prompt that may come next.
type suggestion struct {
	text  string
	asked bool // the program was asked for one
}

// Suggestion is what the empty input shows; "": nothing.
func (m Model) Suggestion() string {
	if m.Running || m.Search != nil || !m.Editor.Empty() {
		return ""
	}
	return m.upcoming.text
}

// suggest asks for a suggestion when a run has ended well, and forgets it once the person writes or a run
// begins.
func (m Model) suggest(data any) (Model, []Action) {
	switch d := data.(type) {
	case Done:
		if m.Suggests && !d.Stopped && !d.Failed && !m.Running && m.Editor.Empty() {
			m.upcoming = suggestion{asked: true}
			return m, []Action{Suggest{}}
		}
	case Suggested:
		m.before = m.before.plus(d.Cost)
		if m.upcoming.asked {
			m.upcoming = suggestion{text: d.Text}
		}
	}
	if m.upcoming == (suggestion{}) || !m.Running && m.Editor.Empty() {
		return m, nil
	}
	asked := m.upcoming.asked
	m.upcoming = suggestion{}
	if asked {
		return m, []Action{Unsuggest{}}
	}
	return m, nil
}

// takeSuggestion puts the suggestion into the input. It is sent as any other text: when the person says so.
func (m Model) takeSuggestion() Model {
	if text := m.Suggestion(); text != "" {
		m.Editor = m.Editor.Set(text).toEnd()
	}
	return m
}
