package ui

import "strings"

// Unsent is all that was typed and would be lost with the program: the text of the input, and
// what was written on cards.
func (m Model) Unsent() string {
	var texts []string
	add := func(text string) {
		if text != "" {
			texts = append(texts, text)
		}
	}
	text, _ := m.Editor.Content()
	add(text)
	for _, c := range m.Cards {
		for _, a := range c.answers {
			add(a.Text)
		}
		add(c.written())
	}
	return strings.Join(texts, "\n")
}

// written is what was written on a card; "": nothing that is worth keeping.
func (c Card) written() string {
	if c.Write == nil {
		return ""
	}
	text, _ := c.Write.Content()
	if c.Writing == WriteCommand && text == c.Command || c.Writing == WriteYes && strings.HasPrefix("yes", text) {
		return ""
	}
	return text
}
