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

func listSessions(ctx context.Context, h *cli.IO, o *sessionsOptions) error {
	stores, err := sessionstore.Stores(h, o.Dir, o.All)
	if err != nil {
		return err
	}
	list := []session.Info{}
	for _, s := range stores {
		infos, err := s.List(ctx)
		if err != nil {
			return err
		}
		list = append(list, slices.DeleteFunc(infos, o.others)...)
	}
	slices.SortFunc(list, func(a, b session.Info) int { return b.Updated.Compare(a.Updated) })
	if len(list) == 0 && o.format != cli.FormatJSON {
		h.Warn("no sessions here yet; --all shows the sessions of all folders")
	}
	var rows [][]string
	for _, s := range list {
		row := []string{s.Session, s.Updated.Local().Format(time.DateTime), strconv.FormatInt(s.Messages, 10), text.Runes(cmp.Or(s.Title, s.Prompt), 60)}
		if o.All {
			row = append(row, s.Dir)
		}
		rows = append(rows, row)
	}
	header := "SESSION UPDATED MESSAGES TITLE"
	if o.All {
		header += " FOLDER"
	}
	return h.WriteList(o.format, list, header, rows)
}

// others reports whether the flags exclude a session.
func (o *sessionsOptions) others(info session.Info) bool { return o.tag != "" && info.Tag != o.tag }
