package memory

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
)

//go:embed tool.md
var toolText string

const (
	maxToolFound = 20     // entries of a search
	maxToolBytes = 12_000 // bytes of the answer to a search
)

type toolInput struct {
	Action string `json:"action" jsonschema:"search, read, add, confirm, contradict or retire"`
	Query  string `json:"query,omitempty" jsonschema:"for search: words; all notes if empty"`
	ID     string `json:"id,omitempty" jsonschema:"of a note: for read, confirm, contradict and retire"`
	Store  string `json:"store,omitempty" jsonschema:"for add: the store, the first one if empty"`
	Kind   string `json:"kind,omitempty" jsonschema:"for add: preference, decision, convention, pitfall or procedure"`
	Title  string `json:"title,omitempty" jsonschema:"for add: one line that says it all, if it can"`
	Text   string `json:"text,omitempty" jsonschema:"for add: reason and details"`
	Why    string `json:"why,omitempty" jsonschema:"for add, contradict and retire: what you saw"`
}

// Tool returns the tool Memory, with which a model searches, adds and retires entries. Rules see
// its changes as edits of the entries' files. It shows active entries only. What it adds is a
// candidate until a person accepts it. It can take an active entry out of prompts, never put one in.
func (m *Memory) Tool() tool.Tool {
	return tool.New(tool.Spec{Name: "Memory", Title: "Memory", Description: m.describe(), NonDestructive: true}, func(ctx context.Context, call tool.Call, in toolInput) (*tool.Result, error) {
		return m.call(ctx, call, in)
	}).OnClassify(func(call tool.Call, in toolInput) tool.Traits {
		path := m.target(in)
		if path == "" || in.Action == "search" || in.Action == "read" {
			return tool.Traits{ReadOnly: true, Internal: true}
		}
		return tool.Traits{Touches: []string{path}, Access: []permission.Access{{Kind: permission.EditFile, Target: path}}}
	})
}

func (m *Memory) describe() string {
	out := toolText
	if len(m.Stores) > 1 {
		var names []string
		for _, n := range m.Stores {
			names = append(names, n.Name)
		}
		out += "\nStores: " + strings.Join(names, ", ") + ".\n"
	}
	return out
}

// target returns the file that a call is going to change, "" if it cannot change any.
func (m *Memory) target(in toolInput) string {
	if in.Action == "add" {
		if n, err := m.store(in.Store); err == nil {
			return n.Store.File(idOf(Kind(in.Kind), in.Title))
		}
		return ""
	}
	if n, _, err := m.entry(in.ID); err == nil {
		return n.Store.File(in.ID)
	}
	return ""
}

func (m *Memory) store(name string) (Named, error) {
	i := 0
	if name != "" {
		i = slices.IndexFunc(m.Stores, func(n Named) bool { return strings.EqualFold(n.Name, name) })
	}
	if i < 0 || i >= len(m.Stores) {
		return Named{}, fmt.Errorf("there is no store %q", name)
	}
	return m.Stores[i], nil
}

// entry finds an entry in the stores.
func (m *Memory) entry(id string) (Named, *Entry, error) {
	for _, n := range m.Stores {
		e, err := n.Store.Entry(id)
		if errors.Is(err, ErrUnknown) {
			continue
		}
		return n, e, err
	}
	return Named{}, nil, fmt.Errorf("entry %q: %w", id, ErrUnknown)
}

func (m *Memory) call(ctx context.Context, call tool.Call, in toolInput) (*tool.Result, error) {
	reason := Reason{By: "agent", Why: text.Runes(in.Why, 300)}
	from := []Evidence{{Session: call.Session}}
	switch in.Action {
	case "search":
		return m.search(in.Query, call), nil
	case "read":
		n, e, err := m.entry(in.ID)
		if err == nil && (e.State != Active || call.Hides(n.Store.File(e.ID))) {
			err = fmt.Errorf("the note %s does not count: it is %s", e.ID, e.State)
		}
		if err != nil {
			return tool.Errorf("%v. Search for another one.", err), nil
		}
		return tool.Text(show(n.Name, e)), nil
	case "add":
		n, err := m.store(in.Store)
		if err != nil {
			return tool.Errorf("%v", err), nil
		}
		if why := Suspicious(in.Title + "\n" + in.Text); why != "" {
			return tool.Errorf("Not added: %s. Write down what you learned yourself, in your own words.", why), nil
		}
		e, err := n.Store.Add(ctx, Entry{Kind: Kind(in.Kind), Title: text.OneLine(in.Title), Text: in.Text, Evidence: from}, reason)
		if err != nil {
			return tool.Errorf("Not added: %v.", err), nil
		}
		if e.State != Candidate {
			return tool.Text(fmt.Sprintf("There is a note of this title, %s, which is %s.", e.ID, e.State)), nil
		}
		return tool.Text(fmt.Sprintf("Noted as %s. It counts once a person accepts it.", e.ID)), nil
	}
	if !slices.Contains([]string{"confirm", "contradict", "retire"}, in.Action) {
		return nil, &tool.InputError{Tool: call.Name, Problems: []string{fmt.Sprintf("action: there is no %q; use search, read, add, confirm, contradict or retire", in.Action)}}
	}
	n, e, err := m.entry(in.ID)
	if err != nil {
		return tool.Errorf("%v. Search for it.", err), nil
	}
	said := ""
	switch in.Action {
	case "confirm":
		if e.State != Active {
			return tool.Errorf("The note %s is %s. Only a person makes it active.", e.ID, e.State), nil
		}
		said, err = "Confirmed.", n.Store.Confirm(ctx, in.ID, reason)
	case "contradict":
		said, err = "Recorded.", n.Store.Contradict(ctx, in.ID, reason)
	case "retire":
		said, err = "Retired.", n.Store.Retire(ctx, in.ID, reason)
	}
	if err != nil {
		return tool.Errorf("%v.", err), nil
	}
	return tool.Text(said), nil
}

func (m *Memory) search(query string, call tool.Call) *tool.Result {
	var b strings.Builder
	found := m.Find(query, call.Hides)
	for i, f := range found {
		line := line(f.Store, f.Entry)
		if i == maxToolFound || b.Len()+len(line) > maxToolBytes {
			fmt.Fprintf(&b, "%d more: use more words.\n", len(found)-i)
			break
		}
		b.WriteString(line)
	}
	if b.Len() == 0 {
		return tool.Text("There is no such note.")
	}
	return tool.Text(b.String())
}

// show returns an entry for a model.
func show(store string, e *Entry) string {
	var from []string
	for _, one := range e.Evidence {
		from = append(from, one.String())
	}
	out := fmt.Sprintf("%s\n%s of %s, %s, %s%s", e.Title, e.Kind, store, e.State, e.ID, confirmed(e))
	if len(from) > 0 {
		out += "\nlearned in " + strings.Join(from, ", ")
	}
	if e.Text != "" {
		out += "\n\n" + e.Text
	}
	return out
}
