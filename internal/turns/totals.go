package turns

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/session/view"
)

// Totals sums up all runs of a view in words, part by part.
func Totals(v *view.State) []string {
	var prompts, turns, calls, denied int
	var took time.Duration
	var split view.Split
	var last *view.End // of the run that may continue: its next end is about all of it
	count := func() {
		if last != nil {
			turns, calls, denied, took = turns+last.Fact.Turns, calls+last.Calls, denied+last.Denied, took+last.Fact.Duration
			split = sum(split, last.Time)
			last = nil
		}
	}
	for _, it := range v.Items {
		switch d := it.Data.(type) {
		case *view.Prompt:
			if d.Message.Delivery == fact.AsPrompt {
				prompts++
				count()
			}
		case *view.End:
			if last != nil && last.Fact.Reason != event.Suspended {
				count()
			}
			last = d
		}
	}
	count()
	if turns == 0 {
		return nil
	}
	out := []string{text.Count(prompts, "prompt"), text.Count(turns, "turn"), callCount(calls, denied), lasted(took, split), tokens(v.Usage)}
	usd := fmt.Sprintf("$%.4f", v.CostUSD)
	switch {
	case v.Unpriced && v.CostUSD == 0:
		usd = "cost not known"
	case v.Unpriced:
		usd = "at least " + usd
	}
	return append(out, usd)
}

func sum(a, b view.Split) view.Split {
	return view.Split{Waiting: a.Waiting + b.Waiting, Tools: a.Tools + b.Tools, Model: a.Model + b.Model, Retry: a.Retry + b.Retry, Other: a.Other + b.Other}
}

// Summary is the line at the end of a run, after its reason.
func (e End) Summary() string {
	parts := []string{text.Count(e.Turns, "turn"), callCount(e.Calls, e.Denied), lasted(time.Duration(e.DurationMS)*time.Millisecond, e.split)}
	return strings.Join(append(parts, spent(e.Usage, e.CostUSD)...), " · ")
}

// Summary is a line about an agent that has ended, "" for one that has not.
func (a Agent) Summary() string {
	if a.Reason == "" {
		return ""
	}
	parts := []string{string(a.Reason), text.Count(a.ModelTurns, "turn"), Span(time.Duration(a.DurationMS) * time.Millisecond)}
	return strings.Join(append(parts, spent(a.Usage, a.CostUSD)...), " · ")
}

func callCount(calls, denied int) string {
	if denied > 0 {
		return fmt.Sprintf("%s, %d denied", text.Count(calls, "call"), denied)
	}
	return text.Count(calls, "call")
}

// lasted says how long something took, and where the time went.
func lasted(took time.Duration, s view.Split) string {
	var parts []string
	for _, p := range []struct {
		name string
		took time.Duration
	}{{"model", s.Model}, {"tools", s.Tools}, {"you", s.Waiting}, {"retries", s.Retry}} {
		if p.took >= 50*time.Millisecond {
			parts = append(parts, p.name+" "+Span(p.took))
		}
	}
	if len(parts) == 0 {
		return Span(took)
	}
	return Span(took) + " (" + strings.Join(parts, ", ") + ")"
}

// Span writes a duration for people.
func Span(d time.Duration) string {
	switch {
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < time.Minute:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < time.Hour:
		return fmt.Sprintf("%d min %d s", int(d.Minutes()), int(d.Seconds())%60)
	}
	return fmt.Sprintf("%d h %d min", int(d.Hours()), int(d.Minutes())%60)
}

// tokens writes usage for people.
func tokens(u llm.Usage) string {
	out := fmt.Sprintf("%s tokens in, %s out", Short(u.Context()), Short(u.Output))
	if all := u.Context(); all > 0 && u.CacheRead > 0 {
		out += fmt.Sprintf(", %d %% from the cache", u.CacheRead*100/all)
	}
	return out
}

// Short writes a number of tokens for people.
func Short(n int) string {
	switch {
	case n < 1000:
		return strconv.Itoa(n)
	case n < 1_000_000:
		return fmt.Sprintf("%.1fk", float64(n)/1e3)
	}
	return fmt.Sprintf("%.1fM", float64(n)/1e6)
}

// spent says what tokens and their price came to, nothing if there were none.
func spent(u llm.Usage, usd *float64) []string {
	switch {
	case usd != nil:
		return []string{tokens(u), fmt.Sprintf("$%.4f", *usd)}
	case u == llm.Usage{}:
		return nil
	}
	return []string{tokens(u), "cost not known"}
}

// speaker says who a message is from, and how it came if that was not as a prompt.
func speaker(d event.Delivery) string {
	switch d {
	case fact.AsPrompt:
		return "User"
	case fact.AsSteer:
		return "User, during the run"
	case fact.AsFollowUp:
		return "User, queued"
	case fact.AsNotice:
		return "Program, notice"
	case fact.AsHook:
		return "Program, hook"
	case fact.AsContext:
		return "Program, context"
	case fact.AsContinue:
		return "Program, continue"
	}
	return "User"
}

// ByProgram reports whether nobody has written a message.
func ByProgram(d event.Delivery) bool { return strings.HasPrefix(speaker(d), "Program") }
