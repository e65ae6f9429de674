package tools

import (
	"context"
	_ "embed"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/openagent-go/agent/tool"
)

//go:embed pause.md
var pauseText string

// maxReason bounds the characters of the text shown to a person.
const maxReason = 2000

type pauseInput struct {
	Reason string `json:"reason"`
}

// newPauseForHuman returns the tool that waits until a person says how to continue. The agent
// decides who that is ([agent.Agent].AskUser); without anyone the model is told to continue
// by itself.
func newPauseForHuman() tool.Tool {
	return tool.New(tool.Spec{
		Name: "PauseForHuman", Title: "Wait for a person", Description: pauseText,
		ReadOnly: true, NonDestructive: true, NeedsPerson: true, Timeout: -1,
	}, func(_ context.Context, _ tool.Call, in pauseInput) (*tool.Result, error) {
		reason := strings.TrimSpace(in.Reason)
		switch {
		case reason == "":
			return tool.Errorf("reason is empty; say what the person should look at or do"), nil
		case utf8.RuneCountInString(reason) > maxReason:
			return tool.Errorf("reason has more than %d characters; say it shorter", maxReason), nil
		}
		r := tool.Text("Nobody is there. Go on by yourself, take the safer way, and say what a person should still look at.")
		r.Questions = []tool.Question{{Text: reason, Header: "Paused", Options: []tool.Option{
			{Label: "Continue"}, {Label: "Stop here", Description: "end the work and say how it stands"},
		}}}
		line, _, _ := strings.Cut(reason, "\n")
		r.Title = fmt.Sprintf("Paused: %s", line)
		return r, nil
	})
}
