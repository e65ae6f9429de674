package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/session/account"
)

// contextLines shows what fills the model's context, a bar for each category.
func (h *host) contextLines(u agent.ContextUsage) []string {
	if u.Tokens == 0 {
		return []string{"the context is empty: no prompt was made yet"}
	}
	by := map[string]string{"provider": "counted by the provider", "usage": "by the provider's count of the last request", "estimate": "estimated"}[string(u.Counted)]
	if u.Off > 0 {
		by += fmt.Sprintf(", ±%d %%", u.Off)
	}
	head := fmt.Sprintf("%s tokens for %s, %s", thousands(u.Tokens), h.oneLine(u.Model), by)
	whole := u.Tokens
	if u.Window > 0 {
		assumed := ""
		if u.Assumed {
			assumed = ", assumed"
		}
		head = fmt.Sprintf("%s of %s tokens (%d %%%s) for %s, %s", thousands(u.Tokens), thousands(u.Window), 100*u.Tokens/u.Window, assumed, h.oneLine(u.Model), by)
		whole = u.Window
	}
	list := []string{head}
	row := func(name string, tokens int, more string) {
		list = append(list, strings.TrimRight(fmt.Sprintf("  %-13s %s %9s  %4.1f %%  %s", name, bar(tokens, whole), thousands(tokens), 100*float64(tokens)/float64(whole), more), " "))
	}
	for _, c := range u.Categories {
		more := ""
		if c.Count > 1 {
			more = fmt.Sprintf("in %d", c.Count)
		}
		row(c.Name, c.Tokens, more)
	}
	if u.Window > 0 {
		row("free", u.Free, "")
		row("reserve", u.Reserve, "for the answer")
	}
	if u.Deferred.Count > 0 {
		list = append(list, fmt.Sprintf("not sent until they are found: %d tools, %s tokens", u.Deferred.Count, thousands(u.Deferred.Tokens)))
	}
	var heavy []string
	for _, t := range u.Heaviest[:min(5, len(u.Heaviest))] {
		heavy = append(heavy, fmt.Sprintf("%s %s", h.oneLine(t.Name), thousands(t.Tokens)))
	}
	if len(heavy) > 0 {
		list = append(list, "heaviest tools, their results included: "+strings.Join(heavy, ", "))
	}
	return list
}

// bar draws a share in twenty places.
func bar(n, of int) string {
	const width = 20
	full := min(width, (n*width+of/2)/max(of, 1))
	if n > 0 && full == 0 {
		return "▏" + strings.Repeat(" ", width-1)
	}
	return strings.Repeat("█", full) + strings.Repeat(" ", width-full)
}

func usd(v *float64) string {
	if v == nil {
		return "unknown"
	}
	return fmt.Sprintf("$%.4f", *v)
}

// costLines shows what a session has cost and who has spent it.
func (h *host) costLines(c account.Cost) []string {
	list := []string{fmt.Sprintf("%s for %d prompts and %d answers: %s", usd(c.USD), c.Prompts, c.Turns, usageWords(c.Usage))}
	if c.LostUSD > 0 {
		list = append(list, fmt.Sprintf("calls that were cut short can have cost $%.4f more", c.LostUSD))
	}
	lines := func(title, own string, lines []account.Line) {
		if len(lines) < 2 && own != "" {
			return
		}
		list = append(list, title)
		for _, l := range lines {
			name := l.Name
			if name == "" {
				name = own
			}
			list = append(list, fmt.Sprintf("  %-28s %10s  %s", h.oneLine(name), usd(l.USD), usageWords(l.Usage)))
		}
	}
	lines("by model", "", c.Models)
	lines("by agent", "(this one)", c.Agents)
	if len(c.Tools) > 0 {
		list = append(list, "by tool: what its description and results took of each request's input, and digests")
		for _, t := range c.Tools[:min(len(c.Tools), 12)] {
			list = append(list, fmt.Sprintf("  %-28s %10s  %d calls, %s tokens of results", h.oneLine(t.Name), usd(t.USD), t.Calls, thousands(t.Results)))
		}
		if n := len(c.Tools) - 12; n > 0 {
			list = append(list, fmt.Sprintf("  and %d more", n))
		}
	}
	return append(list, h.cacheLines(c.Cache)...)
}

