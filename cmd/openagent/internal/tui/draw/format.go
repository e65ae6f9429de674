package draw

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/openagent-go/agent/internal/text"
)

// took is a duration for people: 40 ms, 1.2 s, 3:05.
func took(d time.Duration) string {
	switch {
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < 10*time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	}
	return clock(d)
}

// clock is a duration in whole seconds: 14 s, 1:12, 1:02:03.
func clock(d time.Duration) string {
	s := int(d / time.Second)
	switch {
	case s < 60:
		return fmt.Sprintf("%d s", s)
	case s < 3600:
		return fmt.Sprintf("%d:%02d", s/60, s%60)
	}
	return fmt.Sprintf("%d:%02d:%02d", s/3600, s/60%60, s%60)
}

// Tokens is a number of tokens: 412, 6.1k, 1.2M.
func Tokens(n int) string {
	switch {
	case n < 1000:
		return fmt.Sprint(n)
	case n < 100_000:
		return fmt.Sprintf("%.1fk", float64(n)/1000)
	case n < 1_000_000:
		return fmt.Sprintf("%dk", n/1000)
	}
	return fmt.Sprintf("%.1fM", float64(n)/1_000_000)
}

// dollars is an amount of money.
func dollars(usd float64) string {
	if usd > 0 && usd < 0.1 {
		return fmt.Sprintf("$%.4f", usd)
	}
	return fmt.Sprintf("$%.2f", usd)
}

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
