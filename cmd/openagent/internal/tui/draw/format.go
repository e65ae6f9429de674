package draw

import (
	"encoding/json"
	"strings"

	"github.com/openagent-go/agent/internal/text"
)

// inputKeys are the members of an input that say what a call is about, the best first.
var inputKeys = []string{"command", "file_path", "notebook_path", "path", "pattern", "url", "query", "skill", "name", "description", "prompt", "subject", "question"}

// about is the input of a call in a few words.
func about(input json.RawMessage, dir string) string {
	var members map[string]any
	if json.Unmarshal(input, &members) != nil {
		return ""
	}
	var words []string
	for _, key := range inputKeys {
		s, ok := members[key].(string)
		if !ok || s == "" || len(words) > 0 && (key == "description" || key == "prompt" || key == "name") {
			continue
		}
		if key == "pattern" {
			s = `"` + s + `"`
		}
		words = append(words, text.Runes(short(text.OneLine(s), dir), 300))
		if len(words) == 2 {
			break
		}
	}
	return strings.Join(words, " ")
}

// short is a path below the working folder without that folder.
func short(path, dir string) string {
	if rest, ok := strings.CutPrefix(path, dir+"/"); ok && dir != "" {
		return rest
	}
	return path
}
