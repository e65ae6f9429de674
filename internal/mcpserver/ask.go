package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode"

	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
)

const (
	maxShown   = 2000 // runes of an input in a question
	allowsWord = "allow"
	deniesWord = "deny"
)

// permissionForm is the form that the client's user fills in. It has no default: a person
// decides.
var permissionForm = json.RawMessage(`{"type":"object","properties":{` +
	`"decision":{"type":"string","title":"Decision","enum":["` + allowsWord + `","` + deniesWord + `"]},` +
	`"reason":{"type":"string","title":"Reason","description":"Told to the model, if you deny"}},"required":["decision"]}`)

// CanUseTool has the client's person decide about a call that is to be asked
// about; others it leaves as they are. It is an agent's CanUseTool. Without an
// answer, or anybody to give it, the call is denied.
func (c *Client) CanUseTool(ctx context.Context, call tool.Call, verdict permission.Decision) (permission.Decision, error) {
	if verdict.Behavior != permission.Asked {
		return permission.Decision{}, nil
	}
	message := fmt.Sprintf("May the tool %s be used?\n\n%s", call.Name, shown(string(call.Input)))
	if verdict.Reason != "" {
		message += "\n\n" + shown(verdict.Reason)
	}
	a, err := c.Elicit(ctx, message, permissionForm)
	switch {
	case errors.Is(err, ErrNobody):
		return permission.Deny("it needs a person's permission, and the MCP client takes no such questions (elicitation)"), nil
	case err != nil:
		return permission.Decision{}, err
	case a.Action == "accept" && a.Content["decision"] == allowsWord:
		return permission.Allow(), nil
	}
	why := "refused by the person at the MCP client"
	if reason, _ := a.Content["reason"].(string); reason != "" {
		why += ": " + reason
	}
	return permission.Deny(why), nil
}

// AskUser puts a tool's questions to the client's person. It is an agent's AskUser.
func (c *Client) AskUser(ctx context.Context, _ tool.Call, questions []tool.Question) ([]tool.Answer, error) {
	form, message, err := questionForm(questions)
	if err != nil {
		return nil, err
	}
	a, err := c.Elicit(ctx, message, form)
	if err != nil {
		return nil, err
	}
	if a.Action != "accept" {
		return nil, errors.New("the user of the MCP client declined to answer")
	}
	answers := make([]tool.Answer, len(questions))
	for i, q := range questions {
		switch v := a.Content[member(i)].(type) {
		case string:
			if len(q.Options) == 0 {
				answers[i].Text = v
			} else {
				answers[i].Options = []string{v}
			}
		case []any:
			for _, o := range v {
				if label, ok := o.(string); ok {
					answers[i].Options = append(answers[i].Options, label)
				}
			}
		}
		if words, _ := a.Content[member(i)+"_other"].(string); words != "" {
			answers[i].Text = words
		}
	}
	return answers, nil
}

func member(i int) string { return fmt.Sprintf("answer%d", i+1) }

// questionForm is the form of some questions: a member for each, and one for
// words of one's own beside options.
func questionForm(questions []tool.Question) (json.RawMessage, string, error) {
	members := map[string]any{}
	var required []string
	var message strings.Builder
	for i, q := range questions {
		fmt.Fprintf(&message, "%s\n", shown(q.Text))
		labels := make([]string, len(q.Options))
		for j, o := range q.Options {
			labels[j] = o.Label
			fmt.Fprintf(&message, "  %s", shown(o.Label))
			if o.Description != "" {
				fmt.Fprintf(&message, ": %s", shown(o.Description))
			}
			message.WriteByte('\n')
		}
		field := map[string]any{"type": "string", "title": shown(q.Text)}
		switch {
		case len(labels) == 0:
			required = append(required, member(i))
		case q.Multiple:
			field["type"], field["items"] = "array", map[string]any{"type": "string", "enum": labels}
		default:
			field["enum"] = labels
		}
		members[member(i)] = field
		if len(labels) > 0 {
			members[member(i)+"_other"] = map[string]any{"type": "string", "title": "Other", "description": "In your own words"}
		}
	}
	form := map[string]any{"type": "object", "properties": members}
	if required != nil {
		form["required"] = required
	}
	data, err := json.Marshal(form)
	return data, strings.TrimSpace(message.String()), err
}

// shown is a text that is safe for a client to show: bounded, and without terminal control
// sequences.
func shown(s string) string {
	s = strings.Map(func(r rune) rune {
		if r != '\n' && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r)) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "�"))
	if r := []rune(s); len(r) > maxShown {
		s = string(r[:maxShown/2]) + "\n[…]\n" + string(r[len(r)-maxShown/2:])
	}
	return s
}