func usageWords(u llm.Usage) string {
	s := fmt.Sprintf("%s in, %s out", thousands(u.Input), thousands(u.Output))
	if u.CacheRead > 0 {
		s += fmt.Sprintf(", %s read from the cache", thousands(u.CacheRead))
	}
	if u.CacheWrite > 0 {
		s += fmt.Sprintf(", %s written to it", thousands(u.CacheWrite))
	}
	return s
}

// cacheLines shows how the provider's prompt cache did, and what broke it.
func (h *host) cacheLines(c account.Cache) []string {
	if c.Read+c.Written == 0 {
		return []string{"prompt cache: the provider reports none"}
	}
	line := fmt.Sprintf("prompt cache: %.0f %% of the input was read from it in %d requests", 100*c.Rate(), c.Requests)
	if c.SavedUSD != nil {
		line += fmt.Sprintf("; without it the input had cost $%.4f more", *c.SavedUSD)
	}
	list := []string{line}
	for _, b := range c.Breaks {
		list = append(list, "  broken: "+h.breakWords(b))
	}
	return list
}

func (h *host) breakWords(b event.CacheBroken) string {
	s := fmt.Sprintf("%s (%s of %s tokens were read again", b.Text, thousands(b.Held-b.Read), thousands(b.Held))
	if b.CostUSD != nil {
		s += ", " + usd(b.CostUSD)
	}
	s += ")"
	if b.Was != "" || b.Is != "" {
		s += fmt.Sprintf(": %q became %q", cli.Clip(b.Was), cli.Clip(b.Is))
	}
	return h.oneLine(s)
}

// spending reads the account of a session.
func (h *host) spending(ctx context.Context, o *sessionsOptions, id string) (*account.Book, error) {
	store, err := h.locate(ctx, o, id)
	if err != nil {
		return nil, err
	}
	return account.Read(store.Read(ctx, id, 0))
}

// showSpending shows the account of a session: its cost, its context, or its cache.
func (h *host) showSpending(ctx context.Context, o *sessionsOptions, id, what string) error {
	book, err := h.spending(ctx, o, id)
	if err != nil {
		return err
	}
	var v any
	var lines []string
	switch what {
	case "context":
		u := book.Context()
		v, lines = u, h.contextLines(u)
	case "cache":
		c := book.Cache()
		v, lines = c, h.cacheLines(c)
	default:
		c := book.Cost()
		v, lines = c, h.costLines(c)
	}
	if o.format == formatJSON {
		return h.list(o.format, v, "", nil)
	}
	return h.show(strings.Join(lines, "\n"))
}

// examineCache says how the prompt cache did in the last session of this folder.
func (h *host) examineCache(ctx context.Context) finding {
	const name = "prompt cache"
	stores, err := h.stores(&sessionsOptions{})
	if err != nil {
		return finding{name, true, "no sessions to tell from"}
	}
	infos, err := stores[0].List(ctx)
	var last session.Info
	for _, i := range infos {
		if i.Updated.After(last.Updated) {
			last = i
		}
	}
	if err != nil || last.Session == "" {
		return finding{name, true, "no sessions here to tell from"}
	}
	book, err := account.Read(stores[0].Read(ctx, last.Session, 0))
	if err != nil {
		return finding{name, true, fmt.Sprintf("session %s cannot be read: openagent sessions verify", last.Session)}
	}
	c := book.Cache()
	text := strings.TrimPrefix(h.cacheLines(c)[0], "prompt cache: ") + fmt.Sprintf(", in the last session here (%s)", last.Updated.Local().Format(time.DateTime))
	if n := len(c.Breaks); n > 0 {
		text += fmt.Sprintf("; broken %d times, at last: %s", n, h.breakWords(c.Breaks[n-1]))
	}
	return finding{name, true, text}
}

func (c *repl) showContext(ctx context.Context) error {
	u, err := c.s.session.ContextUsage(ctx)
	if err != nil {
		return err
	}
	for _, line := range c.h.contextLines(u) {
		c.screen.line(inPlain, "%s", line)
	}
	return nil
}

func (c *repl) showCost(ctx context.Context) error {
	if c.s.store == nil {
		return errors.New("the session is not kept")
	}
	book, err := account.Read(c.s.store.Read(ctx, c.s.session.ID, 0))
	if err != nil {
		return err
	}
	for _, line := range c.h.costLines(book.Cost()) {
		c.screen.line(inPlain, "%s", line)
	}
	return nil
}
