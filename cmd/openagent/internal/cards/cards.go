// Package cards turns the questions of a run into cards of the terminal UI.
package cards

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/preview"
	"github.com/openagent-go/agent/cmd/openagent/internal/term"
	"github.com/openagent-go/agent/cmd/openagent/internal/tui/ui"
	"github.com/openagent-go/agent/internal/rules"
	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/internal/wire"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
)

// A Request is a permission question.
type Request struct {
	Call    tool.Call
	Agent   string // the sub-agent whose call it is; "": the main agent
	Note    string // why it is asked, in a few words
	Reason  string // why it is asked
	Preview string // a diff; may be empty
	Project string // the working folder
	Risks   []rules.Risk
	Widths  []permission.Suggestion // rules that the person may keep
}

// Permission returns the card of a permission question, with everything that a person should see.
// Its widths are those of the request.
func Permission(h *cli.IO, r Request) ui.Question {
	call := r.Call
	q := ui.Question{Tool: h.Visible(call.Name), Agent: h.OneLine(r.Agent), Note: text.Runes(h.Visible(r.Note), 70)}
	shown := preview.CallLines(h, "", call, r.Risks, r.Preview)
	if r.Preview != "" { // the diff is drawn in another way
		q.Diff = wire.Mask(r.Preview, h.Secrets)
		shown = shown[:len(shown)-len(slices.Collect(strings.Lines(r.Preview)))]
	}
	path := filePath(call)
	for _, l := range shown {
		if path != "" && strings.HasSuffix(l.Text, "_path: "+h.Visible(path)) {
			continue // the heading says it
		}
		line := ui.Line{Kind: kinds[l.Colour], Text: strings.ReplaceAll(l.Text, "\t", "    ")}
		if head := "? " + h.Visible(call.Name); strings.HasPrefix(line.Text, head) { // the heading of the card says it
			if line.Text = strings.TrimLeft(line.Text[len(head):], ", "); line.Text == "" {
				continue
			}
			line.Kind = ui.PlainLine
		} else {
			line.Text = strings.TrimPrefix(line.Text, "  ")
		}
		q.Body = append(q.Body, line)
	}
	if path != "" {
		q.Head = h.Visible(strings.TrimPrefix(path, r.Project+"/"))
	}
	for _, risk := range r.Risks {
		if risk.Grave && q.Grave == "" {
			q.Grave = h.Visible(text.Runes(strings.TrimPrefix(risk.Text+": "+risk.Why, ": "), 200))
		}
	}
	var in struct{ Command string }
	if json.Unmarshal(call.Input, &in) == nil && VisibleLines(h, in.Command) == in.Command {
		q.Command = in.Command
	}
	q.Why = []ui.Line{{Kind: ui.DimLine, Text: h.Visible(r.Reason)}, {Kind: ui.DimLine, Text: "the whole input: " + h.Visible(string(call.Input))}}
	for _, s := range r.Widths {
		w := ui.Width{Name: s.Width, Scopes: s.Scopes}
		for _, r := range s.Rules {
			w.Rules = append(w.Rules, h.Visible(string(r)))
		}
		if s.Width == broad {
			w.Wide = "this rule allows far more than this call"
		}
		if s.Width == rules.Usual {
			q.Usual = len(q.Widths)
		}
		q.Why = append(q.Why, ui.Line{Kind: ui.DimLine, Text: s.Width + ": " + strings.Join(w.Rules, " ")})
		q.Widths = append(q.Widths, w)
	}
	return q
}

// broad is the width of rules that allow all calls of a kind.
const broad = "broad"

var kinds = map[string]ui.LineKind{term.Dim: ui.DimLine, term.Red: ui.WarnLine, term.Green: ui.AddedLine}

// filePath is the file that a call is about.
func filePath(call tool.Call) string {
	var in struct {
		File     string `json:"file_path"`
		Notebook string `json:"notebook_path"`
	}
	if json.Unmarshal(call.Input, &in) != nil {
		return ""
	}
	if in.File == "" {
		return in.Notebook
	}
	return in.File
}

// Edited is the input of a call with the command as the person has changed it.
func Edited(call tool.Call, command string) (json.RawMessage, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(call.Input, &members); err != nil {
		return nil, err
	}
	text, err := json.Marshal(command)
	if err != nil {
		return nil, err
	}
	members["command"] = text
	return json.Marshal(members)
}

// Refusal is the reason of a denial, for the model.
func Refusal(why string) string {
	if why == "" {
		return "refused by the user"
	}
	return "refused by the user: " + why
}

// Ask returns the card of the questions of a tool.
func Ask(h *cli.IO, agent string, questions []tool.Question) ui.Question {
	q := ui.Question{Tool: "a question", Agent: h.OneLine(agent)}
	for _, asked := range questions {
		a := ui.Asked{Header: h.Visible(asked.Header), Text: VisibleLines(h, asked.Text), Multiple: asked.Multiple}
		for _, o := range asked.Options {
			a.Options = append(a.Options, ui.Option{Label: h.Visible(strings.TrimSpace(o.Label)), Description: h.Visible(strings.TrimSpace(o.Description))})
		}
		q.Ask = append(q.Ask, a)
	}
	return q
}

// Answers are the answers of the person to the questions of a tool.
func Answers(questions []tool.Question, said []ui.Answer) []tool.Answer {
	answers := make([]tool.Answer, len(questions))
	for i := range min(len(said), len(questions)) {
		answers[i] = tool.Answer{Text: said[i].Text}
		for _, n := range said[i].Chosen {
			answers[i].Options = append(answers[i].Options, questions[i].Options[n].Label)
		}
	}
	return answers
}

// VisibleLines is Visible for a text of several lines.
func VisibleLines(h *cli.IO, s string) string {
	list := strings.Split(strings.TrimSpace(s), "\n")
	for i := range list {
		list[i] = h.Visible(list[i])
	}
	return strings.Join(list, "\n")
}
