package tools

import (
	"context"
	_ "embed"
	"fmt"
	"strings"

	"github.com/openagent-go/agent/internal/teamstore"
	"github.com/openagent-go/agent/internal/toolapi"
	"github.com/openagent-go/agent/team"
	"github.com/openagent-go/agent/tool"
)

//go:embed sendmessage.md
var sendMessageText string

type sendMessageInput struct {
	To      string `json:"to"`
	Message string `json:"message"`
	Type    string `json:"type,omitempty" jsonschema:"text (default), shutdown_request, shutdown_response or plan_approval_response"`
}

// SendMessage returns the tool with which the members of a team write to each
// other.
func SendMessage(store *team.Store) tool.Tool {
	mail := sharedOf(store)
	return tool.New(tool.Spec{
		Name: "SendMessage", Title: "Send a message", Description: sendMessageText, NonDestructive: true, Idempotent: true,
	}, func(ctx context.Context, call tool.Call, in sendMessageInput) (*tool.Result, error) {
		kind, err := teamstore.ParseMessageType(in.Type)
		if err != nil {
			return teamFailure(err)
		}
		m := teamstore.Message{From: caller(call), To: in.To, Content: in.Message, Type: kind}
		if call.ID != "" {
			m.ID = call.Session + "/" + call.ID // repeated after a crash, the message arrives once
		}
		reached, err := mail.Send(ctx, spaceOf(call), m)
		if err != nil && len(reached) == 0 {
			return teamFailure(err)
		}
		text := fmt.Sprintf("Message sent to %s.", in.To)
		switch {
		case in.To == teamstore.Everyone && len(reached) == 0:
			text = "There is nobody else in your team: the message went to nobody."
		case in.To == teamstore.Everyone:
			text = fmt.Sprintf("Message sent to %s.", strings.Join(reached, ", "))
		}
		if err != nil {
			text += fmt.Sprintf("\nNot delivered: %v", err)
		}
		r := tool.Text(text)
		r.Title = "Message to " + in.To
		r.Details = toolapi.Details(map[string]any{"id": m.ID, "from": m.From, "reached": reached, "type": kind})
		return r, nil
	}).OnClassify(func(call tool.Call, _ sendMessageInput) tool.Traits {
		return tool.Traits{Internal: true, Touches: []string{teamsKey(call) + "/mail"}}
	})
}
