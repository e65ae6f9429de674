package sessions

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/sessionstore"
	"github.com/openagent-go/agent/internal/sessiondir"
	"github.com/openagent-go/agent/session"
)

// A verified is the check result of a session. Error is set if the check itself failed.
type verified struct {
	*report
	Session string `json:"session"`
	Damaged bool   `json:"damaged"`
	Error   string `json:"error,omitempty"`
}

// A report is a [session.Report], as its JSON has it.
type report struct {
	Path     string    `json:"path"`
	Lines    int       `json:"lines"`
	Facts    int64     `json:"facts"`
	Problems []problem `json:"problems,omitempty"`
	More     int       `json:"more,omitempty"`
}

type problem struct {
	Line   int    `json:"line"`
	Seq    int64  `json:"seq,omitempty"`
	Kind   string `json:"kind"`
	Text   string `json:"text"`
	Usable bool   `json:"usable,omitempty"`
}

// decode reads the JSON of a report of package session.
func decode[T any](from json.Marshaler) (*T, error) {
	data, err := json.Marshal(from)
	if err != nil {
		return nil, err
	}
	to := new(T)
	return to, json.Unmarshal(data, to)
}

// verifySessions checks the sessions named, or all. It fails if one is damaged.
func verifySessions(ctx context.Context, h *cli.IO, o *sessionsOptions, ids []string) error {
	list := []verified{}
	check := func(s session.Store, id string) error {
		r, err := session.Verify(ctx, s, id)
		if ctx.Err() != nil {
			return cli.CommandError(ctx, err)
		}
		v := verified{Session: id}
		if err == nil {
			v.Damaged = r.Damaged()
			v.report, err = decode[report](r)
		}
		if err != nil {
			v.Error = err.Error()
		}
		list = append(list, v)
		return nil
	}
	for _, id := range ids {
		s, id, err := holding(ctx, h, o, id)
		if err == nil {
			err = check(s, id)
		}
		if err != nil {
			return err
		}
	}
	if len(ids) == 0 {
		stores, err := sessionstore.Stores(ctx, h, o.place, o.All)
		if err != nil {
			return err
		}
		for _, s := range stores {
			if sessionstore.InDatabase(s) {
				return cli.Usagef("sessions verify reads the files of sessions; those of a database are checked by the database")
			}
			found, err := sessiondir.IDs(ctx, s)
			if err != nil {
				return err
			}
			for _, id := range found {
				if err := check(s, id); err != nil {
					return err
				}
			}
		}
	}
	return showVerified(h, o, list)
}

func showVerified(h *cli.IO, o *sessionsOptions, list []verified) error {
	bad := 0
	var rows [][]string
	for _, v := range list {
		switch {
		case v.Error != "":
			rows = append(rows, []string{v.Session, "", "failed", v.Error})
			bad++
			continue
		case len(v.Problems) == 0:
			rows = append(rows, []string{v.Session, "", "ok", fmt.Sprintf("%d facts", v.Facts)})
		}
		if v.Damaged {
			bad++
		}
		for _, p := range v.Problems {
			kind := p.Kind
			if p.Usable {
				kind += " (still usable)"
			}
			rows = append(rows, []string{v.Session, strconv.Itoa(p.Line), kind, p.Text})
		}
		if v.More > 0 {
			rows = append(rows, []string{v.Session, "", "more", fmt.Sprintf("%d further problems", v.More)})
		}
	}
	if err := h.WriteList(o.format, list, "SESSION LINE STATE DETAIL", rows); err != nil {
		return err
	}
	if bad > 0 {
		return fmt.Errorf("%d of %d sessions are damaged; repair one with: openagent sessions repair ID", bad, len(list))
	}
	return nil
}
