// Package usage shows the cost, the context and the cache use of a session as tables.
package usage

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/account"
	"github.com/openagent-go/agent/internal/engine"
	"github.com/openagent-go/agent/llm"
)

// SessionContext shows what fills the context of a session that is open.
func SessionContext(ctx context.Context, h *cli.IO, s *agent.Session) ([]string, error) {
	found, err := s.ContextUsage(ctx)
	if err != nil {
		return nil, err
	}
	var u engine.ContextUsage // the same, as ContextLines also takes it from a record
	data, err := json.Marshal(found)
	if err := cmp.Or(err, json.Unmarshal(data, &u)); err != nil {
		return nil, err
	}
	return ContextLines(h, u), nil
}

// ContextLines shows what fills the model's context, a bar for each category.
func ContextLines(h *cli.IO, u engine.ContextUsage) []string {
	if u.Tokens == 0 {
		return []string{"the context is empty: no prompt was made yet"}
	}
	by := map[string]string{"provider": "counted by the provider", "usage": "by the provider's count of the last request", "estimate": "estimated"}[string(u.Counted)]
	if u.Off > 0 {
		by += fmt.Sprintf(", ±%d %%", u.Off)
	}
	head := fmt.Sprintf("%s tokens for %s, %s", cli.Thousands(u.Tokens), h.OneLine(u.Model), by)
	whole := u.Tokens
	if u.Window > 0 {
		assumed := ""
		if u.Assumed {
			assumed = ", assumed"
		}
		head = fmt.Sprintf("%s of %s tokens (%d %%%s) for %s, %s", cli.Thousands(u.Tokens), cli.Thousands(u.Window), 100*u.Tokens/u.Window, assumed, h.OneLine(u.Model), by)
		whole = u.Window
	}
	list := []string{head}
	row := func(name string, tokens int, more string) {
		list = append(list, strings.TrimRight(fmt.Sprintf("  %-13s %s %9s  %4.1f %%  %s", name, bar(tokens, whole), cli.Thousands(tokens), 100*float64(tokens)/float64(whole), more), " "))
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
		list = append(list, fmt.Sprintf("not sent until they are found: %d tools, %s tokens", u.Deferred.Count, cli.Thousands(u.Deferred.Tokens)))
	}
	var heavy []string
	for _, t := range u.Heaviest[:min(5, len(u.Heaviest))] {
		heavy = append(heavy, fmt.Sprintf("%s %s", h.OneLine(t.Name), cli.Thousands(t.Tokens)))
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

// CostLines shows what a session has cost and who has spent it.
func CostLines(h *cli.IO, c account.Cost) []string {
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
			list = append(list, fmt.Sprintf("  %-28s %10s  %s", h.OneLine(name), usd(l.USD), usageWords(l.Usage)))
		}
	}
	lines("by model", "", c.Models)
	lines("by agent", "(this one)", c.Agents)
	if len(c.Tools) > 0 {
		list = append(list, "by tool: what its description and results took of each request's input, and digests")
		for _, t := range c.Tools[:min(len(c.Tools), 12)] {
			list = append(list, fmt.Sprintf("  %-28s %10s  %d calls, %s tokens of results", h.OneLine(t.Name), usd(t.USD), t.Calls, cli.Thousands(t.Results)))
		}
		if n := len(c.Tools) - 12; n > 0 {
			list = append(list, fmt.Sprintf("  and %d more", n))
		}
	}
	return append(list, CacheLines(h, c.Cache)...)
}

func usageWords(u llm.Usage) string {
	s := fmt.Sprintf("%s in, %s out", cli.Thousands(u.Input), cli.Thousands(u.Output))
	if u.CacheRead > 0 {
		s += fmt.Sprintf(", %s read from the cache", cli.Thousands(u.CacheRead))
	}
	if u.CacheWrite > 0 {
		s += fmt.Sprintf(", %s written to it", cli.Thousands(u.CacheWrite))
	}
	return s
}

// CacheLines shows how the provider's prompt cache did, and what broke it.
func CacheLines(h *cli.IO, c account.Cache) []string {
	if c.Read+c.Written == 0 {
		return []string{"prompt cache: the provider reports none"}
	}
	line := fmt.Sprintf("prompt cache: %.0f %% of the input was read from it in %d requests", 100*c.Rate(), c.Requests)
	if c.SavedUSD != nil {
		line += fmt.Sprintf("; without it the input had cost $%.4f more", *c.SavedUSD)
	}
	list := []string{line}
	for _, b := range c.Breaks {
		list = append(list, "  broken: "+CacheBreakText(h, b))
	}
	return list
}

// CacheBreakText tells people why the prompt cache was not used.
func CacheBreakText(h *cli.IO, b event.CacheBroken) string {
	s := fmt.Sprintf("%s (%s of %s tokens were read again", b.Text, cli.Thousands(b.Held-b.Read), cli.Thousands(b.Held))
	if b.CostUSD != nil {
		s += ", " + usd(b.CostUSD)
	}
	s += ")"
	if b.Was != "" || b.Is != "" {
		s += fmt.Sprintf(": %q became %q", cli.Clip(b.Was), cli.Clip(b.Is))
	}
	return h.OneLine(s)
}
