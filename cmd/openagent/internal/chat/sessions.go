package chat

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/tui/ui"
	"github.com/openagent-go/agent/internal/durable"
	"github.com/openagent-go/agent/internal/providers"
	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/session/export"
)

const maxSessions = 500 // that are offered

// offerSessions opens the picker of the sessions of this folder.
func (c *Chat) offerSessions(ctx context.Context) {
	if c.s.Store == nil {
		c.say(ui.WarnLine, "! sessions are not saved here")
		return
	}
	list, err := c.s.Store.List(ctx)
	if err != nil {
		c.say(ui.WarnLine, "! "+c.h.OneLine(err.Error()))
		return
	}
	choice := ui.Choice{Kind: "session", Title: "go to"}
	now := time.Now()
	for _, i := range list[:min(len(list), maxSessions)] {
		if i.Session == c.s.Session.ID || i.Messages == 0 {
			continue
		}
		state := map[session.State]string{session.StateRunning: "runs  ", session.StateUnfinished: "stopped  ", session.StateWaiting: "asks  "}[i.State]
		choice.Items = append(choice.Items, ui.Item{Text: text.Runes(c.h.OneLine(cmp.Or(i.Title, i.Prompt, i.Session)), 200),
			Note: fmt.Sprintf("%s%s  %s", state, ago(now.Sub(i.Updated)), cli.Plural(int(i.Messages), "message")), Value: i.Session})
	}
	if len(choice.Items) == 0 {
		c.say(ui.DimLine, "there is no other session in this folder")
		return
	}
	c.post(choice)
}

// ago says how long ago something was.
func ago(d time.Duration) string {
	switch {
	case d < time.Minute:
		return "just now"
	case d < time.Hour:
		return fmt.Sprintf("%d min ago", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h ago", int(d.Hours()))
	}
	return fmt.Sprintf("%d days ago", int(d.Hours()/24))
}

// offerModels opens the picker of the models of the provider.
func (c *Chat) offerModels() {
	p := c.s.Provider
	now := c.s.EffectiveSettings().Model
	choice := ui.Choice{Kind: "model", Title: "model"}
	for _, e := range p.Models.Entries() {
		if e.Provider != "" && e.Provider != p.Name.Value && e.Provider != providers.Vendor(p.Name.Value) {
			continue
		}
		note := cli.TokenText(e.Window) + " tokens"
		if e.Price != nil {
			note += fmt.Sprintf("  $%s in, $%s out", cli.PriceText(e.Price.Input), cli.PriceText(e.Price.Output))
		}
		if e.Name == now {
			note = "in use  " + note
		}
		choice.Items = append(choice.Items, ui.Item{Text: e.Name, Note: note, Value: e.Name})
	}
	if len(choice.Items) == 0 {
		c.say(ui.PlainLine, "model "+c.h.OneLine(now)+"; /model NAME chooses another one")
		return
	}
	c.post(choice)
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
	err := durable.Replacement{}.Stream(name, func(w io.Writer) error {
		return write(ctx, w, c.s.Store, c.s.Session.ID, export.Options{Secrets: c.h.Secrets})
	})
	if err != nil {
		c.say(ui.WarnLine, "! "+c.h.OneLine(err.Error()))
		return
	}
	c.say(ui.DimLine, "  wrote "+c.h.OneLine(c.s.ShortPath(name)))
}
