package sessions

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/sessionstore"
	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/session"
)

// A listed session is a session in the output as JSON.
type listed struct {
	session.Info
	Questions []session.Question `json:"questions,omitempty"` // that wait for a decision
}

func listSessions(ctx context.Context, h *cli.IO, o *sessionsOptions) error {
	stores, err := sessionstore.Stores(ctx, h, o.place, o.All)
	if err != nil {
		return err
	}
	list := []listed{}
	for _, s := range stores {
		infos, err := s.List(ctx)
		if err != nil {
			return err
		}
		for _, info := range slices.DeleteFunc(infos, o.others) {
			one := listed{Info: info}
			if info.State == session.StateWaiting {
				if one.Questions, err = session.Waiting(ctx, s, info.Session); err != nil {
					h.Warn("reading the questions of session %s: %v", info.Session, err)
				}
			}
			list = append(list, one)
		}
	}
	slices.SortFunc(list, func(a, b listed) int { return b.Updated.Compare(a.Updated) })
	if len(list) == 0 && o.format != cli.FormatJSON {
		h.Warn("no sessions here yet; --all shows the sessions of all folders")
	}
	var rows, questions [][]string
	for _, s := range list {
		row := []string{s.Session, s.Updated.Local().Format(time.DateTime), strconv.FormatInt(s.Messages, 10), cmp.Or(string(s.State), "-"), text.Runes(cmp.Or(s.Title, s.Prompt), 60)}
		if o.All {
			row = append(row, s.Dir)
		}
		rows = append(rows, row)
		for _, q := range s.Questions {
			questions = append(questions, []string{s.Session, q.Since.Local().Format(time.DateTime), q.Call, q.Tool, text.Runes(q.Text, 80)})
		}
	}
	header := "SESSION UPDATED MESSAGES STATE TITLE"
	if o.All {
		header += " FOLDER"
	}
	if err := h.WriteList(o.format, list, header, rows); err != nil || len(questions) == 0 || o.format == cli.FormatJSON {
		return err
	}
	return h.WriteList(o.format, nil, "WAITING SINCE CALL TOOL QUESTION", questions)
}

// others reports whether the flags exclude a session.
func (o *sessionsOptions) others(info session.Info) bool {
	return o.tag != "" && info.Tag != o.tag || o.state != "" && string(info.State) != o.state
}
