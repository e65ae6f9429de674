package skills

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aymanbagabas/go-udiff"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/cmd/openagent/internal/app"
	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/sessionstore"
	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/skill"
	"github.com/openagent-go/agent/skill/learn"
)

// A usedSkill is a line of openagent skills stats.
type usedSkill struct {
	learn.Use
	From  string `json:"from,omitempty"` // "": there is no such skill now
	Stale bool   `json:"stale,omitempty"`
}

// Limits of statistics.
const (
	usualSessions = 500 // sessions of a folder that are read
	usualDays     = 60  // without a call until a skill is stale
)

// usage counts the uses of all skills. Those without a call are listed too.
func usage(ctx context.Context, h *cli.IO, o *skillsOptions, all *skill.Registry) ([]usedSkill, error) {
	stores, err := sessionstore.Stores(ctx, h, o.Place(), o.all)
	if err != nil {
		return nil, err
	}
	sum := map[string]learn.Use{}
	for _, s := range stores {
		uses, err := learn.Uses(ctx, s, cmp.Or(o.limit, usualSessions))
		if ctx.Err() != nil {
			return nil, cli.CommandError(ctx, err)
		}
		if err != nil {
			h.Warn("%v", err)
		}
		for _, u := range uses {
			one := sum[u.Skill]
			one.Skill, one.Users, one.Models, one.Agents, one.Sessions = u.Skill, one.Users+u.Users, one.Models+u.Models, one.Agents+u.Agents, one.Sessions+u.Sessions
			one.Completed, one.Failed = one.Completed+u.Completed, one.Failed+u.Failed
			if u.Last.After(one.Last) {
				one.Last = u.Last
			}
			sum[u.Skill] = one
		}
	}
	for _, k := range all.All() {
		if _, used := sum[k.Name]; !used {
			sum[k.Name] = learn.Use{Skill: k.Name}
		}
	}
	old := time.Now().AddDate(0, 0, -cmp.Or(o.days, usualDays))
	list := []usedSkill{}
	for name, u := range sum {
		one := usedSkill{Use: u}
		if k := all.Get(name); k != nil {
			one.From = k.From
			if info, err := os.Stat(k.File()); err == nil { // a built-in one has no file
				one.Stale = u.Last.Before(old) && info.ModTime().Before(old)
			}
		}
		list = append(list, one)
	}
	slices.SortFunc(list, func(a, b usedSkill) int {
		return cmp.Or(b.Calls()-a.Calls(), b.Last.Compare(a.Last), strings.Compare(a.Skill, b.Skill))
	})
	return list, nil
}

// showUsage lists skills with how they were used; stale: only those that nobody uses.
func showUsage(ctx context.Context, h *cli.IO, o *skillsOptions, all *skill.Registry, stale bool) error {
	list, err := usage(ctx, h, o, all)
	if err != nil {
		return err
	}
	if stale {
		list = slices.DeleteFunc(list, func(u usedSkill) bool { return !u.Stale })
		if len(list) == 0 && o.format != cli.FormatJSON {
			return h.Show("no skill is stale\n")
		}
	}
	var rows [][]string
	for _, u := range list {
		last := "never"
		if !u.Last.IsZero() {
			last = u.Last.Local().Format(time.DateOnly)
		}
		state := ""
		switch {
		case u.From == "":
			state = "not there any more"
		case u.Stale:
			state = "stale"
		}
		rows = append(rows, []string{"/" + h.OneLine(u.Skill), strconv.Itoa(u.Users), strconv.Itoa(u.Models), strconv.Itoa(u.Agents), strconv.Itoa(u.Sessions), strconv.Itoa(u.Completed), strconv.Itoa(u.Failed), last, state})
	}
	return h.WriteList(o.format, list, "SKILL BY-YOU BY-MODEL BY-AGENTS SESSIONS COMPLETED FAILED LAST STATE", rows)
}

// showPending lists the proposals that wait; all: those that were decided too.
func showPending(h *cli.IO, o *skillsOptions) error {
	store, err := app.SkillProposals(h)
	if err != nil {
		return err
	}
	list, problems := store.All()
	for _, p := range problems {
		h.Warn("%v", p)
	}
	if !o.all {
		list = slices.DeleteFunc(list, func(p learn.Proposal) bool { return p.State != learn.Pending })
	}
	if len(list) == 0 && o.format != cli.FormatJSON {
		return h.Show("no proposal waits for you\n")
	}
	var rows [][]string
	for _, p := range list {
		rows = append(rows, []string{p.ID, string(p.State), "/" + h.OneLine(p.Skill), kindOf(p), h.OneLine(p.Root), h.OneLine(text.Runes(p.Why, 100))})
	}
	if list == nil {
		list = []learn.Proposal{}
	}
	return h.WriteList(o.format, list, "ID STATE SKILL KIND WHERE WHY", rows)
}

func kindOf(p learn.Proposal) string {
	switch {
	case p.Copies != "":
		return "copy"
	case p.Before == nil:
		return "new"
	}
	return "change"
}

