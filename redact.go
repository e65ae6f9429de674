package agent

import (
	"cmp"
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

// A secretive tool or model knows values that must not be shown.
type secretive interface{ Secrets() []string }

// secrets replaces what must not be shown. The zero value knows none.
type secrets struct{ replacer *strings.Replacer }

func newSecrets(given []string, pool []tool.Tool, models []llm.Model) secrets {
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
	for _, m := range models {
		if s, ok := m.(secretive); ok {
			values = append(values, s.Secrets()...)
		}
	}
	slices.SortFunc(values, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) }) // the longest first
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

// result returns r with clean texts (an escape sequence may hide a secret),
// without secrets in texts, details and state, and without blocks that are no
// content of a result.
func (s secrets) result(r tool.Result) tool.Result {
	var content llm.Blocks
	for _, b := range r.Content {
		switch b := b.(type) {
		case llm.Text:
			content = append(content, llm.Text{Text: s.text(tool.Clean(b.Text))})
		case llm.Document:
			if strings.HasPrefix(b.MediaType, "text/") {
				b.Data = []byte(s.text(string(b.Data)))
			}
			b.Title = s.text(b.Title)
			content = append(content, b)
		case llm.Image:
			content = append(content, b)
		}
	}
	r.Content = content
	r.Title = s.text(tool.Clean(r.Title))
	r.Details = s.json(r.Details)
	r.Patch.State = s.json(r.Patch.State)
	return r
}

// json returns raw without secrets, nil where it is no JSON or was none without
// them, as when a secret is a number.
func (s secrets) json(raw json.RawMessage) json.RawMessage {
	if clean := json.RawMessage(s.text(string(raw))); json.Valid(clean) {
		return clean
	}
	return nil
}
