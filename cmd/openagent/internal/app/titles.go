package app

import (
	"fmt"
	"strings"

	"github.com/openagent-go/agent/event"
)

// ResultTitle returns the line for people about a result.
func ResultTitle(d event.ToolResult) string {
	if d.Result.Title != "" && !d.Result.IsError {
		return d.Result.Title
	}
	first, _, _ := strings.Cut(strings.TrimSpace(d.Result.Text()), "\n")
	return first
}

// CostText returns a cost in US dollars for people. A nil cost is not known.
func CostText(usd *float64) string {
	if usd == nil {
		return "cost not known"
	}
	return fmt.Sprintf("$%.4f", *usd)
}

// EndText returns why a run ended, for people.
func EndText(end event.RunEnd) string {
	if end.Message == "" || end.Message == string(end.Reason) {
		return string(end.Reason)
	}
	return string(end.Reason) + ": " + end.Message
}
