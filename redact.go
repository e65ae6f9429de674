package agent

import (
	"encoding/json"
	"os"
	"slices"
	"strings"

	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/tool"
)

// minSecret is how long a value must be to be taken for a secret: shorter ones
// would be found everywhere.
const minSecret = 8

// A secretive tool knows values that must not be shown.
type secretive interface{ Secrets() []string }

// secrets replaces what must not be shown. The zero value knows none.
type secrets struct{ replacer *strings.Replacer }

func newSecrets(given []string, pool []tool.Tool) secrets {
	values := slices.Clone(given)
	for _, kv := range os.Environ() {
		if name, value, ok := strings.Cut(kv, "="); ok && tool.SecretName(name) {
			values = append(values, value)
		}
	}
	for _, t := range pool {
		if s, ok := t.(secretive); ok {
			values = append(values, s.Secrets()...)
		}
	}
	slices.SortFunc(values, func(a, b string) int { return len(b) - len(a) }) // the longest first
	var pairs []string
	for _, v := range slices.Compact(values) {
		if len(v) >= minSecret {
			pairs = append(pairs, v, "***")
			if quoted, err := json.Marshal(v); err == nil && string(quoted[1:len(quoted)-1]) != v {
				pairs = append(pairs, string(quoted[1:len(quoted)-1]), "***")
			}
		}
	}
	if pairs == nil {
		return secrets{}
	}
	return secrets{strings.NewReplacer(pairs...)}
}

func (s secrets) text(t string) string {
	if s.replacer == nil {
		return t
	}
	return s.replacer.Replace(t)
}

// result returns r with clean texts (an escape sequence may hide a secret) and
// without secrets in texts and details. What is replaced in details stays valid
// JSON, because *** needs no escape.
func (s secrets) result(r tool.Result) tool.Result {
	r.Content = slices.Clone(r.Content)
	for i, b := range r.Content {
		if t, ok := b.(llm.Text); ok {
			r.Content[i] = llm.Text{Text: s.text(tool.Clean(t.Text))}
		}
	}
	r.Title = s.text(tool.Clean(r.Title))
	if r.Details != nil && s.replacer != nil {
		r.Details = json.RawMessage(s.text(string(r.Details)))
	}
	return r
}
