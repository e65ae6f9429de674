package tools

import (
	"cmp"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"unicode"

	"github.com/openagent-go/agent/tool"
)

// fillers are words of a query that do not describe the purpose of a tool.
var fillers = strings.Fields("an and any anything are as at be by can could do does for from has have how if in into is it its me my need no of on " +
	"one or our please should so some something that the their them then there these this to tool tools up us use used uses using want was we what " +
	"when where which will with would you your")

// nameWeight is the weight of a word in a tool's name, compared with one elsewhere in its
// description.
const nameWeight = 2

// rankTools returns the tools that a query fits, the best first. Rare words count more. A
// tool with less than half of the best score has only common words and is left out.
func rankTools(all []tool.Spec, query string) []tool.Spec {
	words := queryWords(query)
	type ranked struct {
		spec       tool.Spec
		name, text map[string]bool
		score      float64
	}
	tools := make([]ranked, len(all))
	have := map[string]int{}
	for i, s := range all {
		tools[i] = ranked{spec: s, name: wordSet(s.Name), text: wordSet(s.Title + " " + s.Description + " " + schemaWords(s.Input))}
		for _, w := range words {
			if tools[i].name[w] || tools[i].text[w] {
				have[w]++
			}
		}
	}
	best := 0.0
	for i := range tools {
		t := &tools[i]
		for _, w := range words {
			weight := math.Log(1 + float64(len(all))/float64(max(have[w], 1)))
			switch {
			case t.name[w]:
				t.score += nameWeight * weight
			case t.text[w]:
				t.score += weight
			}
		}
		best = max(best, t.score)
	}
	tools = slices.DeleteFunc(tools, func(t ranked) bool { return t.score == 0 || t.score < best/2 })
	slices.SortStableFunc(tools, func(a, b ranked) int {
		return cmp.Or(cmp.Compare(b.score, a.score), strings.Compare(a.spec.Name, b.spec.Name))
	})
	found := make([]tool.Spec, len(tools))
	for i, t := range tools {
		found[i] = t.spec
	}
	return found
}

// queryWords returns the words of a query that can tell tools apart, each once.
func queryWords(query string) []string {
	var words []string
	for _, w := range split(query) {
		if s := stem(w); len(w) > 1 && !slices.Contains(fillers, w) && !slices.Contains(words, s) {
			words = append(words, s)
		}
	}
	return words
}

func wordSet(text string) map[string]bool {
	set := map[string]bool{}
	for _, w := range split(text) {
		set[stem(w)] = true
	}
	return set
}

// split returns the words of a text: letters and digits, camel case taken apart.
func split(text string) []string {
	var b strings.Builder
	lower := false
	for _, r := range text {
		if unicode.IsUpper(r) && lower {
			b.WriteByte(' ')
		}
		lower = unicode.IsLower(r)
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			b.WriteRune(unicode.ToLower(r))
		} else {
			b.WriteByte(' ')
		}
	}
	return strings.Fields(b.String())
}

// stem takes the ending off an English word, so that schedule, schedules and
// scheduling are one.
func stem(word string) string {
	const shortest = 3 // bytes that stay
	for _, end := range []string{"ing", "ed", "es", "s", "e"} {
		if s, ok := strings.CutSuffix(word, end); ok && len(s) >= shortest && !(end == "s" && strings.HasSuffix(s, "s")) {
			word = s
			break
		}
	}
	if n := len(word); n > shortest && word[n-1] == word[n-2] {
		word = word[:n-1] // running
	}
	if s, ok := strings.CutSuffix(word, "i"); ok && len(s) >= shortest {
		word = s + "y" // queries
	}
	return word
}

// schemaWords returns the names of members in a schema and the words that
// they may be.
func schemaWords(schema json.RawMessage) string {
	var v any
	if json.Unmarshal(schema, &v) != nil {
		return ""
	}
	var b strings.Builder
	addSchemaWords(&b, v)
	return b.String()
}

func addSchemaWords(b *strings.Builder, v any) {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			addSchemaWords(b, e)
		}
	case map[string]any:
		members, _ := v["properties"].(map[string]any)
		for name := range members { // in any order: it is a set in the end
			b.WriteString(name + " ")
		}
		words, _ := v["enum"].([]any)
		for _, w := range words {
			if w, ok := w.(string); ok {
				b.WriteString(w + " ")
			}
		}
		for _, e := range v {
			addSchemaWords(b, e)
		}
	}
}
