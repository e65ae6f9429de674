package view

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/permission"
)

// noticeText returns the line about an event that does nothing else, "" if people are not
// told of it. An event that the switch does not list is not known.
func noticeText(d event.Data) (line string, known bool) {
	switch d := d.(type) {
	case event.Compacted:
		return compactedText(d), true
	case fact.Checkpointed:
		return checkpointText(d), true
	case event.PermissionsChanged:
		return rulesText(d), true
	case fact.BudgetChanged:
		return budgetText(d.Limits), true
	case fact.FallbacksChanged:
		return "fallback models: " + cmp.Or(strings.Join(d.Fallbacks, ", "), "none"), true
	case fact.Hooked:
		return hookedText(d), true
	case fact.OutputChecked:
		if d.Problem != "" {
			return "the answer does not fit its schema: " + text.OneLine(d.Problem), true
		}
	case event.HookResponse:
		return hookText(d), true
	case event.BudgetWarning:
		return fmt.Sprintf("%s$%.2f of $%.2f are spent", quotaName(d.Account), d.SpentUSD, d.LimitUSD), true
	case event.CacheBroken:
		return fmt.Sprintf("prompt cache lost, %d of %d tokens read: %s", d.Read, d.Held, text.OneLine(d.Text)), true
	case event.JournalCut:
		return fmt.Sprintf("the session's journal ended in an unfinished record: its %d bytes were cut off and are kept beside it", d.Bytes), true
	case event.RateLimitWait:
		return waitText(d), true
	case fact.Waited, fact.ToolsChanged, fact.ToolChanged, fact.CallbackChanged, fact.AgentSuspended,
		event.HookStarted, event.HookProgress, event.SessionBegan, event.SessionEnded:
	default:
		return "", false
	}
	return "", true
}

func compactedText(d event.Compacted) string {
	if d.Failed != "" {
		return "not compacted: " + text.OneLine(d.Failed)
	}
	return fmt.Sprintf("compacted: about %d tokens became %d", d.Before, d.After)
}

func checkpointText(d fact.Checkpointed) string {
	switch {
	case d.Error != "":
		return "no checkpoint of the files: " + text.OneLine(d.Error)
	case d.ID != "":
		return "checkpoint of the files"
	}
	return ""
}

func rulesText(d event.PermissionsChanged) string {
	var parts []string
	for _, u := range d.Updates {
		switch {
		case u.Mode != "":
			parts = append(parts, "mode "+string(u.Mode))
		case u.Type == "removeRules":
			parts = append(parts, "no more "+ruleList(u.Behavior, u.Rules))
		default:
			parts = append(parts, ruleList(u.Behavior, u.Rules))
		}
	}
	return "rules of this session: " + strings.Join(parts, "; ")
}

func ruleList(b permission.Behavior, rules []permission.Rule) string {
	names := make([]string, len(rules))
	for i, r := range rules {
		names[i] = string(r)
	}
	return string(b) + " " + strings.Join(names, ", ")
}

func budgetText(l fact.Limits) string {
	var parts []string
	add := func(is bool, format string, a any) {
		if is {
			parts = append(parts, fmt.Sprintf(format, a))
		}
	}
	add(l.USD > 0, "$%.2f", l.USD)
	add(l.Turns > 0, "%s", text.Count(l.Turns, "turn"))
	add(l.ModelCalls > 0, "%s", text.Count(l.ModelCalls, "model call"))
	add(l.Time > 0, "%v", l.Time)
	return "budget: " + cmp.Or(strings.Join(parts, ", "), "no limit")
}

func hookedText(d fact.Hooked) string {
	switch {
	case d.Stop != "":
		return fmt.Sprintf("a %s hook stops the run: %s", d.Event, text.OneLine(d.Stop))
	case d.Block != "" && d.Message != "":
		return fmt.Sprintf("a %s hook keeps the message from the model: %s", d.Event, text.OneLine(d.Block))
	case d.Block != "":
		return fmt.Sprintf("a %s hook: %s", d.Event, text.OneLine(d.Block))
	}
	return ""
}

// hookText is what a hook tells people.
func hookText(d event.HookResponse) string {
	said := d.Message
	if n := d.Notification; n != nil {
		said = strings.Trim(said+": "+n.Title+": "+n.Body, ": ")
	}
	switch {
	case d.Error != "":
		said = "failed: " + d.Error
	case d.Blocks && said == "":
		said = "blocked: " + d.Reason
	}
	if said == "" {
		return ""
	}
	return fmt.Sprintf("%s hook: %s", d.Event, text.OneLine(said))
}

func quotaName(account string) string {
	if account == "" {
		return "budget: "
	}
	return "quota " + account + ": "
}

func waitText(d event.RateLimitWait) string {
	if d.Least == 0 {
		return "waiting for the rate limit"
	}
	return "waiting for the rate limit, at least " + d.Least.Round(100*time.Millisecond).String()
}
