package ui

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/openagent-go/agent/internal/text"
)

// plainChoice makes a question of a choice.
func (m Model) plainChoice(c Choice) Model {
	if m.Plain.Closed || m.Plain.Nobody {
		return m.note(Line{WarnLine, "! nobody can choose: " + c.Title})
	}
	asked := Asked{Header: c.Title}
	for _, it := range c.Items {
		note := text.OneLine(it.Note + " " + strings.Join(it.Cells, "  "))
		asked.Options = append(asked.Options, Option{Label: it.Text, Description: note})
	}
	card := Card{Question: Question{Body: c.About, Ask: []Asked{asked}}, choice: &c}
	m.choices++
	card.ID = -m.choices
	m.Cards = append(m.Cards[:len(m.Cards):len(m.Cards)], card.begin())
	return m
}

// Choice reports whether the card is a choice in plain mode.
func (c Card) Choice() bool { return c.choice != nil }

// plainCard changes the first card.
func (m Model) plainCard(change func(c *Card)) Model {
	m.Cards = slices.Clone(m.Cards)
	change(&m.Cards[0])
	return m
}

// plainAnswer takes a line as the answer to the first question.
func (m Model) plainAnswer(line string) (Model, []Action) {
	c := m.Cards[0]
	var actions []Action
	switch {
	case c.choice != nil:
		m.Cards = m.Cards[1:]
		if n, err := strconv.Atoi(line); err == nil && 1 <= n && n <= len(c.choice.Items) {
			return m, []Action{Picked{c.choice.Kind, c.choice.Items[n-1].Value}}
		}
		m.Hint = "nothing is chosen"
		return m, []Action{Unpicked{c.choice.Kind}}
	case len(c.Ask) > 0:
		c, actions = c.askLine(line)
	case c.Write != nil && c.Writing == WriteYes:
		switch {
		case line == "yes" && !m.Plain.pasted:
			actions = []Action{Decide{c.ID, c.allow()}}
		default:
			c.Write, m.Hint = nil, "not allowed: only the word yes allows it"
		}
	case c.Write != nil:
		if line == "" {
			c.Write, m.Hint = nil, "nothing to run"
			break
		}
		actions = []Action{Decide{c.ID, Decision{Allow: true, Edited: line}}}
	default:
		return m.permissionLine(line)
	}
	return m.answered(c, actions)
}

// answered puts a card back, or takes it away if it is answered.
func (m Model) answered(c Card, actions []Action) (Model, []Action) {
	m.Cards = slices.Clone(m.Cards)
	m.Cards[0] = c
	for _, a := range actions {
		switch a.(type) {
		case Decide, Reply:
			m.Cards = m.Cards[1:]
		}
	}
	return m, actions
}

// askLine takes a line as the answer to a question of a tool: numbers or labels of options, or
// other words.
func (c Card) askLine(line string) (Card, []Action) {
	words := []string{line}
	if c.Current().Multiple {
		words = strings.Split(line, ",")
	}
	var other []string
	for _, w := range words {
		w = strings.TrimSpace(w)
		n := slices.IndexFunc(c.Current().Options, func(o Option) bool { return strings.EqualFold(o.Label, w) })
		if i, err := strconv.Atoi(w); err == nil && 1 <= i && i <= len(c.Current().Options) {
			n = i - 1
		}
		switch {
		case n >= 0:
			c.Chosen = slices.Clone(c.Chosen)
			c.Chosen[n] = true
		case w != "":
			other = append(other, w)
		}
	}
	return c.answer(strings.Join(other, ", "))
}

// permissionLine takes a line as the answer to a permission question.
func (m Model) permissionLine(line string) (Model, []Action) {
	c := m.Cards[0]
	word, rest, _ := strings.Cut(line, " ")
	rest = strings.TrimSpace(rest)
	word = strings.ToLower(word)
	switch word {
	case "2", "a", "always":
		return m.keepLine(c, strings.Fields(strings.ToLower(rest)))
	case "p", "project", "u", "user":
		scope := map[byte]string{'p': "project", 'u': "user"}[word[0]]
		return m.keepLine(c, append(strings.Fields(strings.ToLower(rest)), scope))
	case "3", "n", "no":
		return m.answered(c, []Action{Decide{c.ID, Decision{Reason: rest}}})
	}
	if rest == "" {
		switch word {
		case "1", "y", "yes":
			c.At = LineOnce
			return m.allowLine(c)
		case "4", "l", "later":
			return m.answered(c, []Action{Decide{c.ID, Decision{Later: true}}})
		case "?", "e", "explain", "why":
			return m.note(c.Why...), nil
		case "edit":
			if c.Command == "" {
				break
			}
			if !m.Plain.Whole {
				m.Editor = m.Editor.Set(c.Command)
			}
			return m.plainCard(func(c *Card) { *c = c.write(WriteCommand, "") }), nil
		}
	}
	var actions []Action
	m.History, actions = m.History.add(line)
	m.Hint = "this is no answer: write 1, 2, 3 and a reason, 4 or ?; a line that begins with > goes to the agent"
	return m, actions
}

// allowLine allows the call of the marked line of a card, or asks for the word yes.
func (m Model) allowLine(c Card) (Model, []Action) {
	if m.Plain.pasted {
		m.Hint = "a pasted line allows nothing: type it"
		return m, nil
	}
	if c.Cut = false; c.word() != "" {
		c = c.write(WriteYes, "")
		c.ready = m.Now.Add(settleTime)
		return m.answered(c, nil)
	}
	return m.answered(c, []Action{Decide{c.ID, c.allow()}})
}

// keepLine allows a call with a rule. Words choose how wide it is and where it is kept.
func (m Model) keepLine(c Card, words []string) (Model, []Action) {
	if len(c.Widths) == 0 {
		m.Hint = "no rule can allow this call: write 1 or 3"
		return m, nil
	}
	c.At, c.Scope = LineAlways, 0
	scope := ""
	for _, w := range words {
		i := slices.IndexFunc(c.Widths, func(x Width) bool { return x.Name == w })
		if n, err := strconv.Atoi(w); err == nil && 1 <= n && n <= len(c.Widths) {
			i = n - 1
		}
		switch {
		case i >= 0:
			c.Width = i
		case slices.Contains([]string{"session", "project", "user"}, w):
			scope = w
		default:
			m.Hint = fmt.Sprintf("there is no rule %q: write 2, or 2 and one of %s", text.Runes(w, 40), strings.Join(c.words(), ", "))
			return m, nil
		}
	}
	if scope != "" {
		if c.Scope = slices.Index(c.Scopes(), scope); c.Scope < 0 {
			m.Hint = fmt.Sprintf("this rule cannot be kept there: write 2 and one of %s", strings.Join(c.Scopes(), ", "))
			return m, nil
		}
	}
	return m.allowLine(c)
}

// words are those that choose a rule and where it is kept.
func (c Card) words() []string {
	var out []string
	for _, w := range c.Widths {
		if len(c.Widths) > 1 {
			out = append(out, w.Name)
		}
	}
	return append(out, c.Scopes()...)
}
