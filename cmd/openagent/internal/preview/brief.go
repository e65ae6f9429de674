package preview

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/openagent-go/agent/internal/text"
)

// InputSummary is the input of a call in a line: its first texts.
func InputSummary(input json.RawMessage) string {
	var members map[string]any
	if json.Unmarshal(input, &members) != nil {
		return ""
	}
	var words []string
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if s, ok := members[name].(string); ok && (strings.HasSuffix(name, "path") || slices.Contains([]string{"command", "pattern", "url", "query"}, name)) {
			words = append(words, text.Runes(text.OneLine(s), 160))
		}
	}
	return strings.Join(words, " ")
}
