package tools

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"slices"
	"strings"

	"github.com/openagent-go/agent/tool"
)

//go:embed toolsearch.md
var toolSearchText string

const (
	defaultFound = 5
	maxFound     = 20
	// The description lists so many names of deferred tools at most, of so many bytes
	// together.
	maxListed      = 60
	maxListedBytes = 1500
)

type toolSearchInput struct {
	Query      string `json:"query"`
	MaxResults int    `json:"max_results,omitempty"`
}

// A toolSearch is the tool ToolSearch, over the deferred tools of a prompt.
type toolSearch struct {
	*tool.Typed[toolSearchInput]
}

// ToolSearch returns the tool that finds deferred tools. An agent that has it
// may keep tools from the model until they are searched for, see [tool.Spec] and
// the agent's DeferAbove. Its method Over(deferred []tool.Spec) tool.Tool, which
// the agent calls at each prompt, binds it to them.
func ToolSearch() tool.Tool { return toolSearch{}.Over(nil) }

// Over returns the tool bound to deferred tools.
func (toolSearch) Over(deferred []tool.Spec) tool.Tool {
	spec := tool.Spec{Name: "ToolSearch", Title: "Find tools", ReadOnly: true, Description: toolSearchText + listed(deferred)}
	return toolSearch{tool.New(spec, func(_ context.Context, _ tool.Call, in toolSearchInput) (*tool.Result, error) {
		found, missing := searchTools(deferred, in)
		return foundTools(found, missing, len(deferred)), nil
	})}
}

// listed names the tools that can be found.
func listed(deferred []tool.Spec) string {
	if len(deferred) == 0 {
		return "\nAt present there are no tools to be found."
	}
	var names []string
	for _, s := range deferred {
		names = append(names, s.Name)
	}
	slices.Sort(names)
	shown := fitting(names)
	if shown < len(names) {
		names = byServer(names)
		shown = fitting(names)
	}
	more := ""
	if left := len(names) - shown; left > 0 {
		more = fmt.Sprintf(" and %d more", left)
		names = names[:shown]
	}
	return "\nTo be found: " + strings.Join(names, ", ") + more + "."
}

// fitting is how many of names can be listed.
func fitting(names []string) int {
	n, size := 0, 0
	for n < min(len(names), maxListed) && size+len(names[n]) <= maxListedBytes {
		size += len(names[n]) + len(", ")
		n++
	}
	return n
}

// byServer puts the tools of each MCP server into one entry, sorted.
func byServer(names []string) []string {
	var out []string
	count := map[string]int{}
	for _, name := range names {
		server, _, ok := strings.Cut(strings.TrimPrefix(name, "mcp__"), "__")
		if !ok || !strings.HasPrefix(name, "mcp__") {
			out = append(out, name)
			continue
		}
		count[server]++
	}
	for server, n := range count {
		out = append(out, fmt.Sprintf("mcp__%s__… (%d)", server, n))
	}
	slices.Sort(out)
	return out
}

// searchTools returns the tools that a query means, the best first, and the names that
// it selects in vain.
func searchTools(deferred []tool.Spec, in toolSearchInput) (found []tool.Spec, missing []string) {
	limit := min(cmp.Or(max(in.MaxResults, 0), defaultFound), maxFound)
	if names, ok := strings.CutPrefix(strings.TrimSpace(in.Query), "select:"); ok {
		for name := range strings.SplitSeq(names, ",") {
			name = strings.TrimSpace(name)
			if i := slices.IndexFunc(deferred, func(s tool.Spec) bool { return strings.EqualFold(s.Name, name) }); i >= 0 {
				found = append(found, deferred[i])
			} else if name != "" {
				missing = append(missing, name)
			}
		}
		return found[:min(len(found), maxFound)], missing
	}
	found = rankTools(deferred, in.Query)
	return found[:min(len(found), limit)], nil
}

// foundTools tells the model about the tools found and makes them available to it.
func foundTools(found []tool.Spec, missing []string, all int) *tool.Result {
	var b strings.Builder
	for _, name := range missing {
		fmt.Fprintf(&b, "There is no tool %q to be found.\n", name)
	}
	if len(found) == 0 {
		fmt.Fprintf(&b, "No tool fits, of the %d that can be found. Try other words.", all)
		r := tool.Text(b.String())
		r.IsError = len(missing) > 0
		return r
	}
	var enable []string
	fmt.Fprintf(&b, "Found, and usable from your next turn on:\n")
	for _, s := range found {
		line, _, _ := strings.Cut(strings.TrimSpace(s.Description), "\n")
		fmt.Fprintf(&b, "- %s: %s\n", s.Name, line)
		enable = append(enable, s.Name)
	}
	r := tool.Text(strings.TrimSuffix(b.String(), "\n"))
	r.Patch.Enable = enable
	r.Title = strings.Join(enable, ", ")
	return r
}
