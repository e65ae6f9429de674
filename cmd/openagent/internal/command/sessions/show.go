package sessions

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/openagent-go/agent/cmd/openagent/internal/app"
	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/sessionstore"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/internal/policies"
	"github.com/openagent-go/agent/internal/terminal"
	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/session"
)

// showOrMeasure shows a session, or its context or cache use.
func showOrMeasure(ctx context.Context, h *cli.IO, o *sessionsOptions, id string) error {
	switch {
	case o.context && o.cache:
		return cli.Usagef("use --context or --cache, not both")
	case o.context:
		return showSpending(ctx, h, o, id, "context")
	case o.cache:
		return showSpending(ctx, h, o, id, "cache")
	}
	return showSession(ctx, h, o, id)
}

// showSession shows a session. ID/AGENT_ID shows a sub-agent of the session.
func showSession(ctx context.Context, h *cli.IO, o *sessionsOptions, id string) error {
	id, rest, deeper := strings.Cut(id, "/")
	found, id, err := sessionstore.Locate(ctx, h, o.place, id)
	if err != nil {
		return err
	}
	path, store := id, session.Store(found)
	for deeper {
		store = session.Under(store, id)
		id, rest, deeper = strings.Cut(rest, "/")
		if _, err := session.Stat(ctx, store, id); err != nil {
			return cli.Usagef("sessions show: finding the sub-agent %s of session %s: %v", cli.Clip(id), path, err)
		}
		path += "/" + id
	}
	for e, err := range store.Read(ctx, id, 0) {
		if err != nil {
			return err
		}
		if o.format == cli.FormatJSON {
			err = showFact(h, e)
		} else {
			err = showTurn(h, path, e)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// showFact writes a fact as one line of JSON, with its id for --resume-at.
func showFact(h *cli.IO, e event.Event) error {
	data, err := json.Marshal(e.Data)
	if err != nil {
		return err
	}
	line, err := cli.EncodeLine(struct {
		UUID    string          `json:"uuid"`
		Session string          `json:"session_id"`
		Seq     int64           `json:"seq"`
		Time    time.Time       `json:"time"`
		Type    string          `json:"type"`
		Data    json.RawMessage `json:"data"`
	}{e.UUID(), e.Session, e.Seq, e.Time, event.Type(e.Data), data})
	if err != nil {
		return err
	}
	return h.Show(string(line))
}

// decisionLine says who decided about a call.
func decisionLine(h *cli.IO, d permission.Decision) string {
	line := fmt.Sprintf("%s by %s", d.Behavior, policies.Maker(d))
	if !d.Expires.IsZero() {
		line += " until " + d.Expires.Local().Format(time.DateTime)
	}
	if d.Reason != "" {
		line += ": " + d.Reason
	}
	return "  " + text.Runes(h.OneLine(line), 160) + "\n"
}

// showTurn writes for the user what a fact adds to the conversation.
func showTurn(h *cli.IO, path string, e event.Event) error {
	var b strings.Builder
	switch d := e.Data.(type) {
	case event.UserMessage:
		fmt.Fprintf(&b, "\n> %s\n", terminal.Text(d.Message.Text()))
	case event.AssistantMessage:
		for _, c := range d.Response.Message.Content {
			switch c := c.(type) {
			case llm.Text:
				fmt.Fprintf(&b, "\n%s\n", terminal.Text(c.Text))
			case llm.ToolUse:
				fmt.Fprintf(&b, "\n* %s %s\n", terminal.Text(c.Name), text.Runes(h.OneLine(string(c.Input)), 160))
			}
		}
	case fact.Authorized:
		if d.Decision.By != "" {
			b.WriteString(decisionLine(h, d.Decision))
		}
	case fact.Answered:
		b.WriteString(decisionLine(h, d.Decision))
	case event.ToolResult:
		mark := "  "
		if d.Result.IsError {
			mark = "! "
		}
		fmt.Fprintf(&b, "%s%s\n", mark, text.Runes(h.OneLine(app.ResultTitle(d)), 160))
	case event.Compacted:
		switch {
		case d.Failed != "":
			fmt.Fprintf(&b, "\n-- not compacted: %s\n", h.OneLine(d.Failed))
		case d.Until > 0:
			what := "this"
			if d.Cut {
				what = "this, which was cut off,"
			}
			fmt.Fprintf(&b, "\n-- compacted (%s): about %d tokens became %d; the model sees %s in place of the earlier messages:\n%s\n", d.Trigger, d.Before, d.After, what, terminal.Text(d.Summary))
		case d.TooLarge != "":
			fmt.Fprintf(&b, "\n-- cut: %s\n", h.OneLine(d.TooLarge))
		default:
			cut := 0
			for _, c := range d.Cleared {
				if c.Keep > 0 {
					cut++
				}
			}
			fmt.Fprintf(&b, "\n-- compacted (%s): about %d tokens became %d, %s cleared", d.Trigger, d.Before, d.After, cli.Plural(len(d.Cleared)-cut, "old result"))
			if cut > 0 {
				fmt.Fprintf(&b, ", %s cut", cli.Plural(cut, "large part"))
			}
			b.WriteString("\n")
		}
	case event.Rewound:
		fmt.Fprintf(&b, "\n-- rewound to fact %d: the messages in between no longer count\n", e.Prev)
	case fact.Checkpointed:
		if d.Key == "" {
			fmt.Fprintf(&b, "\n-- files were rewound: rewind --to %d --files undoes it\n", e.Seq-1)
		}
	case event.AgentEnd:
		fmt.Fprintf(&b, "\n-- agent %s: %s, %s; see openagent sessions show %s/%s\n", h.OneLine(d.Agent), d.Reason, cli.Plural(d.Turns, "turn"), path, d.Session)
	case event.RunEnd:
		fmt.Fprintf(&b, "\n-- %s, %s, %s\n", d.Reason, cli.Plural(d.Turns, "turn"), app.CostText(d.CostUSD))
	}
	return h.Show(b.String())
}
