package app

import (
	"fmt"
	"strings"

	"github.com/openagent-go/agent/event"
)

// ResultTitle returns a one-line description of a result for the user.
func ResultTitle(d event.ToolResult) string {
	if d.Result.Title != "" && !d.Result.IsError {
		return d.Result.Title
	}
	first, _, _ := strings.Cut(strings.TrimSpace(d.Result.Text()), "\n")
	return first
}

// CostText formats a cost in US dollars. A nil cost is unknown.
func CostText(usd *float64) string {
	if usd == nil {
		return "cost unknown"
	}
	if 0 < *usd && *usd < 0.0001 {
		return "<$0.0001"
	}
	return fmt.Sprintf("$%.4f", *usd)
}

// EndText describes for the user why a run ended.
func EndText(end event.RunEnd) string {
	if end.Message == "" || end.Message == string(end.Reason) {
		return string(end.Reason)
	}
	return string(end.Reason) + ": " + end.Message
}
