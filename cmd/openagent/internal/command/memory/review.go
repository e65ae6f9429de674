package memory

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/cmd/openagent/internal/app"
	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/sessionstore"
	"github.com/openagent-go/agent/cmd/openagent/internal/settings"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/memory"
)

// A reviewJSON is the outcome of a review.
type reviewJSON struct {
	Session   string                 `json:"session"`
	Known     bool                   `json:"known,omitempty"` // reviewed before, and not continued since
	Proposals []memory.Proposal      `json:"proposals"`
	Skills    []memory.SkillProposal `json:"skills,omitempty"`
	CostUSD   *float64               `json:"cost_usd,omitempty"`
	Error     string                 `json:"error,omitempty"`
}

// review reviews the named sessions, or those that are noted.
func review(ctx context.Context, h *cli.IO, o *memoryOptions, stores []memory.Named, ids []string) (err error) {
	dir, err := settings.WorkingDir()
	if err != nil {
		return err
	}
	s, err := app.OpenToReview(ctx, h, &o.Options, dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	limit := agent.Budget{USD: s.Agent.Budget.USD}
	if limit.USD > 0 {
		limit.Turns = maxTurns
	}
	r, err := s.Reviewer(h, &memory.Memory{Stores: stores, Log: s.Agent.Log}, s.Store, limit)
	if err != nil {
		return err
	}
	out := []reviewJSON{}
	var failed error
	done := func(id string, got *memory.Review, err error) {
		one := reviewJSON{Session: id, Proposals: []memory.Proposal{}}
		if got != nil {
			one.Session, one.Known, one.CostUSD = got.Session, got.Known, got.CostUSD
			one.Proposals = append(one.Proposals, got.Proposals...)
			one.Skills = got.Skills
		}
		if err != nil {
			one.Error = h.OneLine(err.Error())
			failed = err
		}
		out = append(out, one)
	}
	if len(ids) == 0 {
		err = r.ReviewQueued(ctx, func(got *memory.Review, err error) { done("", got, err) })
	}
	for _, id := range ids {
		if id, err = sessionstore.FullID(ctx, id, s.Store); err != nil {
			return err
		}
		got, err := r.Review(ctx, id)
		done(id, got, err)
	}
	if err != nil {
		return cli.CommandError(ctx, err)
	}
	if err := tellOfReviews(h, o, out); err != nil {
		return err
	}
	var api *llm.APIError
	switch {
	case errors.As(failed, &api):
		return &cli.ExitError{Code: cli.ExitModel, Err: failed}
	case failed != nil:
		return cli.CommandError(ctx, failed)
	}
	return nil
}

// maxTurns bounds a review that has a limit of cost.
const maxTurns = 4

func tellOfReviews(h *cli.IO, o *memoryOptions, list []reviewJSON) error {
	if o.format == cli.FormatJSON {
		return h.WriteList(o.format, list, "", nil)
	}
	if len(list) == 0 {
		h.Warn("no session waits for a review")
	}
	var rows [][]string
	waiting, skills := 0, 0
	for _, r := range list {
		switch {
		case r.Error != "":
			continue // the error follows
		case r.Known:
			rows = append(rows, []string{r.Session, "-", "reviewed before, and not continued since", "-"})
		case len(r.Proposals)+len(r.Skills) == 0:
			rows = append(rows, []string{r.Session, app.CostText(r.CostUSD), "nothing to keep", "-"})
		}
		cost := app.CostText(r.CostUSD) // in the first row of a review
		row := func(proposal, state string) {
			rows = append(rows, []string{r.Session, cost, proposal, state})
			cost = "-"
		}
		for _, p := range r.Proposals {
			what := string(p.State)
			if p.Refused != "" {
				what = "refused: " + p.Refused
			} else if p.State == memory.Candidate {
				waiting++
			}
			row(fmt.Sprintf("%s %s", p.Action, cmp.Or(p.ID, p.Title)), what)
		}
		for _, p := range r.Skills {
			what := "pending"
			if p.Refused != "" {
				what = "refused: " + app.WhyRefused(p)
			} else {
				skills++
			}
			row(fmt.Sprintf("%s skill %s", p.Action, p.Name), what)
		}
	}
	if len(rows) > 0 {
		if err := h.WriteList(o.format, nil, "SESSION COST PROPOSAL STATE", rows); err != nil {
			return err
		}
	}
	if waiting > 0 {
		h.Warn("%s for your decision: openagent memory pending", waits(waiting))
	}
	if skills > 0 {
		h.Warn("%s about skills for your decision: openagent skills pending", cli.Plural(skills, "proposal"))
	}
	return nil
}