// findProposal returns the proposal that an id or the beginning of one names.
func findProposal(h *cli.IO, id string) (*learn.Store, *learn.Proposal, error) {
	store, err := app.SkillProposals(h)
	if err != nil {
		return nil, nil, err
	}
	all, problems := store.All()
	for _, p := range problems {
		h.Warn("%v", p)
	}
	var found []learn.Proposal
	for _, p := range all {
		if strings.HasPrefix(p.ID, id) && id != "" {
			found = append(found, p)
		}
	}
	switch {
	case len(found) == 0:
		return nil, nil, cli.Usagef("there is no proposal %s; openagent skills pending --all lists all", cli.Clip(id))
	case len(found) > 1:
		return nil, nil, cli.Usagef("%s is the beginning of %d proposals; write more of one", cli.Clip(id), len(found))
	}
	return store, &found[0], nil
}

// showProposal shows what a proposal would change.
func showProposal(h *cli.IO, o *skillsOptions, id string) error {
	_, p, err := findProposal(h, id)
	if err != nil {
		return err
	}
	before, from := "", "/dev/null"
	if p.Before != nil {
		before, from = *p.Before, p.File
	}
	diff := udiff.Unified(from, p.File, before, p.After)
	if o.format == cli.FormatJSON {
		data, err := cli.EncodeLine(struct {
			*learn.Proposal
			Diff string `json:"diff"`
		}{p, diff})
		if err != nil {
			return err
		}
		return h.Show(string(data))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "proposal %s of %s, %s\nskill    %s (%s)\nfile     %s\n", p.ID, p.Time.Local().Format(time.DateTime), p.State, h.OneLine(p.Skill), kindOf(*p), h.OneLine(p.File))
	if p.Copies != "" {
		fmt.Fprintf(&b, "copies   the skill of %s, which stays as it is\n", h.OneLine(p.Copies))
	}
	fmt.Fprintf(&b, "session  %s, facts %s\nwhy      %s\n", h.OneLine(p.Session), strings.Trim(fmt.Sprint(p.Facts), "[]"), h.OneLine(p.Why))
	if p.Comment != "" {
		fmt.Fprintf(&b, "comment  %s\n", h.OneLine(p.Comment))
	}
	b.WriteByte('\n')
	for line := range strings.Lines(diff) {
		b.WriteString(h.Visible(strings.TrimRight(line, "\n")) + "\n")
	}
	return h.Show(b.String())
}

// decide carries out a decision about proposals. All of them are found first, so that a wrong id changes
// nothing.
func decide(ctx context.Context, h *cli.IO, ids []string, done string, do func(*learn.Store, *learn.Proposal) (*learn.Proposal, error)) error {
	type one struct {
		store *learn.Store
		p     *learn.Proposal
	}
	var list []one
	for _, id := range ids {
		store, p, err := findProposal(h, id)
		if err != nil {
			return err
		}
		list = append(list, one{store, p})
	}
	for _, it := range list {
		p, err := do(it.store, it.p)
		switch {
		case errors.Is(err, learn.ErrChanged), errors.Is(err, learn.ErrRefused), errors.Is(err, learn.ErrDecided):
			return cli.Usagef("%w", err)
		case err != nil:
			return cli.CommandError(ctx, err)
		}
		next := ""
		if p.State != learn.Rejected {
			next = "; openagent skills lint checks it"
			if home, err := os.UserHomeDir(); err != nil || !sameFolder(p.Root, home) {
				next = "; skills of a project that have changed need trust: openagent trust add " + text.QuoteShell(p.Root)
			}
		}
		if err := h.Show(h.OneLine(fmt.Sprintf("%s %s: %s", done, p.ID, p.File)) + next + "\n"); err != nil {
			return err
		}
	}
	return nil
}

func sameFolder(a, b string) bool {
	x, err := os.Stat(a)
	y, failed := os.Stat(b)
	return err == nil && failed == nil && os.SameFile(x, y)
}

// review has the small model review a session for what it shows about skills.
func review(ctx context.Context, h *cli.IO, o *skillsOptions, id string) (err error) {
	store, id, err := sessionstore.Locate(ctx, h, o.Place(), id)
	if err != nil {
		return err
	}
	run := o.Options
	run.Ephemeral = true
	s, err := app.Open(ctx, h, &run, nil, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	r, err := s.Reviewer(h, nil, store, agent.Budget{Turns: 4, USD: s.Agent.Budget.USD})
	if err != nil {
		return err
	}
	out, err := r.Review(ctx, id)
	if err != nil {
		return cli.CommandError(ctx, err)
	}
	if o.format == cli.FormatJSON {
		data, err := cli.EncodeLine(out)
		if err != nil {
			return err
		}
		return h.Show(string(data))
	}
	var b strings.Builder
	waits := 0
	for _, k := range out.Skills {
		if k.Refused != "" {
			fmt.Fprintf(&b, "refused  %s: %s\n", h.OneLine(k.Name), h.OneLine(app.WhyRefused(k)))
			continue
		}
		waits++
		fmt.Fprintf(&b, "%s  %s %s: %s\n", k.ID, h.OneLine(k.Action), h.OneLine(k.Name), h.OneLine(text.Runes(k.Why, 200)))
	}
	if out.CostUSD != nil {
		fmt.Fprintf(&b, "the review cost %s\n", app.CostText(out.CostUSD))
	}
	if waits > 0 {
		b.WriteString("see one with openagent skills show-proposal ID, then accept or reject it\n")
	} else {
		b.WriteString("nothing to propose\n")
	}
	return h.Show(b.String())
}
