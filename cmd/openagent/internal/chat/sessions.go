package chat

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/tui/amount"
	"github.com/openagent-go/agent/cmd/openagent/internal/tui/ui"
	"github.com/openagent-go/agent/internal/providers"
	"github.com/openagent-go/agent/internal/safefile"
	"github.com/openagent-go/agent/llm/catalog"
	"github.com/openagent-go/agent/session/export"
)

// offerSessions opens the picker of sessions.
func (c *Chat) offerSessions(ctx context.Context) {
	if c.s.Store == nil || c.s.Options.Ephemeral {
		c.say(ui.WarnLine, "! sessions are not saved here")
		return
	}
	some, err := c.list.Offer(ctx)
	switch {
	case err != nil:
		c.say(ui.WarnLine, "! "+c.h.OneLine(err.Error()))
	case !some:
		c.say(ui.DimLine, "there is no other session yet")
	}
}

// resume continues an interrupted run, or lets the person choose another session.
func (c *Chat) resume(ctx context.Context) {
	if !c.wait(ctx) {
		return
	}
	open, err := c.s.Session.CanResume(ctx)
	if err != nil || open || c.running.Load() {
		c.command(ctx, "/resume")
		return
	}
	c.offerSessions(ctx)
}

// openSession goes to the session that the person chose.
func (c *Chat) openSession(ctx context.Context, value string) {
	if c.running.Load() {
		c.list.Again(errors.New("the agent is working: close this list, then stop it with esc"))
		return
	}
	chosen, err := c.list.Chosen(ctx, value)
	if err != nil {
		c.list.Again(err)
		return
	}
	c.goTo(chosen)
}

// offerModels opens the picker of the models of the provider.
func (c *Chat) offerModels() {
	p := c.s.Provider
	now := c.s.EffectiveSettings().Model
	choice := ui.Choice{Kind: "model", Title: "model"}
	for _, e := range newestFirst(p.Models.Entries(), now) {
		if e.Provider != "" && e.Provider != p.Name.Value && e.Provider != providers.Vendor(p.Name.Value) {
			continue
		}
		note := ""
		if e.Window > 0 {
			note = "ctx " + amount.Tokens(e.Window)
		}
		if e.Price != nil {
			note += fmt.Sprintf("  $%s in, $%s out", cli.PriceText(e.Price.Input), cli.PriceText(e.Price.Output))
		}
		shown := e.Name
		if runs(e, now) {
			shown += " (in use)"
		}
		choice.Items = append(choice.Items, ui.Item{Text: shown, Note: note, Value: e.Name})
	}
	if len(choice.Items) == 0 {
		c.say(ui.PlainLine, "model "+c.h.OneLine(now)+"; /model NAME chooses another one")
		return
	}
	c.post(choice)
}

// newestFirst sorts models: the one in use, then those with the highest versions in their names.
func newestFirst(list []catalog.Entry, now string) []catalog.Entry {
	slices.SortStableFunc(list, func(a, b catalog.Entry) int {
		switch {
		case runs(a, now) == runs(b, now):
			return slices.Compare(version(b.Name), version(a.Name))
		case runs(a, now):
			return -1
		}
		return 1
	})
	return list
}

// runs reports whether a model is the one of a name, which may be that of a snapshot.
func runs(e catalog.Entry, name string) bool {
	var t catalog.Table
	if t.Register(e) != nil {
		return false
	}
	got, ok := t.Lookup(e.Provider, name)
	return ok && got.Name == e.Name
}

var number = regexp.MustCompile(`[0-9]+[bk]?`)

// version returns the numbers of a model's version: 4, 6 for claude-sonnet-4-6. Dates and sizes,
// such as 20250514 and 70b, are no versions.
func version(name string) []int {
	var out []int
	for _, word := range number.FindAllString(name, -1) {
		if n, err := strconv.Atoi(word); err == nil && n < 1000 {
			out = append(out, n)
		}
	}
	return out
}

// export writes the session to a file.
func (c *Chat) export(ctx context.Context, name string) {
	if c.s.Store == nil {
		c.say(ui.WarnLine, "! the session is not saved")
		return
	}
	name = cmp.Or(name, "openagent-"+c.s.Session.ID[:8]+".html")
	if !filepath.IsAbs(name) {
		name = filepath.Join(c.s.Project, name)
	}
	write := export.Markdown
	switch strings.ToLower(filepath.Ext(name)) {
	case ".html", ".htm":
		write = export.HTML
	case ".json":
		write = export.JSON
	}
	err := safefile.Replacement{}.Stream(name, func(w io.Writer) error {
		return write(ctx, w, c.s.Store, c.s.Session.ID, export.Options{Secrets: c.h.Secrets})
	})
	if err != nil {
		c.say(ui.WarnLine, "! "+c.h.OneLine(err.Error()))
		return
	}
	c.say(ui.DimLine, "  wrote "+c.h.OneLine(c.s.ShortPath(name)))
}
